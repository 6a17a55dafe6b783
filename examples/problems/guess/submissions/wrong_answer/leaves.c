int main(void)
{
    return 0; /* without a word */
}
