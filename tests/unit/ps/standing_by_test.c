/*
 * A server that stands by: what it takes, when it answers, and that it refuses to go on with what
 * it never held.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "unit/ps/support_standby.h"

#include <stdlib.h>
#include <string.h>

/* It takes whole sums from servers, nothing from workers, and answers once it acts. */
static void test_standing_by(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker, acting = peer_dial(s, s->tcp);
    assignment a = dealt("tcp://127.0.0.1:9", s->tcp); /* whom it stands by for is never dialled */
    a.place = 1;
    a.shards[1] = (holders){0, HOLDER_NONE, false};
    meet(s, &a, &master, &worker);
    say_hello(&acting, ROLE_PS, s->config, NULL);
    hear(&acting, WIRE_WELCOME);
    assert_int_equal(welcome_of(&acting)->era, ERA);
    assert_int_equal(welcome_of(&acting)->n_shards, 1);
    assert_int_equal(welcome_of(&acting)->shards[0], 0);
    assert_int_equal(welcome_of(&acting)->n_assignment, 2); /* for the next master */
    assert_int_equal(welcome_of(&acting)->assignment[0]->standby, 1);
    assert_true(welcome_of(&acting)->assignment[0]->is_backed);
    assert_false(welcome_of(&acting)->assignment[1]->has_standby);
    whole w = whole_make(&s->shape), before = whole_make(&s->shape);
    span *leaf = hand(&s->shape, 0, 0, (tree_node){0, 0}, false);
    wire_head h = head_of(WIRE_PUSH, 0, 0);
    h.slots = LEAVES;
    check_refused(&worker, h, leaf->data, leaf->bytes, E_PROTOCOL,
                  "another server acts for that part");
    check_refused(&acting, h, leaf->data, leaf->bytes, E_PROTOCOL, "a standby takes whole sums");
    check_refused(&worker, head_of(WIRE_PULL, 0, 0), NULL, 0, E_PROTOCOL,
                  "that part is not on this server");
    span_drop(leaf);
    for (int64_t step = 0; step < 5; step++) {
        push_sum(&acting, &s->shape, step);
        push_sum(&acting, &s->shape, step); /* again: taken once */
        whole_step(&w, 1);
        if (step)
            whole_step(&before, 1);
    }
    a.era = era_said = ERA + 1;
    a.keep = true;
    a.shards[0] = (holders){1, HOLDER_NONE, false};
    say_assignment(&master, &a);
    hear(&master, WIRE_READY);
    assert_int_equal(((Wire__Ready *)master.message)->step, 5);
    check_weights(&worker, &w);
    check_weights(&worker, &before);
    push_leaves(&worker, 5);
    whole_step(&w, 1);
    check_weights(&worker, &w);
    whole_fini(&w);
    whole_fini(&before);
    peer_close(&acting);
    end_well(s, &master, &worker);
}

/* It comes to act while a sum waits for the verdict. Who acted before holds that sum too, and
 * stands by now: nothing has to be sent to it before the version is answered. */
static void test_acting_again_during_a_vote(void **state)
{
    (void)state;
    server *s = server_start("trainer.grad_norm=1.0");
    fake f = fake_make(s);
    peer master, worker, acting = peer_dial(s, s->tcp);
    assignment a = dealt(f.endpoint, s->tcp);
    a.place = 1;
    a.shards[1] = (holders){0, HOLDER_NONE, false};
    meet(s, &a, &master, &worker);
    say_hello(&acting, ROLE_PS, s->config, NULL);
    hear(&acting, WIRE_WELCOME);
    push_sum(&acting, &s->shape, 0);
    hear_nothing(&master); /* who acts votes */
    a.era = era_said = ERA + 1;
    a.keep = true;
    a.shards[0] = (holders){1, 0, true};
    say_assignment(&master, &a);
    hear(&master, WIRE_READY);
    assert_int_equal(((Wire__Ready *)master.message)->newest, 0);
    hear(&master, WIRE_NORM);
    Wire__Verdict v = WIRE__VERDICT__INIT;
    v.scale = 0.25f;
    say_proto(&master, head_of(WIRE_VERDICT, 0, 0), &v.base);
    whole w = whole_make(&s->shape);
    whole_step(&w, 0.25f);
    say(&worker, head_of(WIRE_PULL, 0, 1), NULL, 0);
    hear_weights(&worker, &w);
    whole_fini(&w);
    fake_fini(&f);
    peer_close(&acting);
    say_stop(&master, OK, "");
    assert_int_equal(server_end(s), OK);
    peer_close(&master);
    peer_close(&worker);
    server_fini(s);
}

/* To go on with what was never here is refused, with a word. */
static void test_nothing_to_go_on_with(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker;
    assignment a = dealt(s->tcp, "tcp://127.0.0.1:9");
    a.place = 1;
    a.shards[0].is_backed = false;
    a.shards[1] = (holders){0, HOLDER_NONE, false};
    a.keep = true; /* it awaits all */
    meet(s, &a, &master, &worker);
    a.era = era_said = ERA + 1;
    a.shards[0] = (holders){1, HOLDER_NONE, false}; /* and cannot act */
    say_assignment(&master, &a);
    hear(&master, WIRE_READY);
    assert_true(((Wire__Ready *)master.message)->lost);
    end_well(s, &master, &worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_standing_by),
        cmocka_unit_test(test_acting_again_during_a_vote),
        cmocka_unit_test(test_nothing_to_go_on_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
