#define A(x) x x x x x x x x x x
#define B(x) A(A(A(A(A(x)))))
B(undeclared_name_that_is_rather_long_so_that_each_message_is_long too;)
