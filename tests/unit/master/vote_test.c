/* The vote: complete when every part is in, the same bits in whatever order they came; what is not
 * finite is skipped, or named where nothing can be done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/rng.h"
#include "master/servers/vote.h"

#include <math.h>
#include <string.h>

enum { PARTS = 13, CASES = 200 };

static const loss_scale_rule fixed = {.dynamic = false};

/* Of parts whose loss is not scaled. */
static status add(vote *v, int64_t step, int32_t part, double square_sum, bool *ret_complete,
                  float *ret_scale, error *err)
{
    verdict said = {.scale = *ret_scale};
    vote_part p = {.part = part, .square_sum = square_sum};
    status st = vote_add(v, step, &p, ret_complete, &said, err);
    assert_false(said.skip);
    *ret_scale = said.scale;
    return st;
}

static void shuffle(const rng *r, uint64_t at, int32_t *order, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        order[i] = i;
    for (int32_t i = n - 1; i > 0; i--) {
        int32_t k = (int32_t)rng_below(r, at + (uint64_t)i, (uint64_t)i + 1), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
}

/* Hands the parts in by `order`, some twice; returns the scale. */
static float hold_vote(vote *v, int64_t step, const double *sums, const int32_t *order)
{
    float scale = -1;
    for (int32_t i = 0; i < PARTS; i++) {
        bool complete = true;
        assert_int_equal(add(v, step, order[i], sums[order[i]], &complete, &scale, NULL), OK);
        assert_int_equal(complete, i == PARTS - 1);
        if (i % 3 || i == PARTS - 1)
            continue;
        assert_int_equal(add(v, step, order[i], 1e30, &complete, &scale, NULL), OK);
        assert_false(complete); /* a part counts once */
    }
    return scale;
}

/* With so many bits that a sum of them is not exact: it depends on the order. */
static double draw_square_sum(const rng *r, uint64_t i)
{
    double x = (double)rng_normal(r, i), most = (double)(1u << rng_below(r, 50 + i, 30));
    return x * x * most;
}

/* A limit with which the scale lies half way between two floats: which of them it is the last bit of the
 * parts' sum decides. */
static double limit_at_a_tie(const double *sums)
{
    double sum = 0;
    for (int i = 0; i < PARTS; i++)
        sum += sums[i];
    float scale = 0.3f;
    return ((double)scale + (double)nextafterf(scale, 1)) / 2 * (sqrt(sum) + 1e-6);
}

static void arrival_does_not_show(void **state)
{
    (void)state;
    for (uint64_t c = 0; c < CASES; c++) {
        rng r = rng_make(7, RNG_TEST, c);
        double sums[PARTS];
        for (uint64_t i = 0; i < PARTS; i++)
            sums[i] = draw_square_sum(&r, i);
        vote *v = vote_create(PARTS, limit_at_a_tie(sums), &fixed);
        float first = 0;
        for (int64_t step = 0; step < 4; step++) {
            int32_t order[PARTS];
            shuffle(&r, 100 * (uint64_t)(step + 1), order, PARTS);
            float scale = hold_vote(v, step, sums, order);
            if (step == 0)
                first = scale;
            assert_memory_equal(&scale, &first, sizeof scale);
        }
        vote_destroy(&v);
    }
}

static void it_is_clip_grad_norm(void **state)
{
    (void)state;
    bool complete = false;
    float scale = 0;
    vote *v = vote_create(2, 1.0, &fixed);
    assert_int_equal(add(v, 0, 0, 9.0, &complete, &scale, NULL), OK);
    assert_int_equal(add(v, 0, 1, 16.0, &complete, &scale, NULL), OK);
    assert_true(complete);
    assert_true(scale == (float)(1.0 / (5.0 + 1e-6)));
    assert_int_equal(add(v, 1, 1, 0.0, &complete, &scale, NULL), OK);
    assert_int_equal(add(v, 1, 0, 0.25, &complete, &scale, NULL), OK);
    assert_true(scale == 1.0f); /* never up */
    vote_destroy(&v);
    vote_destroy(&v);
}

static void other_steps_and_unknown_parts_do_not_count(void **state)
{
    (void)state;
    bool complete = true;
    float scale = 0;
    vote *v = vote_create(1, 1.0, &fixed);
    vote_begin(v, 5);
    assert_int_equal(add(v, 4, 0, 1.0, &complete, &scale, NULL), OK);
    assert_false(complete);
    assert_int_equal(add(v, 6, 0, NAN, &complete, &scale, NULL), OK);
    assert_int_equal(add(v, 5, 1, 1.0, &complete, &scale, NULL), OK);
    assert_false(complete);
    assert_int_equal(add(v, 5, 0, 4.0, &complete, &scale, NULL), OK);
    assert_true(complete);
    vote_destroy(&v);
}

/* All parts are heard before a step is skipped; the next vote is as ever. */
static void a_gradient_that_is_not_finite_is_skipped(void **state)
{
    (void)state;
    const loss_scale_rule scaling = {.dynamic = true, .start = 16, .window = 3};
    const double sums[][3] = {{1, NAN, 4}, {INFINITY, 2, -INFINITY}, {1, 4, 4}};
    for (int clips = 0; clips < 2; clips++) {
        vote *v = vote_create(3, clips ? 1.5 : (double)INFINITY, &scaling);
        for (int32_t i = 0; i < 9; i++) {
            int32_t step = i / 3, p = i % 3;
            bool complete = true;
            verdict said = {.scale = 7};
            vote_part part = {p, sums[step][p], {.exponent = 1}};
            assert_int_equal(vote_add(v, step, &part, &complete, &said, NULL), OK);
            assert_int_equal(complete, p == 2);
            if (!complete)
                continue;
            assert_int_equal(said.skip, step < 2);
            assert_true(said.scale == (clips && step == 2 ? (float)(1.5 / (3 + 1e-6)) : 1));
        }
        vote_destroy(&v);
    }
}

static void a_scale_that_cannot_fall_is_an_error(void **state)
{
    (void)state;
    const loss_scale_rule scaling = {.dynamic = true, .start = 16, .window = 3};
    bool complete = true;
    verdict said;
    error err = ERROR_INIT;
    vote *v = vote_create(3, 1, &scaling);
    vote_part part = {2, NAN, {.exponent = 0}};
    assert_int_equal(vote_add(v, 0, &part, &complete, &said, &err), E_NONFINITE);
    assert_string_equal(err.text, "step 0: the gradient of part 2 is not finite, though the loss "
                                  "scale has fallen to 1");
    assert_false(complete);
    vote_destroy(&v);
}

static void a_gradient_that_is_not_finite_is_named(void **state)
{
    (void)state;
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        bool complete = true;
        float scale = 0;
        error err = ERROR_INIT;
        vote *v = vote_create(4, 1.0, &fixed);
        vote_begin(v, 17);
        assert_int_equal(add(v, 17, 2, bad[i], &complete, &scale, &err), E_NONFINITE);
        assert_string_equal(err.text, "step 17: the gradient of part 2 is not finite");
        assert_false(complete);
        vote_destroy(&v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrival_does_not_show),
        cmocka_unit_test(it_is_clip_grad_norm),
        cmocka_unit_test(other_steps_and_unknown_parts_do_not_count),
        cmocka_unit_test(a_gradient_that_is_not_finite_is_named),
        cmocka_unit_test(a_gradient_that_is_not_finite_is_skipped),
        cmocka_unit_test(a_scale_that_cannot_fall_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
