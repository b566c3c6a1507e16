#include "golden/support_golden.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/base/rng.h"
#include "model/initial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 7 };

extern const backend_ops GOLDEN_BACKEND;

const char *const golden_models[GOLDEN_MODELS] = {
    "mlp",       "cnn", "sequential", "resnet18", "resnet34",  "resnet50", "r2plus1d_18",
    "frame_cnn", "vit", "bert_qa",    "gpt2",     "wide_deep", "dlrm"};

const char *const golden_images[GOLDEN_IMAGES] = {
    "mobilenet_v3_small", "efficientnet_b0", "regnet_y_400mf", "densenet121",
    "convnext_tiny",      "swin_t",          "unet",           "lraspp_mobilenet_v3_large"};

void must(status st, const error *err)
{
    if (st != OK)
        fail_msg("%s", err->text);
}

/* --- the file --- */

const char *golden_section(const golden *g, const char *key)
{
    const char *text = st_metadata(g->file, key);
    if (!text)
        fail_msg("no metadata '%s'", key);
    return text;
}

const st_tensor *golden_tensor(const golden *g, const char *kind, const char *name)
{
    char *full = xasprintf("%s.%s", kind, name);
    const st_tensor *t = st_find(g->file, full);
    if (!t)
        fail_msg("no tensor '%s'", full);
    free(full);
    return t;
}

static data_field *add_field(golden *g, const char *name, dtype type, int32_t rank)
{
    data_field *f = &g->fields[g->n_fields++];
    *f = (data_field){.name = name, .dtype = type, .rank = rank};
    return f;
}

/* Of images there is only the shape of a batch, [8, 3, 33, 33]. */
static void find_image(golden *g)
{
    error err = ERROR_INIT;
    json_t *shape = NULL;
    const char *text = st_metadata(g->file, "image");
    if (!text)
        return;
    must(json_parse(text, strlen(text), "image", E_DATA, &shape, &err), &err);
    data_field *f = add_field(g, "image", DT_F32, (int32_t)json_array_size(shape) - 1);
    for (int32_t i = 0; i < f->rank; i++)
        f->dim[i] = json_integer_value(json_array_get(shape, (size_t)i + 1));
    json_decref(shape);
}

static bool is_label(const char *field)
{
    static const char *const labels[] = {"label", "head_indices", "head_tags"};
    for (size_t i = 0; i < COUNT_OF(labels); i++)
        if (strcmp(field, labels[i]) == 0)
            return true;
    return false;
}

/* The other fields are the tensors of the first batch, without their first axis. */
static void find_fields(golden *g)
{
    static const char prefix[] = "batch.0.";
    int64_t classes = strtoll(golden_section(g, "classes"), NULL, 10);
    for (size_t i = 0; i < st_count(g->file); i++) {
        const st_tensor *t = st_at(g->file, i);
        if (strncmp(t->name, prefix, strlen(prefix)) != 0)
            continue;
        data_field *f = add_field(g, t->name + strlen(prefix), t->dtype, t->rank - 1);
        memcpy(f->dim, t->dim + 1, (size_t)f->rank * sizeof *f->dim);
        f->classes = is_label(f->name) ? classes : 0;
        g->batch = t->dim[0];
    }
}

const char *golden_folder(void)
{
    const char *named = getenv("GOLDEN_DATA");
    return named ? named : TEST_DATA_DIR;
}

void golden_open(golden *g, const char *model)
{
    error err = ERROR_INIT;
    *g = (golden){.n_fields = 0};
    char *path = xasprintf("%s/%s.safetensors", golden_folder(), model);
    must(st_open(path, &g->file, &err), &err);
    free(path);
    find_image(g);
    find_fields(g);
}

void golden_close(golden *g)
{
    st_close(&g->file);
}

/* --- building --- */

static void load_config(network *n, const golden *g, const char *model, const char *optimizer)
{
    error err = ERROR_INIT;
    const char *sam = g->file ? st_metadata(g->file, "sam") : NULL;
    char *text = xasprintf("{train_data_path: 'x', data_loader: {batch_size: 1}, model: %s, "
                           "trainer: {optimizer: %s, sam: %s}}",
                           model, optimizer ? optimizer : "'sgd'", sam ? sam : "null");
    must(config_load(&(config_source){.text = text}, &n->config, &err), &err);
    free(text);
}

static void draw_weights(network *n)
{
    error err = ERROR_INIT;
    buf report = BUF_INIT;
    n->weights = xcalloc((size_t)n->flat->n_elements, sizeof *n->weights);
    must(
        model_initial(config_section(n->config, "model"), n->flat, SEED, n->weights, &report, &err),
        &err);
    exec_bind_params(n->exec, n->weights);
    buf_fini(&report);
}

static graph *build(const network *n, const golden *g, int64_t batch, model_mode mode)
{
    error err = ERROR_INIT;
    graph *ret = NULL;
    model_request request = {.model = config_section(n->config, "model"),
                             .fields = g->fields,
                             .n_fields = g->n_fields,
                             .batch_size = batch,
                             .seed = SEED,
                             .mode = mode,
                             .sam = config_section(n->config, "trainer.sam")};
    must(model_build(&request, &ret, &err), &err);
    return ret;
}

graph *network_predicting(const network *n, const golden *g, int64_t batch)
{
    return build(n, g, batch, MODEL_PREDICT);
}

void network_init(network *n, const golden *g, const char *model, const char *optimizer)
{
    error err = ERROR_INIT;
    load_config(n, g, model, optimizer);
    n->graph = build(n, g, g->batch, optimizer ? MODEL_TRAIN : MODEL_PREDICT);
    must(model_flat(n->graph, &n->flat, &err), &err);
    exec_options options = {.backend = &GOLDEN_BACKEND,
                            .device = {.threads = 1},
                            .flat = n->flat,
                            .graphs = (const graph *const[]){n->graph},
                            .n_graphs = 1};
    must(exec_create(&options, &n->exec, &err), &err);
    draw_weights(n);
}

void network_fini(network *n)
{
    exec_destroy(&n->exec);
    flat_destroy(&n->flat);
    graph_destroy(&n->graph);
    config_destroy(&n->config);
    free(n->weights);
}

void network_take_weights(network *n, const golden *g)
{
    for (int32_t t = 0; t < n->flat->n_tensors; t++) {
        const st_tensor *from = golden_tensor(g, "param", n->flat->tensors[t].name);
        assert_int_equal(from->bytes, (size_t)n->flat->count[t] * sizeof(float));
        memcpy(n->weights + n->flat->offset[t], from->data, from->bytes);
    }
}

void network_write_weights(const network *n, const char *path)
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

/* --- running --- */

/* Element i is a number in [-2, 2). */
static void make_noise(int batch, float *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = rng_mix((uint64_t)batch, (uint64_t)i) >> 40;
        out[i] = (float)((int64_t)bits - (1 << 23)) * 0x1p-22f;
    }
}

void network_feed(network *n, const golden *g, int batch)
{
    char kind[16];
    snprintf(kind, sizeof kind, "batch.%d", batch);
    for (size_t i = 0; i < g->n_fields; i++) {
        const graph_value *value = NULL;
        const char *name = g->fields[i].name;
        void *to = exec_input(n->exec, 0, name, &value);
        if (!to && is_label(name))
            continue;
        if (!to)
            fail_msg("the model does not read '%s'", name);
        if (strcmp(name, "image") == 0 && st_metadata(g->file, "image")) {
            make_noise(batch, to, graph_shape_elements(&value->shape));
            continue;
        }
        const st_tensor *from = golden_tensor(g, kind, name);
        memcpy(to, from->data, from->bytes);
    }
}

float network_run(network *n)
{
    error err = ERROR_INIT;
    float *weight = exec_input(n->exec, 0, "slot.weight", NULL);
    if (weight)
        *weight = 1.0f;
    must(exec_run(n->exec, 0, NULL, &err), &err);
    const float *loss = exec_value(n->exec, 0, "loss", NULL);
    return loss ? *loss : 0.0f;
}

const float *network_grad(const network *n, const char *param)
{
    int32_t t = flat_find(n->flat, param);
    return t < 0 ? NULL : exec_grad(n->exec) + n->flat->offset[t];
}
