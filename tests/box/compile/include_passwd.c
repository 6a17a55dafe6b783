#include "/etc/passwd"
#include "/etc/shadow"
#include "/etc/hostname"
int main(void) { return 0; }
