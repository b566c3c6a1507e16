/*
 * Whole models against PyTorch: from the same first weights, over the same batches, in float32, the
 * losses of ten steps within 1e-5 of PyTorch's and the gradients of the first step within 1e-4 of
 * their norm. What data/ holds is made by make_models.py.
 *
 * Gradients that are zero in exact arithmetic (the biases of keys; what stands before a norm) are
 * rounding here and there: GRAIN, as a share of the whole gradient's norm, is allowed everywhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/store/safetensors.h"
#include "exec/exec.h"
#include "model/model.h"
#include "optim/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 10, BATCHES = 5 };

static const double LOSS_TOLERANCE = 1e-5, GRAD_TOLERANCE = 1e-4, GRAIN = 1e-6;

typedef struct golden {
    st_file *file;
    config *config;
    data_field fields[DATA_FIELDS];
    size_t n_fields;
    int64_t batch;
    graph *graph;
    flat *flat;
    exec *exec;
    optim optim;
    optim_call call;
    float *weights, *slots[OPTIM_SLOTS];
} golden;

static void must(status st, const error *err)
{
    if (st != OK)
        fail_msg("%s", err->text);
}

static const st_tensor *tensor(const golden *g, const char *kind, const char *name)
{
    char *full = xasprintf("%s.%s", kind, name);
    const st_tensor *t = st_find(g->file, full);
    if (!t)
        fail_msg("no tensor '%s'", full);
    free(full);
    return t;
}

/* --- building --- */

static void load_config(golden *g, const char *optimizer)
{
    error err = ERROR_INIT;
    char *text = xasprintf("{train_data_path: 'x', data_loader: {batch_size: 1}, model: %s, "
                           "trainer: {optimizer: %s}}",
                           st_metadata(g->file, "model"), st_metadata(g->file, optimizer));
    must(config_load(&(config_source){.text = text}, &g->config, &err), &err);
    free(text);
}

/* The fields are the tensors of the first batch, without their first axis. */
static void find_fields(golden *g)
{
    static const char prefix[] = "batch.0.";
    int64_t classes = strtoll(st_metadata(g->file, "classes"), NULL, 10);
    for (size_t i = 0; i < st_count(g->file); i++) {
        const st_tensor *t = st_at(g->file, i);
        if (strncmp(t->name, prefix, strlen(prefix)) != 0)
            continue;
        data_field *f = &g->fields[g->n_fields++];
        *f = (data_field){.name = t->name + strlen(prefix), .dtype = t->dtype, .rank = t->rank - 1};
        memcpy(f->dim, t->dim + 1, (size_t)f->rank * sizeof *f->dim);
        f->classes = strcmp(f->name, "label") == 0 ? classes : 0;
        g->batch = t->dim[0];
    }
}

static void build(golden *g)
{
    error err = ERROR_INIT;
    model_request request = {.model = config_section(g->config, "model"),
                             .fields = g->fields,
                             .n_fields = g->n_fields,
                             .batch_size = g->batch,
                             .mode = MODEL_TRAIN};
    must(model_build(&request, &g->graph, &err), &err);
    must(model_flat(g->graph, &g->flat, &err), &err);
    exec_options options = {.backend = &backend_cpu,
                            .device = {.threads = 2},
                            .flat = g->flat,
                            .graphs = (const graph *const[]){g->graph},
                            .n_graphs = 1};
    must(exec_create(&options, &g->exec, &err), &err);
}

static void take_weights(golden *g)
{
    size_t n = (size_t)g->flat->n_elements;
    g->weights = xcalloc(n, sizeof *g->weights);
    for (size_t i = 0; i < OPTIM_SLOTS; i++)
        g->slots[i] = xcalloc(n, sizeof *g->slots[i]);
    for (int32_t t = 0; t < g->flat->n_tensors; t++) {
        const st_tensor *from = tensor(g, "param", g->flat->tensors[t].name);
        assert_int_equal(from->bytes, (size_t)g->flat->count[t] * sizeof(float));
        memcpy(g->weights + g->flat->offset[t], from->data, from->bytes);
    }
    exec_bind_params(g->exec, g->weights);
}

static void golden_init(golden *g, const char *model, const char *optimizer)
{
    error err = ERROR_INIT;
    *g = (golden){.n_fields = 0};
    char *path = xasprintf(TEST_DATA_DIR "/%s.safetensors", model);
    must(st_open(path, &g->file, &err), &err);
    free(path);
    load_config(g, optimizer);
    find_fields(g);
    build(g);
    take_weights(g);
    g->optim = optim_settings(g->config);
    schedule rates = schedule_settings(g->config, STEPS);
    g->call = (optim_call){.rate = schedule_rate(&rates, 0), .scale = 1.0f};
}

static void golden_fini(golden *g)
{
    exec_destroy(&g->exec);
    flat_destroy(&g->flat);
    graph_destroy(&g->graph);
    config_destroy(&g->config);
    st_close(&g->file);
    free(g->weights);
    for (size_t i = 0; i < OPTIM_SLOTS; i++)
        free(g->slots[i]);
}

/* --- running --- */

static void feed(golden *g, int step)
{
    for (size_t i = 0; i < g->n_fields; i++) {
        char kind[16];
        snprintf(kind, sizeof kind, "batch.%d", step % BATCHES);
        const st_tensor *from = tensor(g, kind, g->fields[i].name);
        void *to = exec_value(g->exec, 0, g->fields[i].name, NULL);
        if (!to)
            fail_msg("the model does not read '%s'", g->fields[i].name);
        memcpy(to, from->data, from->bytes);
    }
    *(float *)exec_value(g->exec, 0, "slot.weight", NULL) = 1.0f;
}

static void update(golden *g)
{
    g->call.step++;
    for (int32_t t = 0; t < g->flat->n_tensors; t++) {
        int64_t at = g->flat->offset[t];
        float *state[OPTIM_SLOTS], *w = g->weights + at;
        if (g->flat->tensors[t].kind != TENSOR_TRAINABLE)
            continue;
        for (size_t i = 0; i < OPTIM_SLOTS; i++)
            state[i] = g->slots[i] + at;
        g->call.decay = g->flat->tensors[t].decay;
        optim_apply(&g->optim, &g->call, (size_t)g->flat->count[t], exec_grad(g->exec) + at, w, w,
                    (const float *const *)state, state);
    }
}

static float element(const void *data, int64_t i)
{
    float x;
    memcpy(&x, (const char *)data + (size_t)i * sizeof x, sizeof x);
    return x;
}

static double norm(const void *data, const float *less, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = (double)element(data, i) - (less ? (double)less[i] : 0.0);
        sum += x * x;
    }
    return sqrt(sum);
}

static double whole_norm(const golden *g)
{
    double sum = 0;
    for (int32_t t = 0; t < g->flat->n_tensors; t++) {
        if (g->flat->tensors[t].kind != TENSOR_TRAINABLE)
            continue;
        double one =
            norm(tensor(g, "grad", g->flat->tensors[t].name)->data, NULL, g->flat->count[t]);
        sum += one * one;
    }
    return sqrt(sum);
}

static void check_gradients(const golden *g)
{
    double grain = GRAIN * whole_norm(g), worst = 0;
    int wrong = 0;
    for (int32_t t = 0; t < g->flat->n_tensors; t++) {
        const tensor_decl *p = &g->flat->tensors[t];
        if (p->kind != TENSOR_TRAINABLE)
            continue;
        const st_tensor *want = tensor(g, "grad", p->name);
        const float *got = exec_grad(g->exec) + g->flat->offset[t];
        double size = norm(want->data, NULL, g->flat->count[t]);
        double apart = norm(want->data, got, g->flat->count[t]);
        worst = apart / (size + grain) > worst ? apart / (size + grain) : worst;
        if (apart <= GRAD_TOLERANCE * size + grain)
            continue;
        print_error("gradient of '%s': %g apart, of norm %g\n", p->name, apart, size);
        wrong++;
    }
    print_message("gradients: at most %.2g of their norm apart\n", worst);
    assert_int_equal(wrong, 0);
}

static void run(const char *model, const char *optimizer)
{
    error err = ERROR_INIT;
    golden g;
    golden_init(&g, model, optimizer);
    const void *want = tensor(&g, "loss", optimizer)->data;
    double worst = 0;
    int wrong = 0;
    for (int i = 0; i < STEPS; i++) {
        feed(&g, i);
        must(exec_run(g.exec, 0, NULL, &err), &err);
        if (i == 0)
            check_gradients(&g);
        double loss = (double)*(float *)exec_value(g.exec, 0, "loss", NULL);
        double apart = fabs(loss / (double)element(want, i) - 1);
        worst = apart > worst ? apart : worst;
        if (!(apart <= LOSS_TOLERANCE)) {
            print_error("%s, step %d: loss %.9g, PyTorch's %.9g\n", optimizer, i, loss,
                        (double)element(want, i));
            wrong++;
        }
        update(&g);
    }
    print_message("%s, %s: losses at most %.2g apart\n", model, optimizer, worst);
    golden_fini(&g);
    assert_int_equal(wrong, 0);
}

static void test_model(void **state)
{
    run(*state, "sgd");
    run(*state, "adamw");
}

int main(void)
{
    static char *const models[] = {"mlp",  "resnet18",  "r2plus1d_18", "bert_qa",
                                   "gpt2", "wide_deep", "dlrm"};
    struct CMUnitTest tests[COUNT_OF(models)] = {0};
    for (size_t i = 0; i < COUNT_OF(models); i++)
        tests[i] = (struct CMUnitTest){
            .name = models[i], .test_func = test_model, .initial_state = models[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
