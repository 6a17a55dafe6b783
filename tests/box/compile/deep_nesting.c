#define A(x) ((((((((((((((((x))))))))))))))))
#define B(x) A(A(A(A(x))))
#define C(x) B(B(B(B(x))))
int main(void)
{
    return C(C(C(C(0))));
}
