#include "cli/bench/lane.h"

#include "backend/backend.h"
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "exec/budget.h"
#include "exec/exec.h"
#include "model/model.h"
#include "optim/settings.h"

#include <stdlib.h>
#include <string.h>

enum { N_FIELDS = 2 };

/* The networks of the examples, without what only regularises. */
typedef struct subject {
    const char *name;
    int64_t batch;
    const char *model;
    data_field fields[N_FIELDS]; /* what is read, the labels */
} subject;

#define IMAGE(c, h, w)                                                                             \
    {                                                                                              \
        .name = "image", .dtype = DT_F32, .rank = 3, .dim = { c, h, w }                            \
    }
#define CLASS(n)                                                                                   \
    {                                                                                              \
        .name = "label", .dtype = DT_I64, .classes = n                                             \
    }
#define TOKENS(what, length, n)                                                                    \
    {                                                                                              \
        .name = what, .dtype = DT_I64, .rank = 1, .dim = {length}, .classes = n                    \
    }

#define PIXELS(h, w, n)                                                                            \
    {                                                                                              \
        .name = "label", .dtype = DT_I64, .rank = 2, .dim = {h, w}, .classes = n                   \
    }
#define IMAGENET                                                                                   \
    {                                                                                              \
        IMAGE(3, 224, 224), CLASS(1000)                                                            \
    }

static const subject subjects[] = {
    {"mlp", 256, "{ type: 'mlp', hidden: [512, 512], dropout: 0 }", {IMAGE(1, 28, 28), CLASS(10)}},
    {"cnn",
     128,
     "{ type: 'cnn', channels: [32, 64], hidden: [128], dropout: 0 }",
     {IMAGE(1, 28, 28), CLASS(10)}},
    {"resnet18_cifar", 64, "{ type: 'resnet18', stem: 'cifar' }", {IMAGE(3, 32, 32), CLASS(10)}},
    {"resnet50", 16, "{ type: 'resnet50' }", {IMAGE(3, 224, 224), CLASS(1000)}},
    {"bert_tiny_qa",
     32,
     "{ type: 'bert', num_layers: 2, width: 128, num_heads: 2, vocabulary: 28996, dropout: 0 }",
     {TOKENS("input_ids", 128, 28996), TOKENS("label", 2, 128)}},
    {"bert_base_qa",
     4,
     "{ type: 'bert', vocabulary: 28996, dropout: 0 }",
     {TOKENS("input_ids", 384, 28996), TOKENS("label", 2, 384)}},
    {"gpt_char",
     16,
     "{ type: 'transformer_lm', num_layers: 6, width: 384, num_heads: 6, dropout: 0 }",
     {TOKENS("tokens", 256, 65), TOKENS("label", 256, 65)}},
    {"mobilenet_v3_large", 16, "{ type: 'mobilenet_v3_large', dropout: 0 }", IMAGENET},
    {"efficientnet_b0", 8, "{ type: 'efficientnet_b0', dropout: 0, stochastic_depth_prob: 0 }", IMAGENET},
    {"regnet_y_400mf", 16, "{ type: 'regnet_y_400mf' }", IMAGENET},
    {"densenet121", 4, "{ type: 'densenet121' }", IMAGENET},
    {"convnext_tiny", 4, "{ type: 'convnext_tiny', stochastic_depth_prob: 0 }", IMAGENET},
    {"swin_t", 4, "{ type: 'swin_t', stochastic_depth_prob: 0 }", IMAGENET},
    {"unet", 2, "{ type: 'unet' }", {IMAGE(3, 128, 128), PIXELS(128, 128, 21)}},
};

static const struct {
    const char *name, *section;
} optimizers[] = {
    {"sgd", "{ type: 'sgd', lr: 0.01, momentum: 0.9 }"},
    {"adamw", "{ type: 'adamw', lr: 0.001, weight_decay: 0.01 }"},
};

struct bench_lane {
    const subject *subject;
    const char *optimizer, *precision;
    int64_t batch, threads;
    config *config;
    graph *graph;
    flat *flat;
    exec *exec;
    optim optim;
    optim_call call;
    size_t n_slots;
    float *weights, *slots[OPTIM_SLOTS]; /* over the whole flat vector */
};

static status make_config(bench_lane *l, error *err)
{
    const char *optimizer = NULL;
    for (size_t i = 0; i < COUNT_OF(optimizers); i++)
        if (strcmp(l->optimizer, optimizers[i].name) == 0)
            optimizer = optimizers[i].section;
    char *text = xasprintf("{ train_data_path: 'none', data_loader: { batch_size: 1 }, "
                           "model: %s, trainer: { precision: '%s', optimizer: %s } }",
                           l->subject->model, l->precision, optimizer);
    status st = config_load(&(config_source){.text = text}, &l->config, err);
    free(text);
    return st;
}

static status build(const bench_lane *l, int64_t batch, graph **ret, error *err)
{
    return model_build(
        &(model_request){
            .model = config_section(l->config, "model"),
            .fields = l->subject->fields,
            .n_fields = N_FIELDS,
            .batch_size = batch,
            .mode = MODEL_TRAIN,
            .precision = model_precision(l->config),
            .half_weight_gradients = config_bool(l->config, "trainer.half_weight_gradients"),
            .library_dropout = config_bool(l->config, "trainer.library_dropout"),
        },
        ret, err);
}

static exec_options engine_of(const bench_lane *l, const graph *const *g)
{
    return (exec_options){.backend = &backend_cpu,
                          .device = {.threads = (int)l->threads},
                          .flat = l->flat,
                          .graphs = g,
                          .n_graphs = 1};
}

/* The engine's, weights, and the optimizer's state. */
static status need(void *user, int64_t batch, size_t *ret, error *err)
{
    const bench_lane *l = user;
    graph *g = NULL;
    exec_memory m;
    const optim settings = optim_settings(l->config);
    TRY(build(l, batch, &g, err));
    exec_options options = engine_of(l, (const graph *const[]){g});
    status st = exec_measure(&options, &m, err);
    graph_destroy(&g);
    if (st == OK)
        *ret = m.grad + m.io + m.temp + m.constant + m.workspace +
               (1 + optim_slots(&settings)) * m.param;
    return st;
}

static status make_engine(bench_lane *l, error *err)
{
    const budget room = {
        .what = "bench", .key = "--batch", .batch = l->batch, .need = need, .user = l};
    TRY(build(l, l->batch, &l->graph, err));
    TRY(model_flat(l->graph, &l->flat, err));
    TRY(budget_check(&room, err));
    exec_options options = engine_of(l, (const graph *const[]){l->graph});
    return exec_create(&options, &l->exec, err);
}

static status make_weights(bench_lane *l, error *err)
{
    size_t bytes = (size_t)l->flat->n_elements * sizeof(float);
    l->optim = optim_settings(l->config);
    lr_sequence rates = lr_settings(l->config, (training_span){.steps = 1, .epoch_steps = 1});
    l->call = (optim_call){.rate = lr_sequence_rate(&rates, 0, 0), .scale = 1.0f};
    l->n_slots = optim_slots(&l->optim);
    TRY(mem_alloc(bytes, "weights", (void **)&l->weights, err));
    for (size_t i = 0; i < l->n_slots; i++)
        TRY(mem_alloc(bytes, "optimizer state", (void **)&l->slots[i], err));
    for (int32_t p = 0; p < l->flat->n_parts; p++)
        flat_part_init(l->flat, p, 0, l->weights + l->flat->parts[p].begin);
    exec_bind_params(l->exec, l->weights);
    return OK;
}

static void fill_field(const bench_lane *l, const data_field *f)
{
    const graph_value *value;
    void *to = exec_input(l->exec, 0, f->name, &value);
    rng r = rng_make(0, RNG_TEST, (uint64_t)f->name[0]);
    int64_t n = graph_shape_elements(&value->shape);
    for (int64_t i = 0; i < n; i++) {
        if (f->dtype == DT_F32)
            ((float *)to)[i] = rng_normal(&r, (uint64_t)i);
        else
            ((int64_t *)to)[i] = (int64_t)rng_below(&r, (uint64_t)i, (uint64_t)f->classes);
    }
}

static void fill_inputs(const bench_lane *l)
{
    for (int i = 0; i < N_FIELDS; i++)
        fill_field(l, &l->subject->fields[i]);
    *(float *)exec_input(l->exec, 0, "slot.weight", NULL) = 1.0f;
}

status bench_lane_create(const bench_lane_options *o, bench_lane **ret, error *err)
{
    bench_lane *l = xcalloc(1, sizeof *l);
    l->subject = &subjects[0];
    for (size_t i = 0; o->model && i < COUNT_OF(subjects); i++)
        if (strcmp(o->model, subjects[i].name) == 0)
            l->subject = &subjects[i];
    l->optimizer = o->optimizer ? o->optimizer : optimizers[0].name;
    l->precision = o->precision ? o->precision : "f32";
    l->batch = o->batch ? o->batch : l->subject->batch;
    l->threads = o->threads;
    status st;
    TRY_OUT(st, make_config(l, err));
    TRY_OUT(st, make_engine(l, err));
    TRY_OUT(st, make_weights(l, err));
    fill_inputs(l);
    *ret = l;
    return OK;
out:
    bench_lane_destroy(&l);
    return st;
}

void bench_lane_destroy(bench_lane **lane)
{
    bench_lane *l = *lane;
    if (!l)
        return;
    exec_destroy(&l->exec);
    flat_destroy(&l->flat);
    graph_destroy(&l->graph);
    config_destroy(&l->config);
    mem_free(l->weights);
    for (size_t i = 0; i < OPTIM_SLOTS; i++)
        mem_free(l->slots[i]);
    free(l);
    *lane = NULL;
}

bench_lane_facts bench_lane_of(const bench_lane *l)
{
    bench_lane_facts f = {.model = l->subject->name,
                          .optimizer = l->optimizer,
                          .precision = l->precision,
                          .batch = l->batch,
                          .flops = graph_flops(l->graph)};
    for (int32_t i = 0; i < l->flat->n_tensors; i++)
        f.params += l->flat->count[i];
    return f;
}

static void update_part(bench_lane *l, int32_t part)
{
    size_t n;
    const part_segment *s = flat_part_segments(l->flat, part, &n);
    for (size_t i = 0; i < n; i++) {
        float *state[OPTIM_SLOTS], *w = l->weights + s[i].at;
        for (size_t k = 0; k < l->n_slots; k++)
            state[k] = l->slots[k] + s[i].at;
        l->call.decay = l->flat->tensors[s[i].tensor].decay;
        optim_apply(&l->optim, &l->call, (size_t)s[i].n, exec_grad(l->exec) + s[i].at, w, w,
                    (const float *const *)state, state);
    }
}

status bench_lane_step(bench_lane *l, error *err)
{
    TRY(exec_run(l->exec, 0, NULL, err));
    l->call.step++;
    for (int32_t p = 0; p < l->flat->n_live_parts; p++)
        update_part(l, p);
    return OK;
}
