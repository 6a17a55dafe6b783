// Accepts any pair of positions with the right sum. Arguments: input, answer, feedback folder; the
// program's output on standard input. Exit 42: right, 43: wrong.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

static std::string folder;

[[noreturn]] static void wrong(const char *format, ...)
{
    FILE *f = fopen((folder + "judgemessage.txt").c_str(), "w");
    va_list ap;
    va_start(ap, format);
    if (f) {
        vfprintf(f, format, ap);
        fclose(f);
    }
    va_end(ap);
    exit(43);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 1;
    folder = argv[3];
    FILE *in = fopen(argv[1], "r");
    long n, s;
    if (!in || fscanf(in, "%ld%ld", &n, &s) != 2)
        return 1;
    std::vector<long> v(n + 1);
    for (long i = 1; i <= n; i++)
        if (fscanf(in, "%ld", &v[i]) != 1)
            return 1;
    long a, b;
    char more;
    if (scanf("%ld%ld", &a, &b) != 2)
        wrong("expected two positions");
    if (scanf(" %c", &more) == 1)
        wrong("there is something after the two positions");
    if (a < 1 || a > n || b < 1 || b > n)
        wrong("position out of range: %ld %ld", a, b);
    if (a == b)
        wrong("the positions are the same: %ld", a);
    if (v[a] + v[b] != s)
        wrong("%ld + %ld is not %ld", v[a], v[b], s);
    return 42;
}
