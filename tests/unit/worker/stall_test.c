/* For whom a lane stood still, by what the part that it waited for says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "worker/stall.h"

static stall of_taken(int64_t before_us, int64_t from_us, int64_t to_us, kv_times t, kv_taking last)
{
    stall s = {0};
    const stall_wait wait = {before_us, from_us, from_us, to_us};
    stall_add(&s, &wait, &t, &last);
    assert_int_equal(s.lanes_us + s.servers_us + s.wire_us, before_us + to_us - from_us);
    return s;
}

static stall of(int64_t before_us, int64_t from_us, int64_t to_us, kv_times t)
{
    return of_taken(before_us, from_us, to_us, t, (kv_taking){0});
}

static void expect(stall s, int64_t lanes, int64_t servers, int64_t wire)
{
    assert_int_equal(s.lanes_us, lanes);
    assert_int_equal(s.servers_us, servers);
    assert_int_equal(s.wire_us, wire);
}

/* Asked for at 100, there at 1100: 600 for lanes, 300 for the server, 100 on its way. */
static const kv_times times = {.asked_us = 100, .lanes_us = 600, .server_us = 300};

static void what_came_last_counts_first(void **state)
{
    (void)state;
    expect(of(0, 1050, 1100, times), 0, 0, 50);
    expect(of(0, 900, 1100, times), 0, 100, 100);
    expect(of(0, 400, 1100, times), 300, 300, 100);
    expect(of(0, 100, 1100, times), 600, 300, 100);
}

/* Before it was asked for, other lanes of the worker read the version before. */
static void before_it_was_asked_for(void **state)
{
    (void)state;
    expect(of(0, 40, 1100, times), 660, 300, 100);
}

/* Gradients that are not taken are part of one wait with the part that comes after; what is longer than the part took
 * is the servers' and the wire's, as they had of the part. */
static void gradients_that_were_not_taken(void **state)
{
    (void)state;
    expect(of(500, 1100, 1100, times), 100, 300, 100);
    expect(of(1400, 1100, 1100, times), 600, 600, 200);
}

/* The part was there at 1100; it was as with the gradient that was taken last from then on. */
static void gradients_that_are_taken_after_the_part_came(void **state)
{
    (void)state;
    kv_times came = times;
    came.came_us = 1100;
    expect(of_taken(800, 1900, 1900, came, (kv_taking){.took_us = 1600, .server_us = 1200}), 0, 600, 200);
    expect(of_taken(800, 1900, 1900, came, (kv_taking){.took_us = 1600, .server_us = 99999}), 0, 800, 0);
    expect(of_taken(800, 1900, 1900, came, (kv_taking){.took_us = 1600}), 0, 0, 800);
    /* of it 200 before the part came: 100 for the way and 100 for the server */
    expect(of_taken(1000, 1900, 1900, came, (kv_taking){.took_us = 1600, .server_us = 1200}), 0, 700, 300);
    /* the part came last, and the lane took a moment to begin */
    expect(of_taken(0, 900, 1110, came, (kv_taking){.took_us = 1600, .server_us = 1200}), 0, 100, 110);
}

/* Taken at 1100 after 1000, as the part came; examples were loaded until 3100: that is nobody's. */
static void what_the_lane_does_between_is_no_wait(void **state)
{
    (void)state;
    stall s = {0};
    kv_times came = times;
    came.came_us = 1100;
    const kv_taking last = {.took_us = 1600, .server_us = 0};
    const stall_wait wait = {.before_us = 1000, .taken_us = 1100, .from_us = 3100, .to_us = 3100};
    stall_add(&s, &wait, &came, &last);
    expect(s, 600, 300, 100);
}

/* A server tells at most how long it took; more than all of the time is not there. */
static void more_than_there_was(void **state)
{
    (void)state;
    expect(of(0, 100, 300, (kv_times){.asked_us = 100, .lanes_us = 50, .server_us = 4000}), 50, 150, 0);
    expect(of(0, 100, 300, (kv_times){.asked_us = 100, .lanes_us = 5000, .server_us = 4000}), 200, 0, 0);
    expect(of(70, 100, 300, (kv_times){.asked_us = 300, .lanes_us = 9, .server_us = 9}), 200, 0, 70);
    expect(of(10, 100, 300, (kv_times){0}), 0, 0, 210);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_came_last_counts_first),
        cmocka_unit_test(before_it_was_asked_for),
        cmocka_unit_test(gradients_that_were_not_taken),
        cmocka_unit_test(gradients_that_are_taken_after_the_part_came),
        cmocka_unit_test(what_the_lane_does_between_is_no_wait),
        cmocka_unit_test(more_than_there_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
