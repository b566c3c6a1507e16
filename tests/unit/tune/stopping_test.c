/* Early stopping: which trials of a study end or rest, and which go on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tune/stopping.h"

#include <math.h>
#include <stdlib.h>

static const space_parameter parameters[] = {{.name = "x", .kind = SPACE_INTEGER, .min = 1, .max = 1000}};
static const space line = {parameters, 1};

static void add(study *s, json_t *record)
{
    error err = ERROR_INIT;
    if (study_take(s, record, &err) != OK)
        fail_msg("%s", err.text);
    json_decref(record);
}

static int begin(study *s)
{
    double point = s->n + 1;
    add(s, study_record_running(s, s->n + 1, &point));
    return s->n;
}

static stopping_verdict evaluate(const stopping *how, study *s, int number, int64_t epoch, double objective)
{
    trial_evaluation e = {.epoch = epoch, .steps = 10 * epoch, .objective = objective};
    add(s, study_record_evaluated(number, &e));
    return how->rule->judge(how, s, &s->trials[number - 1]);
}

/* --- the median stopping rule --- */

/* Complete trials with accuracies n, n + 2, n + 4 after three epochs: their means are n, n + 1, n + 2. */
static void add_complete(const stopping *how, study *s, int n)
{
    int number = begin(s);
    for (int epoch = 1; epoch <= 3; epoch++)
        assert_int_equal(evaluate(how, s, number, epoch, n + 2 * (epoch - 1)), TRIAL_GOES_ON);
    add(s, study_record_complete(number, n + 4, 30));
}

static void what_is_below_the_median_ends(void **state)
{
    (void)state;
    const stopping how = {&stopping_median, 1, 4};
    study s;
    study_init(&s, &line, 1);
    for (int n = 10; n <= 40; n += 10)
        add_complete(&how, &s, n);
    assert_int_equal(evaluate(&how, &s, begin(&s), 1, -5), TRIAL_GOES_ON); /* four are too few to say */
    add_complete(&how, &s, 50);
    /* medians of means are 30, 31, 32; that it was good before counts */
    assert_int_equal(evaluate(&how, &s, begin(&s), 1, 30), TRIAL_GOES_ON);
    assert_int_equal(evaluate(&how, &s, s.n, 2, 30.5), TRIAL_STOPS);
    assert_int_equal(evaluate(&how, &s, begin(&s), 1, 32), TRIAL_GOES_ON);
    assert_int_equal(evaluate(&how, &s, s.n, 3, 0), TRIAL_GOES_ON);
    assert_int_equal(evaluate(&how, &s, s.n, 4, 0), TRIAL_GOES_ON); /* no further than the others came */
    assert_int_equal(evaluate(&how, &s, begin(&s), 1, NAN), TRIAL_STOPS);
    const stopping later = {&stopping_median, 2, 4};
    assert_int_equal(evaluate(&later, &s, begin(&s), 1, 0), TRIAL_GOES_ON);
    assert_int_equal(evaluate(&later, &s, s.n, 2, 0), TRIAL_STOPS);
    study_fini(&s);
}

static void smaller_may_be_better(void **state)
{
    (void)state;
    const stopping how = {&stopping_median, 1, 4};
    study s;
    study_init(&s, &line, -1);
    for (int n = 1; n <= 6; n++) { /* the median is between 3 and 4 */
        int number = begin(&s);
        assert_int_equal(evaluate(&how, &s, number, 1, n), n == 6 ? TRIAL_STOPS : TRIAL_GOES_ON);
        add(&s, study_record_complete(number, n, 10));
    }
    assert_int_equal(evaluate(&how, &s, begin(&s), 1, 3.5), TRIAL_GOES_ON);
    assert_int_equal(evaluate(&how, &s, begin(&s), 1, 3.6), TRIAL_STOPS);
    study_fini(&s);
}

/* --- asynchronous successive halving --- */

static int promoted(const stopping *how, const study *s, bool is_end)
{
    const trial *t = how->rule->promote(how, s, is_end);
    return t ? t->number : 0;
}

static void pause_at(const stopping *how, study *s, int number, int64_t epoch, double objective)
{
    assert_int_equal(evaluate(how, s, number, epoch, objective), TRIAL_PAUSES);
    add(s, study_record_paused(number));
}

/* Rungs after 2, 6 and 18 epochs; of three that come to one the best goes on. */
static void one_in_so_many_goes_on(void **state)
{
    (void)state;
    const stopping how = {&stopping_asha, 2, 3};
    static const double first[] = {5, 4, 6, 1, 2, 7, 3, 8, 9};
    static const int goes_on[] = {0, 0, 2, 4, 0, 5, 0, 0, 7}; /* at once, if it is among the best so far */
    study s;
    study_init(&s, &line, -1);
    for (int i = 0; i < 9; i++) {
        int number = begin(&s);
        assert_int_equal(evaluate(&how, &s, number, 1, 9), TRIAL_GOES_ON);
        pause_at(&how, &s, number, 2, first[i]);
        int next = promoted(&how, &s, false);
        assert_int_equal(next, goes_on[i]);
        if (next)
            add(&s, study_record_resumed(next));
    }
    assert_int_equal(promoted(&how, &s, false), 0);
    for (int k = 0; k < 4; k++) { /* to the second rung */
        static const int numbers[] = {2, 4, 5, 7};
        for (int epoch = 3; epoch < 6; epoch++)
            assert_int_equal(evaluate(&how, &s, numbers[k], epoch, 3), TRIAL_GOES_ON);
        pause_at(&how, &s, numbers[k], 6, numbers[k] == 5 ? 0.5 : 0.8);
    }
    assert_int_equal(promoted(&how, &s, false), 5);
    add(&s, study_record_resumed(5));
    assert_int_equal(promoted(&how, &s, false), 0);
    add(&s, study_record_complete(5, 0.4, 100));
    /* trials 2, 4 and 7 wait at the second rung, and others at the first, but none is to go on */
    assert_int_equal(promoted(&how, &s, true), 0);
    study_fini(&s);
}

/* Too few for anyone to go on: at the end the best does, again and again. */
static void the_best_becomes_complete(void **state)
{
    (void)state;
    const stopping how = {&stopping_asha, 1, 4};
    study s;
    study_init(&s, &line, 1);
    pause_at(&how, &s, begin(&s), 1, 0.5);
    pause_at(&how, &s, begin(&s), 1, NAN);
    pause_at(&how, &s, begin(&s), 1, 0.7);
    assert_int_equal(promoted(&how, &s, false), 0);
    assert_int_equal(promoted(&how, &s, true), 3);
    add(&s, study_record_resumed(3));
    assert_int_equal(promoted(&how, &s, true), 0);
    pause_at(&how, &s, 3, 4, 0.6);
    assert_int_equal(promoted(&how, &s, true), 3);
    study_fini(&s);
}

/* An evaluation that was lost, and objectives that are no numbers. */
static void gaps_are_no_error(void **state)
{
    (void)state;
    const stopping how = {&stopping_asha, 1, 2};
    study s;
    study_init(&s, &line, 1);
    pause_at(&how, &s, begin(&s), 2, 0.5); /* the first rung was after epoch 1 */
    pause_at(&how, &s, begin(&s), 1, NAN);
    assert_int_equal(promoted(&how, &s, false), 1);
    add(&s, study_record_resumed(1));
    assert_int_equal(how.rule->judge(&how, &s, &s.trials[0]), TRIAL_PAUSES); /* and the second one is after 2 */
    add(&s, study_record_failed(1, "exit 1"));
    assert_int_equal(promoted(&how, &s, true), 0); /* nothing is known of the other */
    study_fini(&s);
}

static void rules_have_names(void **state)
{
    (void)state;
    assert_ptr_equal(stopping_rule_named("none"), &stopping_none);
    assert_ptr_equal(stopping_rule_named("median"), &stopping_median);
    assert_ptr_equal(stopping_rule_named("asha"), &stopping_asha);
    assert_null(stopping_rule_named("luck"));
    const stopping how = {&stopping_asha, 2, 3};
    json_t *said = stopping_describe(&how);
    char *text = json_text(said);
    assert_string_equal(text, "{\"min_epochs\":2,\"reduction_factor\":3,\"rule\":\"asha\"}");
    free(text);
    json_decref(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_below_the_median_ends), cmocka_unit_test(smaller_may_be_better),
        cmocka_unit_test(one_in_so_many_goes_on),        cmocka_unit_test(the_best_becomes_complete),
        cmocka_unit_test(gaps_are_no_error),             cmocka_unit_test(rules_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
