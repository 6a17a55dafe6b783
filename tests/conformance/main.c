/* SPDX-License-Identifier: MIT
 *
 * main.c - every promise, or those that a pattern names: tq-conformance [--list | PATTERN].
 */
#include "conf.h"

static const struct promise *const tables[] = {
    enqueue_promises, claim_promises,    settle_promises, tx_promises,     lease_promises,
    unique_promises,  limit_promises,    admin_promises,  input_promises,  crash_promises,
    crowd_promises,   plan_promises,     schema_promises, blob_promises,   fused_promises,
    wake_promises,    periodic_promises, worker_promises, metrics_promises};

int main(int argc, char **argv)
{
    enum {
        TESTS_MAX = 400
    };
    static struct CMUnitTest tests[TESTS_MAX];
    size_t n = 0;

    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
        for (const struct promise *p = tables[t]; p->name && n < TESTS_MAX; p++)
            tests[n++] = (struct CMUnitTest){.name = p->name,
                                             .test_func = p->check,
                                             .setup_func = suite_setup,
                                             .teardown_func = suite_teardown};
    if (argc > 1 && !strcmp(argv[1], "--list")) {
        for (size_t i = 0; i < n; i++)
            (void)printf("%s\n", tests[i].name);
        return 0;
    }
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests("queue", tests, n, NULL, suite_end);
}
