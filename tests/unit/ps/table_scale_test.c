/*
 * Loss scales in the table: scaled gradients make the bits of those that are not, a skipped step
 * moves nothing and does not count for the optimizer, every version has its scale, also in a copy
 * and in a part that takes up half way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/ps/support_table.h"

#include <math.h>
#include <string.h>

enum { STEPS = 24 };

static const loss_scale_rule rule = {.dynamic = true, .start = 20, .window = 3};

static bool is_bad(int64_t step)
{
    return step % 7 == 2 || step == 10 || step == 11;
}

/* Norms of each part, as they were voted. */
static double norms[8];

static void note_norm(void *user, int32_t part, int64_t step, double square_sum)
{
    (void)user, (void)step;
    norms[part] = square_sum;
}

static shape scaled_shape(void)
{
    shape s = shape_large(3);
    s.votes = true;
    s.scaling = rule;
    s.clip_value = 2;
    return s;
}

static servers scaled_servers(const shape *s, int32_t n)
{
    table_hooks hooks = quiet_hooks;
    hooks.voted = note_norm;
    return servers_make(s, n, &hooks, 0, NULL);
}

/* One step of all parts at this scale; an infinity where it is bad. */
static void play_step(servers *v, shape *s, whole *w, loss_scale *at)
{
    int64_t step = w->version;
    bool skip = is_bad(step);
    s->factor = skip ? INFINITY : loss_scale_factor(*at);
    servers_push_all(v, step);
    bool is_finite = true;
    for (int32_t p = 0; p < s->flat->n_live_parts; p++)
        is_finite = is_finite && isfinite(norms[p]);
    assert_int_equal(is_finite, !skip);
    const verdict said = {.scale = skip ? 1 : 0.75f, .skip = skip};
    for (int32_t i = 0; i < v->n; i++)
        assert_int_equal(table_verdict(v->tables[i], step, said, NULL), OK);
    if (skip)
        whole_skip(w);
    else
        whole_step(w, 0.75f);
    *at = loss_scale_next(&rule, *at, skip);
}

static void expect_scale(const servers *v, int64_t version, loss_scale wanted)
{
    for (int32_t p = 0; p < v->shape->flat->n_live_parts; p++)
        assert_true(loss_scale_equal(table_scale(v->tables[v->placement[p]], p, version), wanted));
}

static void test_the_bits_of_unscaled_steps(void **state)
{
    (void)state;
    for (int32_t n = 1; n <= 2; n++) {
        shape s = scaled_shape();
        servers v = scaled_servers(&s, n);
        whole w = whole_make(&s);
        loss_scale now = loss_scale_first(&rule), before;
        for (int step = 0; step < STEPS; step++) {
            before = now;
            play_step(&v, &s, &w, &now);
            servers_check(&v, &w);
            expect_scale(&v, step, before);
            expect_scale(&v, step + 1, now);
        }
        assert_true(now.skipped > 3 && w.skipped == now.skipped);
        whole_fini(&w);
        servers_fini(&v);
        shape_fini(&s);
        assert_int_equal(hands_out(), 0);
    }
}

/* The norm is that of the gradient, whatever its scale. */
static void test_norms_have_no_scale(void **state)
{
    (void)state;
    double plain[8] = {0};
    for (int exponent = 0; exponent <= 60; exponent += 20) {
        shape s = scaled_shape();
        s.scaling = (loss_scale_rule){.start = (uint8_t)exponent};
        s.factor = ldexpf(1, exponent);
        servers v = scaled_servers(&s, 1);
        servers_push_all(&v, 0);
        if (!exponent)
            memcpy(plain, norms, sizeof plain);
        assert_memory_equal(plain, norms, sizeof plain);
        servers_fini(&v);
        shape_fini(&s);
    }
}

/* Weights are shared by the two versions, and nobody writes under who reads them. */
static void test_a_skipped_version_is_the_one_before(void **state)
{
    (void)state;
    shape s = scaled_shape();
    servers v = scaled_servers(&s, 1);
    whole w = whole_make(&s);
    loss_scale now = loss_scale_first(&rule);
    while (!is_bad(w.version))
        play_step(&v, &s, &w, &now);
    int64_t step = w.version;
    play_step(&v, &s, &w, &now);
    span *old = table_weights(v.tables[0], 0, step), *new = table_weights(v.tables[0], 0, step + 1);
    assert_ptr_equal(old, new);
    float first = old->floats[0];
    span_drop(new);
    play_step(&v, &s, &w, &now);
    play_step(&v, &s, &w, &now);
    servers_check(&v, &w);
    assert_true(old->floats[0] == first);
    span_drop(old);
    whole_fini(&w);
    servers_fini(&v);
    shape_fini(&s);
}

/* What begins at a version begins with its scale; and counts the steps that were skipped before. */
static void test_taken_up(void **state)
{
    (void)state;
    shape s = scaled_shape();
    loss_scale at = {.exponent = 9, .good = 2, .skipped = 5};
    table_hooks hooks = quiet_hooks;
    hooks.voted = note_norm;
    servers v = servers_make_scaled(&s, 1, &hooks, 13, NULL, at);
    whole w = whole_make(&s);
    w.version = 13;
    w.skipped = 5;
    expect_scale(&v, 13, at);
    play_step(&v, &s, &w, &at);
    servers_check(&v, &w);
    assert_int_equal(at.exponent, 10);
    expect_scale(&v, 14, at);
    whole_fini(&w);
    servers_fini(&v);
    shape_fini(&s);
}

/* A standby that is sent its parts half way has the scales of both versions, and goes on alike. */
static void copy_all(table *from, table *to, int32_t n_parts)
{
    for (int32_t p = 0; p < n_parts; p++) {
        table_row row = {.n = table_vectors(from, p)};
        for (bool is_complete = false; !is_complete; row.at++) {
            span *b = table_vector(from, p, row.at, &row.scale);
            row.data = b->data;
            row.n_floats = span_n(b);
            assert_int_equal(
                table_take_copy(to, p, table_version(from, p), &row, &is_complete, NULL), OK);
            span_drop(b);
        }
    }
}

static void test_in_a_copy(void **state)
{
    (void)state;
    shape s = scaled_shape();
    servers v = scaled_servers(&s, 1), other = scaled_servers(&s, 1);
    whole w = whole_make(&s);
    loss_scale now = loss_scale_first(&rule), before = now;
    const part_hold awaited[] = {PART_AWAITED, PART_AWAITED, PART_AWAITED, PART_AWAITED,
                                 PART_AWAITED};
    do {
        before = now;
        play_step(&v, &s, &w, &now);
    } while (!now.skipped);
    assert_int_equal(table_hold(other.tables[0], awaited, NULL), OK);
    copy_all(v.tables[0], other.tables[0], s.flat->n_parts);
    expect_scale(&other, w.version - 1, before);
    expect_scale(&other, w.version, now);
    play_step(&other, &s, &w, &now);
    servers_check(&other, &w);
    expect_scale(&other, w.version, now);
    whole_fini(&w);
    servers_fini(&v);
    servers_fini(&other);
    shape_fini(&s);
}

/* A statistic that overflows skips the step, though it has no part in the norm. */
static void test_statistics_count_too(void **state)
{
    (void)state;
    shape s = shape_small(1);
    s.votes = true;
    servers v = scaled_servers(&s, 1);
    const int32_t mean = 1; /* the tensor */
    tree_node node = {0, 0};
    push_result result;
    span *b = hand(&s, 0, 0, node, true);
    b->floats[s.flat->offset[mean] - s.flat->parts[0].begin] = INFINITY;
    assert_int_equal(table_push(v.tables[0], 0, 0, 1, node, b, &result, NULL), OK);
    assert_false(isfinite(norms[0]));
    servers_fini(&v);
    shape_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_bits_of_unscaled_steps),
        cmocka_unit_test(test_norms_have_no_scale),
        cmocka_unit_test(test_a_skipped_version_is_the_one_before),
        cmocka_unit_test(test_taken_up),
        cmocka_unit_test(test_in_a_copy),
        cmocka_unit_test(test_statistics_count_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
