int main()
{
    volatile int *p = nullptr;
    *p = 1;
}
