/* SPDX-License-Identifier: MIT
 *
 * escape.c - what a stranger wrote must not drive the terminal.
 */
#include "cli/escape.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

/* Marks that reverse what follows them: U+202A to U+202E, U+2066 to U+2069. */
static bool turns(const char *s)
{
    unsigned char b = (unsigned char)s[1], c = (unsigned char)s[2];

    return (unsigned char)s[0] == 0xe2 &&
           ((b == 0x80 && c >= 0xaa && c <= 0xae) || (b == 0x81 && c >= 0xa6 && c <= 0xa9));
}

void print_escaped(FILE *out, const char *bytes, size_t len, size_t max)
{
    size_t shown = 0;

    for (size_t i = 0; i < len && shown < max;) {
        size_t n = tr_utf8_len(bytes + i, len - i);
        unsigned char c = (unsigned char)bytes[i];

        /* C1 controls (U+0080 to U+009F) drive some terminals as well as ESC does. */
        bool c1 = n == 2 && c == 0xc2 && (unsigned char)bytes[i + 1] < 0xa0;
        if (n == 0 || c < ' ' || c == 127 || c1 || (n == 3 && turns(bytes + i))) {
            shown += (size_t)fprintf(out, c == '\t' ? "\\t" : "\\x%02x", c);
            i++;
            continue;
        }
        (void)fwrite(bytes + i, 1, n, out);
        i += n;
        shown++;
    }
    if (shown >= max)
        (void)fputs("…", out);
}

void print_escaped_lines(FILE *out, const char *text)
{
    for (const char *s = text; *s;) {
        size_t n = strcspn(s, "\n");

        (void)fputs("  ", out);
        print_escaped(out, s, n, 200);
        (void)fputc('\n', out);
        s += n + (s[n] == '\n');
    }
}

void print_escaped_text(FILE *out, const char *before, const char *text, size_t max)
{
    if (!*text)
        return;
    (void)fputs(before, out);
    print_escaped(out, text, strlen(text), max);
}
