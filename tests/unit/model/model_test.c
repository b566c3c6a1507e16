/* Built-in models: parameters as PyTorch has them, both modes, sequential, every error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "graph/attrs.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4 };

static const data_field images[] = {
    {.name = "image", .dtype = DT_F32, .rank = 3, .dim = {1, 28, 28}},
    {.name = "label", .dtype = DT_I64, .rank = 0, .classes = 10},
};

static config *load(const char *model)
{
    char *text =
        xasprintf("{model: %s, train_data_path: 'x', data_loader: {batch_size: 8}}", model);
    error err = ERROR_INIT;
    config *c = NULL;
    if (config_load(&(config_source){.text = text}, &c, &err) != OK)
        fail_msg("%s", err.text);
    free(text);
    return c;
}

static status build(const char *model, model_mode mode, graph **ret, error *err)
{
    config *c = load(model);
    model_request r = {.model = config_section(c, "model"),
                       .fields = images,
                       .n_fields = 2,
                       .batch_size = BATCH,
                       .seed = 5,
                       .mode = mode};
    status st = model_build(&r, ret, err);
    config_destroy(&c);
    return st;
}

static graph *built(const char *model, model_mode mode)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    if (build(model, mode, &g, &err) != OK)
        fail_msg("%s", err.text);
    return g;
}

static void expect_error(const char *model, const char *text)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    assert_int_equal(build(model, MODEL_TRAIN, &g, &err), E_CONFIG);
    assert_null(g);
    if (!strstr(err.text, text))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, text);
}

typedef struct expected {
    const char *name;
    int32_t rank;
    int64_t dim[4];
} expected;

static void expect_params(const graph *g, const expected *want, size_t n)
{
    assert_int_equal(graph_n_params(g), n);
    for (size_t i = 0; i < n; i++) {
        graph_val v = graph_find(g, want[i].name);
        if (v == GRAPH_NONE)
            fail_msg("no parameter '%s'", want[i].name);
        const tensor_decl *p = graph_value_at(g, v)->param;
        assert_non_null(p);
        assert_int_equal(p->rank, want[i].rank);
        for (int32_t k = 0; k < p->rank; k++)
            assert_int_equal(p->dim[k], want[i].dim[k]);
    }
}

static void expect_shape(const graph *g, const char *name, int32_t rank, int64_t a, int64_t b)
{
    graph_val v = graph_find(g, name);
    assert_int_not_equal(v, GRAPH_NONE);
    const graph_shape *s = &graph_value_at(g, v)->shape;
    assert_int_equal(s->rank, rank);
    if (rank > 0)
        assert_int_equal(s->dim[0], a);
    if (rank > 1)
        assert_int_equal(s->dim[1], b);
}

static int count_nodes(const graph *g, graph_op op)
{
    int n = 0;
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        n += graph_node_at(g, i)->op == op;
    return n;
}

static void test_cnn_is_pytorchs(void **state)
{
    (void)state;
    static const expected params[] = {
        {"conv1.weight", 4, {32, 1, 3, 3}},  {"conv1.bias", 1, {32}},
        {"conv2.weight", 4, {64, 32, 3, 3}}, {"conv2.bias", 1, {64}},
        {"fc1.weight", 2, {128, 3136}},      {"fc1.bias", 1, {128}},
        {"fc2.weight", 2, {10, 128}},        {"fc2.bias", 1, {10}},
    };
    graph *g = built("{type: 'cnn', channels: [32, 64], hidden: [128]}", MODEL_TRAIN);
    expect_params(g, params, COUNT_OF(params));
    expect_shape(g, "logits", 2, BATCH, 10);
    expect_shape(g, "loss", 0, 0, 0);
    expect_shape(g, "image", 4, BATCH, 1);
    expect_shape(g, "label", 1, BATCH, 0);
    expect_shape(g, "batch.id", 1, 1, 0);
    expect_shape(g, "slot.weight", 1, 1, 0);
    assert_true(graph_value_at(g, graph_find(g, "loss"))->keep);
    assert_false(graph_value_at(g, graph_find(g, "logits"))->keep);
    static const graph_op forward[] = {
        OP_CONV,    OP_RELU, OP_MAX_POOL, OP_CONV, OP_RELU,     OP_MAX_POOL,
        OP_FLATTEN, OP_GEMM, OP_RELU,     OP_GEMM, OP_ACCURACY, OP_SOFTMAX_CROSS_ENTROPY_LOSS};
    for (size_t i = 0; i < COUNT_OF(forward); i++)
        assert_int_equal(graph_node_at(g, (int32_t)i)->op, forward[i]);

    flat *f = NULL;
    assert_int_equal(model_flat(g, &f, NULL), OK);
    assert_int_equal(f->n_tensors, 8);
    int64_t total = 0;
    for (int32_t i = 0; i < f->n_tensors; i++) {
        total += f->count[i];
        assert_true(f->tensors[i].decay && f->tensors[i].kind == TENSOR_TRAINABLE);
    }
    assert_int_equal(total, 421642);
    assert_true(strncmp(f->tensors[0].name, "fc2.", 4) == 0); /* its gradient is ready first */
    flat_destroy(&f);
    graph_destroy(&g);
}

static void test_mlp_is_pytorchs(void **state)
{
    (void)state;
    static const expected params[] = {
        {"fc1.weight", 2, {512, 784}}, {"fc1.bias", 1, {512}},       {"fc2.weight", 2, {512, 512}},
        {"fc2.bias", 1, {512}},        {"fc3.weight", 2, {10, 512}}, {"fc3.bias", 1, {10}},
    };
    graph *g = built("{type: 'mlp', hidden: [512, 512]}", MODEL_TRAIN);
    expect_params(g, params, COUNT_OF(params));
    graph_destroy(&g);
    g = built("{type: 'mlp', hidden: []}", MODEL_TRAIN);
    assert_int_equal(graph_n_params(g), 2);
    graph_destroy(&g);
}

/* PyTorch: uniform within 1 / sqrt(fan in), weights and biases alike. */
static void test_initial_weights(void **state)
{
    (void)state;
    graph *g = built("{type: 'cnn'}", MODEL_TRAIN);
    static const struct {
        const char *name;
        double fan_in;
    } cases[] = {
        {"conv1.weight", 9},  {"conv1.bias", 9},  {"conv2.weight", 288},
        {"fc1.weight", 3136}, {"fc1.bias", 3136}, {"fc2.bias", 128},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        init_rule r = graph_value_at(g, graph_find(g, cases[i].name))->param->init;
        assert_int_equal(r.kind, INIT_UNIFORM);
        assert_true(fabs((double)r.b - 1.0 / sqrt(cases[i].fan_in)) < 1e-7);
        assert_true(r.a == -r.b);
    }
    graph_destroy(&g);
}

static void test_batch_norm_and_dropout(void **state)
{
    (void)state;
    static const char model[] = "{type: 'cnn', batch_norm: true, dropout: 0.25}";
    graph *train = built(model, MODEL_TRAIN), *eval = built(model, MODEL_EVAL);
    assert_true(graph_value_at(eval, graph_find(eval, "logits"))->keep);
    static const expected params[] = {
        {"bn1.weight", 1, {32}},
        {"bn1.bias", 1, {32}},
        {"bn1.running_mean", 1, {32}},
        {"bn1.running_var", 1, {32}},
        {"bn2.weight", 1, {64}},
        {"bn2.bias", 1, {64}},
        {"bn2.running_mean", 1, {64}},
        {"bn2.running_var", 1, {64}},
        {"fc_bn1.weight", 1, {128}},
        {"fc_bn1.bias", 1, {128}},
        {"fc_bn1.running_mean", 1, {128}},
        {"fc_bn1.running_var", 1, {128}},
        {"conv1.weight", 4, {32, 1, 3, 3}},
        {"conv2.weight", 4, {64, 32, 3, 3}},
        {"fc1.weight", 2, {128, 3136}},
        {"fc2.weight", 2, {10, 128}},
        {"fc2.bias", 1, {10}},
    };
    expect_params(train, params, COUNT_OF(params));
    expect_params(eval, params, COUNT_OF(params));
    const tensor_decl *var = graph_value_at(train, graph_find(train, "bn2.running_var"))->param;
    assert_int_equal(var->kind, TENSOR_STATE);
    assert_true(var->momentum == 0.9f && var->init.a == 1.0f && !var->decay);
    const tensor_decl *scale = graph_value_at(train, graph_find(train, "bn2.weight"))->param;
    assert_true(scale->decay && scale->init.kind == INIT_CONSTANT && scale->init.a == 1.0f);
    assert_int_not_equal(graph_value_at(train, graph_find(train, "bn1.running_mean"))->grad,
                         GRAPH_NONE);

    assert_int_equal(count_nodes(train, OP_DROPOUT), 1);
    assert_int_equal(count_nodes(eval, OP_DROPOUT), 0);
    assert_int_equal(graph_find(eval, "slot.weight"), GRAPH_NONE);
    for (int32_t i = 0; i < graph_n_nodes(train); i++) {
        const graph_node *n = graph_node_at(train, i);
        const dropout_attr *a = n->attr;
        const batch_norm_attr *b = n->attr;
        if (n->op == OP_DROPOUT)
            assert_true(a->ratio == 0.25f && a->seed == 5 &&
                        a->stream == fnv1a("dropout1", strlen("dropout1")));
        if (n->op == OP_BATCH_NORMALIZATION)
            assert_true(b->training);
    }
    for (int32_t i = 0; i < graph_n_nodes(eval); i++)
        if (graph_node_at(eval, i)->op == OP_BATCH_NORMALIZATION)
            assert_false(((const batch_norm_attr *)graph_node_at(eval, i)->attr)->training);
    graph_destroy(&train);
    graph_destroy(&eval);
}

static void test_layouts_do_not_depend_on_the_batch(void **state)
{
    (void)state;
    config *c = load("{type: 'cnn', batch_norm: true, activation: 'gelu', kernel: 4}");
    char digest[2][65];
    for (int i = 0; i < 2; i++) {
        graph *g = NULL;
        flat *f = NULL;
        model_request r = {.model = config_section(c, "model"),
                           .fields = images,
                           .n_fields = 2,
                           .batch_size = 1 + 31 * i,
                           .mode = MODEL_TRAIN};
        assert_int_equal(model_build(&r, &g, NULL), OK);
        assert_int_equal(model_flat(g, &f, NULL), OK);
        flat_digest(f, digest[i]);
        flat_destroy(&f);
        graph_destroy(&g);
    }
    assert_string_equal(digest[0], digest[1]);
    config_destroy(&c);
}

static void test_sequential(void **state)
{
    (void)state;
    graph *g =
        built("{type: 'sequential', layers: ["
              "{type: 'conv', filters: 8, kernel: 5, stride: 2, padding: 2, bias: false},"
              "'batch_norm', {type: 'gelu', approximate: 'tanh'},"
              "{type: 'residual', layers: ["
              "  {type: 'conv', filters: 8, kernel: 3}, 'relu',"
              "  {type: 'conv', filters: 8, kernel: 3, groups: 4, name: 'thin'}]},"
              "{type: 'residual', name: 'down', layers: ["
              "  {type: 'conv', filters: 12, kernel: 3, stride: 2}, 'tanh']},"
              "'max_pool', 'sigmoid', {type: 'average_pool', kernel: 3, stride: 1, padding: 1},"
              "'global_average_pool', 'flatten', {type: 'dropout', p: 0.1},"
              "{type: 'residual', layers: [{type: 'linear', features: 16}]},"
              "{type: 'linear', features: 10}]}",
              MODEL_TRAIN);
    static const expected params[] = {
        {"conv1.weight", 4, {8, 1, 5, 5}},
        {"batch_norm1.weight", 1, {8}},
        {"batch_norm1.bias", 1, {8}},
        {"batch_norm1.running_mean", 1, {8}},
        {"batch_norm1.running_var", 1, {8}},
        {"residual1.conv1.weight", 4, {8, 8, 3, 3}},
        {"residual1.conv1.bias", 1, {8}},
        {"residual1.thin.weight", 4, {8, 2, 3, 3}},
        {"residual1.thin.bias", 1, {8}},
        {"down.conv1.weight", 4, {12, 8, 3, 3}},
        {"down.conv1.bias", 1, {12}},
        {"down.projection.weight", 4, {12, 8, 1, 1}},
        {"residual3.linear1.weight", 2, {16, 12}},
        {"residual3.linear1.bias", 1, {16}},
        {"residual3.projection.weight", 2, {16, 12}},
        {"linear1.weight", 2, {10, 16}},
        {"linear1.bias", 1, {10}},
    };
    expect_params(g, params, COUNT_OF(params));
    expect_shape(g, "logits", 2, BATCH, 10);
    graph_destroy(&g);
}

static void test_errors_name_layer_and_shapes(void **state)
{
    (void)state;
#define LAYERS(list) "{type: 'sequential', layers: [" list "]}"
    expect_error("{type: 'cnn', channels: [4, 4, 4, 4, 4]}",
                 "layer 'pool5': a window of 2 x 2 does not fit into [4,4,1,1] with padding 0");
    expect_error(LAYERS("{type: 'linear', features: 10}"),
                 "model.layers[0]: layer 'linear1': a linear layer takes [batch, features], not "
                 "[4,1,28,28]; a flatten layer");
    expect_error(LAYERS("'flatten', {type: 'conv', filters: 2, kernel: 3}"),
                 "model.layers[1]: layer 'conv1': a conv layer takes [batch, channels, height, "
                 "width], not [4,784]");
    expect_error(LAYERS("{type: 'conv', filters: 6, kernel: 3}, "
                        "{type: 'conv', filters: 8, kernel: 3, groups: 4}"),
                 "its 4 groups must divide its 6 input channels and its 8 filters");
    expect_error(LAYERS("{type: 'conv', filters: 6, kernel: 40, padding: 1}"), "conv1");
    expect_error(
        LAYERS("'flatten', {type: 'linear', features: 12}"),
        "model: the last layer 'linear1' gives [4,12], but the loss cross_entropy needs [4,10] "
        "for labels [4]");
    expect_error(LAYERS("'global_average_pool'"),
                 "gives [4,1,1,1], but the loss cross_entropy needs");
    expect_error(LAYERS(""), "model: has no layers");
    expect_error(LAYERS("{type: 'residual', name: 'r', layers: ['flatten']}"),
                 "layer 'r': its layers make [4,784] out of [4,1,28,28], and no projection");
    expect_error(LAYERS("{type: 'residual', layers: ['flatten', 'max_pool']}"),
                 "model.layers[0].layers[1]: layer 'residual1.max_pool1': a max_pool layer takes");
    expect_error(LAYERS("'flatten', {type: 'linear', features: 9, name: 'a'}, "
                        "{type: 'linear', features: 10, name: 'a'}"),
                 "'a.weight'");
    expect_error(LAYERS("'flatten', {type: 'linear', features: 10, name: 'label'}"), "'label'");
#undef LAYERS
}

static void test_needs_images_and_labels(void **state)
{
    (void)state;
    config *c = load("{type: 'mlp'}");
    graph *g = NULL;
    model_request r = {
        .model = config_section(c, "model"), .fields = images, .n_fields = 1, .batch_size = 2};
    error err = ERROR_INIT;
    assert_int_equal(model_build(&r, &g, &err), E_CONFIG);
    assert_string_equal(
        err.text,
        "model: the data have no field 'label' for the loss cross_entropy; they have 'image' "
        "float32 [1,28,28]");
    error_clear(&err);
    r.fields = images + 1;
    assert_int_equal(model_build(&r, &g, &err), E_CONFIG);
    assert_string_equal(
        err.text, "model: the data have no float32 field for it; they have 'label' int64 [] of 10 "
                  "classes");
    config_destroy(&c);
}

static void test_a_batch_has_elements(void **state)
{
    (void)state;
    config *c = load("{type: 'mlp'}");
    graph *g = NULL;
    data_field fields[] = {images[0], images[1]};
    model_request r = {
        .model = config_section(c, "model"), .fields = fields, .n_fields = 2, .batch_size = 0};
    error err = ERROR_INIT;
    assert_int_equal(model_build(&r, &g, &err), E_CONFIG);
    assert_string_equal(err.text, "field 'image': a batch of [0,1,28,28] has no elements");
    error_clear(&err);
    r.batch_size = 2;
    fields[0].dim[1] = 0;
    assert_int_equal(model_build(&r, &g, &err), E_CONFIG);
    assert_string_equal(err.text, "field 'image': a batch of [2,1,0,28] has no elements");
    config_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cnn_is_pytorchs),
        cmocka_unit_test(test_mlp_is_pytorchs),
        cmocka_unit_test(test_initial_weights),
        cmocka_unit_test(test_batch_norm_and_dropout),
        cmocka_unit_test(test_layouts_do_not_depend_on_the_batch),
        cmocka_unit_test(test_sequential),
        cmocka_unit_test(test_errors_name_layer_and_shapes),
        cmocka_unit_test(test_needs_images_and_labels),
        cmocka_unit_test(test_a_batch_has_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
