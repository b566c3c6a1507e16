/* What epochs are judged by: a sum of metrics; and what evaluations reduce the learning rate by. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "unit/master/support_results.h"

#include <stdlib.h>

static results *opened(const results_options *o, int64_t step)
{
    error err = ERROR_INIT;
    results *r = NULL;
    must(results_open(o, step, &r, &err), &err);
    return r;
}

/* AllenNLP's list: the sum is compared, and what the best epoch had stands in every file. */
static void several_metrics_are_summed(void **state)
{
    (void)state;
    accounts b = accounts_make();
    results_options o = results_options_of(&b, (results_judging){"+accuracy", 0});
    o.goal = (metric_goal){.n = 2, .at = {{"accuracy", 1}, {"loss", -1}}};
    results *r = opened(&o, 0);
    static const char *const figures[][2] = {{"1.0", "0.5"}, {"0.25", "0.4"}, {"0.75", "0.8"}};
    for (int e = 0; e < 3; e++) {
        results_end_epoch(&b, r, e);
        results_evaluate(&b, e, figures[e][0], figures[e][1]);
        results_stops(r);
    }
    assert_int_equal(results_best_step(r), 2 * PER_EPOCH);
    assert_true(accounts_number(&b, "metrics_epoch_0.json", "best_validation_accuracy") == 0.5);
    assert_true(accounts_number(&b, "metrics_epoch_2.json", "best_epoch") == 1);
    assert_true(accounts_number(&b, "metrics_epoch_2.json", "best_validation_accuracy") == 0.4);
    assert_true(accounts_number(&b, "metrics_epoch_2.json", "validation_accuracy") == 0.8);
    json_t *last = accounts_json(&b, "metrics_epoch_2.json");
    assert_string_equal(json_string_value(json_object_get(last, "training_duration")), "0:00:01.500000");
    json_decref(last);
    results_close(&r);
    accounts_fini(&b);
}

static const plateau_rule at_once = {.is_used = true, .end_epoch = INT64_MAX};

/* What an epoch's evaluation says counts from the next epoch's first step on, and a restart says the same. */
static void a_plateau_is_known_before_the_next_epoch(void **state)
{
    (void)state;
    accounts b = accounts_make();
    results_options o = results_options_of(&b, (results_judging){"-loss", 0});
    o.plateau = at_once;
    results *r = opened(&o, 0);
    static const char *const losses[] = {"0.5", "0.6", "0.4", "null", "0.3"};
    static const uint32_t reductions[] = {0, 0, 1, 1, 2, 2};
    assert_true(results_decide(r));
    for (int e = 0; e < 5; e++) {
        results_end_epoch(&b, r, e);
        assert_int_equal(results_next_judged(r), (e + 1) * PER_EPOCH); /* nobody trains beyond it yet */
        results_evaluate(&b, e, losses[e], "0.1");
        results_stops(r);
    }
    for (int start = 0; start < 2; start++) {
        for (int64_t step = 0; step < 6 * PER_EPOCH; step++)
            assert_int_equal(results_reductions(r, step), reductions[step / PER_EPOCH]);
        results_close(&r);
        r = opened(&o, 5 * PER_EPOCH);
    }
    results_close(&r);
    accounts_fini(&b);
}

static void without_its_evaluation_a_plateau_is_not_guessed(void **state)
{
    (void)state;
    accounts b = accounts_make();
    results_options o = results_options_of(&b, (results_judging){"-loss", 0});
    o.plateau = at_once;
    results *r = opened(&o, 0);
    results_end_epoch(&b, r, 0);
    results_close(&r);
    error err = ERROR_INIT;
    char *gone = xasprintf("%s/checkpoints/step-000000002", b.path);
    must(fs_remove_tree(gone, &err), &err);
    free(gone);
    assert_int_equal(results_open(&o, PER_EPOCH, &r, &err), E_DATA);
    assert_string_equal(err.text, "epoch 0 (step 2): its evaluation and its checkpoint are gone, so the learning rate "
                                  "behind it is not known; expected metrics_epoch_0.json and eval/step-000000002.json");
    accounts_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_metrics_are_summed),
        cmocka_unit_test(a_plateau_is_known_before_the_next_epoch),
        cmocka_unit_test(without_its_evaluation_a_plateau_is_not_guessed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
