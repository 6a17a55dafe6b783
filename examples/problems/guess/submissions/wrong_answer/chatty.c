#include <stdio.h>

int main(void)
{
    for (;;)
        puts("500 500 500 500");
}
