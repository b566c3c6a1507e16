/* What the first output of a model says, by its loss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "model/prediction.h"

#include <stdlib.h>

static const data_field row = {.name = "x", .dtype = DT_F32, .rank = 1, .dim = {6}};
static const data_field image = {.name = "x", .dtype = DT_F32, .rank = 3, .dim = {2, 5, 4}};
static const data_field text = {.name = "input_ids", .dtype = DT_I64, .rank = 1, .dim = {6}};

static void expect(const char *model, const data_field *field, int64_t scores, prediction want)
{
    error err = ERROR_INIT;
    config *c = NULL;
    graph *g = NULL;
    prediction got;
    char *whole =
        xasprintf("{model: %s, train_data_path: 'x', data_loader: {batch_size: 8}}", model);
    if (config_load(&(config_source){.text = whole}, &c, &err) != OK)
        fail_msg("%s", err.text);
    model_request r = {.model = config_section(c, "model"),
                       .fields = field,
                       .n_fields = 1,
                       .batch_size = 2,
                       .mode = MODEL_PREDICT,
                       .scores = scores};
    if (model_build(&r, &g, &err) != OK || prediction_of(&r, g, &got, &err) != OK)
        fail_msg("%s: %s", model, err.text);
    assert_int_equal(got.kind, want.kind);
    assert_string_equal(got.name, want.name);
    assert_int_equal(got.axis, want.axis);
    assert_int_not_equal(graph_find(g, want.name), GRAPH_NONE);
    graph_destroy(&g);
    config_destroy(&c);
    free(whole);
}

static void test_losses(void **state)
{
    (void)state;
    expect("{type: 'mlp'}", &row, 3, (prediction){.kind = PREDICTION_CLASSES, .name = "logits", .axis = 1});
    expect("{type: 'mlp', loss: 'binary_cross_entropy'}", &row, 1,
           (prediction){.kind = PREDICTION_ODDS, .name = "logits", .axis = 0});
    expect("{type: 'mlp', loss: 'mean_squared_error'}", &row, 1,
           (prediction){.kind = PREDICTION_NUMBERS, .name = "prediction", .axis = 0});
    expect("{type: 'bert', loss: 'span', width: 6, num_heads: 2, num_layers: 1, context: 6, "
           "vocabulary: 9}",
           &text, 0, (prediction){.kind = PREDICTION_SPAN, .name = "logits", .axis = 0});
}

/* The loss reads what went into a Sigmoid at the end, but the output is a probability. */
static void test_a_sigmoid_at_the_end(void **state)
{
    (void)state;
    static const char layers[] = "layers: [{type: 'linear', features: 1}, {type: 'sigmoid'}]";
    char *model = xasprintf("{type: 'sequential', loss: 'binary_cross_entropy', %s}", layers);
    expect(model, &row, 1, (prediction){.kind = PREDICTION_CHANCES, .name = "probability", .axis = 0});
    free(model);
    model = xasprintf("{type: 'sequential', loss: 'mean_squared_error', %s}", layers);
    expect(model, &row, 1, (prediction){.kind = PREDICTION_NUMBERS, .name = "prediction", .axis = 0});
    free(model);
}

/* Behind tokens, but before pixels, as far as their number does not say otherwise. */
static void test_where_classes_lie(void **state)
{
    (void)state;
    static const char pixels[] =
        "{type: 'sequential', layers: [{type: 'conv', filters: 4, kernel: 3}]}";
    static const char tokens[] = "{type: 'bert', head: 'tokens', loss: 'cross_entropy', width: 6, "
                                 "num_heads: 2, num_layers: 1, context: 6, vocabulary: 9}";
    expect(pixels, &image, 4, (prediction){.kind = PREDICTION_CLASSES, .name = "logits", .axis = 1});
    expect(pixels, &image, 0, (prediction){.kind = PREDICTION_CLASSES, .name = "logits", .axis = 1});
    expect(tokens, &text, 6, (prediction){.kind = PREDICTION_CLASSES, .name = "logits", .axis = 2});
    expect(tokens, &text, 3, (prediction){.kind = PREDICTION_CLASSES, .name = "logits", .axis = 2});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_a_sigmoid_at_the_end),
        cmocka_unit_test(test_where_classes_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
