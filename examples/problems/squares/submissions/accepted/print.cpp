#include <bits/stdc++.h>

int main()
{
    long n;
    std::cin >> n;
    for (long i = 1; i <= n; i++)
        std::cout << i * i << "\n";
}
