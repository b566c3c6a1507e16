/* Members: one entry a task, one incarnation a life, one fingerprint for all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "master/lanes/members.h"

#include <stdlib.h>
#include <string.h>

typedef struct caller {
    uint32_t index, lanes;
    uint64_t life;
    bool trainer;
    unsigned char peer;      /* its address, and the number of its connection */
    const char *fingerprint; /* NULL: "here" */
} caller;

static status say(members *m, caller c, int64_t now, member **ret, bool *changed, error *err)
{
    Wire__Hello hello = WIRE__HELLO__INIT;
    hello.index = c.index;
    hello.lanes = c.lanes;
    hello.life = c.life;
    hello.trainer = c.trainer;
    hello.host = (char *)(uintptr_t) "box";
    hello.fingerprint = (char *)(uintptr_t)(c.fingerprint ? c.fingerprint : "here");
    net_message message = {.from = {.size = 1, .id = {c.peer}}, .connection = c.peer};
    return members_hello(m, &hello, &message, now, ret, changed, err);
}

static member *come(members *m, caller c, bool expect_change)
{
    member *one = NULL;
    bool changed = !expect_change;
    assert_int_equal(say(m, c, 0, &one, &changed, NULL), OK);
    assert_int_equal(changed, expect_change);
    return one;
}

static void lives_are_counted(void **state)
{
    (void)state;
    members m = {.at = NULL};
    char name[TASK_NAME];
    member *one = come(&m, (caller){.index = 3, .lanes = 2, .life = 10, .peer = 1}, true);
    assert_int_equal(one->incarnation, 1);
    assert_string_equal(member_name(one, name), "worker.3");
    assert_string_equal(one->host, "box");

    /* the same life on another connection */
    one = come(&m, (caller){.index = 3, .lanes = 2, .life = 10, .peer = 2}, false);
    assert_int_equal(one->incarnation, 1);
    assert_int_equal(one->connection, 2);

    /* a new life of it */
    one = come(&m, (caller){.index = 3, .lanes = 4, .life = 11, .peer = 3}, true);
    assert_int_equal(one->incarnation, 2);
    assert_int_equal(m.n, 1);
    assert_int_equal(members_lanes(&m), 4);

    /* declared lost, and there again */
    one->alive = false;
    assert_int_equal(members_alive(&m), 0);
    one = come(&m, (caller){.index = 3, .lanes = 4, .life = 11, .peer = 3}, true);
    assert_int_equal(one->incarnation, 2);
    assert_int_equal(members_alive(&m), 1);
    members_fini(&m);
}

static status check(members *m, caller c, int64_t now, bool *waits, error *err)
{
    Wire__Hello hello = WIRE__HELLO__INIT;
    hello.index = c.index;
    hello.life = c.life;
    hello.host = (char *)(uintptr_t) "other";
    hello.pid = 77;
    net_message message = {.from = {.size = 1, .id = {c.peer}}, .connection = c.peer};
    return members_check_rival(m, &hello, &message, now, 100, waits, err);
}

static void of_two_lives_the_first_stays(void **state)
{
    (void)state;
    members m = {.at = NULL};
    bool waits = true;
    error err = ERROR_INIT;
    caller first = {.index = 3, .lanes = 1, .life = 10, .peer = 1}, second = first;
    second.life = 11;
    second.peer = 2;
    assert_int_equal(check(&m, first, 0, &waits, &err), OK);
    assert_false(waits);
    member *one = come(&m, first, true);
    one->pid = 66;

    /* itself again, on this connection and on another one */
    assert_int_equal(check(&m, first, 10, &waits, &err), OK);
    assert_false(waits);
    first.peer = 9;
    assert_int_equal(check(&m, first, 10, &waits, &err), OK);
    assert_false(waits);

    /* both are heard */
    for (int64_t now = 20; now < 120; now += 20) {
        one->heard_us = now;
        assert_int_equal(check(&m, second, now, &waits, &err), OK);
        assert_true(waits);
    }
    one->heard_us = 110;
    assert_int_equal(check(&m, second, 120, &waits, &err), E_CONFIG);
    assert_string_equal(err.text,
                        "worker on host other (process 77) says that it is worker.3, which is at work "
                        "on host box (process 66): give each task an index of its own");

    /* the first is silent, or its connection is gone */
    assert_int_equal(check(&m, second, 210, &waits, NULL), OK);
    assert_false(waits);
    one->heard_us = 210;
    one->suspect = true;
    assert_int_equal(check(&m, second, 210, &waits, NULL), OK);
    assert_false(waits);
    members_fini(&m);
}

static void they_are_found(void **state)
{
    (void)state;
    members m = {.at = NULL};
    for (uint32_t i = 0; i < 20; i++)
        come(&m, (caller){.index = i, .lanes = 1, .life = i + 1, .peer = (unsigned char)(40 + i)},
             true);
    net_peer there = {.size = 1, .id = {47}}, nobody = {.size = 1, .id = {7}};
    assert_int_equal(members_by_peer(&m, &there)->index, 7);
    assert_null(members_by_peer(&m, &nobody));
    assert_int_equal(members_by_connection(&m, 59)->index, 19);
    assert_null(members_by_connection(&m, 60));
    assert_null(members_by_connection(&m, -1));
    members_fini(&m);
}

static void lanes_are_listed_in_order(void **state)
{
    (void)state;
    members m = {.at = NULL};
    come(&m, (caller){.index = 2, .lanes = 2, .life = 1, .peer = 1}, true);
    come(&m, (caller){.index = 1, .lanes = 3, .life = 2, .peer = 2}, true)->alive = false;
    come(&m, (caller){.index = 0, .lanes = 1, .life = 3, .peer = 3}, true);
    member *trainer =
        come(&m, (caller){.index = 0, .lanes = 2, .life = 4, .trainer = true, .peer = 4}, true);
    char name[TASK_NAME];
    assert_string_equal(member_name(trainer, name), "master.0");
    static const view_lane expected[] = {
        {true, 0, 0}, {true, 0, 1}, {false, 0, 0}, {false, 2, 0}, {false, 2, 1}};
    size_t n = 0;
    hedge_lane *lanes = members_lane_list(&m, &n);
    assert_int_equal(n, 5);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(lanes[i].lane.trainer, expected[i].trainer);
        assert_int_equal(lanes[i].lane.worker, expected[i].worker);
        assert_int_equal(lanes[i].lane.lane, expected[i].lane);
    }
    assert_int_equal(members_alive(&m), 3);
    assert_int_equal(members_lanes(&m), 5);
    free(lanes);
    members_fini(&m);
}

static size_t lanes_of(const members *m)
{
    size_t n = 0;
    free(members_lane_list(m, &n));
    return n;
}

static void who_comes_late_gets_slots_once_whole(void **state)
{
    (void)state;
    members m = {.at = NULL};
    /* nobody is whole: all get slots */
    come(&m, (caller){.index = 0, .lanes = 1, .life = 1, .peer = 1}, true);
    come(&m, (caller){.index = 1, .lanes = 2, .life = 2, .peer = 2}, true);
    assert_int_equal(lanes_of(&m), 3);
    members_all_whole(&m);
    come(&m, (caller){.index = 7, .lanes = 4, .life = 3, .peer = 3}, true);
    assert_int_equal(lanes_of(&m), 3);
    members_by_connection(&m, 3)->whole = true;
    assert_int_equal(lanes_of(&m), 7);
    /* a new life of one holds nothing */
    come(&m, (caller){.index = 7, .lanes = 4, .life = 4, .peer = 4}, true);
    assert_int_equal(lanes_of(&m), 3);
    /* the others die */
    members_by_connection(&m, 1)->alive = members_by_connection(&m, 2)->alive = false;
    assert_int_equal(lanes_of(&m), 4);
    members_fini(&m);
}

static void a_new_connection_lifts_suspicion(void **state)
{
    (void)state;
    members m = {.at = NULL};
    member *one = come(&m, (caller){.index = 0, .lanes = 1, .life = 1, .peer = 1}, true);
    one->suspect = true;
    size_t n = 0;
    hedge_lane *lanes = members_lane_list(&m, &n);
    assert_int_equal(n, 1);
    assert_true(lanes[0].suspect);
    free(lanes);
    assert_false(come(&m, (caller){.index = 0, .lanes = 1, .life = 1, .peer = 2}, false)->suspect);
    members_fini(&m);
}

static void other_bits_are_refused(void **state)
{
    (void)state;
    members m = {.at = NULL};
    come(&m, (caller){.index = 0, .lanes = 1, .life = 1, .peer = 1, .fingerprint = "avx512"}, true);
    member *one = NULL;
    bool changed = false;
    error err = ERROR_INIT;
    caller other = {.index = 1, .lanes = 1, .life = 2, .peer = 2, .fingerprint = "avx2"};
    assert_int_equal(say(&m, other, 0, &one, &changed, &err), E_CONFIG);
    assert_string_equal(err.text,
                        "worker.1 on host box computes other bits: 'avx2' there, 'avx512' on the "
                        "first worker; use one build, one processor type and one trainer.threads");
    assert_int_equal(members_alive(&m), 1);
    members_fini(&m);
}

static void lanes_out_of_range_are_refused(void **state)
{
    (void)state;
    static const uint32_t wrong[] = {0, 4097, UINT32_MAX};
    members m = {.at = NULL};
    for (int i = 0; i < 3; i++) {
        member *one = NULL;
        bool changed = false;
        error err = ERROR_INIT;
        caller c = {.index = 5, .lanes = wrong[i], .life = 1, .peer = 1};
        assert_int_equal(say(&m, c, 0, &one, &changed, &err), E_PROTOCOL);
        assert_non_null(strstr(err.text, "worker.5 has "));
    }
    assert_int_equal(m.n, 0);
    members_fini(&m);
}

/* Made-up workers, each in good order. */
static void their_number_is_bounded(void **state)
{
    (void)state;
    members m = {.at = NULL};
    member *one = NULL;
    bool changed = false;
    error err = ERROR_INIT;
    for (uint32_t i = 0; i < MEMBERS_MAX; i++)
        come(&m, (caller){.index = i, .lanes = 1, .life = i + 1, .peer = 1}, true);
    caller more = {.index = MEMBERS_MAX, .lanes = 1, .life = 1, .peer = 2};
    assert_int_equal(say(&m, more, 0, &one, &changed, &err), E_PROTOCOL);
    assert_string_equal(err.text, "worker.4096: 4096 workers have come, more are not taken");
    come(&m, (caller){.index = 7, .lanes = 2, .life = 8, .peer = 3}, false);
    members_fini(&m);
}

static void their_lanes_are_bounded(void **state)
{
    (void)state;
    members m = {.at = NULL};
    member *one = NULL;
    bool changed = false;
    error err = ERROR_INIT;
    for (uint32_t i = 0; i < MEMBERS_LANES_MAX / 4096; i++)
        come(&m, (caller){.index = i, .lanes = 4096, .life = i + 1, .peer = 1}, true);
    caller more = {.index = 16, .lanes = 1, .life = 1, .peer = 2};
    assert_int_equal(say(&m, more, 0, &one, &changed, &err), E_PROTOCOL);
    assert_string_equal(err.text, "worker.16 has 1 lanes, the others 65536: more than 65536 are not "
                                  "taken");
    m.at[3].alive = false;
    come(&m, more, true);
    assert_int_equal(members_lanes(&m), MEMBERS_LANES_MAX - 4095);
    members_fini(&m);
}

static void all_who_came_are_counted_once(void **state)
{
    (void)state;
    members m = {.at = NULL};
    come(&m, (caller){.index = 0, .lanes = 1, .life = 10, .peer = 1}, true);
    for (int connection = 5; connection < 7; connection++) /* each comes by a second one */
        for (uint32_t index = 0; index < 3; index++)
            members_met(&m, false, index, 10 * connection + (int)index);
    members_met(&m, true, 0, 70);
    assert_int_equal(members_came(&m), 4);
    assert_true(members_have_guests(&m));
    for (int connection = 50; connection <= 70; connection++)
        members_lost(&m, connection);
    assert_false(members_have_guests(&m));
    assert_int_equal(members_came(&m), 4);
    members_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lives_are_counted),
        cmocka_unit_test(of_two_lives_the_first_stays),
        cmocka_unit_test(they_are_found),
        cmocka_unit_test(lanes_are_listed_in_order),
        cmocka_unit_test(who_comes_late_gets_slots_once_whole),
        cmocka_unit_test(a_new_connection_lifts_suspicion),
        cmocka_unit_test(other_bits_are_refused),
        cmocka_unit_test(lanes_out_of_range_are_refused),
        cmocka_unit_test(all_who_came_are_counted_once),
        cmocka_unit_test(their_number_is_bounded),
        cmocka_unit_test(their_lanes_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
