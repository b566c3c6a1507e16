/* Which labels each loss takes, what it builds, and what it refuses; values are the numeric tests'
 * business. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "graph/attrs.h"
#include "unit/model/support_build.h"

#include <stdlib.h>
#include <string.h>

static const data_field row = {.name = "x", .dtype = DT_F32, .rank = 1, .dim = {6}};
static const data_field image = {.name = "x", .dtype = DT_F32, .rank = 3, .dim = {2, 5, 4}};
static const data_field price = {.name = "label", .dtype = DT_F32};
static const data_field pair = {.name = "label", .dtype = DT_I64, .rank = 1, .dim = {2}};
static const data_field class = {.name = "label", .dtype = DT_I64, .classes = 4};
static const data_field classes_of_pixels = {
    .name = "label", .dtype = DT_I64, .rank = 2, .dim = {5, 4}, .classes = 4};
static const data_field of_two = {.name = "label", .dtype = DT_I64, .classes = 2};
static const data_field other_class = {
    .name = "kind", .dtype = DT_I64, .classes = 7, .classes_option = "classes"};
static const data_field words = {
    .name = "kind", .dtype = DT_I64, .classes = 7, .classes_option = "vocabulary"};
static const data_field folders = {.name = "kind", .dtype = DT_I64, .classes = 7};

static bool has(const graph *g, const char *name)
{
    return graph_find(g, name) != GRAPH_NONE;
}

static void expect_output(const graph *g, const char *name, const char *text)
{
    char got[SHAPE_TEXT];
    graph_val v = graph_find(g, name);
    assert_int_not_equal(v, GRAPH_NONE);
    assert_string_equal(graph_shape_text(&graph_value_at(g, v)->shape, got, sizeof got), text);
}

static void expect_logits(const graph *g, const char *text)
{
    expect_output(g, "logits", text);
}

static void test_cross_entropy_takes_the_named_labels(void **state)
{
    (void)state;
    const data_field fields[] = {class, row, other_class};
    graph *g = built("{type: 'mlp'}", MODEL_TRAIN, fields, 3);
    expect_logits(g, "[2,4]");
    assert_true(has(g, "label") && !has(g, "kind"));
    assert_true(has(g, "accuracy.right") && has(g, "accuracy.counted") && has(g, "loss"));
    graph_destroy(&g);
    g = built("{type: 'mlp', labels: ['kind']}", MODEL_EVAL, fields, 3);
    expect_logits(g, "[2,7]");
    assert_true(has(g, "kind") && !has(g, "label"));
    graph_destroy(&g);
}

static void test_cross_entropy_of_pixels(void **state)
{
    (void)state;
    const data_field fields[] = {image, classes_of_pixels};
    static const char model[] =
        "{type: 'sequential', ignore_index: 3, layers: [{type: 'conv', filters: 4, kernel: 3}]}";
    graph *g = built(model, MODEL_TRAIN, fields, 2);
    expect_logits(g, "[2,4,5,4]");
    const graph_node *n = graph_node_at(g, graph_value_at(g, graph_find(g, "loss"))->def);
    const sce_attr *a = n->attr;
    assert_true(a->has_ignore_index && a->ignore_index == 3 && a->reduction == SCE_MEAN);
    graph_destroy(&g);
}

static void test_prediction_needs_no_labels(void **state)
{
    (void)state;
    const data_field fields[] = {row, class};
    graph *g = built("{type: 'mlp', dropout: 0.5}", MODEL_PREDICT, fields, 2);
    expect_logits(g, "[2,4]");
    assert_false(has(g, "loss") || has(g, "label") || has(g, "slot.weight"));
    graph_destroy(&g);
    static const char sized[] = "{type: 'sequential', layers: [{type: 'linear', features: 2}]}";
    g = built(sized, MODEL_PREDICT, fields, 1);
    expect_logits(g, "[2,2]");
    graph_destroy(&g);
}

static void test_numbers_as_labels(void **state)
{
    (void)state;
    const data_field fields[] = {row, price};
    static const char *const models[][2] = {
        {"{type: 'mlp', loss: 'mean_squared_error'}", "prediction"},
        {"{type: 'mlp', loss: 'binary_cross_entropy'}", "logits"},
    };
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        graph *g = built(models[i][0], MODEL_TRAIN, fields, 2);
        expect_output(g, models[i][1], "[2,1]");
        assert_true(has(g, "loss") && !has(g, "accuracy.right"));
        graph_destroy(&g);
    }
}

static void expect_metrics(const char *model, const data_field *fields, bool accuracy, bool perplexity)
{
    graph *g = built(model, MODEL_TRAIN, fields, 2);
    assert_true(model_gives(g, fields, 2, "loss"));
    assert_int_equal(model_gives(g, fields, 2, "accuracy"), accuracy);
    assert_int_equal(model_gives(g, fields, 2, "perplexity"), perplexity);
    assert_false(model_gives(g, fields, 2, "f1"));
    graph_destroy(&g);
}

static void test_metrics_of_an_evaluation(void **state)
{
    (void)state;
    const data_field tokens = {.name = "input_ids", .dtype = DT_I64, .rank = 1, .dim = {4}, .classes = 9};
    data_field next = tokens;
    next.name = "label";
    expect_metrics("'mlp'", (const data_field[]){row, class}, true, false);
    expect_metrics("{type: 'mlp', loss: 'mean_squared_error'}", (const data_field[]){row, price}, false,
                   false);
    expect_metrics("{type: 'transformer_lm', width: 4, num_heads: 1, num_layers: 1}",
                   (const data_field[]){tokens, next}, true, true);
}

static void test_two_classes_are_numbers_too(void **state)
{
    (void)state;
    const data_field fields[] = {row, of_two}, four[] = {row, class};
    static const char model[] = "{type: 'mlp', loss: 'binary_cross_entropy'}";
    graph *g = built(model, MODEL_TRAIN, fields, 2);
    expect_logits(g, "[2,1]");
    assert_true(has(g, "loss") && has(g, "accuracy.right") && has(g, "accuracy.counted"));
    graph_destroy(&g);
    refused(model, four, 2,
            "model: the loss binary_cross_entropy takes float32 labels, or int64 labels of two "
            "classes, but the field 'label' is not that");
}

static const data_field chances = {.name = "label", .dtype = DT_F32, .rank = 1, .dim = {4}};
static const data_field weight = {.name = "weight", .dtype = DT_F32};

static void test_probabilities_as_labels(void **state)
{
    (void)state;
    const data_field fields[] = {row, chances};
    graph *g = built("'mlp'", MODEL_TRAIN, fields, 2);
    expect_logits(g, "[2,4]");
    assert_true(has(g, "loss") && has(g, "accuracy.right"));
    graph_destroy(&g);
    refused("{type: 'mlp', focal_gamma: 2}", fields, 2,
            "model.focal_gamma: goes with labels that are classes, but 'label' has their probabilities");
    refused("{type: 'mlp', class_weights: [1, 2]}", fields, 2,
            "model.class_weights: got 2; expected one for each of 4 classes");
    refused("{type: 'sequential', layers: [{type: 'linear', features: 9}]}", fields, 2,
            "model: the last layer 'linear1' gives [2,9], but the loss cross_entropy needs [2,4] for labels [2,4]");
}

/* The weight comes first, and is no input of the layers all the same. */
static void test_weights_of_examples(void **state)
{
    (void)state;
    static const char model[] = "{type: 'mlp', sample_weights: 'weight'}";
    const data_field fields[] = {weight, row, class}, none[] = {row, class};
    graph *g = built(model, MODEL_TRAIN, fields, 3);
    expect_logits(g, "[2,4]");
    assert_true(has(g, "loss") && has(g, "weight"));
    graph_destroy(&g);
    g = built(model, MODEL_PREDICT, fields, 3);
    assert_false(has(g, "weight"));
    graph_destroy(&g);
    g = built(model, MODEL_PREDICT, none, 2);
    expect_logits(g, "[2,4]");
    graph_destroy(&g);
    refused(model, none, 2,
            "model.sample_weights: the data have no field 'weight'; they have 'x' float32 [6], 'label' int64 [] of 4 "
            "classes");
    refused("{type: 'mlp', sample_weights: 'x'}", none, 2,
            "model.sample_weights: the field 'x' must be a float32 number for each example, or for each of its labels");
    refused("{type: 'mlp', loss: 'output', sample_weights: 'weight'}", fields, 3,
            "model.sample_weights: the model makes its loss itself, of all examples at once");
}

static void test_options_of_other_losses(void **state)
{
    (void)state;
    const data_field fields[] = {row, class};
    refused("{type: 'mlp', focal_gamma: 2, label_smoothing: 0.1}", fields, 2,
            "model.label_smoothing: does not go with focal_gamma, which is of labels that are sure");
    refused("{type: 'mlp', focal_gamma: 2, loss: 'mean_squared_error'}", fields, 2,
            "model.focal_gamma: the loss mean_squared_error has none; it goes with cross_entropy and "
            "binary_cross_entropy");
    refused("{type: 'mlp', focal_gamma: 2, focal_alpha: 0.25}", fields, 2,
            "model.focal_alpha: the loss cross_entropy has none; it goes with binary_cross_entropy; here "
            "class_weights says it");
    refused("{type: 'mlp', class_weights: [1], loss: 'binary_cross_entropy'}", fields, 2,
            "model.class_weights: the loss binary_cross_entropy has none; it goes with cross_entropy");
}

static void test_refusals(void **state)
{
    (void)state;
    const data_field fields[] = {row, price, other_class};
    refused("{type: 'mlp'}", fields, 2,
            "model: the loss cross_entropy takes int64 labels with classes, or float32 ones with a probability for "
            "each class, but the field 'label' is not that");
    refused("{type: 'mlp', loss: 'mean_squared_error', labels: ['kind']}", fields, 3,
            "model: the loss mean_squared_error takes float32 labels, but the field 'kind' is not "
            "that");
    refused("{type: 'mlp', labels: ['colour']}", fields, 3,
            "model: the data have no field 'colour' for the loss cross_entropy; they have 'x' "
            "float32 [6], 'label' float32 [], 'kind' int64 [] of 7 classes");
    refused("{type: 'mlp', labels: ['label', 'kind']}", fields, 3,
            "model.labels: 2 fields, the loss cross_entropy takes 1");
    refused("{type: 'mlp', labels: []}", fields, 3,
            "model.labels: 0 fields, the loss cross_entropy takes 1");
    refused("{type: 'sequential', loss: 'output', layers: ['relu']}", fields, 3,
            "model.loss: 'output', but the model makes no loss itself");
    refused("{type: 'mlp', loss: 'span', labels: ['kind']}", fields, 3,
            "model: the loss span takes one int64 field of two positions, or two of one each, but "
            "the field 'kind' is not that");
    refused("{type: 'sequential', layers: [{type: 'linear', features: 9}], labels: ['kind']}", fields, 3,
            "model: the last layer 'linear1' gives [2,9], but the loss cross_entropy needs [2,7] for "
            "labels [2]; if these data lack the highest classes, dataset_reader.classes: 9 says how "
            "many there are");
    const data_field of_words[] = {row, words}, of_folders[] = {row, folders};
    refused("{type: 'sequential', layers: [{type: 'linear', features: 9}], labels: ['kind']}", of_words, 2,
            "model: the last layer 'linear1' gives [2,9], but the loss cross_entropy needs [2,7] for "
            "labels [2]; if these data lack some classes, dataset_reader.vocabulary names all there are");
    refused("{type: 'sequential', layers: [{type: 'linear', features: 9}], labels: ['kind']}", of_folders, 2,
            "model: the last layer 'linear1' gives [2,9], but the loss cross_entropy needs [2,7] for "
            "labels [2]");
    const data_field spans[] = {row, pair};
    refused("{type: 'mlp', loss: 'span'}", spans, 2,
            "model: the last layer 'fc3' gives [2,2], but the loss span needs [batch, positions, "
            "2] for labels [2,2]");
    static const char wide[] = "{type: 'sequential', loss: 'mean_squared_error', "
                               "layers: [{type: 'linear', features: 2}]}";
    refused(wide, fields, 2,
            "model: the last layer 'linear1' gives [2,2], but the loss mean_squared_error needs "
            "one number for each label for labels [2]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cross_entropy_takes_the_named_labels),
        cmocka_unit_test(test_cross_entropy_of_pixels),
        cmocka_unit_test(test_prediction_needs_no_labels),
        cmocka_unit_test(test_numbers_as_labels),
        cmocka_unit_test(test_metrics_of_an_evaluation),
        cmocka_unit_test(test_two_classes_are_numbers_too),
        cmocka_unit_test(test_probabilities_as_labels),
        cmocka_unit_test(test_weights_of_examples),
        cmocka_unit_test(test_options_of_other_losses),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
