#include <stdio.h>

int main(void)
{
    for (unsigned long i = 1;; i++)
        printf("%lu\n", i * i);
}
