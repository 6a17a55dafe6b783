/* SPDX-License-Identifier: MIT
 *
 * log.c - format a line in a fixed buffer, write it once.
 *
 * Uses no heap and takes no lock, so it works in a slot that is out of memory. Must never let a
 * value end the line or reach a terminal raw.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"

/* A line is written whole up to this; PIPE_BUF (4 KiB) is what the kernel keeps unmixed on a pipe,
 * files and the journal's socket take more. */
enum {
    LINE_MAX_BYTES = 8192,
    MSG_MAX_BYTES = 1024
}; /* escapes make a byte six at most */

static struct {
    int fd;
    enum tr_log_format format;
    enum tr_log_level most;
    bool journal;
} log_to = {.fd = STDERR_FILENO, .format = TR_LOG_TEXT, .most = TR_LOG_INFO};

static const struct {
    const char *word;
    int syslog; /* the journal's and syslog's number */
} levels[] = {
    [TR_LOG_ERROR] = {"error", 3},
    [TR_LOG_WARN] = {"warn", 4},
    [TR_LOG_INFO] = {"info", 6},
    [TR_LOG_DEBUG] = {"debug", 7},
};

struct line {
    char text[LINE_MAX_BYTES];
    size_t len;
    bool full; /* something did not fit */
};

/* Two bytes stay free for the closing of a JSON object and the newline. */
static bool line_add(struct line *l, const char *s, size_t n)
{
    if (n > sizeof(l->text) - 2 - l->len) {
        l->full = true;
        return false;
    }
    memcpy(l->text + l->len, s, n);
    l->len += n;
    return true;
}

static void line_adds(struct line *l, const char *s)
{
    (void)line_add(l, s, strlen(s)); /* a full line is cut */
}

static bool line_add_escape(struct line *l, unsigned char c)
{
    char hex[8];
    int n = snprintf(hex, sizeof(hex), "\\u%04x", c);

    return line_add(l, hex, (size_t)n);
}

/* JSON's escapes serve the text form as well: unambiguous, printable, known to everybody. Bytes
 * that are no UTF-8 become U+FFFD. */
static void line_add_quoted(struct line *l, const char *s)
{
    size_t len = strlen(s);
    bool fits = line_add(l, "\"", 1);

    for (size_t i = 0; i < len && fits && l->len < sizeof(l->text) - 16;) {
        unsigned char c = (unsigned char)s[i];
        size_t n = tr_utf8_len(s + i, len - i);

        if (c == '"' || c == '\\')
            fits = line_add(l, (const char[]){'\\', (char)c}, 2);
        else if (c < 0x20 || c == 0x7f)
            fits = line_add_escape(l, c);
        else if (n == 0)
            fits = line_add(l, "\xef\xbf\xbd", 3);
        else if (n == 2 && c == 0xc2 && (unsigned char)s[i + 1] < 0xa0)
            fits =
                line_add_escape(l, (unsigned char)s[i + 1]); /* C1 controls drive terminals too */
        else
            fits = line_add(l, s + i, n);
        i += n ? n : 1;
    }
    line_adds(l, "\"");
}

static bool is_plain_word(const char *s)
{
    return *s && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                           "-_.:/@+,%") == strlen(s);
}

/* Outer fields first. The chain is a few links long and built by us, so counting down is cheap. */
static void add_fields(struct line *l, const struct tr_log_field *fields)
{
    size_t depth = 0;

    for (const struct tr_log_field *f = fields; f; f = f->up)
        depth++;
    for (; depth > 0; depth--) {
        const struct tr_log_field *f = fields;

        for (size_t i = 1; i < depth; i++)
            f = f->up;
        const char *value = f->value ? f->value : "";
        size_t mark = l->len;
        if (log_to.format == TR_LOG_JSON) {
            line_adds(l, ",\"");
            line_adds(l, f->key);
            line_adds(l, "\":");
            line_add_quoted(l, value);
        } else {
            line_adds(l, " ");
            line_adds(l, f->key);
            line_adds(l, "=");
            if (is_plain_word(value))
                line_adds(l, value);
            else
                line_add_quoted(l, value);
        }
        if (l->full) { /* half a field would break the JSON */
            l->len = mark;
            return;
        }
    }
}

/* The message of a text line is not quoted, but nothing in it may break out of the line. */
static void add_text_message(struct line *l, const char *msg)
{
    struct line quoted = {.len = 0};

    line_add_quoted(&quoted, msg);
    (void)line_add(l, quoted.text + 1, quoted.len - 2); /* without its quotes */
}

static void start_line(struct line *l, enum tr_log_level level, const char *msg)
{
    char when[TR_TIME_TEXT];

    (void)tr_clock_text(tr_clock_real_us(), when); /* returns `when` */
    if (log_to.format == TR_LOG_JSON) {
        line_adds(l, "{\"ts\":\"");
        line_adds(l, when);
        line_adds(l, "\",\"level\":\"");
        line_adds(l, levels[level].word);
        line_adds(l, "\",\"msg\":");
        line_add_quoted(l, msg);
        return;
    }
    char head[64];
    if (log_to.journal) /* the journal has its own clock */
        (void)snprintf(head, sizeof(head), "<%d>", levels[level].syslog);
    else
        (void)snprintf(head, sizeof(head), "%s %-5s ", when, levels[level].word);
    line_adds(l, head);
    add_text_message(l, msg);
}

static void write_line(struct line *l)
{
    if (log_to.format == TR_LOG_JSON)
        l->text[l->len++] = '}';
    l->text[l->len++] = '\n';
    ssize_t n = write(log_to.fd, l->text, l->len);
    (void)n; /* there is nobody left to tell */
}

void tr_log_setup(int fd, enum tr_log_format format, enum tr_log_level most)
{
    log_to.fd = fd;
    log_to.format = format;
    log_to.most = most;
    log_to.journal = secure_getenv("JOURNAL_STREAM") != NULL && fd == STDERR_FILENO;
}

void tr_log(enum tr_log_level level, const struct tr_log_field *fields, const char *fmt, ...)
{
    char msg[MSG_MAX_BYTES];
    struct line l = {.len = 0};
    va_list ap;

    if (level > log_to.most)
        return;
    va_start(ap, fmt);
    if (vsnprintf(msg, sizeof(msg), fmt, ap) < 0)
        msg[0] = '\0';
    va_end(ap);
    start_line(&l, level, msg);
    add_fields(&l, fields);
    write_line(&l);
}

void tr_log_err(enum tr_log_level level, const struct tr_log_field *fields,
                const struct tr_err *err)
{
    struct tr_log_field kind = {.up = fields, .key = "err", .value = tr_err_class_name(err->code)};

    tr_log(level, &kind, "%s", err->msg);
}

int tr_log_level_parse(const char *word, enum tr_log_level *ret, struct tr_err *err)
{
    for (enum tr_log_level i = TR_LOG_ERROR; i <= TR_LOG_DEBUG; i++) {
        if (strcmp(levels[i].word, word) == 0) {
            *ret = i;
            return 0;
        }
    }
    return tr_fail(err, TR_E_PARSE, 0, "'%.64s' is not error, warn, info or debug", word);
}
