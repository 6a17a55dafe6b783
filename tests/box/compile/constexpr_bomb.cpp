constexpr unsigned long f(unsigned long n)
{
    unsigned long s = 0;
    for (unsigned long i = 0; i < n; i++)
        for (unsigned long k = 0; k < 200000; k++)
            s += i * k;
    return s;
}
template <unsigned long N> struct S {
    static constexpr unsigned long v = f(1) + S<N - 1>::v;
};
template <> struct S<0> {
    static constexpr unsigned long v = 0;
};
int main()
{
    return S<800>::v;
}
