/* SPDX-License-Identifier: MIT
 *
 * s3_xml.c - just enough XML: tags, text, the five entities and numbers.
 *
 * The bytes come from a server that may be anybody, so there are no declarations, no external
 * anything and no recursion, and each text has a ceiling. Attributes are skipped, not understood.
 */
#include "net/s3_xml.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/utf8.h"

enum {
    NAME_MAX_BYTES = 48
};

enum token {
    TOKEN_END, /* of the document */
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_TEXT,
    TOKEN_BAD
};

struct reader {
    const char *at;
    const char *end;
    char name[NAME_MAX_BYTES];     /* of the tag, without a prefix */
    char text[TR_S3_XML_TEXT_MAX]; /* decoded */
    bool self_closing;             /* <x/>: an OPEN, and a CLOSE comes next */
    const char *why;
};

static enum token bad(struct reader *r, const char *why)
{
    r->why = why;
    return TOKEN_BAD;
}

static bool starts(const struct reader *r, const char *word)
{
    size_t n = strlen(word);

    return (size_t)(r->end - r->at) >= n && memcmp(r->at, word, n) == 0;
}

/* Move past the next `word`; false when there is none. */
static bool skip_past(struct reader *r, const char *word)
{
    const char *found = memmem(r->at, (size_t)(r->end - r->at), word, strlen(word));

    if (found)
        r->at = found + strlen(word);
    return found != NULL;
}

static size_t put_utf8(uint32_t c, char out[static 4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | (c >> 6));
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | (c >> 12));
        out[1] = (char)(0x80 | ((c >> 6) & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | (c >> 18));
    out[1] = (char)(0x80 | ((c >> 12) & 63));
    out[2] = (char)(0x80 | ((c >> 6) & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

/* "#38" or "#x26" -> the character's bytes; 0 when it is none. */
static size_t number_entity(const char *name, char out[static 4])
{
    bool hex = name[1] == 'x';
    const char *p = name + (hex ? 2 : 1);
    uint32_t c = 0;

    if (!*p || strlen(p) > 7)
        return 0;
    for (; *p; p++) {
        const char *digits = "0123456789abcdefABCDEF";
        const char *d = strchr(digits, *p);
        uint32_t v = d ? (uint32_t)(d - digits) : 99;

        v = v >= 16 && v < 22 ? v - 6 : v;
        if (v >= (hex ? 16u : 10u))
            return 0;
        c = c * (hex ? 16 : 10) + v;
    }
    if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return 0;
    return put_utf8(c, out);
}

/* At '&': decodes one entity into out; 0 when it is none that we know. */
static size_t entity(struct reader *r, char out[static 4])
{
    static const struct {
        const char *name;
        char c;
    } known[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    char name[12];
    size_t n = 0;
    const char *p = r->at + 1;

    for (; p < r->end && *p != ';' && n < sizeof(name) - 1; p++)
        name[n++] = *p;
    name[n] = '\0';
    if (p == r->end || *p != ';' || strlen(name) != n)
        return 0;
    r->at = p + 1;
    if (name[0] == '#')
        return number_entity(name, out);
    for (size_t i = 0; i < TR_ARRAY_LEN(known); i++) {
        if (strcmp(known[i].name, name) == 0) {
            out[0] = known[i].c;
            return 1;
        }
    }
    return 0;
}

static enum token read_text(struct reader *r)
{
    size_t n = 0;

    while (r->at < r->end && *r->at != '<') {
        char bytes[4] = {*r->at};
        size_t len = 1;

        if (*r->at == '&') {
            len = entity(r, bytes);
            if (len == 0)
                return bad(r, "an entity that is not one of the usual");
        } else {
            r->at++;
        }
        if (n + len >= sizeof(r->text))
            return bad(r, "a text that is too long");
        memcpy(r->text + n, bytes, len);
        n += len;
    }
    r->text[n] = '\0';
    if (strlen(r->text) != n || !tr_utf8_valid(r->text, n))
        return bad(r, "a text that is not UTF-8");
    return TOKEN_TEXT;
}

/* After '<' or '</'. Attributes are passed over with their quotes. */
static enum token read_tag(struct reader *r, bool closing)
{
    size_t n = 0;

    for (; r->at < r->end && !strchr(" \t\r\n/>", *r->at); r->at++) {
        if (*r->at == ':') {
            n = 0; /* a prefix */
            continue;
        }
        if (n == sizeof(r->name) - 1)
            return bad(r, "a tag that is too long");
        r->name[n++] = *r->at;
    }
    r->name[n] = '\0';
    if (n == 0 || strlen(r->name) != n)
        return bad(r, "a tag without a name");
    for (char quote = 0; r->at < r->end; r->at++) {
        if (quote) {
            quote = *r->at == quote ? 0 : quote;
        } else if (*r->at == '"' || *r->at == '\'') {
            quote = *r->at;
        } else if (*r->at == '>') {
            r->self_closing = !closing && r->at[-1] == '/';
            r->at++;
            return closing ? TOKEN_CLOSE : TOKEN_OPEN;
        }
    }
    return bad(r, "a tag without an end");
}

static enum token next(struct reader *r)
{
    if (r->self_closing) {
        r->self_closing = false;
        return TOKEN_CLOSE;
    }
    while (starts(r, "<?") || starts(r, "<!")) {
        if (starts(r, "<?") ? !skip_past(r, "?>") : !starts(r, "<!--") || !skip_past(r, "-->"))
            return bad(r, "a declaration");
    }
    if (r->at == r->end)
        return TOKEN_END;
    if (*r->at != '<')
        return read_text(r);
    r->at++;
    bool closing = r->at < r->end && *r->at == '/';
    if (closing)
        r->at++;
    return read_tag(r, closing);
}

/* Which elements we are in. */
struct path {
    char names[TR_S3_XML_DEPTH_MAX][NAME_MAX_BYTES];
    size_t depth;
};

static bool path_is(const struct path *p, const char *a, const char *b, const char *c)
{
    const char *want[] = {a, b, c};
    size_t n = c ? 3 : 2;

    if (p->depth != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(p->names[i], want[i]) != 0)
            return false;
    }
    return true;
}

/* Follow a tag; false when it does not fit. */
static bool follow(struct path *p, struct reader *r, enum token t)
{
    if (t == TOKEN_OPEN) {
        if (p->depth == TR_S3_XML_DEPTH_MAX)
            return false;
        memcpy(p->names[p->depth++], r->name, sizeof(r->name));
        return true;
    }
    return p->depth > 0 && strcmp(p->names[--p->depth], r->name) == 0;
}

static void copy_printable(char *out, size_t size, const char *text)
{
    size_t len = tr_utf8_cut(text, strlen(text), size - 1);

    memcpy(out, text, len);
    out[len] = '\0';
    for (char *c = out; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    }
}

void tr_s3_parse_problem(const char *xml, size_t len, struct tr_s3_problem *ret)
{
    struct reader r = {.at = xml, .end = xml + len};
    struct path p = {.depth = 0};

    *ret = (struct tr_s3_problem){.code = ""};
    for (;;) {
        enum token t = next(&r);

        if (t == TOKEN_END || t == TOKEN_BAD)
            return; /* what was understood so far is better than nothing: bodies are cut */
        if (t == TOKEN_TEXT && path_is(&p, "Error", "Code", NULL))
            copy_printable(ret->code, sizeof(ret->code), r.text);
        else if (t == TOKEN_TEXT && path_is(&p, "Error", "Message", NULL))
            copy_printable(ret->message, sizeof(ret->message), r.text);
        else if (t != TOKEN_TEXT && !follow(&p, &r, t))
            return;
    }
}

/* ---- lists ---- */

struct object {
    char key[TR_S3_XML_TEXT_MAX];
    uint64_t size;
};

static bool has_control(const char *s)
{
    for (; *s; s++) {
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return true;
    }
    return false;
}

static int take_text(const struct reader *r, const struct path *p, struct object *o,
                     struct tr_s3_list_end *end, struct tr_err *err)
{
    static const char list[] = "ListBucketResult";

    if (path_is(p, list, "Contents", "Key")) {
        if (has_control(r->text))
            return tr_fail(err, TR_E_PARSE, 0, "a list of objects with a control character");
        memcpy(o->key, r->text, strlen(r->text) + 1);
    } else if (path_is(p, list, "Contents", "Size")) {
        return tr_parse_u64(r->text, 0, INT64_MAX, &o->size, err);
    } else if (path_is(p, list, "IsTruncated", NULL)) {
        end->truncated = strcmp(r->text, "true") == 0;
    } else if (path_is(p, list, "NextContinuationToken", NULL)) {
        memcpy(end->next, r->text, strlen(r->text) + 1);
    }
    return 0;
}

int tr_s3_parse_list(const char *xml, size_t len,
                     int (*each)(void *arg, const char *key, uint64_t size, struct tr_err *err),
                     void *arg, struct tr_s3_list_end *ret, struct tr_err *err)
{
    struct reader r = {.at = xml, .end = xml + len};
    struct path p = {.depth = 0};
    struct tr_s3_list_end end = {.truncated = false};
    struct object o = {.size = 0};
    bool seen = false;

    for (;;) {
        enum token t = next(&r);
        int done = 0;

        if (t == TOKEN_END)
            break;
        if (t == TOKEN_BAD)
            return tr_fail(err, TR_E_PARSE, 0, "a list of objects that is not XML: %s", r.why);
        if (t == TOKEN_TEXT)
            done = take_text(&r, &p, &o, &end, err);
        else if (t == TOKEN_CLOSE && path_is(&p, "ListBucketResult", "Contents", NULL) && o.key[0])
            done = each(arg, o.key, o.size, err);
        if (done < 0)
            return done;
        if (t != TOKEN_TEXT && !follow(&p, &r, t))
            return tr_fail(err, TR_E_PARSE, 0, "a list of objects whose tags do not match");
        if (t == TOKEN_OPEN && path_is(&p, "ListBucketResult", "Contents", NULL))
            o = (struct object){.size = 0};
        seen = seen || (p.depth == 1 && strcmp(p.names[0], "ListBucketResult") == 0);
    }
    if (!seen || p.depth > 0)
        return tr_fail(err, TR_E_PARSE, 0, "expected a list of objects, found something else");
    *ret = end;
    return 0;
}
