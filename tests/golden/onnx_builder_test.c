/* A network that came as an ONNX file and the same one of built-in layers, from the same weights:
 * loss and gradients of a training step agree bit for bit, masks of dropout included, for those are
 * drawn by the name of the value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "exec/exec.h"
#include "model/initial.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 5, SIZE = 12, CLASSES = 10 };

static const data_field fields[] = {
    {.name = "image", .dtype = DT_F32, .rank = 3, .dim = {1, SIZE, SIZE}},
    {.name = "label", .dtype = DT_I64, .classes = CLASSES},
};

typedef struct network {
    config *config;
    graph *graph;
    flat *flat;
    exec *exec;
    float *weights;
} network;

static void must(status st, const error *err)
{
    if (st != OK)
        fail_msg("%s", err->text);
}

static void network_init(network *n, const char *model)
{
    error err = ERROR_INIT;
    buf report = BUF_INIT;
    char *text =
        xasprintf("{train_data_path: 'x', data_loader: {batch_size: 1}, model: %s}", model);
    must(config_load(&(config_source){.text = text}, &n->config, &err), &err);
    free(text);
    model_request request = {.model = config_section(n->config, "model"),
                             .fields = fields,
                             .n_fields = COUNT_OF(fields),
                             .batch_size = BATCH,
                             .seed = 7,
                             .mode = MODEL_TRAIN};
    must(model_build(&request, &n->graph, &err), &err);
    must(model_flat(n->graph, &n->flat, &err), &err);
    exec_options options = {.backend = &backend_cpu,
                            .device = {.threads = 2},
                            .flat = n->flat,
                            .graphs = (const graph *const[]){n->graph},
                            .n_graphs = 1};
    must(exec_create(&options, &n->exec, &err), &err);
    n->weights = xcalloc((size_t)n->flat->n_elements, sizeof *n->weights);
    must(model_initial(request.model, n->flat, 7, n->weights, &report, &err), &err);
    exec_bind_params(n->exec, n->weights);
    buf_fini(&report);
}

static void network_fini(network *n)
{
    exec_destroy(&n->exec);
    flat_destroy(&n->flat);
    graph_destroy(&n->graph);
    config_destroy(&n->config);
    free(n->weights);
}

static float step(network *n)
{
    error err = ERROR_INIT;
    rng r = rng_make(3, RNG_TEST, 0);
    float *image = exec_value(n->exec, 0, "image", NULL);
    int64_t *label = exec_value(n->exec, 0, "label", NULL);
    for (int64_t i = 0; i < BATCH * SIZE * SIZE; i++)
        image[i] = rng_normal(&r, (uint64_t)i);
    for (int64_t i = 0; i < BATCH; i++)
        label[i] = (int64_t)rng_below(&r, (uint64_t)i, CLASSES);
    *(int64_t *)exec_value(n->exec, 0, "batch.id", NULL) = 11;
    *(float *)exec_value(n->exec, 0, "slot.weight", NULL) = 1.0f;
    must(exec_run(n->exec, 0, NULL, &err), &err);
    return *(const float *)exec_value(n->exec, 0, "loss", NULL);
}

static void copy_weights(network *to, const network *from)
{
    assert_int_equal(to->flat->n_tensors, from->flat->n_tensors);
    for (int32_t t = 0; t < to->flat->n_tensors; t++) {
        int32_t f = flat_find(from->flat, to->flat->tensors[t].name);
        assert_true(f >= 0 && from->flat->count[f] == to->flat->count[t]);
        memcpy(to->weights + to->flat->offset[t], from->weights + from->flat->offset[f],
               (size_t)to->flat->count[t] * sizeof(float));
    }
}

static void test_a_convolutional_network(void **state)
{
    (void)state;
    network file = {0}, layers = {0};
    network_init(&file, "{type: 'onnx', path: '" TEST_DATA_DIR "/../onnx/cnn-torchscript.onnx'}");
    network_init(&layers,
                 "{type: 'sequential', layers: ["
                 "{type: 'conv', name: 'conv1', filters: 6, kernel: 3, bias: false},"
                 "{type: 'batch_norm', name: 'bn1'}, 'relu', 'max_pool',"
                 "{type: 'conv', name: 'conv2', filters: 8, kernel: 3}, 'relu', 'max_pool',"
                 "'flatten', {type: 'dropout', name: '/drop/Dropout_output_0', p: 0.2},"
                 "{type: 'linear', name: 'fc', features: 10}]}");
    copy_weights(&layers, &file);
    float a = step(&file), b = step(&layers);
    assert_memory_equal(&a, &b, sizeof a);
    for (int32_t t = 0; t < layers.flat->n_tensors; t++) {
        const char *name = layers.flat->tensors[t].name;
        int64_t from = file.flat->offset[flat_find(file.flat, name)];
        if (memcmp(exec_grad(file.exec) + from, exec_grad(layers.exec) + layers.flat->offset[t],
                   (size_t)layers.flat->count[t] * sizeof(float)) != 0)
            fail_msg("the gradients of '%s' differ", name);
    }
    network_fini(&file);
    network_fini(&layers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_convolutional_network)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
