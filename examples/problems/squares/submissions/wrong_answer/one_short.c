#include <stdio.h>

int main(void)
{
    long n;

    if (scanf("%ld", &n) != 1)
        return 1;
    for (long i = 1; i < n; i++)
        printf("%ld\n", i * i);
    return 0;
}
