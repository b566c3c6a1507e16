/* Workers that read their data: each once, as it said last, until it has read or its connection is gone; when they have
 * last got on outlasts them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "master/lanes/members.h"
#include "master/lanes/reading_workers.h"

#include <string.h>

static bool say(reading_workers *r, uint32_t index, uint64_t life, uint64_t moves, const char *reads, int64_t now)
{
    Wire__Hello hello = WIRE__HELLO__INIT;
    hello.index = index;
    hello.life = life;
    hello.moves = moves;
    hello.host = (char *)(uintptr_t) "box";
    hello.reads = (char *)(uintptr_t)reads;
    net_message message = {.from = {.size = 1, .id = {(unsigned char)index}}, .connection = (int)index};
    return reading_workers_hello(r, &hello, &message, now);
}

static void it_moves_as_long_as_it_gets_on(void **state)
{
    (void)state;
    reading_workers r = {.n = 0};
    char name[TASK_NAME];
    assert_true(say(&r, 1, 7, 3, "indexing 'a'", 100));
    assert_int_equal(r.n, 1);
    assert_int_equal(r.moved_us, 100);
    assert_true(say(&r, 1, 7, 3, "indexing 'a'", 200));
    assert_int_equal(r.moved_us, 100);
    assert_true(say(&r, 1, 7, 4, "reading all of 'a'", 300));
    assert_int_equal(r.n, 1);
    assert_int_equal(r.moved_us, 300);
    assert_string_equal(r.at[0].state.text, "reading all of 'a'");
    assert_string_equal(r.at[0].host, "box");
    assert_string_equal(reading_worker_name(&r.at[0], name), "worker.1");
    assert_true(say(&r, 1, 8, 4, "indexing 'a'", 400)); /* another life begins anew */
    assert_int_equal(r.moved_us, 400);
    reading_workers_fini(&r);
}

static void it_is_forgotten_once_it_has_read_or_left(void **state)
{
    (void)state;
    reading_workers r = {.n = 0};
    for (uint32_t i = 0; i < 3; i++)
        assert_true(say(&r, i, 7, 1, "indexing 'a'", 100 + i));
    assert_false(say(&r, 0, 7, 0, "", 500));
    assert_int_equal(r.n, 2);
    reading_workers_lost(&r, 2);
    reading_workers_lost(&r, 9);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.at[0].index, 1);
    assert_false(say(&r, 5, 7, 0, "", 600)); /* never read, as far as we know */
    assert_int_equal(r.moved_us, 102);
    assert_true(reading_workers_absence_s(&r, 0, 2000102) == 2.0);
    assert_true(reading_workers_absence_s(&r, 1000102, 2000102) == 1.0);
    reading_workers_fini(&r);
}

static void no_more_are_kept_than_may_be_members(void **state)
{
    (void)state;
    reading_workers r = {.n = 0};
    for (uint32_t i = 0; i < MEMBERS_MAX + 10; i++)
        assert_true(say(&r, i, 7, 1, "indexing 'a'", 100));
    assert_int_equal(r.n, MEMBERS_MAX);
    reading_workers_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_moves_as_long_as_it_gets_on),
        cmocka_unit_test(it_is_forgotten_once_it_has_read_or_left),
        cmocka_unit_test(no_more_are_kept_than_may_be_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
