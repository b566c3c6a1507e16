/*
 * A network that came as an ONNX file and the same one of built-in layers, from the same weights,
 * over the same batch: loss and gradients agree bit for bit. Files are PyTorch's, by both of its
 * exporters (make_exports.py), and our own; those also predict the same. What cannot agree is named
 * below.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/rng.h"
#include "golden/support_golden.h"
#include "onnx/export.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where a file is another computation: PyTorch's or our own. */
static const struct {
    const char *model, *params;
    bool own;
    const char *why;
} differences[] = {
    {"vit", "*.self_attention.*", false,
     "PyTorch's attention has its rows by [tokens, batch], and its linear layers sum over them so"},
    {"efficientnet_b0", "*", true, "SiLU is written as x sigmoid(x), whose gradient is a sum of two"},
};

/* Where it is none at all. */
static const struct {
    const char *file, *why;
} missing[] = {
    {"r2plus1d_18-dynamo",
     "to a 3-D convolution without bias it gives one of [channels, 2], which ONNX does not know"},
};

enum { SIZE = 12, CLASSES = 10 };

/* Of a gradient's norm, and of the norm of all, as in models_test.c. */
static const double ROUNDING = 1e-5, GRAIN = 1e-6;

/* A file to compare with. */
typedef struct comparison {
    const char *model, *path;
    bool own;
} comparison;

static bool may_differ(const comparison *c, const char *param)
{
    for (size_t i = 0; i < COUNT_OF(differences); i++)
        if (strcmp(c->model, differences[i].model) == 0 && c->own == differences[i].own &&
            fnmatch(differences[i].params, param, 0) == 0)
            return true;
    return false;
}

static const char *why_missing(const char *file)
{
    for (size_t i = 0; i < COUNT_OF(missing); i++)
        if (strcmp(file, missing[i].file) == 0)
            return missing[i].why;
    return NULL;
}

static double square_norm(const float *x, const float *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += pow((double)x[i] - (y ? (double)y[i] : 0.0), 2);
    return sum;
}

/* Of all gradients together. */
static double whole_norm(const network *n)
{
    double sum = 0;
    for (int32_t t = 0; t < n->flat->n_tensors; t++)
        if (n->flat->tensors[t].kind == TENSOR_TRAINABLE)
            sum += square_norm(network_grad(n, n->flat->tensors[t].name), NULL, n->flat->count[t]);
    return sqrt(sum);
}

/* One step of both. `c` NULL: nothing may differ. */
static void expect_the_same(network *built, network *file, const comparison *c)
{
    int wrong = 0;
    float a = network_run(built), b = network_run(file);
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(built->flat->n_tensors, file->flat->n_tensors);
    const double grain = GRAIN * whole_norm(built);
    for (int32_t t = 0; t < built->flat->n_tensors; t++) {
        const char *name = built->flat->tensors[t].name;
        const float *x = network_grad(built, name), *y = network_grad(file, name);
        int64_t n = built->flat->count[t];
        if (y && memcmp(x, y, (size_t)n * sizeof *x) == 0)
            continue;
        if (y && c && may_differ(c, name) &&
            sqrt(square_norm(x, y, n)) <= ROUNDING * sqrt(square_norm(x, NULL, n)) + grain)
            continue;
        print_error("the gradients of '%s' differ\n", name);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

static char *onnx_section(const network *built, const char *path)
{
    return xasprintf("{type: 'onnx', path: '%s', loss: '%s', ignore_index: %lld}", path,
                     config_str(built->config, "model.loss"),
                     (long long)config_int(built->config, "model.ignore_index"));
}

static void compare_file(network *built, const golden *g, const comparison *c)
{
    network file = {0};
    char *section = onnx_section(built, c->path);
    network_init(&file, g, section, "'sgd'");
    network_feed(&file, g, 0);
    expect_the_same(built, &file, c);
    network_fini(&file);
    free(section);
}

/* --- our own files --- */

static void write_model(const network *n, const golden *g, const char *weights_path,
                        const char *path)
{
    error err = ERROR_INIT;
    weights *w = NULL;
    const int64_t sizes[2] = {g->batch, g->batch + 1};
    graph *both[2] = {network_predicting(n, g, sizes[0]), network_predicting(n, g, sizes[1])};
    must(weights_open(weights_path, &w, &err), &err);
    onnx_export request = {.g = both[0],
                           .twin = both[1],
                           .batch = sizes[0],
                           .twin_batch = sizes[1],
                           .outputs = (const char *const[]){"logits"},
                           .n_outputs = 1,
                           .weights = w};
    must(onnx_export_graph(&request, path, &err), &err);
    weights_close(&w);
    graph_destroy(&both[0]);
    graph_destroy(&both[1]);
}

static void compare_predictions(const network *trained, const golden *g, const char *path)
{
    network built = {0}, file = {0};
    const graph_value *scores;
    char *section = onnx_section(trained, path);
    network_init(&built, g, golden_section(g, "model"), NULL);
    network_init(&file, g, section, NULL);
    network_take_weights(&built, g);
    network_feed(&built, g, 1);
    network_feed(&file, g, 1);
    network_run(&built);
    network_run(&file);
    const void *a = exec_value(built.exec, 0, "logits", &scores);
    const void *b = exec_value(file.exec, 0, "logits", NULL);
    assert_memory_equal(a, b, (size_t)graph_shape_elements(&scores->shape) * sizeof(float));
    network_fini(&built);
    network_fini(&file);
    free(section);
}

static void compare_own(network *built, const golden *g, const char *model)
{
    char folder[] = "/tmp/onnx_builder.XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *weights_path = xasprintf("%s/w.safetensors", folder);
    char *path = xasprintf("%s/m.onnx", folder);
    network_write_weights(built, weights_path);
    write_model(built, g, weights_path, path);
    compare_file(built, g, &(comparison){.model = model, .path = path, .own = true});
    compare_predictions(built, g, path);
    must(fs_remove_tree(folder, NULL), NULL);
    free(weights_path);
    free(path);
}

/* --- tests --- */

static void begin(const char *model, golden *g, network *built)
{
    golden_open(g, model);
    network_init(built, g, golden_section(g, "model"), "'sgd'");
    network_take_weights(built, g);
    network_feed(built, g, 0);
}

static void end(golden *g, network *built)
{
    network_fini(built);
    golden_close(g);
}

static void test_own(void **state)
{
    golden g;
    network built = {0};
    begin(*state, &g, &built);
    compare_own(&built, &g, *state);
    end(&g, &built);
}

static void test_model(void **state)
{
    static const char *const exporters[] = {"torchscript", "dynamo"};
    const char *model = *state;
    golden g;
    network built = {0};
    begin(model, &g, &built);
    for (size_t i = 0; i < COUNT_OF(exporters); i++) {
        char *name = xasprintf("%s-%s", model, exporters[i]);
        char *path = xasprintf(TEST_DATA_DIR "/%s.onnx", name);
        const char *why = why_missing(name);
        if (why)
            print_message("no %s: %s\n", name, why);
        else
            compare_file(&built, &g, &(comparison){.model = model, .path = path});
        free(name);
        free(path);
    }
    compare_own(&built, &g, model);
    end(&g, &built);
}

static void feed_pictures(network *n, int64_t batch)
{
    rng r = rng_make(3, RNG_TEST, 0);
    float *image = exec_input(n->exec, 0, "image", NULL);
    int64_t *label = exec_input(n->exec, 0, "label", NULL);
    for (int64_t i = 0; i < batch * SIZE * SIZE; i++)
        image[i] = rng_normal(&r, (uint64_t)i);
    for (int64_t i = 0; i < batch; i++)
        label[i] = (int64_t)rng_below(&r, (uint64_t)i, CLASSES);
    *(int64_t *)exec_input(n->exec, 0, "batch.id", NULL) = 11;
}

static void copy_weights(network *to, const network *from)
{
    for (int32_t t = 0; t < to->flat->n_tensors; t++) {
        int32_t f = flat_find(from->flat, to->flat->tensors[t].name);
        assert_true(f >= 0 && from->flat->count[f] == to->flat->count[t]);
        memcpy(to->weights + to->flat->offset[t], from->weights + from->flat->offset[f],
               (size_t)to->flat->count[t] * sizeof(float));
    }
}

/* Masks of dropout are drawn by the name of the value. */
static void test_dropout(void **state)
{
    (void)state;
    const golden g = {
        .fields = {{.name = "image", .dtype = DT_F32, .rank = 3, .dim = {1, SIZE, SIZE}},
                   {.name = "label", .dtype = DT_I64, .classes = CLASSES}},
        .n_fields = 2,
        .batch = 5};
    network file = {0}, layers = {0};
    network_init(&file, &g,
                 "{type: 'onnx', path: '" TEST_DATA_DIR "/../onnx/cnn-torchscript.onnx'}", "'sgd'");
    network_init(&layers, &g,
                 "{type: 'sequential', layers: ["
                 "{type: 'conv', name: 'conv1', filters: 6, kernel: 3, bias: false},"
                 "{type: 'batch_norm', name: 'bn1'}, 'relu', 'max_pool',"
                 "{type: 'conv', name: 'conv2', filters: 8, kernel: 3}, 'relu', 'max_pool',"
                 "'flatten', {type: 'dropout', name: '/drop/Dropout_output_0', p: 0.2},"
                 "{type: 'linear', name: 'fc', features: 10}]}",
                 "'sgd'");
    copy_weights(&layers, &file);
    feed_pictures(&file, g.batch);
    feed_pictures(&layers, g.batch);
    expect_the_same(&layers, &file, NULL);
    network_fini(&file);
    network_fini(&layers);
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[GOLDEN_MODELS + GOLDEN_IMAGES + 1] = {cmocka_unit_test(test_dropout)};
    for (size_t i = 0; i < GOLDEN_MODELS + GOLDEN_IMAGES; i++) {
        bool is_exported = i < GOLDEN_MODELS;
        const char *name = is_exported ? golden_models[i] : golden_images[i - GOLDEN_MODELS];
        tests[i + 1] = (struct CMUnitTest){.name = name,
                                           .test_func = is_exported ? test_model : test_own,
                                           .initial_state = (void *)(uintptr_t)name};
    }
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
