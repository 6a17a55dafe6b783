#include <stdio.h>

int main(void)
{
    long n;

    if (scanf("%ld", &n) != 1)
        return 1;
    for (long i = 1; i <= n; i++) {
        volatile long square = 0;

        for (long k = 0; k < i * i; k++)
            square = square + 1;
        printf("%ld\n", square);
    }
    return 0;
}
