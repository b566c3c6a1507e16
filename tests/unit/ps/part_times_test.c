/* How long a pull waited, and for what, as a server tells it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ps/part_times.h"

static void expect(const server_times *t, int64_t arrived, int64_t unread, int64_t lanes, int64_t server)
{
    pull_time got = part_times_pull(t, 0, arrived, unread);
    assert_int_equal(got.lanes_us, lanes);
    assert_int_equal(got.server_us, server);
}

/* The last gradient comes at 1000, the update takes until 1300. */
static void until_the_sum_and_the_update(void **state)
{
    (void)state;
    part_time part = {0};
    server_times t = {.parts = &part};
    part_times_rest(&t, 900, 1000);
    part_times_push(&t, 0, 1000);
    part_times_summed(&t, 0, 1000);
    part_times_visible(&t, 0, 1300);
    expect(&t, 400, 0, 600, 300);
    expect(&t, 1200, 50, 0, 150);
    expect(&t, 2000, 0, 0, 0);
}

/* A gradient that was long on its way is late by that, and not by its lane; so is one that lay unread here. */
static void gradients_that_come_late(void **state)
{
    (void)state;
    part_time part = {0};
    server_times t = {.parts = &part};
    part_times_rest(&t, 700, 900);
    part_times_push(&t, 350, 1000);
    part_times_summed(&t, 0, 1000);
    part_times_visible(&t, 0, 1000);
    expect(&t, 400, 0, 600 - 100 - 350, 100);
    expect(&t, 800, 0, 0, 100);
    expect(&t, 950, 0, 0, 50);
}

/* A wait of no length is none: what comes then may have lain here since the one before. */
static void a_server_without_a_pause(void **state)
{
    (void)state;
    server_times t = {0};
    assert_int_equal(part_times_unread(&t, 500), 0);
    part_times_rest(&t, 100, 600);
    part_times_rest(&t, 700, 703);
    part_times_rest(&t, 800, 804);
    assert_int_equal(part_times_unread(&t, 900), 300);
    part_times_rest(&t, 900, 1000);
    assert_int_equal(part_times_unread(&t, 1000), 0);
}

/* With a vote all parts move once it is heard, whenever their own sums were there. */
static void after_a_vote(void **state)
{
    (void)state;
    part_time parts[2] = {{0}};
    server_times t = {.votes = true, .parts = parts};
    part_times_push(&t, 0, 1000);
    part_times_summed(&t, 0, 1000);
    part_times_push(&t, 30, 1500);
    part_times_summed(&t, 1, 1500);
    part_times_verdict(&t, 1600);
    part_times_visible(&t, 0, 1650);
    part_times_visible(&t, 1, 1700);
    expect(&t, 1100, 0, 470, 50);
}

static void what_a_head_can_say(void **state)
{
    (void)state;
    assert_int_equal(part_times_head(-5), 0);
    assert_int_equal(part_times_head(7), 7);
    assert_int_equal(part_times_head(INT64_MAX), UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(until_the_sum_and_the_update), cmocka_unit_test(gradients_that_come_late),
        cmocka_unit_test(a_server_without_a_pause),     cmocka_unit_test(after_a_vote),
        cmocka_unit_test(what_a_head_can_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
