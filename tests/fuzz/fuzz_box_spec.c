/* SPDX-License-Identifier: MIT
 *
 * Property: the privileged reader of a spec refuses or accepts without touching a byte outside the
 * message; what it accepts has limits in range, a program, closed argument lists inside the
 * message, and says the same when written and read again.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "box/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct box_run first;
static struct box_run second;
static union box_wire_any again;

static int inside(const union box_wire_any *msg, size_t len, const char *s)
{
    return s >= msg->bytes && s < msg->bytes + len && memchr(s, 0, (size_t)(msg->bytes + len - s));
}

static void same_strings(char **a, char **b)
{
    for (; *a && *b; a++, b++)
        assert(strcmp(*a, *b) == 0);
    assert(!*a && !*b);
}

/* Written again with the same environment; the defaults are added where it lacks them, so only the
 * arguments must be equal. */
static void round_trip(struct box_run *run)
{
    struct tbox_spec s = {
        .size = sizeof(s), .cpu = run->cpu, .flags = run->flags, .limits = run->limits};

    memcpy(&s.argv, &(char **){run->argv}, sizeof(s.argv));
    int64_t len = box_spec_write(&s, &again, NULL);
    if (len < 0)
        return; /* no room for the default environment */
    assert(box_spec_read(&again, (size_t)len, &second, NULL) == 0);
    assert(second.argc == run->argc && second.cpu == run->cpu && second.flags == run->flags);
    same_strings(run->argv, second.argv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *name = NULL;
    struct tr_err err = TR_ERR_INIT;

    if (size > sizeof(union box_wire_any))
        return 0;
    /* Exactly as large as the message, so that a sanitizer sees the first byte too far. */
    union box_wire_any *msg = malloc(size < 1 ? 1 : size);
    assert(msg);
    if (size)
        memcpy(msg->bytes, data, size);
    if (box_spec_read(msg, size, &first, &err) == 0) {
        assert(tbox_limits_check(&first.limits, NULL) == 0);
        assert(first.argc >= 1 && first.argv[first.argc] == NULL && *first.argv[0]);
        for (uint32_t i = 0; i < first.argc; i++)
            assert(inside(msg, size, first.argv[i]));
        uint32_t n = 0;
        for (char **e = first.env; *e; e++, n++)
            assert(inside(msg, size, *e));
        assert(n == first.envc);
        round_trip(&first);
    } else {
        assert(err.code < 0 && err.msg[0]);
    }
    if (box_name_read(msg, size, BOX_PUT, &name, NULL) == 0 ||
        box_name_read(msg, size, BOX_GET, &name, NULL) == 0)
        assert(*name && !strchr(name, '/') && strcmp(name, "..") != 0);
    free(msg);
    return 0;
}
