// Talks with the program over standard input and output. Arguments: input (the number), answer,
// feedback folder. Exit 42: it guessed in time, 43: it did not.
#include <cstdio>
#include <cstdlib>
#include <string>

static std::string folder;

[[noreturn]] static void wrong(const char *why, long number)
{
    FILE *f = fopen((folder + "judgemessage.txt").c_str(), "w");
    if (f) {
        fprintf(f, why, number);
        fclose(f);
    }
    exit(43);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 1;
    folder = argv[3];
    FILE *in = fopen(argv[1], "r");
    long secret;
    if (!in || fscanf(in, "%ld", &secret) != 1)
        return 1;
    for (int i = 1; i <= 10; i++) {
        long guess;
        if (scanf("%ld", &guess) != 1)
            wrong("guess %ld is not a number", i);
        if (guess < 1 || guess > 1000)
            wrong("%ld is not between 1 and 1000", guess);
        if (guess == secret) {
            puts("right");
            fflush(stdout);
            char more;
            if (scanf(" %c", &more) == 1)
                wrong("it went on after guess %ld was right", i);
            return 42;
        }
        puts(guess < secret ? "low" : "high");
        fflush(stdout);
    }
    wrong("ten guesses were not enough for %ld", secret);
}
