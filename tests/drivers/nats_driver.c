/* SPDX-License-Identifier: MIT
 *
 * nats_driver.c - a connection as a worker keeps it, for tests/e2e/test_nats.py.
 *
 *     nats_driver SERVER [USER PASSWORD]
 *
 * Opens with `wait`, prints "open", then "up", "down", "error …", "closed" as they happen, and for
 * each line on standard input "yes" or "no": does JetStream answer? Ends with standard input.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "nats/api.h"
#include "nats/conn.h"

static void on_event(void *arg, enum tr_nats_event what, const char *text)
{
    static const char *const words[] = {"down", "up", "error", "closed"};

    (void)printf("%s %s\n", words[what], text);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    const struct tr_nats_conf conf = {.server = argc > 1 ? argv[1] : "",
                                      .user = argc > 3 ? argv[2] : NULL,
                                      .password = argc > 3 ? argv[3] : NULL,
                                      .timeout_us = 500000,
                                      .wait = true};
    const struct tr_nats_watch watch = {.event = on_event};
    struct tr_err err = TR_ERR_INIT;
    struct tr_nats *n = NULL;
    char line[16];

    if (tr_nats_open(&conf, &watch, &n, &err) < 0) {
        (void)printf("refused %s\n", err.msg);
        return 1;
    }
    (void)printf("open\n");
    (void)fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        json_t *info = NULL;

        (void)printf("%s\n", tr_js_ask(n, "INFO", NULL, &info, NULL, NULL) == 0 ? "yes" : "no");
        (void)fflush(stdout);
        json_decref(info);
    }
    tr_nats_close(n);
    return 0;
}
