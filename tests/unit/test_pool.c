/* SPDX-License-Identifier: MIT
 *
 * The pool with real slot processes: this program itself, with the argument "slot".
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "pool/frame.h"
#include "pool/pool.h"
#include "pool/setup.h"
#include "pool/slot.h"
#include "unit.h"

static const char task[] = "{\"submit_id\":\"s1\",\"problem\":{\"id\":1},\"language\":{\"slug\":"
                           "\"c17\"},\"code\":\"int main(){}\"}";

struct seen {
    struct tr_loop *loop;
    struct tr_pool *pool;
    uv_timer_t limit;
    int results, faults, deaths, finals, broken, rooms;
    int want; /* results, faults and deaths together */
    bool want_room, want_broken;
    char how[128];
    char verdict[8];
};

static void check_end(struct seen *s)
{
    if ((s->want && s->results + s->faults + s->deaths >= s->want) || (s->want_room && s->rooms) ||
        (s->want_broken && s->broken))
        tr_loop_stop(s->loop);
}

static void on_result(void *arg, void *user, const struct tr_pool_result *r)
{
    struct seen *s = arg;

    s->results++;
    (void)snprintf(s->verdict, sizeof(s->verdict), "%s", r->verdict);
    assert_true(r->json_len > 0 && r->json[0] == '{' && r->json[r->json_len - 1] == '}');
    check_end(s);
}

static void on_fault(void *arg, void *user, const char *why, bool final)
{
    struct seen *s = arg;

    s->faults++;
    s->finals += final;
    (void)snprintf(s->how, sizeof(s->how), "%s", why);
    check_end(s);
}

static void on_died(void *arg, void *user, const char *how)
{
    struct seen *s = arg;

    s->deaths++;
    (void)snprintf(s->how, sizeof(s->how), "%s", how);
    check_end(s);
}

static void on_room(void *arg)
{
    struct seen *s = arg;

    s->rooms++;
    check_end(s);
}

static void on_broken(void *arg, const char *why)
{
    struct seen *s = arg;

    s->broken++;
    (void)snprintf(s->how, sizeof(s->how), "%s", why);
    check_end(s);
}

static void too_late(uv_timer_t *t)
{
    fail_msg("not within ten seconds");
}

static void begin(struct seen *s, size_t slots, const struct tr_slot_setup *setup)
{
    struct tr_err err = TR_ERR_INIT;
    char *text = tr_slot_setup_write(setup);

    *s = (struct seen){0};
    assert_int_equal(tr_loop_new(&s->loop, &err), 0);
    (void)uv_timer_init(tr_loop_uv(s->loop), &s->limit);
    (void)uv_timer_start(&s->limit, too_late, 10000, 0);
    struct tr_pool_conf conf = {
        .loop = s->loop,
        .slots = slots,
        .program = "/proc/self/exe",
        .arg = "slot",
        .setup = text,
        .events = {s, NULL, on_result, on_fault, on_died, on_room, on_broken},
    };
    assert_int_equal(tr_pool_open(&conf, &s->pool, &err), 0);
    free(text);
}

static void wait_free(struct seen *s, size_t n)
{
    s->want_room = true;
    while (tr_pool_free(s->pool) < n) {
        s->rooms = 0;
        tr_loop_run(s->loop);
    }
    s->want_room = false;
}

static void end(struct seen *s)
{
    tr_pool_close(s->pool);
    tr_loop_free(s->loop);
}

static const struct tr_slot_setup noop = {.noop = true};

static void every_task_is_answered_once(void **state)
{
    struct seen s;
    int users[2];

    begin(&s, 2, &noop);
    for (int round = 1; round <= 20; round++) {
        wait_free(&s, 2);
        for (int i = 0; i < 2; i++)
            assert_int_equal(tr_pool_give(s.pool, &users[i], task, strlen(task), NULL, NULL), 0);
        assert_int_equal(tr_pool_give(s.pool, s.loop, task, strlen(task), NULL, NULL), TR_E_BUSY);
        s.want = 2 * round;
        tr_loop_run(s.loop);
    }
    assert_int_equal(s.results, 40);
    assert_string_equal(s.verdict, "AC");
    assert_int_equal(s.faults + s.deaths, 0);
    end(&s);
}

static void what_is_no_task_is_a_final_fault(void **state)
{
    struct seen s;

    begin(&s, 1, &noop);
    wait_free(&s, 1);
    s.want = 1;
    assert_int_equal(tr_pool_give(s.pool, &s, "{}", 2, NULL, NULL), 0);
    tr_loop_run(s.loop);
    assert_int_equal(s.finals, 1);
    assert_non_null(strstr(s.how, "submit_id"));
    end(&s);
}

/* The slot of this test: says that it is ready, takes a task and dies of it. */
static int dying_slot(void)
{
    struct tr_buf in, out;
    struct tr_frame f;

    tr_buf_init(&in, TR_FRAME_MAX);
    tr_buf_init(&out, TR_FRAME_MAX);
    while (tr_frame_wait(TR_SLOT_FD, &in, &f, NULL) == 1) {
        if (f.type == TR_FRAME_TASK) {
            (void)signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would abort instead */
            (void)raise(SIGSEGV);
        }
        tr_frame_drop(&in, &f);
        tr_frame_add(&out, TR_FRAME_READY, "{}", 2, NULL, 0);
        (void)tr_frame_flush(TR_SLOT_FD, &out, NULL);
    }
    return 0;
}

static void a_slot_that_dies_names_its_signal_and_comes_back(void **state)
{
    struct seen s;

    (void)setenv("TEST_POOL_DIE", "1", 1);
    begin(&s, 1, &noop);
    for (int i = 1; i <= 3; i++) {
        wait_free(&s, 1);
        s.want = i;
        assert_int_equal(tr_pool_give(s.pool, &s, task, strlen(task), NULL, NULL), 0);
        tr_loop_run(s.loop);
        assert_int_equal(s.deaths, i);
        assert_non_null(strstr(s.how, "SIGSEGV"));
    }
    (void)unsetenv("TEST_POOL_DIE");
    end(&s);
}

static void a_killed_task_is_not_heard_of_again(void **state)
{
    struct seen s;
    int user;

    begin(&s, 1, &noop);
    wait_free(&s, 1);
    assert_int_equal(tr_pool_give(s.pool, &user, task, strlen(task), NULL, NULL), 0);
    tr_pool_kill(s.pool, &user);
    wait_free(&s, 1); /* the slot is back */
    assert_int_equal(s.results + s.faults + s.deaths, 0);
    end(&s);
}

static void a_slot_that_cannot_start_says_why_once(void **state)
{
    struct seen s;
    const struct tr_slot_setup bad = {.judge = {.languages = "/nonexistent/languages"}};

    begin(&s, 1, &bad);
    s.want_broken = true;
    tr_loop_run(s.loop);
    assert_non_null(strstr(s.how, "/nonexistent/languages"));
    assert_int_equal(tr_pool_free(s.pool), 0);
    end(&s);
}

static void a_setup_survives_the_way(void **state)
{
    const struct tr_judge_root roots[] = {{"img", "/srv/img"}};
    const struct tr_slot_setup s = {
        .judge = {.languages = "/l", .jobs = 3, .roots = roots, .nroots = 1, .no_pch = true},
        .s3 = {.endpoint = "http://h", .secret_key = "se\"cret"},
        .log_bytes = 7,
        .progress = true,
    };
    struct tr_slot_setup back;
    struct tr_arena arena;
    struct tr_err err = TR_ERR_INIT;
    char *text = tr_slot_setup_write(&s);

    tr_arena_init(&arena, 1 << 20);
    assert_int_equal(tr_slot_setup_read(text, strlen(text), &arena, &back, &err), 0);
    assert_string_equal(back.judge.languages, "/l");
    assert_int_equal(back.judge.jobs, 3);
    assert_string_equal(back.judge.roots[0].folder, "/srv/img");
    assert_string_equal(back.s3.secret_key, "se\"cret");
    assert_null(back.s3.token);
    assert_int_equal(back.log_bytes, 7);
    assert_true(back.progress && back.judge.no_pch && !back.noop);
    tr_arena_done(&arena);
    free(text);
}

static void half_a_frame_waits_and_nonsense_is_refused(void **state)
{
    struct tr_buf b;
    struct tr_frame f;

    tr_buf_init(&b, 1 << 20);
    tr_frame_add(&b, TR_FRAME_TASK, "{}\n", 3, "body", 4);
    for (size_t n = b.len - 1; n > 0; n--) {
        size_t whole = b.len;
        b.len = n;
        assert_int_equal(tr_frame_peek(&b, &f, NULL), 0);
        b.len = whole;
    }
    assert_int_equal(tr_frame_peek(&b, &f, NULL), 1);
    assert_int_equal(f.len, 7);
    tr_frame_drop(&b, &f);
    assert_int_equal(b.len, 0);
    tr_buf_add(&b, "\xff\xff\xff\xffT", 5);
    assert_int_equal(tr_frame_peek(&b, &f, NULL), TR_E_PARSE);
    tr_buf_done(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_is_answered_once),
        cmocka_unit_test(what_is_no_task_is_a_final_fault),
        cmocka_unit_test(a_slot_that_dies_names_its_signal_and_comes_back),
        cmocka_unit_test(a_killed_task_is_not_heard_of_again),
        cmocka_unit_test(a_slot_that_cannot_start_says_why_once),
        cmocka_unit_test(a_setup_survives_the_way),
        cmocka_unit_test(half_a_frame_waits_and_nonsense_is_refused),
    };

    if (argc > 1 && strcmp(argv[1], "slot") == 0)
        return getenv("TEST_POOL_DIE") ? dying_slot() : tr_slot_main(TR_SLOT_FD);
    return RUN(tests);
}
