/*
 * What slots measured, at the server that sums them: nothing is summed without, and it is kept until
 * the master has it, whichever master that is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "unit/ps/support_standby.h"

/* Only the gradient. */
static void push_alone(peer *p, int64_t step, tree_node node)
{
    span *b = hand(&p->server->shape, 0, step, node, false);
    wire_head h = head_of(WIRE_PUSH, 0, step);
    h.slots = LEAVES;
    h.node = node;
    say(p, h, b->data, b->bytes);
    span_drop(b);
}

/* The master's accounts are complete below `step`. */
static void say_reported(peer *master, int64_t step)
{
    say(master, head_of(WIRE_REPORTED, 0, step), NULL, 0);
}

/* Every slot's, as say_measured said it. */
static void hear_reports(peer *master, int64_t step)
{
    for (uint32_t i = 0; i < LEAVES; i++) {
        hear(master, WIRE_REPORT);
        const Wire__Report *r = (const Wire__Report *)master->message;
        assert_int_equal(master->head.step, step);
        assert_int_equal(master->head.node.index, i);
        assert_int_equal(r->n_metrics, 1);
        assert_string_equal(r->metrics[0]->name, "loss");
        assert_true(r->metrics[0]->sum == (double)step + i);
    }
}

static void nothing_is_summed_without(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker;
    server_set_up(s, &master, &worker);
    push_alone(&worker, 0, (tree_node){0, 0});
    hear_nothing(&worker);
    say_measured(&worker, 0, (tree_node){0, 1});
    push_alone(&worker, 0, (tree_node){1, 0}); /* of its two slots one is told of */
    hear_nothing(&worker);
    say_measured(&worker, 0, (tree_node){0, 0});
    push_alone(&worker, 0, (tree_node){1, 0});
    hear_pushed(&worker, 0, (tree_node){1, 0});
    push(&worker, 0, (tree_node){1, 1});
    hear_pushed(&worker, 0, (tree_node){1, 1});
    push_alone(&worker, 0, (tree_node){0, 2}); /* over: it counts no more, and needs nothing */
    hear_pushed(&worker, 0, (tree_node){0, 2});
    end_well(s, &master, &worker);
}

static void a_master_that_goes_without_is_told(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker;
    server_set_up(s, &master, &worker);
    push_step(&worker, 0);
    push_step(&worker, 1);
    say_measured(&worker, 2, (tree_node){0, 0}); /* not summed: nobody is told */
    say_reported(&master, 1);
    hear_nothing(&master);
    say_reported(&master, 1);
    hear_reports(&master, 1);
    hear_nothing(&master);
    say_reported(&master, 2);
    say_reported(&master, 2);
    hear_nothing(&master);
    end_well(s, &master, &worker);
}

/* The one before may have died with what it read. */
static void the_next_master_is_told_at_its_first_word(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker;
    server_set_up(s, &master, &worker);
    push_step(&worker, 0);
    push_step(&worker, 1);
    say_keep(&master, ERA + 1, ERA);
    hear(&master, WIRE_READY);
    era_said = ERA + 1;
    say_reported(&master, 0);
    hear_reports(&master, 0);
    hear_reports(&master, 1);
    say_setup(&master, ERA + 2, 0, 0, 1); /* back to where it began: all is measured again */
    hear(&master, WIRE_READY);
    era_said = ERA + 2;
    say_reported(&master, 0);
    say_reported(&master, 0);
    hear_nothing(&master);
    end_well(s, &master, &worker);
}

/* The standby keeps what came with the sums, and says it once it acts. */
static void a_standby_keeps_it_too(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    fake f = fake_make(s);
    peer master, other;
    assignment a = dealt(f.endpoint, s->tcp);
    a.place = 1;
    meet(s, &a, &master, &other);
    peer acting = peer_dial(s, s->tcp);
    say_hello(&acting, ROLE_PS, s->config, NULL);
    hear(&acting, WIRE_WELCOME);
    push_alone(&acting, 0, standby_root);
    hear_nothing(&acting);
    push_sum(&acting, &s->shape, 0);
    say_reported(&master, 0);
    say_reported(&master, 0);
    hear_nothing(&master); /* for who acts says it */
    a.keep = true;
    a.era = ERA + 1;
    a.shards[0] = a.shards[1] = (holders){1, HOLDER_NONE, false};
    say_assignment(&master, &a);
    hear(&master, WIRE_READY);
    era_said = ERA + 1;
    say_reported(&master, 0);
    hear_reports(&master, 0);
    peer_close(&acting);
    fake_fini(&f);
    end_well(s, &master, &other);
}

/* A copy brings nothing of it: the next master may not rely on the shard before the accounts have it. */
static void a_copy_counts_once_it_is_in_the_accounts(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    fake f = fake_make(s);
    peer master, other;
    assignment a = dealt(f.endpoint, s->tcp);
    a.place = 1;
    a.keep = true;
    a.shards[0] = (holders){0, 1, false};
    a.shards[1] = (holders){0, HOLDER_NONE, false};
    meet(s, &a, &master, &other);
    peer acting = peer_dial(s, s->tcp);
    say_hello(&acting, ROLE_PS, s->config, NULL);
    hear(&acting, WIRE_WELCOME);
    float *row = xcalloc((size_t)flat_part_elements(s->shape.flat, 0), sizeof *row);
    for (uint32_t i = 0; i < 3; i++) {
        wire_head h = head_of(WIRE_STATE, 0, 5);
        h.slots = 3;
        h.node.index = i;
        say(&acting, h, row, (size_t)flat_part_elements(s->shape.flat, 0) * sizeof *row);
        hear(&acting, WIRE_PUSHED);
    }
    free(row);
    for (int64_t recorded = 4; recorded <= 5; recorded++) {
        say_reported(&master, recorded);
        hear_nothing(&master);
        say_hello(&acting, ROLE_PS, s->config, NULL);
        hear(&acting, WIRE_WELCOME);
        assert_int_equal(welcome_of(&acting)->n_shards, recorded == 5);
    }
    peer_close(&acting);
    fake_fini(&f);
    end_well(s, &master, &other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_summed_without),
        cmocka_unit_test(a_master_that_goes_without_is_told),
        cmocka_unit_test(the_next_master_is_told_at_its_first_word),
        cmocka_unit_test(a_standby_keeps_it_too),
        cmocka_unit_test(a_copy_counts_once_it_is_in_the_accounts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
