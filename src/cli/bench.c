/* SPDX-License-Identifier: MIT
 *
 * bench.c - what all benchmarks share.
 */
#include "cli/bench.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_quantile(double *values, size_t n, double q)
{
    if (n == 0)
        return 0;
    qsort(values, n, sizeof(values[0]), by_value);
    size_t at = (size_t)(q * (double)(n - 1) + 0.5);
    return values[at];
}
