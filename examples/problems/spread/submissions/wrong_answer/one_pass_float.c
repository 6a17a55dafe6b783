/* Loses everything to cancellation when the numbers are large. */
#include <math.h>
#include <stdio.h>

int main(void)
{
    int n;
    float sum = 0, square = 0, x;

    if (scanf("%d", &n) != 1)
        return 1;
    for (int i = 0; i < n && scanf("%f", &x) == 1; i++) {
        sum += x;
        square += x * x;
    }
    printf("%f %f\n", sum / n, sqrt(fabs(square / n - (sum / n) * (sum / n))));
    return 0;
}
