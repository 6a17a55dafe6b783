#include "/proc/self/mem"
int main(void) { return 0; }
