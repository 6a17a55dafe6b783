#include <no_such_header>

int main()
{
}
