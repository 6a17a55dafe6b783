#include <iostream>

int main()
{
    std::cout << 500 << std::endl;
    for (volatile unsigned long n = 0;; n = n + 1)
        ;
}
