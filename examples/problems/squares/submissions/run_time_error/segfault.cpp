#include <vector>

int main()
{
    int *volatile p = nullptr;
    *p = 1;
}
