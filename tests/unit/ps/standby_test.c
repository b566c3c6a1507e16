/*
 * A server that acts and its standby, played by hand: no version is answered that the standby does
 * not hold, what was not acknowledged is said again, and a standby that comes late gets a copy.
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

/* Version 1 is there, and nobody hears it before the standby holds the sum. */
static void test_nothing_is_answered_alone(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    fake f = fake_make(s);
    peer master, worker;
    assignment a = dealt(s->tcp, f.endpoint);
    meet(s, &a, &master, &worker);
    fake_open(&f);
    whole w = whole_make(&s->shape);
    check_weights(&worker, &w);
    for (int64_t step = 0; step < 5; step++) {
        say(&worker, head_of(WIRE_PULL, 0, step + 1), NULL, 0);
        push_leaves(&worker, step);
        fake_hear_beside_hellos(&f, WIRE_PUSH);
        check_sum(&f, &s->shape, step);
        hear_nothing(&worker);
        check_weights(&worker, &w); /* the one before is */
        span *early = hand(&s->shape, 0, step + 1, (tree_node){0, 0}, false);
        wire_head h = head_of(WIRE_PUSH, 0, step + 1);
        h.slots = LEAVES;
        check_refused(&worker, h, early->data, early->bytes, E_PROTOCOL,
                      "nobody can have computed that step");
        span_drop(early);
        fake_acknowledge(&f);
        whole_step(&w, 1);
        hear_weights(&worker, &w);
    }
    whole_fini(&w);
    fake_fini(&f);
    end_well(s, &master, &worker);
}

/* The connection is lost before the acknowledgement: the sum comes again. Then the master says that
 * there is no standby any more, and the version is answered. */
static void test_a_lost_standby(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    fake f = fake_make(s);
    peer master, worker;
    assignment a = dealt(s->tcp, f.endpoint);
    char endpoint[64];
    meet(s, &a, &master, &worker);
    fake_open(&f);
    whole w = whole_make(&s->shape);
    push_leaves(&worker, 0);
    fake_hear_beside_hellos(&f, WIRE_PUSH);
    memcpy(endpoint, f.endpoint, sizeof endpoint);
    net_close(&f.socket, 0);
    fake_listen(&f, endpoint);
    fake_open(&f);
    fake_hear_beside_hellos(&f, WIRE_PUSH);
    check_sum(&f, &s->shape, 0);
    say(&worker, head_of(WIRE_PULL, 0, 1), NULL, 0);
    hear_nothing(&worker);
    a.era = era_said = ERA + 1;
    a.keep = true;
    a.shards[0] = (holders){0, HOLDER_NONE, false};
    a.shards[1] = (holders){0, HOLDER_NONE, false};
    say_assignment(&master, &a); /* shard 1 has no parts: nothing is missing */
    hear(&master, WIRE_READY);
    assert_int_equal(((Wire__Ready *)master.message)->newest, 1);
    whole_step(&w, 1);
    check_weights(&worker, &w);
    push_leaves(&worker, 1);
    whole_step(&w, 1);
    check_weights(&worker, &w);
    whole_fini(&w);
    fake_fini(&f);
    end_well(s, &master, &worker);
}

/* A silent standby is asked again; one of another era hears nothing but hellos. */
static void test_said_again(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    fake f = fake_make(s);
    peer master, worker;
    assignment a = dealt(s->tcp, f.endpoint);
    meet(s, &a, &master, &worker);
    push_leaves(&worker, 0);
    fake_hear(&f, WIRE_HELLO);
    fake_welcome(&f, ERA - 1);
    fake_hear(&f, WIRE_HELLO);
    fake_welcome(&f, 0);
    fake_open(&f);
    fake_hear_beside_hellos(&f, WIRE_PUSH);
    fake_hear_beside_hellos(&f, WIRE_PUSH); /* after a second */
    check_sum(&f, &s->shape, 0);
    fake_acknowledge(&f);
    whole w = whole_make(&s->shape);
    whole_step(&w, 1);
    say(&worker, head_of(WIRE_PULL, 0, 1), NULL, 0);
    hear_weights(&worker, &w);
    whole_fini(&w);
    fake_fini(&f);
    end_well(s, &master, &worker);
}

/* A standby that holds nothing is sent all vectors; from then on versions wait for it, and the
 * master hears when it holds all. */
static void test_a_copy_is_sent(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    fake f = fake_make(s);
    peer master, worker;
    assignment a = dealt(s->tcp, f.endpoint);
    a.shards[0].is_backed = false;
    a.shards[1] = (holders){0, HOLDER_NONE, false};
    meet(s, &a, &master, &worker);
    whole w = whole_make(&s->shape);
    push_leaves(&worker, 0); /* nobody waits yet */
    whole_step(&w, 1);
    check_weights(&worker, &w);
    fake_open(&f);
    bool seen[4] = {false};
    for (int i = 0; i < 4; i++) {
        fake_hear_beside_hellos(&f, WIRE_STATE);
        assert_int_equal(f.head.step, 1);
        assert_int_equal(f.head.slots, 4); /* weights, two of Adam's, the weights before */
        assert_true(f.head.node.index < 4);
        if (seen[f.head.node.index]) { /* said again */
            i--;
            continue;
        }
        seen[f.head.node.index] = true;
        const float *wanted = f.head.node.index == 0   ? w.weights
                              : f.head.node.index == 3 ? NULL
                                                       : w.slots[f.head.node.index - 1];
        if (wanted)
            assert_memory_equal(f.floats, wanted, f.n * sizeof(float));
        if (i < 3)
            fake_acknowledge(&f);
    }
    wire_head last = f.head;
    push_leaves(&worker, 1);
    fake_hear_beside_hellos(&f, WIRE_PUSH);
    say(&worker, head_of(WIRE_PULL, 0, 2), NULL, 0);
    check_weights(&worker, &w);
    hear_nothing(&worker);
    hear_nothing(&master);
    wire_head sum = f.head;
    f.head = last;
    fake_acknowledge(&f);
    hear_nothing(&master); /* what the copied version was made of is not in the accounts */
    say(&master, head_of(WIRE_REPORTED, 0, 1), NULL, 0);
    hear(&master, WIRE_BACKED);
    assert_int_equal(master.head.tag, 0);
    hear_nothing(&worker);
    f.head = sum;
    fake_acknowledge(&f);
    whole_step(&w, 1);
    hear_weights(&worker, &w);
    say_hello(&master, ROLE_MASTER, s->config, "master:1"); /* it may not have heard */
    hear(&master, WIRE_WELCOME);
    hear(&master, WIRE_BACKED);
    whole_fini(&w);
    fake_fini(&f);
    end_well(s, &master, &worker);
}

/* The standby does not answer, and the master hears of it, again and again. It says that the copy
 * there counts no more: then nobody waits for it. After a pause it is greeted, and sent a copy. */
static void test_a_standby_out_of_reach(void **state)
{
    (void)state;
    server *s = server_start("distributed.heartbeat_timeout=1");
    fake f = fake_make(s);
    peer master, worker;
    assignment a = dealt(s->tcp, f.endpoint);
    meet(s, &a, &master, &worker);
    fake_open(&f);
    whole w = whole_make(&s->shape);
    push_leaves(&worker, 0);
    fake_hear_beside_hellos(&f, WIRE_PUSH);
    for (int i = 0; i < 2; i++) {
        hear(&master, WIRE_BACKED);
        assert_int_equal(master.head.tag, 0);
        assert_int_equal(master.head.step, 1);
    }
    a.era = era_said = ERA + 1;
    a.keep = true;
    a.shards[0] = (holders){0, 1, false};
    a.shards[1] = (holders){0, HOLDER_NONE, false};
    say_assignment(&master, &a);
    hear(&master, WIRE_READY);
    whole_step(&w, 1);
    check_weights(&worker, &w);
    push_leaves(&worker, 1);
    whole_step(&w, 1);
    check_weights(&worker, &w);
    while (fake_receive(&f, 100)) /* what was said before that era */
        assert_int_not_equal(f.head.type, WIRE_STATE);
    while (!fake_hears_hello(&f, 100))
        ;
    fake_welcome(&f, ERA + 1);
    for (int i = 0; i < 4; i++) {
        fake_hear_beside_hellos(&f, WIRE_STATE);
        assert_int_equal(f.head.step, 2);
        fake_acknowledge(&f);
    }
    say(&master, head_of(WIRE_REPORTED, 0, 2), NULL, 0);
    do
        hear(&master, WIRE_BACKED);
    while (master.head.step); /* a busy machine may have been out of reach once more */
    whole_fini(&w);
    fake_fini(&f);
    end_well(s, &master, &worker);
}

/* A vote is not said before the standby has the sum: else others would be two versions ahead of it.
 */
static void test_a_vote_waits_for_the_standby(void **state)
{
    (void)state;
    server *s = server_start("trainer.grad_norm=1.0");
    fake f = fake_make(s);
    peer master, worker;
    assignment a = dealt(s->tcp, f.endpoint);
    meet(s, &a, &master, &worker);
    fake_open(&f);
    for (int64_t step = 0; step < 3; step++) {
        push_leaves(&worker, step);
        fake_hear_beside_hellos(&f, WIRE_PUSH);
        hear_nothing(&master);
        fake_acknowledge(&f);
        hear(&master, WIRE_NORM);
        assert_int_equal(master.head.step, step);
        Wire__Verdict v = WIRE__VERDICT__INIT;
        v.scale = 0.5f;
        say_proto(&master, head_of(WIRE_VERDICT, 0, step), &v.base);
        say(&worker, head_of(WIRE_PULL, 0, step + 1), NULL, 0);
        hear(&worker, WIRE_PART);
    }
    fake_fini(&f);
    say_stop(&master, OK, "");
    assert_int_equal(server_end(s), OK);
    peer_close(&master);
    peer_close(&worker);
    server_fini(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_answered_alone),
        cmocka_unit_test(test_a_lost_standby),
        cmocka_unit_test(test_said_again),
        cmocka_unit_test(test_a_copy_is_sent),
        cmocka_unit_test(test_a_standby_out_of_reach),
        cmocka_unit_test(test_a_vote_waits_for_the_standby),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
