#include <stdio.h>

int main(void)
{
    int *volatile p = NULL;

    return *p;
}
