#include "cli/bench_step.h"

#include "backend/backend.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/rng.h"
#include "exec/exec.h"
#include "model/model.h"
#include "optim/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { CLASSES = 10, N_FIELDS = 2 };

/* The networks of the examples, without what only regularises. */
typedef struct subject {
    const char *name;
    int64_t batch;
    const char *model;
} subject;

static const subject subjects[] = {
    {"mlp", 256, "{ type: 'mlp', hidden: [512, 512], dropout: 0 }"},
    {"cnn", 128, "{ type: 'cnn', channels: [32, 64], hidden: [128], dropout: 0 }"},
};

static const struct {
    const char *name, *section;
} optimizers[] = {
    {"sgd", "{ type: 'sgd', lr: 0.01, momentum: 0.9 }"},
    {"adamw", "{ type: 'adamw', lr: 0.001, weight_decay: 0.01 }"},
};

static const data_field fields[N_FIELDS] = {
    {.name = "image", .dtype = DT_F32, .rank = 3, .dim = {1, 28, 28}},
    {.name = "label", .dtype = DT_I64, .classes = CLASSES},
};

typedef struct bench {
    const subject *subject;
    const char *optimizer;
    int64_t batch, threads, steps, warmup;
    config *config;
    graph *graph;
    flat *flat;
    exec *exec;
    optim optim;
    optim_call call;
    size_t n_slots;
    float *weights, *slots[OPTIM_SLOTS]; /* over the whole flat vector */
} bench;

typedef struct timing {
    double median_ms, best_ms, examples_per_s;
} timing;

/* --- building --- */

static status make_config(bench *b, error *err)
{
    const char *optimizer = NULL;
    for (size_t i = 0; i < COUNT_OF(optimizers); i++)
        if (strcmp(b->optimizer, optimizers[i].name) == 0)
            optimizer = optimizers[i].section;
    char *text = xasprintf("{ train_data_path: 'none', data_loader: { batch_size: 1 }, "
                           "model: %s, trainer: { optimizer: %s } }",
                           b->subject->model, optimizer);
    status st = config_load(&(config_source){.text = text}, &b->config, err);
    free(text);
    return st;
}

static status make_engine(bench *b, error *err)
{
    TRY(model_build(
        &(model_request){
            .model = config_section(b->config, "model"),
            .fields = fields,
            .n_fields = N_FIELDS,
            .batch_size = b->batch,
            .mode = MODEL_TRAIN,
        },
        &b->graph, err));
    TRY(model_flat(b->graph, &b->flat, err));
    return exec_create(
        &(exec_options){
            .backend = &backend_cpu,
            .device = {.threads = (int)b->threads},
            .flat = b->flat,
            .graphs = (const graph *const[]){b->graph},
            .n_graphs = 1,
        },
        &b->exec, err);
}

static status make_weights(bench *b, error *err)
{
    size_t bytes = (size_t)b->flat->n_elements * sizeof(float);
    b->optim = optim_settings(b->config);
    schedule rates = schedule_settings(b->config, 1);
    b->call = (optim_call){.rate = schedule_rate(&rates, 0), .scale = 1.0f};
    b->n_slots = optim_slots(&b->optim);
    TRY(mem_alloc(bytes, "weights", (void **)&b->weights, err));
    for (size_t i = 0; i < b->n_slots; i++)
        TRY(mem_alloc(bytes, "optimizer state", (void **)&b->slots[i], err));
    for (int32_t p = 0; p < b->flat->n_parts; p++)
        flat_part_init(b->flat, p, 0, b->weights + b->flat->parts[p].begin);
    exec_bind_params(b->exec, b->weights);
    return OK;
}

static void fill_inputs(bench *b)
{
    const graph_value *image;
    float *pixels = exec_value(b->exec, 0, "image", &image);
    int64_t *labels = exec_value(b->exec, 0, "label", NULL);
    rng r = rng_make(0, RNG_TEST, 0);
    for (int64_t i = 0; i < graph_shape_elements(&image->shape); i++)
        pixels[i] = rng_normal(&r, (uint64_t)i);
    for (int64_t i = 0; i < b->batch; i++)
        labels[i] = (int64_t)rng_below(&r, (uint64_t)i, CLASSES);
    *(float *)exec_value(b->exec, 0, "slot.weight", NULL) = 1.0f;
}

static void fini(bench *b)
{
    exec_destroy(&b->exec);
    flat_destroy(&b->flat);
    graph_destroy(&b->graph);
    config_destroy(&b->config);
    mem_free(b->weights);
    for (size_t i = 0; i < OPTIM_SLOTS; i++)
        mem_free(b->slots[i]);
}

/* --- one step --- */

static void update_part(bench *b, int32_t part)
{
    size_t n;
    const part_segment *s = flat_part_segments(b->flat, part, &n);
    for (size_t i = 0; i < n; i++) {
        float *state[OPTIM_SLOTS], *w = b->weights + s[i].at;
        for (size_t k = 0; k < b->n_slots; k++)
            state[k] = b->slots[k] + s[i].at;
        b->call.decay = b->flat->tensors[s[i].tensor].decay;
        optim_apply(&b->optim, &b->call, (size_t)s[i].n, exec_grad(b->exec) + s[i].at, w, w,
                    (const float *const *)state, state);
    }
}

static status step(bench *b, error *err)
{
    TRY(exec_run(b->exec, 0, NULL, err));
    b->call.step++;
    for (int32_t p = 0; p < b->flat->n_live_parts; p++)
        update_part(b, p);
    return OK;
}

/* --- timing --- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, by_size);
    return n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

static status measure(bench *b, timing *ret, error *err)
{
    double *ms = xcalloc((size_t)b->steps, sizeof *ms);
    status st = OK;
    for (int64_t i = -b->warmup; st == OK && i < b->steps; i++) {
        int64_t begin = clock_us();
        st = step(b, err);
        if (i >= 0)
            ms[i] = (double)(clock_us() - begin) * 1e-3;
    }
    ret->median_ms = median(ms, (size_t)b->steps);
    ret->best_ms = ms[0];
    ret->examples_per_s = (double)b->batch / ret->median_ms * 1e3;
    free(ms);
    return st;
}

/* Fills `last` with the last line that the command printed. */
static status run_peer(const char *peer, char *last, int bytes, error *err)
{
    FILE *out = popen(peer, "re");
    if (!out)
        return FAIL(err, E_IO, "--peer: cannot run '%s': %m", peer);
    last[0] = '\0';
    while (fgets(last, bytes, out))
        ;
    int code = pclose(out);
    if (!WIFEXITED(code) || WEXITSTATUS(code) != 0)
        return FAIL(err, E_FAIL, "--peer: '%s' ended with %s %d", peer,
                    WIFEXITED(code) ? "exit code" : "signal",
                    WIFEXITED(code) ? WEXITSTATUS(code) : WTERMSIG(code));
    return OK;
}

static status measure_peer(const char *peer, timing *ret, error *err)
{
    char line[4096];
    json_t *result = NULL;
    TRY(run_peer(peer, line, sizeof line, err));
    TRY(json_parse(line, strlen(line), "--peer: its last line", E_DATA, &result, err));
    ret->median_ms = json_number_value(json_object_get(result, "step_ms"));
    ret->best_ms = json_number_value(json_object_get(result, "best_ms"));
    ret->examples_per_s = json_number_value(json_object_get(result, "examples_per_s"));
    json_decref(result);
    if (ret->median_ms > 0 && ret->examples_per_s > 0)
        return OK;
    return FAIL(err, E_DATA, "--peer: its last line needs \"step_ms\" and \"examples_per_s\": %s",
                line);
}

/* --- the report --- */

/* Medians over the rounds; the best of all of them. */
static timing over_rounds(const timing *rounds, size_t n)
{
    timing t = rounds[0];
    double *ms = xcalloc(n, sizeof *ms), *rate = xcalloc(n, sizeof *rate);
    for (size_t i = 0; i < n; i++) {
        ms[i] = rounds[i].median_ms;
        rate[i] = rounds[i].examples_per_s;
        t.best_ms = rounds[i].best_ms < t.best_ms ? rounds[i].best_ms : t.best_ms;
    }
    t.median_ms = median(ms, n);
    t.examples_per_s = median(rate, n);
    free(ms);
    free(rate);
    return t;
}

static json_t *timing_json(const timing *t)
{
    return json_pack("{s:f, s:f, s:f}", "step_ms", t->median_ms, "best_ms", t->best_ms,
                     "examples_per_s", t->examples_per_s);
}

static json_t *report(const bench *b, const timing *ours, const timing *theirs, size_t n)
{
    int64_t params = 0;
    for (int32_t i = 0; i < b->flat->n_tensors; i++)
        params += b->flat->count[i];
    timing mine = over_rounds(ours, n);
    json_t *r = json_pack("{s:s, s:I, s:I, s:s, s:I, s:I}", "model", b->subject->name, "batch",
                          (json_int_t)b->batch, "threads", (json_int_t)b->threads, "optimizer",
                          b->optimizer, "params", (json_int_t)params, "rounds", (json_int_t)n);
    json_t *own = timing_json(&mine);
    json_object_update(r, own);
    json_decref(own);
    if (!theirs)
        return r;
    timing peer = over_rounds(theirs, n);
    double *ratio = xcalloc(n, sizeof *ratio);
    for (size_t i = 0; i < n; i++)
        ratio[i] = ours[i].examples_per_s / theirs[i].examples_per_s;
    json_object_set_new(r, "peer", timing_json(&peer));
    json_object_set_new(r, "ratio", json_real(mine.examples_per_s / peer.examples_per_s));
    json_object_set_new(r, "ratio_by_round", json_real(median(ratio, n)));
    json_object_set_new(r, "ratio_of_best", json_real(peer.best_ms / mine.best_ms));
    free(ratio);
    return r;
}

static void print_line(const json_t *r)
{
    const json_t *peer = json_object_get(r, "peer");
    printf("%s, batch %lld, %lld threads: %.2f ms a step, %.0f examples/s",
           json_string_value(json_object_get(r, "model")),
           (long long)json_integer_value(json_object_get(r, "batch")),
           (long long)json_integer_value(json_object_get(r, "threads")),
           json_real_value(json_object_get(r, "step_ms")),
           json_real_value(json_object_get(r, "examples_per_s")));
    if (peer)
        printf("; peer %.2f ms; %.2f times its examples/s",
               json_real_value(json_object_get(peer, "step_ms")),
               json_real_value(json_object_get(r, "ratio")));
    printf("\n");
}

static status run_rounds(bench *b, const args *a, error *err)
{
    const char *peer = args_text(a, "peer");
    size_t n = (size_t)args_count(a, "rounds", peer ? 5 : 1);
    timing *ours = xcalloc(n, sizeof *ours), *theirs = xcalloc(n, sizeof *theirs);
    status st = OK;
    for (size_t i = 0; st == OK && i < n; i++) {
        st = measure(b, &ours[i], err);
        if (st == OK && peer)
            st = measure_peer(peer, &theirs[i], err);
    }
    if (st == OK) {
        json_t *r = report(b, ours, peer ? theirs : NULL, n);
        if (!args_has(a, "json"))
            print_line(r);
        else if (json_dumpf(r, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0)
            printf("\n");
        json_decref(r);
    }
    free(ours);
    free(theirs);
    return st;
}

status bench_step_run(const args *a, error *err)
{
    const char *model = args_text(a, "model"), *optimizer = args_text(a, "optimizer");
    bench b = {.subject = &subjects[0], .optimizer = optimizer ? optimizer : optimizers[0].name};
    for (size_t i = 0; model && i < COUNT_OF(subjects); i++)
        if (strcmp(model, subjects[i].name) == 0)
            b.subject = &subjects[i];
    b.batch = args_count(a, "batch", b.subject->batch);
    b.threads = args_count(a, "threads", 1);
    b.steps = args_count(a, "steps", 10);
    b.warmup = args_count(a, "warmup", 3);
    status st;
    TRY_OUT(st, make_config(&b, err));
    TRY_OUT(st, make_engine(&b, err));
    TRY_OUT(st, make_weights(&b, err));
    fill_inputs(&b);
    TRY_OUT(st, run_rounds(&b, a, err));
out:
    fini(&b);
    return st;
}
