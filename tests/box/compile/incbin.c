__asm__(".section .rodata\n.globl stolen\nstolen:\n.incbin \"@SECRET@\"\n.incbin \"/etc/shadow\"\n.byte 0\n");
extern const char stolen[];
int puts(const char *);
int main(void)
{
    return puts(stolen);
}
