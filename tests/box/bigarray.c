/* SPDX-License-Identifier: MIT
 *
 * bigarray.c - a program with a static array of 512 MiB. Touched, it is over any limit of the
 * tests; untouched, it is as if it were not there.
 */
#include <stdio.h>
#include <string.h>

static char big[512 << 20];

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "touch") == 0)
        for (size_t i = 0; i < sizeof big; i += 4096)
            ((volatile char *)big)[i] = 1;
    printf("42 %d\n", ((volatile char *)big)[argc]);
    return 0;
}
