#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    puts("7");
    fflush(stdout);
    abort();
}
