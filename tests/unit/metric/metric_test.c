/* Metrics: sums that merge, accuracy with its corner cases, the words of a goal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "metric/metric.h"

#include <math.h>
#include <string.h>

static void test_any_split_gives_the_same(void **state)
{
    (void)state;
    metric_set whole = {0}, merged = {0}, part;
    for (int i = 0; i < 100; i++)
        metric_add(&whole, "loss", (double)i, 2.0);
    for (int p = 0; p < 10; p++) {
        metric_reset(&part);
        for (int i = 10 * p; i < 10 * p + 10; i++)
            metric_add(&part, "loss", (double)i, 2.0);
        metric_merge(&merged, &part);
    }
    assert_true(metric_result(&whole, "loss") == 24.75);
    assert_true(metric_result(&merged, "loss") == 24.75);
}

static void test_absent_or_empty_is_nan(void **state)
{
    (void)state;
    metric_set m = {0};
    assert_true(isnan(metric_result(&m, "loss")));
    metric_add(&m, "loss", 0.0, 0.0);
    assert_true(isnan(metric_result(&m, "loss")));
    metric_add(&m, "accuracy", 1.0, 2.0);
    assert_true(metric_result(&m, "accuracy") == 0.5);
    metric_reset(&m);
    assert_int_equal(m.n, 0);
}

static void test_perplexity_is_a_power_of_the_mean_loss(void **state)
{
    (void)state;
    metric_set m = {0};
    metric_add(&m, "perplexity", 2.0, 4.0);
    metric_add(&m, "perplexity", 4.0, 4.0);
    assert_true(fabs(metric_result(&m, "perplexity") - 2.117000016612675) < 1e-12);
    assert_string_equal(metric_known("perplexity"), "perplexity");
    assert_null(metric_known("bleu"));
}

static void test_what_is_said_of_a_step_alone(void **state)
{
    (void)state;
    metric_set step = {0}, epoch = {0};
    metric_add(&step, "loss", 3, 2);
    metric_add(&step, "loss_scale", 1024, 1);
    metric_add(&step, "skipped_steps", 5, 1);
    metric_merge_lasting(&epoch, &step);
    assert_int_equal(epoch.n, 1);
    assert_true(metric_result(&epoch, "loss") == 1.5);
    assert_true(metric_result(&step, "loss_scale") == 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_split_gives_the_same),
        cmocka_unit_test(test_absent_or_empty_is_nan),
        cmocka_unit_test(test_perplexity_is_a_power_of_the_mean_loss),
        cmocka_unit_test(test_what_is_said_of_a_step_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
