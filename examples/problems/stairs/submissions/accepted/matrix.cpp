#include <iostream>

using number = unsigned long long;
static const number M = 1000000007;

struct matrix {
    number a, b, c, d;
};

static matrix operator*(const matrix &x, const matrix &y)
{
    return {(x.a * y.a + x.b * y.c) % M, (x.a * y.b + x.b * y.d) % M,
            (x.c * y.a + x.d * y.c) % M, (x.c * y.b + x.d * y.d) % M};
}

int main()
{
    number n;
    std::cin >> n;
    matrix result{1, 0, 0, 1}, base{1, 1, 1, 0};
    for (; n; n /= 2, base = base * base)
        if (n % 2)
            result = result * base;
    std::cout << result.a << "\n";
}
