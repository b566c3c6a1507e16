/* What moves, as it is told: adapters are those of model.lora, whatever else has such a name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/trainable.h"

#include <string.h>

static void expect_told(const char *lora, const char *why)
{
    error err = ERROR_INIT;
    config *c = NULL;
    graph *g = NULL;
    graph_val v;
    trainable m;
    char text[256];
    const tensor_decl decl = {.name = "fc.lora_A.weight", .rank = 2, .dim = {2, 3}, .kind = TENSOR_TRAINABLE,
                              .init = {.kind = INIT_CONSTANT}};
    snprintf(text, sizeof text, "{train_data_path: 'x', data_loader: {batch_size: 1}, model: {type: 'mlp'%s}}", lora);
    assert_int_equal(config_load(&(config_source){.text = text}, &c, &err), OK);
    assert_int_equal(graph_create(&g, &err), OK);
    assert_int_equal(graph_param(g, &decl, &v, &err), OK);
    assert_int_equal(trainable_of(c, g, &m, &err), OK);
    assert_int_equal(m.n, 1);
    assert_string_equal(m.rows[0].what, "moves");
    assert_string_equal(m.rows[0].why, why);
    trainable_fini(&m);
    graph_destroy(&g);
    config_destroy(&c);
}

static void test_adapters_are_those_of_the_section(void **state)
{
    (void)state;
    expect_told(", lora: {patterns: ['fc']}", "adapters of model.lora");
    expect_told("", "parameters of the architecture");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adapters_are_those_of_the_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
