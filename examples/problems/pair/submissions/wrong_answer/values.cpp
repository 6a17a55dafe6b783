#include <iostream>

int main()
{
    long n, s, x;
    std::cin >> n >> s >> x;
    std::cout << x << " " << s - x << "\n";
}
