/* Results: epochs are judged in their order, whenever their evaluations come; what is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "master/accounting/results.h"
#include "unit/master/support_results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void finish(results *r, int64_t steps_done)
{
    error err = ERROR_INIT;
    accounting_totals totals = {.step = steps_done,
                            .examples = 64,
                            .seen = 32,
                            .wall_s = 4,
                            .first_loss = 2,
                            .first_examples = 4};
    metric_add(&totals.last_epoch, "loss", 3.0, 2.0);
    results_end end = {.totals = &totals,
                       .steps_done = steps_done,
                       .batches_applied = 2 * steps_done,
                       .lanes = 4,
                       .workers = 2,
                       .ps = 3,
                       .restarts = 1};
    must(results_finish(r, &end, &err), &err);
}

static void the_best_is_kept(void **state)
{
    (void)state;
    accounts b = accounts_make();
    results *r = results_at(&b, 0, (results_judging){"-loss", 0});
    assert_int_equal(results_best_step(r), -1);
    static const char *const losses[] = {"0.5", "0.25", "0.25", "0.3"};
    for (int e = 0; e < 4; e++) {
        results_end_epoch(&b, r, e);
        assert_true(results_waiting(r));
        results_evaluate(&b, e, losses[e], "0.1");
        assert_false(results_stops(r));
        assert_false(results_waiting(r));
    }
    assert_int_equal(results_best_step(r), 2 * PER_EPOCH); /* the first that was as good */
    assert_true(accounts_has(&b, "best/model.safetensors"));
    assert_true(accounts_number(&b, "best/metrics.json", "validation_loss") == 0.25);
    assert_true(accounts_number(&b, "best/metrics.json", "epoch") == 1);
    assert_true(accounts_number(&b, "metrics_epoch_3.json", "best_epoch") == 1);
    assert_true(accounts_number(&b, "metrics_epoch_0.json", "validation_accuracy") == 0.1);
    assert_true(accounts_number(&b, "metrics_epoch_0.json", "training_loss") == 0.75);
    results_close(&r);
    results_close(&r);
    accounts_fini(&b);
}

static void more_is_better_behind_a_plus(void **state)
{
    (void)state;
    accounts b = accounts_make();
    results *r = results_at(&b, 0, (results_judging){"+accuracy", 0});
    static const char *const accuracies[] = {"0.5", "0.75", "0.6"};
    for (int e = 0; e < 3; e++) {
        results_end_epoch(&b, r, e);
        results_evaluate(&b, e, "1.0", accuracies[e]);
        results_stops(r);
    }
    assert_int_equal(results_best_step(r), 2 * PER_EPOCH);
    results_close(&r);
    accounts_fini(&b);
}

static void evaluations_out_of_order_wait(void **state)
{
    (void)state;
    accounts b = accounts_make();
    results *r = results_at(&b, 0, (results_judging){"-loss", 2});
    for (int e = 0; e < 3; e++)
        results_end_epoch(&b, r, e);
    results_evaluate(&b, 2, "0.3", "0");
    results_evaluate(&b, 1, "0.2", "0");
    assert_false(results_stops(r));
    assert_int_equal(results_best_step(r), -1);
    assert_true(results_has(r, 3 * PER_EPOCH));
    assert_false(results_has(r, 1 * PER_EPOCH));
    results_evaluate(&b, 0, "0.1", "0");
    assert_true(results_stops(r)); /* the first was the best, two have passed since */
    assert_int_equal(results_best_step(r), PER_EPOCH);
    results_close(&r);
    accounts_fini(&b);
}

static void patience_counts_epochs_without_a_better_one(void **state)
{
    (void)state;
    accounts b = accounts_make();
    results *r = results_at(&b, 0, (results_judging){"-loss", 2});
    static const char *const losses[] = {"0.5", "0.6", "0.4", "null", "0.4"};
    for (int e = 0; e < 5; e++) {
        results_end_epoch(&b, r, e);
        results_evaluate(&b, e, losses[e], "0");
        assert_int_equal(results_stops(r), e == 4);
    }
    assert_int_equal(results_best_step(r), 3 * PER_EPOCH);
    results_close(&r);
    accounts_fini(&b);
}

static void a_loss_that_is_not_finite_is_never_best(void **state)
{
    (void)state;
    accounts b = accounts_make();
    results *r = results_at(&b, 0, (results_judging){"-loss", 0});
    results_end_epoch(&b, r, 0);
    results_evaluate(&b, 0, "null", "0");
    results_stops(r);
    assert_int_equal(results_best_step(r), -1);
    results_end_epoch(&b, r, 1);
    results_evaluate(&b, 1, "7.5", "0");
    results_stops(r);
    assert_int_equal(results_best_step(r), 2 * PER_EPOCH);
    results_close(&r);
    accounts_fini(&b);
}

static void a_restart_reads_back(void **state)
{
    (void)state;
    accounts b = accounts_make();
    results *r = results_at(&b, 0, (results_judging){"-loss", 2});
    static const char *const losses[] = {"0.1", "0.2", "0.05"};
    for (int e = 0; e < 3; e++) {
        results_end_epoch(&b, r, e);
        results_evaluate(&b, e, losses[e], "0");
        results_stops(r);
    }
    results_close(&r);

    r = results_at(&b, 5, (results_judging){"-loss", 2}); /* the third epoch is undone */
    assert_false(accounts_has(&b, "metrics_epoch_2.json"));
    assert_true(accounts_has(&b, "metrics_epoch_1.json"));
    assert_int_equal(results_best_step(r), PER_EPOCH);
    assert_false(results_waiting(r));
    results_end_epoch(&b, r, 2);
    results_evaluate(&b, 2, "0.3", "0");
    assert_true(results_stops(r)); /* the epoch before the restart counts */
    results_close(&r);
    accounts_fini(&b);
}

/* The job was killed while an earlier epoch's evaluation was still missing. */
static void a_restart_judges_in_order_too(void **state)
{
    (void)state;
    accounts b = accounts_make();
    results *r = results_at(&b, 0, (results_judging){"-loss", 0});
    for (int e = 0; e < 2; e++)
        results_end_epoch(&b, r, e);
    results_evaluate(&b, 1, "0.2", "0");
    results_close(&r);

    r = results_at(&b, 4, (results_judging){"-loss", 0});
    assert_int_equal(results_best_step(r), -1);
    assert_true(results_waiting(r));
    results_evaluate(&b, 0, "0.1", "0");
    results_stops(r);
    assert_false(results_waiting(r));
    assert_int_equal(results_best_step(r), PER_EPOCH);
    assert_true(accounts_number(&b, "metrics_epoch_1.json", "validation_loss") == 0.2);
    results_close(&r);
    accounts_fini(&b);
}

/* The job was killed while it removed a checkpoint: the folder is there, but holds none. */
static void a_checkpoint_half_removed_is_none(void **state)
{
    (void)state;
    accounts b = accounts_make();
    results *r = results_at(&b, 0, (results_judging){"-loss", 0});
    for (int e = 0; e < 3; e++)
        results_end_epoch(&b, r, e);
    results_evaluate(&b, 0, "0.1", "0");
    results_evaluate(&b, 2, "0.2", "0");
    results_close(&r);
    for (int e = 0; e < 2; e++) {
        char *path = checkpoint_path(b.dir, (e + 1) * PER_EPOCH);
        char *file = xasprintf("%s/manifest.json", path);
        assert_int_equal(unlink(file), 0);
        free(file);
        free(path);
    }

    r = results_at(&b, 3 * PER_EPOCH, (results_judging){"-loss", 0});
    assert_int_equal(results_best_step(r), PER_EPOCH); /* evaluated when it was there */
    assert_false(results_waiting(r)); /* nobody can evaluate the second */
    finish(r, 3 * PER_EPOCH);
    assert_true(accounts_number(&b, "summary.json", "lost_evaluations") == 1);
    results_close(&r);
    accounts_fini(&b);
}

static void a_metric_nobody_measures_is_refused(void **state)
{
    (void)state;
    accounts b = accounts_make();
    results *r = results_at(&b, 0, (results_judging){"+f1", 0});
    error err = ERROR_INIT;
    bool stop = false;
    results_end_epoch(&b, r, 0);
    results_evaluate(&b, 0, "1", "1");
    assert_int_equal(results_poll(r, &stop, &err), E_CONFIG);
    assert_string_equal(err.text, "trainer.validation_metric: the evaluation has no 'f1'");
    results_close(&r);
    accounts_fini(&b);
}

static void check_number(const json_t *o, const char *key, double expected)
{
    assert_true(json_number_value(json_object_get(o, key)) == expected);
}

static void the_summary_is_what_is_promised(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "steps",         "epochs",   "examples",        "wall_s",  "examples_per_s", "first_loss",
        "training_loss", "diverged", "validation",      "lanes",   "workers",        "ps",
        "restarts",      "batches_applied", "lost_reports", "lost_evaluations", "params_sha256", "files", "bits",
        "tequio_version"};
    accounts b = accounts_make();
    results *r = results_at(&b, 0, (results_judging){"-loss", 0});
    results_end_epoch(&b, r, 0);
    results_evaluate(&b, 0, "0.5", "0.9");
    results_stops(r);
    accounts_commit(&b, 3, 7);
    finish(r, 3);
    json_t *s = accounts_json(&b, "summary.json");
    size_t n = 0;
    for (void *i = json_object_iter(s); i; i = json_object_iter_next(s, i), n++)
        assert_string_equal(json_object_iter_key(i), keys[n]);
    assert_int_equal(n, COUNT_OF(keys));
    check_number(s, "steps", 3);
    check_number(s, "epochs", 1.5);
    check_number(s, "examples", 64);
    check_number(s, "wall_s", 4);
    check_number(s, "examples_per_s", 8); /* of this start */
    check_number(s, "first_loss", 2);
    check_number(s, "training_loss", 1.5);
    assert_true(json_is_false(json_object_get(s, "diverged")));
    check_number(json_object_get(s, "validation"), "accuracy", 0.9);
    check_number(s, "lanes", 4);
    check_number(s, "workers", 2);
    check_number(s, "ps", 3);
    check_number(s, "restarts", 1);
    check_number(s, "batches_applied", 6);
    assert_string_equal(json_string_value(json_object_get(s, "bits")), "exact");
    assert_string_equal(json_string_value(json_object_get(s, "tequio_version")), TEQUIO_VERSION);

    float *weights = xcalloc((size_t)b.flat->n_elements, sizeof *weights);
    for (int64_t i = 0; i < b.flat->n_elements; i++)
        weights[i] = 7;
    char digest[SHA256_HEX];
    flat_params_sha256(b.flat, weights, digest);
    assert_string_equal(json_string_value(json_object_get(s, "params_sha256")), digest);
    free(weights);
    json_decref(s);
    results_close(&r);
    accounts_fini(&b);
}

/* Of the last epoch and of the last step, each by itself the mean of n examples. */
static bool diverges(double first, int64_t n, double epoch, double step)
{
    accounting_totals t = {.first_loss = first, .first_examples = n};
    metric_add(&t.last_epoch, "loss", epoch, 1.0);
    metric_add(&t.last_step, "loss", step, 1.0);
    return results_diverged(&t);
}

static void what_is_far_worse_than_untrained_has_diverged(void **state)
{
    (void)state;
    assert_true(diverges(2.3, 128, 2e21, 2e21));
    assert_true(diverges(2.3, 128, 5.5, 5.5));
    assert_false(diverges(2.3, 128, 2.4, 2.4)); /* has learned nothing */
    assert_false(diverges(2.3, 128, 2e21, 0.3)); /* went astray, and came back */
    assert_false(diverges(2.3, 128, 0.4, 7.0)); /* one bad batch */
    assert_false(diverges(0.3, 1, 0.7, 0.7)); /* one example tells little */
    assert_true(diverges(0.3, 1, 7.0, 7.0));
    assert_false(diverges(-5.0, 128, -9.0, -9.0)); /* losses may be below 0 */
    assert_true(diverges(-5.0, 128, 3.0, 3.0));
    assert_false(diverges((double)NAN, 128, 7.0, 7.0));
    assert_false(diverges(2.3, 0, (double)NAN, (double)NAN));
}

static void the_last_evaluation_is_the_summarys(void **state)
{
    (void)state;
    accounts b = accounts_make();
    results *r = results_at(&b, 0, (results_judging){"-loss", 0});
    for (int e = 0; e < 2; e++) {
        results_end_epoch(&b, r, e);
        results_evaluate(&b, e, e ? "0.75" : "0.5", "0");
    }
    results_stops(r);
    finish(r, 2 * PER_EPOCH);
    assert_true(accounts_has(&b, "model.safetensors"));
    json_t *s = accounts_json(&b, "summary.json");
    check_number(json_object_get(s, "validation"), "loss", 0.75);
    json_decref(s);
    assert_true(accounts_number(&b, "metrics.json", "best_validation_loss") == 0.5);
    assert_true(accounts_number(&b, "metrics.json", "best_epoch") == 0);
    assert_true(accounts_number(&b, "metrics.json", "validation_loss") == 0.75);
    assert_true(accounts_number(&b, "metrics.json", "training_loss") == 0.75);
    assert_true(accounts_number(&b, "metrics.json", "training_duration_s") == 4);
    results_close(&r);
    accounts_fini(&b);
}

/* What cannot be read is not the best that is kept, and nothing ends for it. */
static void a_damaged_best_leaves_the_one_before(void **state)
{
    (void)state;
    accounts b = accounts_make();
    results *r = results_at(&b, 0, (results_judging){"-loss", 0});
    for (int e = 0; e < 2; e++) {
        results_end_epoch(&b, r, e);
        results_evaluate(&b, e, e ? "0.25" : "0.5", "0");
        if (e)
            accounts_write(&b, "checkpoints/step-000000004/manifest.json", "{");
        assert_false(results_stops(r));
    }
    assert_int_equal(results_best_step(r), 2 * PER_EPOCH);
    assert_true(accounts_number(&b, "best/metrics.json", "validation_loss") == 0.5);
    results_close(&r);
    accounts_fini(&b);
}

/* What is computed again is evaluated again. */
static void going_back_forgets_evaluations(void **state)
{
    (void)state;
    accounts b = accounts_make();
    error err = ERROR_INIT;
    results *r = results_at(&b, 0, (results_judging){"-loss", 0});
    for (int e = 0; e < 3; e++) {
        results_end_epoch(&b, r, e);
        results_evaluate(&b, e, "0.5", "0");
    }
    results_stops(r);
    results_close(&r);
    results_options o = {.dir = b.dir, .flat = b.flat, .steps = results_job, .goal = {.n = 1, .at = {{"loss", -1}}},
                         .evaluates = true, .schedule = {.in_order = true}, .taken_back = true};
    must(results_open(&o, 2 * PER_EPOCH, &r, &err), &err);
    assert_true(results_has(r, 2 * PER_EPOCH));
    assert_false(results_has(r, 3 * PER_EPOCH));
    assert_false(results_waiting(r));
    results_end_epoch(&b, r, 2);
    assert_true(results_waiting(r));
    results_close(&r);
    accounts_fini(&b);
}

static void without_the_last_checkpoint_nothing_is_claimed(void **state)
{
    (void)state;
    accounts b = accounts_make();
    results *r = results_at(&b, 0, (results_judging){"-loss", 0});
    error err = ERROR_INIT;
    accounting_totals totals = {.step = 5};
    assert_int_not_equal(
        results_finish(r, &(results_end){.totals = &totals, .steps_done = 5}, &err), OK);
    assert_non_null(strstr(err.text, "step-000000005"));
    assert_false(accounts_has(&b, "summary.json"));
    results_close(&r);
    accounts_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_is_kept),
        cmocka_unit_test(more_is_better_behind_a_plus),
        cmocka_unit_test(evaluations_out_of_order_wait),
        cmocka_unit_test(patience_counts_epochs_without_a_better_one),
        cmocka_unit_test(a_loss_that_is_not_finite_is_never_best),
        cmocka_unit_test(a_restart_reads_back),
        cmocka_unit_test(a_restart_judges_in_order_too),
        cmocka_unit_test(a_checkpoint_half_removed_is_none),
        cmocka_unit_test(a_metric_nobody_measures_is_refused),
        cmocka_unit_test(the_summary_is_what_is_promised),
        cmocka_unit_test(what_is_far_worse_than_untrained_has_diverged),
        cmocka_unit_test(the_last_evaluation_is_the_summarys),
        cmocka_unit_test(a_damaged_best_leaves_the_one_before),
        cmocka_unit_test(going_back_forgets_evaluations),
        cmocka_unit_test(without_the_last_checkpoint_nothing_is_claimed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
