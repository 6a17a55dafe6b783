#ifndef ONCE
#define ONCE
#define A(x) x x x x x x x x x x
#define B(x) A(A(A(A(x))))
int main(void)
{
    B(int *p = "\xff\xfe \x1b[31m not UTF-8 in the message";)
    B(_Pragma("message \"\377\376 flood\""))
    return 0;
}
#endif
