#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "optim/lr_schedule.h"

#include <math.h>
#include <string.h>

static void assert_rate(const lr_schedule *s, int64_t step, double want)
{
    double got = (double)lr_schedule_rate(s, step);
    if (!(fabs(got - want) <= 1e-7 * fabs(want) + 1e-12))
        fail_msg("schedule %d, step %lld: %.9g, want %.9g", (int)s->kind, (long long)step, got, want);
}

static double warm(const lr_schedule *s, int64_t step)
{
    return s->base * (double)(step + 1) / (double)(s->warmup_steps + 1);
}

static void constant_warms_up_and_stays(void **state)
{
    (void)state;
    lr_schedule s = {.kind = LR_SCHEDULE_CONSTANT, .base = 0.3, .warmup_steps = 4, .total_steps = 10};
    const double want[] = {0.06, 0.12, 0.18, 0.24, 0.3, 0.3, 0.3};
    for (int64_t step = 0; step < 7; step++)
        assert_rate(&s, step, want[step]);
    assert_rate(&s, 1000, 0.3);
    s.warmup_steps = 0;
    assert_rate(&s, 0, 0.3);
    assert_rate(&s, -5, 0.3);
}

static void step_falls_by_gamma(void **state)
{
    (void)state;
    lr_schedule s = {
        .kind = LR_SCHEDULE_STEP, .base = 0.1, .warmup_steps = 3, .step_size = 7, .gamma = 0.3};
    for (int64_t step = 0; step < 100; step++)
        assert_rate(&s, step,
                    step < 3 ? warm(&s, step) : 0.1 * pow(0.3, floor((double)(step - 3) / 7)));
    s.total_steps = 24; /* three falls, then it stays */
    assert_rate(&s, 1000, 0.1 * pow(0.3, 3));
    s.step_size = 0;
    assert_rate(&s, 50, 0.1);
}

static void cosine_falls_to_the_minimum(void **state)
{
    (void)state;
    lr_schedule s = {.kind = LR_SCHEDULE_COSINE,
                  .base = 0.1,
                  .minimum = 0.01,
                  .warmup_steps = 5,
                  .total_steps = 105};
    for (int64_t step = 0; step <= 105; step++)
        assert_rate(&s, step,
                    step < 5 ? warm(&s, step)
                             : 0.01 + 0.09 * (1 + cos(M_PI * (double)(step - 5) / 100)) / 2);
    assert_rate(&s, 106, 0.01);
    assert_rate(&s, INT64_MAX, 0.01);
}

static void linear_stops_at_the_minimum(void **state)
{
    (void)state;
    lr_schedule s = {.kind = LR_SCHEDULE_LINEAR,
                  .base = 0.1,
                  .minimum = 0.02,
                  .warmup_steps = 2,
                  .total_steps = 52};
    for (int64_t step = 0; step <= 60; step++)
        assert_rate(&s, step,
                    step < 2 ? warm(&s, step) : fmax(0.02, 0.1 * (1 - (double)(step - 2) / 50)));
    s.minimum = -1;
    assert_rate(&s, 1000, 0);
}

/* AllenNLP's formula with its usual constants. */
static void slanted_triangular_rises_and_falls(void **state)
{
    (void)state;
    lr_schedule s = {.kind = LR_SCHEDULE_SLANTED_TRIANGULAR,
                  .base = 2e-5,
                  .total_steps = 1005,
                  .cut_fraction = 0.1,
                  .ratio = 32};
    for (int64_t step = 0; step <= 1005; step++) {
        double p = step < 100 ? (double)step / 100 : 1 - (double)(step - 100) / 905;
        assert_rate(&s, step, 2e-5 * (1 + p * 31) / 32);
    }
    assert_rate(&s, 0, 2e-5 / 32);
    assert_rate(&s, 100, 2e-5);
    assert_rate(&s, 9999, 2e-5 / 32);
    s.cut_fraction = 1; /* only rises */
    assert_rate(&s, 1004, 2e-5 * (1 + 1004.0 / 1005 * 31) / 32);
    assert_rate(&s, 5000, 2e-5);
    s.cut_fraction = 0; /* only falls */
    assert_rate(&s, 0, 2e-5);
    assert_rate(&s, 1005, 2e-5 / 32);
}

/* No total, or a warm-up longer than it: nothing to fall over, and never a division by zero. */
static void nothing_to_fall_over_stays_at_base(void **state)
{
    (void)state;
    const int64_t totals[] = {0, 5, 9, 10};
    for (int kind = 0; kind <= LR_SCHEDULE_SLANTED_TRIANGULAR; kind++)
        for (size_t t = 0; t < 4; t++) {
            lr_schedule s = {.kind = (lr_schedule_kind)kind,
                          .base = 0.5,
                          .warmup_steps = 10,
                          .total_steps = totals[t],
                          .step_size = 1000,
                          .gamma = 0.5,
                          .cut_fraction = 0.1,
                          .ratio = 32};
            for (int64_t step = 0; step < 10; step++)
                assert_rate(&s, step, warm(&s, step));
            assert_rate(&s, 10, 0.5);
            assert_rate(&s, 500, 0.5);
        }
}

static void every_rate_is_finite_and_not_negative(void **state)
{
    (void)state;
    const int64_t steps[] = {0, 1, 2, 3, 9, 10, 11, 1000, INT64_MAX};
    for (int kind = 0; kind <= LR_SCHEDULE_SLANTED_TRIANGULAR; kind++)
        for (int64_t total = 0; total < 12; total++)
            for (int64_t warmup = 0; warmup < 12; warmup++)
                for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
                    lr_schedule s = {.kind = (lr_schedule_kind)kind,
                                  .base = 1,
                                  .total_steps = total,
                                  .warmup_steps = warmup,
                                  .step_size = 2,
                                  .gamma = 0.5,
                                  .cut_fraction = 0.3,
                                  .ratio = 32};
                    float rate = lr_schedule_rate(&s, steps[i]);
                    assert_true(rate >= 0 && rate <= 1);
                }
}

static void kinds_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {"constant", "step", "cosine", "linear", "slanted_triangular"};
    for (int kind = 0; kind <= LR_SCHEDULE_SLANTED_TRIANGULAR; kind++) {
        lr_schedule_kind found;
        assert_true(lr_schedule_kind_of(names[kind], &found));
        assert_int_equal(found, kind);
    }
    lr_schedule_kind untouched = LR_SCHEDULE_STEP;
    assert_false(lr_schedule_kind_of("noam", &untouched));
    assert_int_equal(untouched, LR_SCHEDULE_STEP);
}

static void the_end_matters_to_some(void **state)
{
    (void)state;
    for (lr_schedule_kind kind = LR_SCHEDULE_CONSTANT; kind <= LR_SCHEDULE_SLANTED_TRIANGULAR; kind++) {
        bool has_end = kind != LR_SCHEDULE_CONSTANT && kind != LR_SCHEDULE_STEP;
        lr_schedule a = {.kind = kind, .base = 0.1, .total_steps = 40, .step_size = 9, .gamma = 0.5,
                      .cut_fraction = 0.1, .ratio = 32};
        lr_schedule b = a;
        assert_true(lr_schedule_equal(&a, &b));
        b.total_steps = 80;
        assert_int_equal(lr_schedule_equal(&a, &b), !has_end);
        bool same = true;
        for (int64_t step = 0; step < 40; step++)
            same = same && !(lr_schedule_rate(&a, step) != lr_schedule_rate(&b, step));
        assert_int_equal(same, !has_end);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_warms_up_and_stays),
        cmocka_unit_test(step_falls_by_gamma),
        cmocka_unit_test(cosine_falls_to_the_minimum),
        cmocka_unit_test(linear_stops_at_the_minimum),
        cmocka_unit_test(slanted_triangular_rises_and_falls),
        cmocka_unit_test(nothing_to_fall_over_stays_at_base),
        cmocka_unit_test(every_rate_is_finite_and_not_negative),
        cmocka_unit_test(kinds_have_names),
        cmocka_unit_test(the_end_matters_to_some),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
