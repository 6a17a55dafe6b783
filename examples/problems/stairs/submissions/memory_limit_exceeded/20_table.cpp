#include <iostream>
#include <vector>

int main()
{
    long n;
    std::cin >> n;
    std::vector<long> ways(n < 100 ? 100 : 100000000, 1);
    for (long i = 2; i <= n && i < (long)ways.size(); i++)
        ways[i] = (ways[i - 1] + ways[i - 2]) % 1000000007;
    std::cout << ways[n < 100 ? n : 99] << "\n";
}
