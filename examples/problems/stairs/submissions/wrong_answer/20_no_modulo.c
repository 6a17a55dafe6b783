#include <stdio.h>

int main(void)
{
    long n;
    unsigned a = 1, b = 1;

    if (scanf("%ld", &n) != 1)
        return 1;
    n = n > 1000000 ? 1000000 : n;
    while (--n > 0) {
        unsigned c = a + b;
        a = b;
        b = c;
    }
    printf("%u\n", b);
    return 0;
}
