/* SPDX-License-Identifier: MIT
 *
 * The table of states and moves (model/state.h).
 */
#include <string.h>

#include "model/state.h"
#include "unit.h"

static void names_go_both_ways(void **state)
{
    for (unsigned s = 0; s < TR_STATES; s++)
        assert_int_equal(tr_state_parse(tr_state_name((enum tr_state)s)), s);
    assert_int_equal(tr_state_parse("RUNNIN"), TR_STATES);
    assert_int_equal(tr_state_parse(""), TR_STATES);
}

static void sql_and_table_say_the_same(void **state)
{
    for (unsigned m = 0; m < TR_MOVES; m++) {
        for (unsigned s = 0; s < TR_STATES; s++) {
            char quoted[32];

            (void)snprintf(quoted, sizeof(quoted), "'%s'", tr_state_name((enum tr_state)s));
            assert_int_equal(strstr(tr_move_from_sql((enum tr_move)m), quoted) != NULL,
                             tr_move_allowed((enum tr_move)m, (enum tr_state)s));
        }
    }
}

static void a_verdict_is_final_but_for_a_rejudge(void **state)
{
    for (unsigned m = 0; m < TR_MOVES; m++)
        assert_int_equal(tr_move_allowed((enum tr_move)m, TR_FINISHED), m == TR_MOVE_REJUDGE);
}

static void only_a_running_one_can_end_with_a_verdict(void **state)
{
    for (unsigned s = 0; s < TR_STATES; s++)
        assert_int_equal(tr_move_allowed(TR_MOVE_FINISH, (enum tr_state)s), s == TR_RUNNING);
    assert_int_equal(tr_move_to(TR_MOVE_FINISH), TR_FINISHED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_go_both_ways),
        cmocka_unit_test(sql_and_table_say_the_same),
        cmocka_unit_test(a_verdict_is_final_but_for_a_rejudge),
        cmocka_unit_test(only_a_running_one_can_end_with_a_verdict),
    };

    return RUN(tests);
}
