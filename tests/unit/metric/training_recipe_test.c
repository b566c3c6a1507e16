/* Recipes of training's metrics (metric/training_metrics.h): what is too much, or is called as something else, is
 * refused, whoever made it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "metric/recipe.h"
#include "metric/training_metrics.h"

#include <string.h>

static void refuse_recipe(const metric_options *o, size_t n, const metric_source *of, status want, const char *why)
{
    buf bytes = BUF_INIT;
    training_metrics *m = NULL;
    error err = ERROR_INIT;
    recipe_write(o, n, of, &bytes);
    status st = training_metrics_open(bytes.data, bytes.size, &m, &err);
    if (st != want || !strstr(err.text, why))
        fail_msg("%d, \"%s\"; expected %d, \"%s\"", (int)st, err.text, (int)want, why);
    assert_null(m);
    buf_fini(&bytes);
}

/* Whoever made it: before memory is taken for it. */
static void test_recipes_of_too_much(void **state)
{
    (void)state;
    static const metric_source huge = {.input = METRIC_CLASSES, .classes = TRAINING_METRICS_CLASSES, .labels = 1};
    static const metric_source many = {.input = METRIC_CLASSES, .classes = 4096, .labels = 1};
    static const metric_source few = {.input = METRIC_CLASSES, .classes = 128, .labels = 1};
    static const metric_source two = {.input = METRIC_CLASSES, .classes = 2, .labels = 1};
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    metric_options matrices[COUNT_OF(names)];
    for (size_t i = 0; i < COUNT_OF(names); i++)
        matrices[i] = (metric_options){.kind = "confusion_matrix", .name = names[i]};
    buf bytes = BUF_INIT, left = BUF_INIT;
    refuse_recipe(matrices, 1, &many, E_PROTOCOL, "'confusion_matrix'");
    refuse_recipe(&(metric_options){.kind = "fbeta"}, 1, &huge, E_PROTOCOL, "'fbeta'");
    refuse_recipe(matrices, 5, &few, E_PROTOCOL, "more than 65536 counts"); /* four take all there is */
    refuse_recipe(&(metric_options){.kind = "auc"}, 1, &two, E_PROTOCOL, "'auc', which is no metric that stays small");
    refuse_recipe(&(metric_options){.kind = "nonsense"}, 1, &two, E_PROTOCOL, "'nonsense'");
    assert_int_equal(training_recipe_make(matrices, 5, &few, &bytes, &left, NULL), OK);
    assert_string_equal(left.data, "e");
    training_metrics *m = NULL;
    assert_int_equal(training_metrics_open(bytes.data, bytes.size, &m, NULL), OK);
    training_metrics_close(&m);
    buf_fini(&bytes);
    buf_fini(&left);
}

/* They are keys of what training tells beside its metrics. */
static void test_names_that_are_taken(void **state)
{
    (void)state;
    static const char *const taken[] = {"step", "epoch", "wall_s", "examples", "learning_rate", "examples_per_s",
                                        "lost_slots", "loss_scale", "skipped_steps", "duration"};
    static const metric_source of = {.input = METRIC_CLASSES, .classes = 2, .labels = 1};
    for (size_t i = 0; i < COUNT_OF(taken); i++) {
        const metric_options o = {.kind = "entropy", .name = taken[i]};
        buf bytes = BUF_INIT, left = BUF_INIT;
        error err = ERROR_INIT;
        assert_int_equal(training_recipe_make(&o, 1, &of, &bytes, &left, &err), E_CONFIG);
        assert_non_null(strstr(err.text, "no metric may be called"));
        buf_fini(&bytes);
        buf_fini(&left);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recipes_of_too_much),
        cmocka_unit_test(test_names_that_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
