#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/json.h"
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

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static lr_schedule schedule_of(const json_t *file, const json_t *c)
{
    const json_t *o = json_object_get(c, "options"), *list = json_object_get(o, "milestones");
    lr_schedule s = {.base = number(file, "base"),
                     .total_steps = (int64_t)number(file, "total_steps"),
                     .minimum = number(o, "minimum"),
                     .warmup_steps = (int64_t)number(o, "warmup_steps"),
                     .unit_steps = (int64_t)number(o, "unit_steps"),
                     .step_size = (int64_t)number(o, "step_size"),
                     .gamma = number(o, "gamma"),
                     .n_milestones = (int)json_array_size(list),
                     .cut_fraction = number(o, "cut_fraction"),
                     .ratio = number(o, "ratio"),
                     .frozen_units = (int64_t)number(o, "frozen_units"),
                     .first_cycle = (int64_t)number(o, "first_cycle"),
                     .cycle_factor = number(o, "cycle_factor"),
                     .base_factor = number(o, "base_factor"),
                     .start_ratio = number(o, "start_ratio"),
                     .end_ratio = number(o, "end_ratio"),
                     .power = number(o, "power"),
                     .cycles = number(o, "cycles"),
                     .factor = number(o, "factor"),
                     .model_size = number(o, "model_size")};
    for (int i = 0; i < s.n_milestones; i++)
        s.milestones[i] = (int64_t)json_integer_value(json_array_get(list, (size_t)i));
    assert_true(lr_schedule_kind_of(json_string_value(json_object_get(c, "kind")), &s.kind));
    return s;
}

/* tests/golden/make_schedules.py */
static void rates_are_those_of_others(void **state)
{
    (void)state;
    json_t *file = NULL, *c, *rate;
    error err = ERROR_INIT;
    if (json_read_file(TEST_DATA_DIR "/schedules.json", &file, &err) != OK)
        fail_msg("%s", err.text);
    size_t i, step;
    json_array_foreach(json_object_get(file, "cases"), i, c)
    {
        lr_schedule s = schedule_of(file, c);
        json_array_foreach(json_object_get(c, "rates"), step, rate)
        {
            double got = (double)lr_schedule_rate(&s, (int64_t)step), want = json_number_value(rate);
            if (!(fabs(got - want) <= 1e-7 * fabs(want) + 1e-9))
                fail_msg("case %zu (%s), step %zu: %.9g, want %.9g", i, lr_schedule_name(s.kind), step, got, want);
        }
    }
    json_decref(file);
}

/* AllenNLP's formula, epoch by epoch. */
static void momentum_falls_and_climbs(void **state)
{
    (void)state;
    const momentum_schedule s = {.cool_down = 4, .warm_up = 2, .unit_steps = 3, .ratio = 10};
    for (int64_t step = 0; step < 40; step++) {
        double e = (double)(step / 3), m = 0.9, want = m;
        if (e <= 4)
            want = m - (m - m / 10) * (e / 4);
        else if (e <= 6)
            want = m / 10 + (m - m / 10) * (e - 4) / 2;
        assert_true(fabs(m * momentum_schedule_share(&s, step) - want) < 1e-12);
    }
    assert_true(momentum_schedule_share(&(momentum_schedule){.unit_steps = 1}, 7) == 1.0);
}

/* A curve with every option at a value that fits. */
static lr_schedule any_schedule(int kind)
{
    return (lr_schedule){.kind = (lr_schedule_kind)kind,
                         .step_size = 1000,
                         .gamma = 0.5,
                         .cut_fraction = 0.1,
                         .ratio = 32,
                         .start_ratio = 25,
                         .end_ratio = 100,
                         .power = 2,
                         .cycles = 0.5,
                         .factor = 1,
                         .model_size = 4};
}

/* No total, or a warm-up longer than it: nothing to fall over, and never a division by zero. */
static void nothing_to_fall_over_stays_at_base(void **state)
{
    (void)state;
    const int64_t totals[] = {0, 5, 9, 10};
    for (int kind = 0; kind <= LR_SCHEDULE_ONE_CYCLE; kind++)
        for (size_t t = 0; t < 4; t++) {
            lr_schedule s = any_schedule(kind);
            if (kind == LR_SCHEDULE_EXPONENTIAL)
                continue; /* it falls whatever the end */
            s.base = 0.5;
            s.warmup_steps = 10;
            s.total_steps = totals[t];
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
    for (int kind = 0; kind < LR_SCHEDULE_KINDS; kind++)
        for (int64_t total = 0; total < 12; total++)
            for (int64_t warmup = 0; warmup < 12; warmup++)
                for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
                    lr_schedule s = any_schedule(kind);
                    s.base = 1;
                    s.total_steps = total;
                    s.warmup_steps = warmup;
                    s.step_size = 2;
                    s.unit_steps = 1 + total % 3;
                    s.frozen_units = warmup % 3;
                    float rate = lr_schedule_rate(&s, steps[i]);
                    assert_true(rate >= 0 && rate <= 1);
                }
}

static void kinds_have_names(void **state)
{
    (void)state;
    for (int kind = 0; kind < LR_SCHEDULE_KINDS; kind++) {
        lr_schedule_kind found;
        assert_true(lr_schedule_kind_of(lr_schedule_name((lr_schedule_kind)kind), &found));
        assert_int_equal(found, kind);
    }
    lr_schedule_kind untouched = LR_SCHEDULE_STEP;
    assert_false(lr_schedule_kind_of("staircase", &untouched));
    assert_int_equal(untouched, LR_SCHEDULE_STEP);
}

static void the_end_matters_to_some(void **state)
{
    (void)state;
    for (lr_schedule_kind kind = LR_SCHEDULE_CONSTANT; kind < LR_SCHEDULE_KINDS; kind++) {
        lr_schedule a = any_schedule((int)kind);
        bool has_end = kind != LR_SCHEDULE_CONSTANT && kind != LR_SCHEDULE_STEP && kind != LR_SCHEDULE_MULTI_STEP &&
                       kind != LR_SCHEDULE_EXPONENTIAL && kind != LR_SCHEDULE_CONSTANT_WITH_WARMUP &&
                       kind != LR_SCHEDULE_NOAM && kind != LR_SCHEDULE_REDUCE_ON_PLATEAU;
        a.base = 0.1;
        a.total_steps = 40;
        a.step_size = 9;
        a.warmup_steps = 3;
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
        cmocka_unit_test(rates_are_those_of_others),
        cmocka_unit_test(momentum_falls_and_climbs),
        cmocka_unit_test(nothing_to_fall_over_stays_at_base),
        cmocka_unit_test(every_rate_is_finite_and_not_negative),
        cmocka_unit_test(kinds_have_names),
        cmocka_unit_test(the_end_matters_to_some),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
