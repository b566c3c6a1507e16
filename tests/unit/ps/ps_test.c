/*
 * A server at work: what it answers and when, what it holds against one process, what it ignores.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/log.h"
#include "common/base/rng.h"
#include "optim/settings.h"
#include "unit/ps/support_server.h"

#include <math.h>
#include <string.h>

/* --- steps --- */

static void test_steps_of_two_workers(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, near, far = peer_dial(s, s->tcp);
    server_set_up(s, &master, &near);
    assert_true(welcome_of(&near)->ready);
    whole w = whole_make(&s->shape);
    check_weights(&near, &w);
    for (int64_t step = 0; step < 12; step++) {
        uint32_t n_slots = steps_slots(&s->shape.steps, step);
        tree_node left = {1, 0}, right = {1, 1};
        say(&near, head_of(WIRE_PULL, 0, step + 1), NULL, 0); /* before it is there */
        push(&near, step, left);
        hear_pushed(&near, step, left);
        hear_nothing(&near);
        push(&far, step, (tree_node){0, 2});
        hear_pushed(&far, step, (tree_node){0, 2});
        if (n_slots == 4) {
            push(&far, step, right); /* covers what it pushed before */
            hear_pushed(&far, step, right);
        }
        whole_step(&w, 1);
        hear_weights(&near, &w);
        check_weights(&far, &w);
        push(&near, step, left); /* again: taken long ago, and acknowledged */
        hear_pushed(&near, step, left);
    }
    /* one version back is there, two are not */
    say(&far, head_of(WIRE_PULL, 0, 11), NULL, 0);
    hear(&far, WIRE_PART);
    assert_int_equal(far.head.step, 11);
    say(&far, head_of(WIRE_PULL, 0, 10), NULL, 0);
    hear(&far, WIRE_GONE);
    assert_int_equal(far.head.step, 12);
    assert_int_equal(far.head.part, 0);
    assert_int_equal(far.head.tag, 10);
    whole_fini(&w);
    peer_close(&far);
    end_well(s, &master, &near);
}

/* A later wish replaces the one before, and whoever left waits no more. */
static void test_pulls_that_wait(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker, gone = peer_dial(s, s->tcp);
    server_set_up(s, &master, &worker);
    say(&worker, head_of(WIRE_PULL, 0, 1), NULL, 0);
    say(&worker, head_of(WIRE_PULL, 0, 2), NULL, 0);
    say(&gone, head_of(WIRE_PULL, 0, 1), NULL, 0);
    hear_nothing(&gone);
    peer_close(&gone);
    whole w = whole_make(&s->shape);
    whole_step(&w, 1);
    whole_step(&w, 1);
    push_step(&worker, 0);
    for (uint32_t i = 0; i < 4; i++)
        push(&worker, 1, (tree_node){0, i});
    for (uint32_t i = 0; i < 3; i++)
        hear_pushed(&worker, 1, (tree_node){0, i});
    hear_weights(&worker, &w);
    hear_pushed(&worker, 1, (tree_node){0, 3});
    whole_fini(&w);
    end_well(s, &master, &worker);
}

static const Wire__Status *hear_status(peer *master)
{
    hear(master, WIRE_STATUS);
    return (const Wire__Status *)master->message;
}

/* The parts that are held, and for what it waits, once it has waited for a while. */
static void test_how_it_stands(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker;
    server_set_up(s, &master, &worker);
    say(&worker, head_of(WIRE_PULL, 0, 1), NULL, 0);
    const Wire__Status *m = hear_status(&master);
    for (int i = 0; i < 5 && m->n_waits == 0; i++)
        m = hear_status(&master);
    assert_int_equal(m->n_parts, s->shape.flat->n_live_parts);
    assert_int_equal(m->n_versions, m->n_parts);
    assert_int_equal(m->n_pulls, m->n_parts);
    for (size_t i = 0; i < m->n_parts; i++) {
        assert_int_equal(m->parts[i], i);
        assert_int_equal(m->versions[i], 0);
        assert_int_equal(m->pulls[i], i == 0);
    }
    assert_int_equal(m->n_waits, 1);
    assert_non_null(strstr(m->waits[0]->words, " of step 0, for part 0"));
    assert_true(m->waits[0]->seconds >= 1 && !m->waits[0]->usual);
    end_well(s, &master, &worker);
}

static void test_refusals(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker;
    server_set_up(s, &master, &worker);
    static const float four[4];
    wire_head older = head_of(WIRE_PUSH, 0, 0);
    older.era--;
    check_refused(&worker, older, four, sizeof four, OK, "another era");
    older.type = WIRE_PULL;
    older.era += 2;
    check_refused(&worker, older, NULL, 0, OK, "another era");
    check_refused(&worker, head_of(WIRE_PULL, 1, 0), NULL, 0, E_PROTOCOL,
                  "that part is not on this server");
    check_refused(&worker, head_of(WIRE_PULL, INT32_MAX, 0), NULL, 0, E_PROTOCOL,
                  "that part is not on this server");
    check_refused(&worker, head_of(WIRE_PUSH, 7, 0), four, sizeof four, E_PROTOCOL,
                  "part 7 is not trained on this server");
    check_refused(&worker, head_of(WIRE_PUSH, 0, 1), four, sizeof four, E_PROTOCOL,
                  "part 0: step 1 was pushed at version 0");
    wire_head h = head_of(WIRE_PUSH, 0, 0);
    h.slots = 4;
    say_measured(&worker, 0, h.node);
    check_refused(&worker, h, four, sizeof four, E_PROTOCOL,
                  "part 0: node (0,0) of 4 slots and 4 elements does not fit");
    /* of another job: a stranger, who gets no answer */
    h.job_id++;
    say(&worker, h, four, sizeof four);
    hear_nothing(&worker);
    end_well(s, &master, &worker);
}

/* Whatever a worker or a stranger says that is not theirs to say, nothing moves. */
static void test_what_is_ignored(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker;
    server_set_up(s, &master, &worker);
    say_setup(&worker, ERA + 1, 50, 0, 1);
    say_stop(&worker, OK, "go home");
    say(&worker, head_of(WIRE_VERDICT, 0, 0), NULL, 0);
    say(&worker, head_of(WIRE_CUT, 0, 0), NULL, 0);
    say(&worker, head_of(WIRE_WELCOME, 0, 0), NULL, 0);
    say(&worker, (wire_head){.type = WIRE_HELLO}, "\x12\x7f", 2);
    say(&master, head_of(WIRE_STOP, 0, 0), "\x12\x7f", 2);
    say(&master, head_of(WIRE_PUSH, 0, 0), "1234", 4);
    hear_nothing(&worker);
    hear_nothing(&master);
    rng r = rng_make(8, RNG_TEST, 0);
    for (uint64_t i = 0; i < 3000; i++) {
        unsigned char head[NET_HEAD], payload[40] = {0};
        wire_head h = head_of((wire_type)(1 + rng_below(&r, 8 * i, WIRE_TYPE_END)),
                              (int32_t)rng_below(&r, 8 * i + 1, 3), 5);
        h.bytes = rng_below(&r, 8 * i + 2, 10) * 4;
        h.era = 1000; /* so that no good push is among them */
        wire_head_encode(&h, head);
        if (i % 2)
            head[rng_below(&r, 8 * i + 3, NET_HEAD)] ^= (unsigned char)rng_u32(&r, 8 * i + 4);
        for (size_t k = 0; k < sizeof payload; k++)
            payload[k] = (unsigned char)rng_u32(&r, 30000 + 40 * i + k);
        span b = span_for_call(payload, h.bytes);
        assert_int_equal(net_send(worker.socket, NULL, head, &b, NULL), OK);
    }
    peer fresh = peer_dial(s, s->tcp);
    hear_nothing(&fresh);
    whole w = whole_make(&s->shape);
    check_weights(&fresh, &w);
    push_step(&fresh, 0);
    whole_step(&w, 1);
    check_weights(&fresh, &w);
    whole_fini(&w);
    peer_close(&fresh);
    end_well(s, &master, &worker);
}

/* --- eras and votes --- */

static void test_a_new_era_begins_anew(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker;
    server_set_up(s, &master, &worker);
    whole w = whole_make(&s->shape);
    push_step(&worker, 0);
    push(&worker, 1, (tree_node){0, 0});
    hear_pushed(&worker, 1, (tree_node){0, 0});
    say(&worker, head_of(WIRE_PULL, 0, 2), NULL, 0);
    say_setup(&master, ERA - 1, 0, 0, 1);
    hear(&master, WIRE_REFUSED);
    assert_string_equal(refused_of(&master)->text, "that era is over");
    say_setup(&master, ERA + 1, 0, 0, 1);
    hear(&master, WIRE_READY);
    assert_int_equal(master.head.era, ERA + 1);
    say(&worker, head_of(WIRE_PULL, 0, 0), NULL, 0);
    hear(&worker, WIRE_REFUSED);
    assert_int_equal(worker.head.era, ERA + 1);
    wire_head h = head_of(WIRE_PULL, 0, 0);
    h.era++;
    say(&worker, h, NULL, 0);
    hear_weights(&worker, &w);
    whole_fini(&w);
    end_well(s, &master, &worker);
}

/* Another master, or the same one after a server was lost: versions stay, only the era is new. */
static void test_parts_kept_in_a_new_era(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker;
    server_set_up(s, &master, &worker);
    whole w = whole_make(&s->shape);
    push_step(&worker, 0);
    whole_step(&w, 1);
    push(&worker, 1, (tree_node){0, 0});
    hear_pushed(&worker, 1, (tree_node){0, 0});
    say_keep(&master, ERA + 1, ERA + 1); /* of a lineage it does not hold */
    hear(&master, WIRE_READY);
    assert_true(((const Wire__Ready *)master.message)->lost);
    for (int i = 0; i < 2; i++) { /* said again: answered again */
        say_keep(&master, ERA + 2, ERA);
        hear(&master, WIRE_READY);
        assert_false(((const Wire__Ready *)master.message)->lost);
        assert_int_equal(((const Wire__Ready *)master.message)->step, 1);
    }
    wire_head older = head_of(WIRE_PULL, 0, 1);
    era_said = ERA + 2;
    check_refused(&worker, older, NULL, 0, OK, "another era");
    check_weights(&worker, &w);
    push_step(&worker, 1); /* the slot that was there counts once */
    whole_step(&w, 1);
    check_weights(&worker, &w);
    whole_fini(&w);
    end_well(s, &master, &worker);
}

static void test_a_master_that_was_replaced(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker, next = peer_dial(s, s->tcp);
    server_set_up(s, &master, &worker);
    say_setup(&next, ERA + 1, 0, 0, 1);
    hear_nothing(&next); /* whoever has not said hello leads nothing */
    era_said = ERA - 1;
    say_hello(&next, ROLE_MASTER, s->config, NULL);
    hear(&next, WIRE_REFUSED);
    assert_int_equal(refused_of(&next)->status, E_LOST);
    era_said = ERA;
    whole w = whole_make(&s->shape);
    check_weights(&worker, &w);
    whole_fini(&w);
    peer_close(&next);
    end_well(s, &master, &worker);
}

/* What a lost connection held is read after the next one's hello: then the server answers into the
 * void, and says so to whoever may be the master. */
static void test_a_hello_that_comes_late(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker, lost = peer_dial(s, s->tcp);
    server_set_up(s, &master, &worker);
    say(&master, head_of(WIRE_HEARTBEAT, 0, 0), NULL, 0);
    hear(&master, WIRE_ALIVE);
    assert_int_equal(master.head.tag, 0);
    say_hello(&lost, ROLE_MASTER, s->config, "master:1");
    hear(&lost, WIRE_WELCOME);
    say(&master, head_of(WIRE_HEARTBEAT, 0, 0), NULL, 0);
    hear(&master, WIRE_ALIVE);
    assert_true(master.head.tag == WIRE_NO_VIEW);
    era_said = ERA - 1; /* who was replaced is not asked to come back */
    say(&master, head_of(WIRE_HEARTBEAT, 0, 0), NULL, 0);
    era_said = ERA;
    hear(&master, WIRE_ALIVE);
    assert_int_equal(master.head.tag, 0);
    say_hello(&master, ROLE_MASTER, s->config, "master:1");
    hear(&master, WIRE_WELCOME);
    say(&master, head_of(WIRE_HEARTBEAT, 0, 0), NULL, 0);
    hear(&master, WIRE_ALIVE);
    assert_int_equal(master.head.tag, 0);
    peer_close(&lost);
    end_well(s, &master, &worker);
}

static void test_the_vote(void **state)
{
    (void)state;
    server *s = server_start("trainer.grad_norm=1");
    peer master, worker;
    server_set_up(s, &master, &worker);
    whole w = whole_make(&s->shape);
    for (int64_t step = 0; step < 2; step++) {
        push_step(&worker, step);
        do
            hear(&master, WIRE_NORM); /* that of the step before may come again */
        while (master.head.step < step);
        assert_int_equal(master.head.step, step);
        assert_int_equal(master.head.part, 0);
        assert_true(((const Wire__Norm *)master.message)->square_sum > 0);
        check_weights(&worker, &w);
        say(&worker, head_of(WIRE_PULL, 0, step + 1), NULL, 0);
        hear_nothing(&worker);
        Wire__Verdict m = WIRE__VERDICT__INIT;
        m.scale = 0.5f;
        say_proto(&master, head_of(WIRE_VERDICT, 0, step), &m.base);
        whole_step(&w, 0.5f);
        hear_weights(&worker, &w);
    }
    whole_fini(&w);
    end_well(s, &master, &worker);
}

static void hear_scale(peer *worker, loss_scale wanted)
{
    loss_scale scale;
    assert_int_equal(worker->head.type, WIRE_PART);
    assert_true(loss_scale_unpack(worker->head.tag, &scale));
    assert_true(loss_scale_equal(scale, wanted));
}

/* A version's scale goes out with its parts and is voted with; a skipped step makes the next one.
 */
static void test_a_skipped_step(void **state)
{
    (void)state;
    server *s = server_start("trainer.loss_scale=dynamic");
    peer master, worker;
    server_set_up(s, &master, &worker);
    whole w = whole_make(&s->shape);
    loss_scale_rule rule = loss_scale_settings(s->config);
    loss_scale now = loss_scale_first(&rule), voted;
    for (int64_t step = 0; step < 3; step++) {
        check_weights(&worker, &w);
        hear_scale(&worker, now);
        s->shape.factor = step == 1 ? INFINITY : loss_scale_factor(now);
        push_step(&worker, step);
        do
            hear(&master, WIRE_NORM);
        while (master.head.step < step);
        const Wire__Norm *norm = (const Wire__Norm *)master.message;
        assert_int_equal(isfinite(norm->square_sum), step != 1);
        assert_true(loss_scale_unpack(norm->loss_scale, &voted));
        assert_true(loss_scale_equal(voted, now));
        Wire__Verdict m = WIRE__VERDICT__INIT;
        m.scale = 1;
        m.skip = step == 1;
        say_proto(&master, head_of(WIRE_VERDICT, 0, step), &m.base);
        if (m.skip)
            whole_skip(&w);
        else
            whole_step(&w, 1);
        now = loss_scale_next(&rule, now, m.skip);
    }
    check_weights(&worker, &w);
    hear_scale(&worker, now);
    assert_int_equal(now.skipped, 1);
    whole_fini(&w);
    end_well(s, &master, &worker);
}

static int be_quiet(void **state)
{
    (void)state;
    log_set_level(LOG_ERROR);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_of_two_workers),
        cmocka_unit_test(test_pulls_that_wait),
        cmocka_unit_test(test_how_it_stands),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_what_is_ignored),
        cmocka_unit_test(test_a_new_era_begins_anew),
        cmocka_unit_test(test_parts_kept_in_a_new_era),
        cmocka_unit_test(test_a_master_that_was_replaced),
        cmocka_unit_test(test_a_hello_that_comes_late),
        cmocka_unit_test(test_the_vote),
        cmocka_unit_test(test_a_skipped_step),
    };
    return cmocka_run_group_tests(tests, be_quiet, NULL);
}
