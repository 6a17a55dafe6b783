"""Programs that tests submit to a-plus-b."""

RIGHT = """#include <cstdio>
int main() { long long a, b; std::scanf("%lld %lld", &a, &b); std::printf("%lld\\n", a + b); }
"""

WRONG = RIGHT.replace("a + b)", "a - b)")

BROKEN = "int main() { return }\n"

# Works long enough on each of the twenty tests for somebody to pull the plug.
SLOW = """#include <cstdio>
#include <ctime>
int main() {
    long long a, b; std::scanf("%lld %lld", &a, &b);
    while (std::clock() < CLOCKS_PER_SEC * 3 / 20) { }
    std::printf("%lld\\n", a + b);
}
"""

# Markup, an escape sequence, marks that turn the direction, a control character, a line of 1 MB.
HOSTILE = r"""#include <cstdio>
int main() {
    std::printf("<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
                "\x1b[31mred\x1b[0m\x1b]0;title\x07 \xe2\x80\xae" "evil\xe2\x81\xa6 \x01");
    for (int i = 0; i < 1000000; i++) std::putchar('x');
    std::putchar('\n');
}
"""
