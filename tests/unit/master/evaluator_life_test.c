/* The evaluator as the job dir shows it: when it has got on, and that a wait for one that dies again and again over its
 * data has an end (master/evaluator_life.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "master/evaluator_life.h"

#include <stdio.h>

enum { SECOND_US = 1000000 };

static read_state line_of(uint64_t moves)
{
    read_state s = {.moves = moves};
    snprintf(s.text, sizeof s.text, "indexing: %llu", (unsigned long long)moves);
    return s;
}

/* A second later it shows its sign again, and that it has read so far. */
static void look(evaluator_life *e, uint64_t moves, int64_t *now_us)
{
    read_state line = line_of(moves);
    *now_us += SECOND_US;
    evaluator_life_look(e, e->trace + 1, &line, *now_us);
}

static void it_gets_on_as_far_as_it_has_read(void **state)
{
    (void)state;
    evaluator_life e = {.trace = 0};
    int64_t now_us = SECOND_US;
    look(&e, 0, &now_us);
    assert_true(e.reads && e.moved_us == now_us); /* it has come */
    look(&e, 5, &now_us);
    assert_true(e.moved_us == now_us);
    look(&e, 5, &now_us);
    assert_true(e.moved_us == now_us - SECOND_US);
    look(&e, 6, &now_us);
    assert_true(e.moved_us == now_us);
    now_us += SECOND_US;
    evaluator_life_look(&e, e.trace + 1, NULL, now_us);
    assert_false(e.reads || e.says);
    assert_true(e.moved_us == now_us - SECOND_US);
}

static void a_wait_for_one_that_dies_again_and_again_ends(void **state)
{
    (void)state;
    evaluator_life e = {.trace = 0};
    int64_t now_us = SECOND_US, moved_us = 0;
    for (int life = 0; life < 20; life++) {
        for (uint64_t moves = 0; moves < 10; moves++)
            look(&e, moves, &now_us);
        if (life < EVALUATOR_READINGS)
            moved_us = now_us;
        assert_true(e.moved_us == moved_us);
    }
    look(&e, 10, &now_us); /* farther than any before */
    assert_true(e.moved_us == now_us);
    evaluator_life_rest(&e); /* another wait begins */
    look(&e, 0, &now_us);
    assert_true(e.moved_us == now_us);
}

static void the_line_of_one_that_is_gone_says_no_more_that_it_reads(void **state)
{
    (void)state;
    evaluator_life e = {.trace = 0};
    int64_t now_us = SECOND_US;
    look(&e, 7, &now_us);
    int64_t last_us = now_us;
    read_state line = line_of(7);
    evaluator_life_look(&e, e.trace, &line, last_us + EVALUATOR_SILENT_US - 1);
    assert_true(e.reads);
    evaluator_life_look(&e, e.trace, &line, last_us + EVALUATOR_SILENT_US);
    assert_false(e.reads);
    assert_true(e.says && e.seen_us == last_us && e.moved_us == last_us);
    evaluator_life_look(&e, e.trace + 1, &line, last_us + 2 * EVALUATOR_SILENT_US);
    assert_true(e.reads && e.moved_us == last_us);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_gets_on_as_far_as_it_has_read),
        cmocka_unit_test(a_wait_for_one_that_dies_again_and_again_ends),
        cmocka_unit_test(the_line_of_one_that_is_gone_says_no_more_that_it_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
