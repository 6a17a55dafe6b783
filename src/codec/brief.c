/* SPDX-License-Identifier: MIT
 *
 * brief.c - see brief.h. Results come from judges: every number and word in them is checked.
 */
#include "codec/brief.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

char tr_strip_letter(const char *verdict)
{
    static const char *const words[] = {"AC", "WA", "TLE", "MLE", "OLE", "RTE", "CE", "JE", "SK"};

    for (size_t i = 0; verdict && i < TR_ARRAY_LEN(words); i++)
        if (strcmp(words[i], verdict) == 0)
            return words[i][0];
    return '.';
}

void tr_strip_cases(char strip[static TR_STRIP_MAX + 1], const json_t *cases)
{
    size_t i, len = strlen(strip);
    const json_t *c;

    json_array_foreach(cases, i, c)
    {
        json_int_t id = json_integer_value(json_object_get(c, "id"));

        if (id < 1 || id > TR_STRIP_MAX)
            continue;
        for (; len < (size_t)id; len++)
            strip[len] = '.';
        strip[len] = '\0';
        strip[id - 1] = tr_strip_letter(json_string_value(json_object_get(c, "status")));
    }
}

static int64_t number(const json_t *o, const char *name)
{
    json_int_t n = json_integer_value(json_object_get(o, name));

    return n > 0 ? n : 0;
}

void tr_result_brief(const json_t *result, char ret[static TR_BRIEF_MAX])
{
    const json_t *limits = json_object_get(result, "limits");
    char strip[TR_STRIP_MAX + 1] = "";

    *ret = '\0';
    if (!json_is_object(result))
        return;
    tr_strip_cases(strip, json_object_get(result, "cases"));
    int n =
        snprintf(ret, TR_BRIEF_MAX,
                 "{\"accepted_test\":%" PRId64 ",\"total_test\":%" PRId64
                 ",\"time_limit_ms\":%" PRId64 ",\"memory_limit_kb\":%" PRId64 ",\"strip\":\"%s\"}",
                 number(result, "accepted_test"), number(result, "total_test"),
                 number(limits, "time_ms"), number(limits, "memory_kb"), strip);
    if (n >= TR_BRIEF_MAX)
        *ret = '\0';
}

json_t *tr_result_slim(json_t *result)
{
    static const char *const large[] = {"cases", "groups", "run"};
    json_t *slim = json_copy(result);
    char strip[TR_STRIP_MAX + 1] = "";

    if (!slim)
        return NULL;
    tr_strip_cases(strip, json_object_get(result, "cases"));
    if (*strip)
        (void)json_object_set_new(slim, "strip", json_string(strip));
    for (size_t i = 0; i < TR_ARRAY_LEN(large); i++)
        (void)json_object_del(slim, large[i]);
    json_t *compile = json_copy(json_object_get(slim, "compile"));
    if (compile) {
        (void)json_object_del(compile, "log");
        (void)json_object_set_new(slim, "compile", compile);
    }
    return slim;
}
