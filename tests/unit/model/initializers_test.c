/* model.initializer: rules as torch.nn.init has them, which pattern counts, names as here and as AllenNLP's, and
 * refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "unit/model/support_build.h"

#include <math.h>
#include <stdlib.h>

static const data_field numbers[] = {
    {.name = "x", .dtype = DT_F32, .rank = 1, .dim = {4}},
    {.name = "label", .dtype = DT_I64, .classes = 3},
};
static const data_field texts[] = {
    {.name = "input_ids", .dtype = DT_I64, .rank = 1, .dim = {8}, .tokens = 50, .varies = true},
    {.name = "attention_mask", .dtype = DT_I64, .rank = 1, .dim = {8}, .varies = true},
    {.name = "label", .dtype = DT_I64, .classes = 3},
};

static graph *perceptron(const char *initializer)
{
    char *text = xasprintf("{type: 'mlp', hidden: [6], initializer: %s}", initializer);
    graph *g = built(text, MODEL_TRAIN, numbers, 2);
    free(text);
    return g;
}

static init_rule rule_of(const graph *g, const char *name)
{
    graph_val v = graph_find(g, name);
    assert_true(v != GRAPH_NONE);
    return graph_value_at(g, v)->param->init;
}

static void expect(const graph *g, const char *name, init_kind kind, double a, double b)
{
    init_rule is = rule_of(g, name);
    assert_int_equal(is.kind, kind);
    assert_true(fabs(is.a - a) <= 1e-6);
    assert_true(fabs(is.b - b) <= 1e-6);
}

/* The weight is [6, 4]. Deviations are those that torch.nn.init gives to such a matrix; a bound is the root of three
 * times as much. */
static const struct {
    const char *initializer;
    init_kind kind;
    double a, b;
} cases[] = {
    {"'normal'", INIT_NORMAL, 0, 1},
    {"{type: 'normal', mean: 0.5, std: 0.1}", INIT_NORMAL, 0.5, 0.1},
    {"'uniform'", INIT_UNIFORM, 0, 1},
    {"{type: 'uniform', a: -0.25, b: 0.75}", INIT_UNIFORM, -0.25, 0.75},
    {"{type: 'constant', val: 7}", INIT_CONSTANT, 7, 0},
    {"'zero'", INIT_CONSTANT, 0, 0},
    {"'xavier_uniform'", INIT_UNIFORM, -0.77459666924, 0.77459666924},
    {"{type: 'xavier_uniform', gain: 2}", INIT_UNIFORM, -1.54919333848, 1.54919333848},
    {"'xavier_normal'", INIT_NORMAL, 0, 0.4472135955},
    {"'kaiming_uniform'", INIT_UNIFORM, -1.22474487139, 1.22474487139},
    {"{type: 'kaiming_uniform', a: 2.2360679775}", INIT_UNIFORM, -0.5, 0.5},
    {"{type: 'kaiming_uniform', mode: 'fan_out', nonlinearity: 'relu'}", INIT_UNIFORM, -1, 1},
    {"{type: 'kaiming_normal', nonlinearity: 'tanh'}", INIT_NORMAL, 0, 0.83333333333},
    {"{type: 'kaiming_normal', nonlinearity: 'sigmoid'}", INIT_NORMAL, 0, 0.5},
};

static void test_rules(void **state)
{
    (void)state;
    graph *plain = perceptron("null");
    init_rule other = rule_of(plain, "fc2.weight");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *text = xasprintf("{regexes: [['^fc1.*weight', %s]]}", cases[i].initializer);
        graph *g = perceptron(text);
        expect(g, "fc1.weight", cases[i].kind, cases[i].a, cases[i].b);
        expect(g, "fc2.weight", other.kind, other.a, other.b);
        graph_destroy(&g);
        free(text);
    }
    graph_destroy(&plain);
}

static void test_the_first_pattern_counts(void **state)
{
    (void)state;
    graph *g = perceptron("[['fc1.bias', 'prevent'], ['bias', 'zero'], ['fc', {type: 'constant', val: 1}]]");
    expect(g, "fc1.bias", INIT_UNIFORM, -0.5, 0.5);
    expect(g, "fc2.bias", INIT_CONSTANT, 0, 0);
    expect(g, "fc2.weight", INIT_CONSTANT, 1, 0);
    graph_destroy(&g);
    g = perceptron("{regexes: [['.', 'zero']], prevent_regexes: ['fc1']}");
    expect(g, "fc1.bias", INIT_UNIFORM, -0.5, 0.5);
    expect(g, "fc2.weight", INIT_CONSTANT, 0, 0);
    graph_destroy(&g);
}

/* Windows count into both fans: filters [5, 7, 3] read 21 numbers, and 15 read one. */
static void test_allennlps_names(void **state)
{
    (void)state;
    static const char words[] = "{type: 'basic_classifier', embedding_width: 7, initializer: "
                                "[['_seq2vec_encoder.conv_layer.*weight', 'xavier_normal']], "
                                "seq2vec_encoder: {type: 'cnn', num_filters: 5, ngram_filter_sizes: [3]}}";
    static const char pieces[] =
        "{type: 'basic_classifier', network: 'bert', num_layers: 1, width: 12, num_heads: 3, vocabulary: 50, "
        "seq2vec_encoder: 'bert_pooler', initializer: [['_classification_layer.bias', {type: 'constant', val: 3}], "
        "['^_text_field_embedder.*token_type', 'zero'], ['_seq2vec_encoder.pooler.dense.bias', 'normal']]}";
    graph *g = built(words, MODEL_TRAIN, texts, 3);
    expect(g, "_seq2vec_encoder.conv_layer_0.weight", INIT_NORMAL, 0, 0.23570226039);
    graph_destroy(&g);
    g = built(pieces, MODEL_TRAIN, texts, 3);
    expect(g, "classifier.bias", INIT_CONSTANT, 3, 0);
    expect(g, "bert.embeddings.token_type_embeddings.weight", INIT_CONSTANT, 0, 0);
    expect(g, "bert.embeddings.word_embeddings.weight", INIT_NORMAL, 0, 0.02);
    expect(g, "bert.pooler.dense.bias", INIT_NORMAL, 0, 1);
    graph_destroy(&g);
}

static void test_refusals(void **state)
{
    (void)state;
    refused("{type: 'mlp', hidden: [6], initializer: [['bias', 'xavier_uniform']]}", numbers, 2,
            "model.initializer.regexes[0]: xavier_uniform counts inputs and outputs, and 'fc1.bias' is a row of "
            "numbers; give it a pattern of its own before this one, as zero");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_the_first_pattern_counts),
        cmocka_unit_test(test_allennlps_names),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
