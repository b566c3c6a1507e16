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

/* Where PyTorch's file is another computation: gradients of these are sums in another order. */
static const struct {
    const char *model, *params, *why;
} differences[] = {
    {"vit", "*.self_attention.*",
     "PyTorch's attention has its rows by [tokens, batch], and its linear layers sum over them so"},
};

/* Where it is none at all. */
static const struct {
    const char *file, *why;
} missing[] = {
    {"r2plus1d_18-dynamo",
     "to a 3-D convolution without bias it gives one of [channels, 2], which ONNX does not know"},
};

enum { SIZE = 12, CLASSES = 10 };

static const double ROUNDING = 1e-5;

static bool may_differ(const char *model, const char *param)
{
    for (size_t i = 0; i < COUNT_OF(differences); i++)
        if (strcmp(model, differences[i].model) == 0 &&
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

static bool is_near(const float *x, const float *y, int64_t n)
{
    double apart = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        apart += pow((double)x[i] - (double)y[i], 2);
        size += pow((double)x[i], 2);
    }
    return sqrt(apart) <= ROUNDING * sqrt(size);
}

/* One step of both. `model` NULL: nothing may differ. */
static void expect_the_same(network *built, network *file, const char *model)
{
    int wrong = 0;
    float a = network_run(built), b = network_run(file);
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(built->flat->n_tensors, file->flat->n_tensors);
    for (int32_t t = 0; t < built->flat->n_tensors; t++) {
        const char *name = built->flat->tensors[t].name;
        const float *x = network_grad(built, name), *y = network_grad(file, name);
        int64_t n = built->flat->count[t];
        if (y && memcmp(x, y, (size_t)n * sizeof *x) == 0)
            continue;
        if (y && model && may_differ(model, name) && is_near(x, y, n))
            continue;
        print_error("the gradients of '%s' differ\n", name);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

static char *onnx_section(const network *built, const char *path)
{
    return xasprintf("{type: 'onnx', path: '%s', loss: '%s'}", path,
                     config_str(built->config, "model.loss"));
}

static void compare_file(network *built, const golden *g, const char *path, const char *model)
{
    network file = {0};
    char *section = onnx_section(built, path);
    network_init(&file, g, section, "'sgd'");
    network_feed(&file, g, 0);
    expect_the_same(built, &file, model);
    network_fini(&file);
    free(section);
}

/* --- our own files --- */

static void write_weights(const network *n, const char *path)
{
    error err = ERROR_INIT;
    size_t n_tensors = (size_t)n->flat->n_tensors;
    st_writer *w = NULL;
    st_tensor *t = xcalloc(n_tensors, sizeof *t);
    for (size_t i = 0; i < n_tensors; i++) {
        const tensor_decl *d = &n->flat->tensors[i];
        t[i] = (st_tensor){.name = d->name, .dtype = DT_F32, .rank = d->rank};
        memcpy(t[i].dim, d->dim, sizeof d->dim);
    }
    must(st_writer_open(path, t, n_tensors, NULL, 0, &w, &err), &err);
    for (size_t i = 0; i < n_tensors; i++)
        must(st_writer_add(w, n->weights + n->flat->offset[i],
                           (size_t)n->flat->count[i] * sizeof(float), &err),
             &err);
    must(st_writer_close(&w, NULL, NULL, &err), &err);
    free(t);
}

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

static void compare_own(network *built, const golden *g)
{
    char folder[] = "/tmp/onnx_builder.XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *weights_path = xasprintf("%s/w.safetensors", folder);
    char *path = xasprintf("%s/m.onnx", folder);
    write_weights(built, weights_path);
    write_model(built, g, weights_path, path);
    compare_file(built, g, path, NULL);
    compare_predictions(built, g, path);
    must(fs_remove_tree(folder, NULL), NULL);
    free(weights_path);
    free(path);
}

/* --- tests --- */

static void test_model(void **state)
{
    static const char *const exporters[] = {"torchscript", "dynamo"};
    const char *model = *state;
    golden g;
    network built = {0};
    golden_open(&g, model);
    network_init(&built, &g, golden_section(&g, "model"), "'sgd'");
    network_take_weights(&built, &g);
    network_feed(&built, &g, 0);
    for (size_t i = 0; i < COUNT_OF(exporters); i++) {
        char *name = xasprintf("%s-%s", model, exporters[i]);
        char *path = xasprintf(TEST_DATA_DIR "/%s.onnx", name);
        const char *why = why_missing(name);
        if (why)
            print_message("no %s: %s\n", name, why);
        else
            compare_file(&built, &g, path, model);
        free(name);
        free(path);
    }
    compare_own(&built, &g);
    network_fini(&built);
    golden_close(&g);
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
    struct CMUnitTest tests[GOLDEN_MODELS + 1] = {cmocka_unit_test(test_dropout)};
    for (size_t i = 0; i < GOLDEN_MODELS; i++)
        tests[i + 1] = (struct CMUnitTest){.name = golden_models[i],
                                           .test_func = test_model,
                                           .initial_state = (void *)(uintptr_t)golden_models[i]};
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
