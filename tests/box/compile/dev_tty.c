#include "/dev/tty"
int main(void) { return 0; }
