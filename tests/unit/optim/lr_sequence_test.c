/*
 * Schedules one after the other, and reductions on a plateau: the rates are those of PyTorch and transformers
 * (tests/golden/make_schedules.py).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/json.h"
#include "common/parts/verdict.h"
#include "optim/lr_sequence.h"
#include "optim/plateau.h"

#include <math.h>
#include <string.h>

static json_t *golden(void)
{
    json_t *file = NULL;
    error err = ERROR_INIT;
    if (json_read_file(TEST_DATA_DIR "/schedules.json", &file, &err) != OK)
        fail_msg("%s", err.text);
    return file;
}

static double number(const json_t *object, const char *key, double otherwise)
{
    const json_t *value = json_object_get(object, key);
    return value ? json_number_value(value) : otherwise;
}

static bool says(const json_t *object, const char *key, const char *word)
{
    const char *is = json_string_value(json_object_get(object, key));
    return is && strcmp(is, word) == 0;
}

static void assert_rate(double got, double want, size_t which, size_t at)
{
    if (!(fabs(got - want) <= 1e-7 * fabs(want) + 1e-9))
        fail_msg("case %zu, at %zu: %.9g, want %.9g", which, at, got, want);
}

/* --- on a plateau --- */

static plateau_rule rule_of(const json_t *o)
{
    return (plateau_rule){.is_used = true,
                          .more_is_better = says(o, "mode", "max"),
                          .is_relative = !says(o, "threshold_mode", "abs"),
                          .threshold = number(o, "threshold", 1e-4),
                          .patience = (int64_t)number(o, "patience", 10),
                          .cooldown = (int64_t)number(o, "cooldown", 0),
                          .end_epoch = INT64_MAX};
}

static void a_plateau_reduces_as_pytorch_does(void **state)
{
    (void)state;
    json_t *file = golden(), *c, *value;
    size_t i, epoch;
    json_array_foreach(json_object_get(file, "plateaus"), i, c)
    {
        const json_t *o = json_object_get(c, "options"), *rates = json_object_get(c, "rates");
        plateau_rule rule = rule_of(o);
        plateau p = plateau_begin(&rule);
        lr_sequence s = {.schedules = {{.kind = LR_SCHEDULE_REDUCE_ON_PLATEAU,
                                        .base = number(file, "base", 0),
                                        .factor = number(o, "factor", 0.1),
                                        .minimum = number(o, "min_lr", 0),
                                        .eps = number(o, "eps", 1e-8)}}};
        json_array_foreach(json_object_get(c, "values"), epoch, value)
        {
            plateau_take(&p, (int64_t)epoch, json_is_null(value) ? (double)NAN : json_number_value(value));
            double got = (double)lr_sequence_rate(&s, 100 * (int64_t)epoch, p.reductions);
            assert_rate(got, json_number_value(json_array_get(rates, epoch)), i, epoch);
        }
    }
    json_decref(file);
}

static void only_epochs_of_the_schedule_count(void **state)
{
    (void)state;
    const plateau_rule rule = {.is_used = true, .first_epoch = 3, .end_epoch = 6};
    plateau p = plateau_begin(&rule), unused = plateau_begin(&(plateau_rule){.end_epoch = INT64_MAX});
    for (int64_t epoch = 0; epoch < 10; epoch++) {
        plateau_take(&p, epoch, (double)epoch);
        plateau_take(&unused, epoch, (double)epoch);
    }
    assert_int_equal(p.reductions, 2); /* epoch 3 was the first, and the best */
    assert_int_equal(unused.reductions, 0);
}

static void reductions_have_room_in_a_verdict(void **state)
{
    (void)state;
    const plateau_rule rule = {.is_used = true, .end_epoch = INT64_MAX};
    plateau p = plateau_begin(&rule);
    p.reductions = VERDICT_REDUCTIONS;
    plateau_take(&p, 0, 1);
    plateau_take(&p, 1, 2);
    assert_int_equal(p.reductions, VERDICT_REDUCTIONS);
    verdict back = verdict_unpack(verdict_pack((verdict){.scale = 0.5f, .skip = true, .reductions = p.reductions}));
    assert_true(back.scale == 0.5f && back.skip && back.reductions == p.reductions);
    assert_true(verdict_is_packed(verdict_pack(back)));
    assert_false(verdict_is_packed(verdict_pack(back) | (uint64_t)1 << 63));
    assert_false(verdict_is_packed(0));
}

/* --- one after the other --- */

static lr_schedule schedule_of(const json_t *part, double base, int64_t steps, int64_t epoch_steps)
{
    const json_t *o = json_object_get(part, "options"), *list = json_object_get(o, "milestones");
    lr_schedule s = {.base = base,
                     .total_steps = steps,
                     .unit_steps = epoch_steps,
                     .warmup_steps = (int64_t)number(o, "warmup_steps", 0),
                     .gamma = number(o, "gamma", 0),
                     .minimum = number(o, "minimum", 0),
                     .n_milestones = (int)json_array_size(list),
                     .power = 1};
    for (int i = 0; i < s.n_milestones; i++)
        s.milestones[i] = (int64_t)json_integer_value(json_array_get(list, (size_t)i));
    assert_true(lr_schedule_kind_of(json_string_value(json_object_get(part, "kind")), &s.kind));
    return s;
}

static lr_sequence sequence_of(const json_t *file, const json_t *c)
{
    int64_t epoch_steps = (int64_t)number(file, "epoch_steps", 1);
    lr_sequence s = {.steps = {0}};
    size_t i;
    json_t *part;
    json_array_foreach(json_object_get(c, "schedules"), i, part)
    {
        s.steps[i] = (int64_t)number(part, "epochs", 0) * epoch_steps;
        /* the base of all but the first does not count */
        s.schedules[i] = schedule_of(part, i ? 77 : number(file, "base", 0), s.steps[i], epoch_steps);
    }
    return s;
}

static void a_sequence_goes_on_where_the_one_before_ended(void **state)
{
    (void)state;
    json_t *file = golden(), *c, *rate;
    size_t i, step;
    json_array_foreach(json_object_get(file, "sequences"), i, c)
    {
        lr_sequence s = sequence_of(file, c);
        assert_string_equal(lr_sequence_name(&s), "combined");
        assert_true(lr_sequence_equal(&s, &s));
        json_array_foreach(json_object_get(c, "rates"), step, rate)
        {
            assert_rate((double)lr_sequence_rate(&s, (int64_t)step, 0), json_number_value(rate), i, step);
        }
    }
    json_decref(file);
}

static void one_alone_is_itself(void **state)
{
    (void)state;
    lr_sequence s = {.schedules = {{.kind = LR_SCHEDULE_LINEAR, .base = 0.5, .total_steps = 10}}}, longer = s;
    longer.schedules[0].total_steps = 20;
    assert_string_equal(lr_sequence_name(&s), "linear");
    for (int64_t step = -1; step < 12; step++)
        assert_true(lr_sequence_rate(&s, step, 3) == lr_schedule_rate(&s.schedules[0], step));
    assert_true(lr_sequence_equal(&s, &s));
    assert_false(lr_sequence_equal(&s, &longer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plateau_reduces_as_pytorch_does),
        cmocka_unit_test(only_epochs_of_the_schedule_count),
        cmocka_unit_test(reductions_have_room_in_a_verdict),
        cmocka_unit_test(a_sequence_goes_on_where_the_one_before_ended),
        cmocka_unit_test(one_alone_is_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
