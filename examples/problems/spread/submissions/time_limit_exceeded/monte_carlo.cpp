#include <cstdio>
#include <cstdlib>

int main()
{
    double sum = 0;
    for (unsigned long i = 0;; i++)
        sum += rand();
    printf("%f\n", sum);
}
