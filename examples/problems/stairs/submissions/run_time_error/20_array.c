#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    static long ways[100];
    long n;

    if (scanf("%ld", &n) != 1 || n >= 100)
        abort();
    ways[0] = ways[1] = 1;
    for (long i = 2; i <= n; i++)
        ways[i] = (ways[i - 1] + ways[i - 2]) % 1000000007;
    printf("%ld\n", ways[n]);
    return 0;
}
