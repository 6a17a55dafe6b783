#include "@SECRET@"
#include "../answer.txt"
#include "../../../../../..@SECRET@"
int main(void) { return 0; }
