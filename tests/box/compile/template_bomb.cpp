template <int N, int M> struct T {
    static constexpr int v = T<N - 1, M * 2>::v + T<N - 1, M * 2 + 1>::v;
};
template <int M> struct T<0, M> {
    static constexpr int v = M;
};
int main()
{
    return T<26, 0>::v;
}
