#include <stdio.h>

int main(void)
{
    long n, a = 1, b = 1;

    if (scanf("%ld", &n) != 1)
        return 1;
    while (--n > 0) {
        long c = (a + b) % 1000000007;
        a = b;
        b = c;
    }
    printf("%ld\n", b);
    return 0;
}
