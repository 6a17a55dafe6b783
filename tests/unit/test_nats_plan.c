/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "nats/plan.h"
#include "unit.h"

struct fixture {
    struct tr_plan_item plan[TR_PLAN_ITEMS];
};

static int make(void **state)
{
    static struct fixture f;
    const struct tr_plan_conf conf = {.replicas = 3, .more_replicas_ok = true, .farm_slots = 50};

    *state = &f;
    return tr_plan_make(&conf, f.plan, NULL);
}

static int drop(void **state)
{
    tr_plan_done(((struct fixture *)*state)->plan);
    return 0;
}

static const struct tr_plan_item *find(struct fixture *f, const char *name)
{
    for (size_t i = 0; i < TR_PLAN_ITEMS; i++) {
        if (strcmp(tr_plan_name(&f->plan[i]), name) == 0)
            return &f->plan[i];
    }
    fail_msg("no %s in the plan", name);
    return NULL;
}

static void what_was_created_is_as_planned(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < TR_PLAN_ITEMS; i++) {
        json_t *made = tr_plan_merge(&f->plan[i], NULL);

        ROW(tr_plan_name(&f->plan[i]));
        assert_non_null(made);
        assert_null(json_object_get(made, "backoff"));
        assert_int_equal(tr_plan_compare(&f->plan[i], made, NULL, NULL), 0);
        json_decref(made);
    }
}

static void max_ack_pending_is_four_for_each_slot_of_the_farm(void **state)
{
    const struct tr_plan_item *light = find(*state, "judge-light");

    assert_int_equal(json_integer_value(json_object_get(light->config, "max_ack_pending")), 200);
}

struct seen {
    char text[512];
};

static void note(void *arg, const struct tr_plan_diff *d)
{
    struct seen *s = arg;
    size_t used = strlen(s->text);

    (void)snprintf(s->text + used, sizeof(s->text) - used, "%s: %s; ", d->field, d->cost);
}

static void differences_name_the_field_and_the_cost_of_its_direction(void **state)
{
    static const struct {
        const char *name;
        const char *change; /* laid over what is planned */
        const char *want;
    } rows[] = {
        {"JUDGE_TASKS", "{}", ""},
        {"JUDGE_TASKS", "{\"max_age\": 1}", "max_age: tasks that wait vanish earlier; "},
        {"JUDGE_TASKS", "{\"max_age\": 0}", "max_age: tasks of long ago are still judged; "},
        {"JUDGE_TASKS", "{\"max_bytes\": -1}",
         "max_bytes: a farm that is down fills the disk further; "},
        {"JUDGE_TASKS", "{\"retention\": \"limits\"}",
         "retention: judged tasks stay, are delivered to new consumers again and fill the "
         "stream; "},
        {"JUDGE_TASKS", "{\"num_replicas\": 1}",
         "num_replicas: the loss of one machine stops judging and can lose what it held; "},
        {"JUDGE_TASKS", "{\"num_replicas\": 5}", ""},
        {"JUDGE_TASKS", "{\"description\": \"x\", \"metadata\": {\"a\": \"b\"}}", ""},
        {"JUDGE_TASKS", "{\"no_ack\": true}",
         "no_ack: publishers never learn whether a message was stored; "},
        {"JUDGE_EVENTS", "{\"max_msgs\": 0}", ""},
        {"JUDGE_EVENTS", "{\"max_msgs\": null}", ""},
        {"judge-light", "{\"ack_wait\": 5000000000}",
         "ack_wait: a slow task is delivered a second time while it runs; "},
        {"judge-light", "{\"backoff\": []}", ""},
        {"judge-light", "{\"pause_until\": \"2030-01-01T00:00:00Z\"}",
         "pause_until: nothing is delivered till then; "},
        {"judge-light", "{\"filter_subject\": \"judge.tasks.*\"}",
         "filter_subject: other tasks than light ones arrive; "},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        const struct tr_plan_item *item = find(*state, rows[i].name);
        json_t *live = tr_plan_merge(item, NULL);
        json_t *change = json_loads(rows[i].change, 0, NULL);
        struct seen seen = {""};

        ROW(rows[i].change);
        assert_int_equal(json_object_update(live, change), 0);
        (void)tr_plan_compare(item, live, note, &seen);
        assert_string_equal(seen.text, rows[i].want);
        json_decref(change);
        json_decref(live);
    }
}

static void an_update_keeps_what_the_plan_does_not_speak_of(void **state)
{
    const struct tr_plan_item *heavy = find(*state, "judge-heavy");
    json_t *live = tr_plan_merge(heavy, NULL);

    (void)json_object_set_new(live, "backoff", json_pack("[i]", 1));
    (void)json_object_set_new(live, "ack_wait", json_integer(1));
    (void)json_object_set_new(live, "sample_freq", json_string("100"));
    json_t *update = tr_plan_merge(heavy, live);
    assert_null(json_object_get(update, "backoff"));
    assert_string_equal(json_string_value(json_object_get(update, "sample_freq")), "100");
    assert_true(json_integer_value(json_object_get(update, "ack_wait")) ==
                120 * INT64_C(1000000000));
    json_decref(update);
    json_decref(live);
}

int main(void)
{
#define WITH(t) cmocka_unit_test_setup_teardown(t, make, drop)
    const struct CMUnitTest tests[] = {
        WITH(what_was_created_is_as_planned),
        WITH(max_ack_pending_is_four_for_each_slot_of_the_farm),
        WITH(differences_name_the_field_and_the_cost_of_its_direction),
        WITH(an_update_keeps_what_the_plan_does_not_speak_of),
    };
    return RUN(tests);
}
