/*
 * A kv on a slow link: little is on its way, what nobody needs any more does not leave, and a question
 * whose answer takes long is known to be one that was asked before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/kv/support_scene.h"

#include <time.h>

enum { SLOW_MS = 300 }; /* what a push takes: longer than a measure of the link */

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* One part is acknowledged, and so late that credit is one part only from then on. */
static wire_head slow_down(scene *s, int32_t part)
{
    do_push(s, part, 4);
    wire_head h = expect(s, 0, WIRE_PUSH);
    pause_ms(3 * SLOW_MS);
    pushed(s, 0, h);
    SERVE_UNTIL(s, !kv_unacknowledged(s->kv, 0));
    wait_back(&s->pushes[part]);
    atomic_store(&s->pushes[part].n_back, 0);
    return h;
}

static void test_little_is_on_its_way(void **state)
{
    (void)state;
    int32_t of[PARTS];
    scene *s = scene_greeted(1 << 30, of);
    slow_down(s, of[0]);
    assert_true(kv_pushing_us(s->kv) >= 3 * SLOW_MS * 1000);
    do_push(s, of[0], 5);
    do_push(s, of[1], 5);
    assert_true(kv_is_pushing(s->kv, 5));
    wire_head first = expect(s, 0, WIRE_PUSH);
    expect_nothing(s, 0);
    pushed(s, 0, first);
    wire_head second = expect(s, 0, WIRE_PUSH);
    assert_int_equal(second.part, of[1]);
    pushed(s, 0, second);
    SERVE_UNTIL(s, !kv_is_pushing(s->kv, 5));
    wait_back(&s->pushes[of[0]]);
    wait_back(&s->pushes[of[1]]);
    scene_fini(s);
}

/* Others have pushed it: the part's next version is there, or gone already. */
static void check_outdated(wire_type says)
{
    int32_t of[PARTS];
    scene *s = scene_greeted(1, of);
    do_push(s, of[0], 5);
    wire_head first = expect(s, 0, WIRE_PUSH);
    do_push(s, of[1], 5); /* waits for credit */
    assert_int_equal(kv_pull(s->kv, of[1], 6, NULL), OK);
    expect(s, 0, WIRE_PULL);
    wire_head h = head_of(says, of[1], says == WIRE_PART ? 6 : 8);
    if (says == WIRE_PART) {
        say_part(s, 0, h, 1);
    } else {
        h.tag = 6;
        say(s, 0, h, NULL, 0);
    }
    SERVE_UNTIL(s, s->answer.n_parts + s->answer.n_gone == 1);
    wait_back(&s->pushes[of[1]]);
    assert_int_equal(kv_unacknowledged(s->kv, 0), 1);
    pushed(s, 0, first);
    SERVE_UNTIL(s, !kv_unacknowledged(s->kv, 0));
    wait_back(&s->pushes[of[0]]);
    expect_nothing(s, 0);
    scene_fini(s);
}

static void test_what_nobody_needs_stays(void **state)
{
    (void)state;
    check_outdated(WIRE_PART);
    check_outdated(WIRE_GONE);
}

/* The weights that a step reads come before its pushes: they say nothing about it. */
static void test_what_is_needed_goes(void **state)
{
    (void)state;
    int32_t of[PARTS];
    scene *s = scene_greeted(1, of);
    do_push(s, of[0], 5);
    wire_head first = expect(s, 0, WIRE_PUSH);
    do_push(s, of[1], 5);
    assert_int_equal(kv_pull(s->kv, of[1], 5, NULL), OK);
    expect(s, 0, WIRE_PULL);
    say_part(s, 0, head_of(WIRE_PART, of[1], 5), 1);
    SERVE_UNTIL(s, s->answer.n_parts == 1);
    pushed(s, 0, first);
    wire_head second = expect(s, 0, WIRE_PUSH);
    assert_int_equal(second.part, of[1]);
    pushed(s, 0, second);
    SERVE_UNTIL(s, !kv_unacknowledged(s->kv, 0));
    wait_back(&s->pushes[of[0]]);
    wait_back(&s->pushes[of[1]]);
    scene_fini(s);
}

static void test_a_question_asked_again(void **state)
{
    (void)state;
    int32_t of[PARTS];
    scene *s = scene_greeted(1, of);
    assert_int_equal(kv_pull(s->kv, of[0], 6, NULL), OK);
    wire_head h = expect(s, 0, WIRE_PULL);
    assert_int_equal(h.flags, 0);
    pause_ms(1100);
    assert_int_equal(kv_tick(s->kv, NULL), OK);
    do {
        assert_true(hear(s, 0, LIMIT_US / 1000, &h, NULL));
    } while (h.type == WIRE_HEARTBEAT);
    assert_int_equal(h.type, WIRE_PULL);
    assert_int_equal(h.flags, WIRE_AGAIN);
    scene_fini(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_little_is_on_its_way),
        cmocka_unit_test(test_what_nobody_needs_stays),
        cmocka_unit_test(test_what_is_needed_goes),
        cmocka_unit_test(test_a_question_asked_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
