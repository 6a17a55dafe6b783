#include <iostream>

static long ways(long n)
{
    return n < 2 ? 1 : (ways(n - 1) + ways(n - 2)) % 1000000007;
}

int main()
{
    long n;
    std::cin >> n;
    std::cout << ways(n) << "\n";
}
