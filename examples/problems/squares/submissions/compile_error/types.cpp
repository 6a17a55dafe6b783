int main()
{
    return "text";
}
