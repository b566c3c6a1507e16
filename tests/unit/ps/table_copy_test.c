/*
 * Copies of parts in another table: taken while steps go on, one vector at a time, and from then on
 * moved by the complete sums alone; always the bits of one process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "unit/ps/support_table.h"

#include <stdlib.h>
#include <string.h>

/* A table that acts, and one that awaits every part; sums go from the one to the other. */
typedef struct pair {
    shape shape;
    servers acting;
    table *standby;
    bool sends[8]; /* [n_parts] sums of this part */
} pair;

static status take_sum(pair *p, int32_t part, int64_t step, uint32_t n_slots, const float *data)
{
    span *b = hand_zeros((size_t)flat_part_elements(p->shape.flat, part));
    memcpy(b->data, data, b->bytes);
    push_result result;
    tree_node root = {.level = tree_root_level(n_slots)};
    status st = table_push(p->standby, part, step, n_slots, root, b, &result, NULL);
    assert_int_equal(result, PUSH_TAKEN);
    return st;
}

static void on_summed(void *user, int32_t part, int64_t step, uint32_t n_slots, span *root)
{
    pair *p = user;
    if (p->sends[part])
        assert_int_equal(take_sum(p, part, step, n_slots, root->floats), OK);
}

static table *table_of(const shape *s, part_hold hold)
{
    part_hold parts[8];
    for (int32_t p = 0; p < s->flat->n_parts; p++)
        parts[p] = hold;
    table_options options = {
        .flat = s->flat,
        .parts = parts,
        .steps = s->steps,
        .groups = &(optim_group){.optim = s->optim, .rates = s->rates, .share = 1.0},
        .n_groups = 1,
        .schedule = s->schedule,
        .votes = s->votes,
        .seed = SEED,
    };
    table *t = NULL;
    assert_int_equal(table_create(&options, &quiet_hooks, &t, NULL), OK);
    return t;
}

static void pair_make(pair *p, shape s)
{
    *p = (pair){.shape = s};
    table_hooks hooks = quiet_hooks;
    hooks.summed = on_summed;
    hooks.user = p;
    p->acting = servers_make(&p->shape, 1, &hooks, 0, NULL);
    p->standby = table_of(&p->shape, PART_AWAITED);
}

static void pair_fini(pair *p)
{
    servers_fini(&p->acting);
    table_destroy(&p->standby);
    shape_fini(&p->shape);
    assert_int_equal(hands_out(), 0);
}

/* Held for the caller, as long as it is read. */
static span *take_row(table *from, int32_t part, uint32_t row, table_row *ret)
{
    *ret = (table_row){.at = row, .n = table_vectors(from, part)};
    span *b = table_vector(from, part, row, &ret->scale);
    ret->data = b->data;
    ret->n_floats = span_n(b);
    return b;
}

static void copy_rows(pair *p, int32_t part, uint32_t first, uint32_t end)
{
    table *from = p->acting.tables[0];
    uint32_t n = table_vectors(from, part);
    for (uint32_t row = first; row < end && row < n; row++) {
        table_row r;
        span *b = take_row(from, part, row, &r);
        bool is_complete = false;
        error err = ERROR_INIT;
        if (table_take_copy(p->standby, part, table_version(from, part), &r, &is_complete, &err) !=
            OK)
            fail_msg("%s", err.text);
        assert_int_equal(is_complete, first == 0 && row == n - 1);
        span_drop(b);
    }
}

static void copy_part(pair *p, int32_t part)
{
    copy_rows(p, part, 0, 9);
    assert_true(table_is_complete(p->standby, part));
}

/* The standby against one process, both versions that may be asked for. */
static void check_standby(pair *p, const whole *before, const whole *now)
{
    servers seen = {.shape = &p->shape, .n = 1, .placement = p->acting.placement};
    seen.tables[0] = p->standby;
    servers_check(&seen, now);
    for (int32_t part = 0; before && part < p->shape.flat->n_live_parts; part++) {
        span *b = table_weights(p->standby, part, before->version);
        assert_non_null(b);
        assert_memory_equal(b->data, before->weights + p->shape.flat->parts[part].begin, b->bytes);
        span_drop(b);
    }
}

static void test_a_copy_follows(void **state)
{
    (void)state;
    pair p;
    pair_make(&p, shape_large(3));
    whole before = whole_make(&p.shape), now = whole_make(&p.shape);
    for (int64_t step = 0; step < 8; step++) {
        if (step == 3) /* at version 3, with what version 2 was */
            for (int32_t part = 0; part < p.shape.flat->n_parts; part++) {
                assert_false(table_is_complete(p.standby, part));
                assert_null(table_weights(p.standby, part, 3));
                copy_part(&p, part);
                p.sends[part] = true;
            }
        if (step >= 3)
            check_standby(&p, &before, &now);
        servers_push_all(&p.acting, step);
        whole_step(&now, 1);
        if (step)
            whole_step(&before, 1);
    }
    check_standby(&p, &before, &now);
    servers_check(&p.acting, &now);
    assert_int_equal(table_batches(p.standby, 0), table_batches(p.acting.tables[0], 0));
    whole_fini(&before);
    whole_fini(&now);
    pair_fini(&p);
}

/* At version 0 there is none before it; the connection is lost half way and the part moves on. */
static void test_a_copy_begun_again(void **state)
{
    (void)state;
    pair p;
    pair_make(&p, shape_small(4));
    whole now = whole_make(&p.shape), before = whole_make(&p.shape);
    assert_int_equal(table_vectors(p.acting.tables[0], 0), 3);
    copy_rows(&p, 0, 0, 2);
    assert_false(table_is_complete(p.standby, 0));
    push_result result;
    error err = ERROR_INIT;
    assert_int_equal(
        table_push(p.standby, 0, 0, 4, (tree_node){2, 0}, hand_zeros(89), &result, &err), OK);
    assert_int_equal(result, PUSH_WRONG);
    assert_string_equal(err.text, "part 0 is not complete on this server");
    servers_push_all(&p.acting, 0);
    whole_step(&now, 1);
    assert_int_equal(table_vectors(p.acting.tables[0], 0), 4);
    copy_rows(&p, 0, 3, 4); /* rows in any order, and twice */
    copy_rows(&p, 0, 3, 4);
    assert_false(table_is_complete(p.standby, 0));
    copy_rows(&p, 0, 1, 3);
    bool is_complete;
    table_row row;
    span *b = take_row(p.acting.tables[0], 0, 0, &row);
    assert_int_equal(table_take_copy(p.standby, 0, 1, &row, &is_complete, NULL), OK);
    assert_true(is_complete);
    check_standby(&p, &before, &now);
    /* what is here is not taken again */
    memset(b->data, 0, b->bytes);
    assert_int_equal(table_take_copy(p.standby, 0, 1, &row, &is_complete, NULL), OK);
    assert_false(is_complete);
    check_standby(&p, &before, &now);
    span_drop(b);
    whole_fini(&before);
    whole_fini(&now);
    pair_fini(&p);
}

/* Rows of the copy before, which an old connection may still bring, undo nothing of the new one. */
static void test_a_row_of_the_copy_before(void **state)
{
    (void)state;
    pair p;
    pair_make(&p, shape_small(4));
    whole now = whole_make(&p.shape);
    table_row row;
    span *late = take_row(p.acting.tables[0], 0, 2, &row);
    int64_t version = table_version(p.acting.tables[0], 0);
    copy_rows(&p, 0, 0, 1);
    servers_push_all(&p.acting, 0);
    whole_step(&now, 1);
    copy_rows(&p, 0, 0, 2);
    bool is_complete = true;
    assert_int_equal(table_take_copy(p.standby, 0, version, &row, &is_complete, NULL), OK);
    assert_false(is_complete);
    span_drop(late);
    copy_rows(&p, 0, 2, 3);
    assert_false(table_is_complete(p.standby, 0));
    span *last = take_row(p.acting.tables[0], 0, 3, &row);
    assert_int_equal(table_take_copy(p.standby, 0, version + 1, &row, &is_complete, NULL), OK);
    assert_true(is_complete);
    span_drop(last);
    check_standby(&p, NULL, &now);
    whole_fini(&now);
    pair_fini(&p);
}

static void test_what_does_not_fit(void **state)
{
    (void)state;
    pair p;
    pair_make(&p, shape_large(3));
    size_t n = (size_t)flat_part_elements(p.shape.flat, 0);
    float *data = xcalloc(n, sizeof *data);
    const struct {
        int32_t part;
        uint32_t row, n_vectors;
        size_t n;
    } wrong[] = {{-1, 0, 3, n}, {99, 0, 3, n},    {0, 0, 2, n}, {0, 0, 5, n},
                 {0, 3, 3, n},  {0, 0, 3, n - 1}, {4, 0, 3, 1}};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        bool is_complete = true;
        table_row row = {.at = wrong[i].row,
                         .n = wrong[i].n_vectors,
                         .data = data,
                         .n_floats = wrong[i].n};
        assert_int_equal(table_take_copy(p.standby, wrong[i].part, 1, &row, &is_complete, NULL),
                         E_PROTOCOL);
        assert_false(is_complete);
    }
    free(data);
    pair_fini(&p);
}

static void count_votes(void *user, int32_t part, int64_t step, double square_sum)
{
    (void)part, (void)step, (void)square_sum;
    ++*(int *)user;
}

/* The master's word and the sum come on two ways: the verdict may be the first. */
static void test_a_verdict_before_the_sum(void **state)
{
    (void)state;
    shape s = shape_small(4);
    s.votes = true;
    int n_votes = 0;
    table_hooks hooks = quiet_hooks;
    hooks.voted = count_votes;
    hooks.user = &n_votes;
    servers v = servers_make(&s, 1, &hooks, 0, NULL);
    whole w = whole_make(&s);
    for (int64_t step = 0; step < 3; step++) {
        float scale = 0.5f + (float)step;
        if (step != 1)
            assert_int_equal(table_verdict(v.tables[0], step, (verdict){.scale = scale}, NULL), OK);
        servers_push_step(&v, 0, step);
        assert_int_equal(table_is_voting(v.tables[0], 0), step == 1);
        if (step == 1)
            assert_int_equal(table_verdict(v.tables[0], step, (verdict){.scale = scale}, NULL), OK);
        whole_step(&w, scale);
        servers_check(&v, &w);
    }
    assert_int_equal(n_votes, 3);
    whole_fini(&w);
    servers_fini(&v);
    shape_fini(&s);
}

/* A new era: some parts stay as they are, others are awaited anew or let go; all or nothing. */
static void test_hold(void **state)
{
    (void)state;
    shape s = shape_large(3);
    table *t = table_of(&s, PART_HELD);
    part_hold parts[5] = {PART_HELD, PART_AWAITED, PART_ELSEWHERE, PART_HELD, PART_AWAITED};
    assert_int_equal(table_hold(t, parts, NULL), OK);
    const bool holds[5] = {true, true, false, true, true},
               is_complete[5] = {true, false, false, true, false};
    for (int32_t p = 0; p < 5; p++) {
        assert_int_equal(table_holds(t, p), holds[p]);
        assert_int_equal(table_is_complete(t, p), is_complete[p]);
        assert_int_equal(table_rows(t, p) > 0, is_complete[p]);
    }
    parts[0] = PART_ELSEWHERE;
    parts[1] = PART_HELD;
    error err = ERROR_INIT;
    assert_int_equal(table_hold(t, parts, &err), E_PROTOCOL);
    assert_string_equal(err.text, "part 1 is not here");
    assert_true(table_is_complete(t, 0));
    table_destroy(&t);
    shape_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_copy_follows),
        cmocka_unit_test(test_a_copy_begun_again),
        cmocka_unit_test(test_a_row_of_the_copy_before),
        cmocka_unit_test(test_what_does_not_fit),
        cmocka_unit_test(test_a_verdict_before_the_sum),
        cmocka_unit_test(test_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
