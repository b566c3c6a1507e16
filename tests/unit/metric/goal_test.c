/* What evaluations are compared by: one metric, or several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "metric/goal.h"

static config *with(const char *goal)
{
    config *c = NULL;
    error err = ERROR_INIT;
    char text[256];
    snprintf(text, sizeof text, "{train_data_path: 'x', model: 'mlp', data_loader: {batch_size: 8}, "
             "trainer: {validation_metric: %s}}", goal);
    if (config_load(&(config_source){.text = text}, &c, &err) != OK)
        fail_msg("%s", err.text);
    return c;
}

static void signs_say_what_is_better(void **state)
{
    (void)state;
    metric_goal g;
    config *c = with("'-loss'");
    assert_int_equal(metric_goal_settings(c, &g, NULL), OK);
    assert_int_equal(g.n, 1);
    assert_string_equal(g.at[0].name, "loss");
    assert_int_equal(g.at[0].sign, -1);
    config_destroy(&c);
    c = with("['+f1', '-loss']");
    assert_int_equal(metric_goal_settings(c, &g, NULL), OK);
    assert_int_equal(g.n, 2);
    assert_string_equal(g.at[0].name, "f1");
    assert_int_equal(g.at[0].sign, 1);
    assert_string_equal(g.at[1].name, "loss");
    assert_int_equal(g.at[1].sign, -1);
    config_destroy(&c);
}

static void a_sign_alone_is_no_metric(void **state)
{
    (void)state;
    static const char *const wrong[] = {"'+'", "['+f1', '+']"};
    static const char *const texts[] = {
        "trainer.validation_metric: '+' does not say what is better: write \"+accuracy\" (larger) or \"-loss\" "
        "(smaller)",
        "trainer.validation_metric[1]: '+' does not say what is better: write \"+accuracy\" (larger) or \"-loss\" "
        "(smaller)"};
    for (size_t i = 0; i < 2; i++) {
        metric_goal g;
        error err = ERROR_INIT;
        config *c = with(wrong[i]);
        assert_int_equal(metric_goal_settings(c, &g, &err), E_CONFIG);
        assert_string_equal(err.text, texts[i]);
        config_destroy(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_say_what_is_better),
        cmocka_unit_test(a_sign_alone_is_no_metric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
