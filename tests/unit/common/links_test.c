/* Bytes are counted by task, over all its connections; of too many tasks the last ones are one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/live/links.h"

static link_state link_to(task who)
{
    link_state s;
    for (int i = LINK_OTHER + 1; link_look(i, &s); i++)
        if (s.who.role == who.role && s.who.index == who.index)
            return s;
    return (link_state){.sent = -1};
}

static void a_task_is_one_over_its_connections(void **state)
{
    (void)state;
    task ps = {ROLE_PS, 4};
    link_state other;
    link_note(9, true, 3);              /* before it has said who it is */
    link_meet(9, ps);
    link_note(9, true, 100);
    link_note(9, false, 7);
    link_meet(4096 + 9, (task){ROLE_WORKER, 1}); /* of the same place */
    link_meet(UINT32_MAX, ps);          /* it is there again */
    link_note(UINT32_MAX, true, 50);
    link_note(4096 + 9, false, 1);
    assert_int_equal(link_to(ps).sent, 150);
    assert_int_equal(link_to(ps).received, 7);
    assert_int_equal(link_to((task){ROLE_WORKER, 1}).received, 1);
    assert_true(link_look(LINK_OTHER, &other));
    assert_int_equal(other.sent, 3);
}

static void of_too_many_the_last_are_one(void **state)
{
    (void)state;
    link_state s;
    int n = 0;
    for (int i = 0; i < 5000; i++) {
        link_meet((uint32_t)(100000 + i), (task){ROLE_WORKER, 100 + i});
        link_note((uint32_t)(100000 + i), false, 1);
    }
    while (link_look(n, &s))
        n++;
    assert_int_equal(n, LINKS_MOST);
    assert_true(link_look(LINK_OTHER, &s));
    int64_t sum = s.received;
    for (int i = 1; i < n; i++)
        sum += link_look(i, &s) ? s.received : 0;
    assert_int_equal(sum, 5000 + 8);    /* nothing is lost */
    assert_int_equal(link_to((task){ROLE_WORKER, 100}).received, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_is_one_over_its_connections),
        cmocka_unit_test(of_too_many_the_last_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
