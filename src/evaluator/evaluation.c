/* See evaluation.h. */
#include "evaluator/evaluation.h"

#include "common/base/alloc.h"
#include "common/base/thread.h"
#include "common/parts/steps.h"
#include "evaluator/batch_scores.h"
#include "evaluator/evaluation_metrics.h"
#include "evaluator/evaluation_shapes.h"
#include "evaluator/params.h"
#include "exec/budget.h"
#include "exec/exec.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST, RING = 2, READERS_MOST = 8 };

struct evaluation {
    const atomic_bool *stop;
    bool (*is_over)(void *user);
    void *user;
    dataset *data;
    loader *loader;
    int n_readers;           /* threads that read ahead */
    bool has_perplexity;
    steps batches;           /* a "step" is one batch */
    prediction says;             /* of predictions */
    evaluation_metrics *metrics; /* NULL: none are listed */
    batch_scores scores;         /* of the last run */
    evaluation_shapes shapes;
    graph *graphs[EVALUATION_SHAPES]; /* [shapes.n] */
    flat *flat;
    float *params;
    exec *exec;
};

bool evaluation_needs_vocabulary(const config *c)
{
    return dataset_learns(config_section(c, "validation_dataset_reader"));
}

/* As many processors as what computes leaves, unless they are said. */
static int readers_of(const evaluation_options *o)
{
    const char *keys[] = {"validation_data_loader.workers", "data_loader.workers"};
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (config_has(o->config, keys[i]))
            return (int)config_int(o->config, keys[i]);
    int left = thread_cpus() - (o->device.ops->queue ? 1 : (int)config_int(o->config, "trainer.threads"));
    return left < 1 ? 1 : left > READERS_MOST ? READERS_MOST : left;
}

static status evaluation_open_data(evaluation *e, const evaluation_options *o, error *err)
{
    const char *path = o->data_path ? o->data_path : config_str(o->config, "validation_data_path");
    if (!path)
        return FAIL(err, E_CONFIG,
                    "there is nothing to evaluate on: set validation_data_path, or give the data");
    const config *reader = config_section(o->config, "validation_dataset_reader");
    if (!o->vocabulary && evaluation_needs_vocabulary(o->config))
        return FAIL(err, E_DATA,
                    "validation data are read by the vocabulary of the training data, and there is "
                    "none: it stands in vocabulary.json of the job, or is named by %s.vocabulary",
                    config_path(reader));
    dataset_options how = {
        .vocabulary = o->vocabulary, .part = o->part, .without_labels = o->predict != NULL};
    TRYF(dataset_open_as(reader, path, &how, &e->data, err), err, "%s data",
         o->predict ? "the" : "validation");
    e->n_readers = readers_of(o);
    int64_t size = o->batch_size ? o->batch_size
                                 : config_int(o->config, "validation_data_loader.batch_size");
    int64_t examples = dataset_examples(e->data);
    e->batches = (steps){
        .examples = examples, .batch_size = size < examples ? size : examples, .per_step = 1};
    batch_scores_init(&e->scores, steps_batches_per_epoch(&e->batches));
    return OK;
}

static loader_options how_to_load(const evaluation *e, int64_t batch)
{
    return (loader_options){
        .dataset = e->data, .batch_size = batch, .lengths = e->shapes.lengths, .depth = RING, .workers = e->n_readers};
}

/* The CPU does not multiply float16: there, what was trained with it is computed in float32. */
static graph_precision precision_of(const evaluation_options *o)
{
    graph_precision p = model_precision(o->config);
    return p == PRECISION_F16 && o->device.ops == &backend_cpu ? PRECISION_F32 : p;
}

static status request_of(const evaluation *e, const evaluation_options *o, int64_t batch,
                         model_request *ret, error *err)
{
    *ret = (model_request){
        .model = config_section(o->config, "model"),
        .batch_size = batch,
        .seed = (uint64_t)config_int(o->config, "random_seed"),
        .mode = o->predict ? MODEL_PREDICT : MODEL_EVAL,
        .train = config_json(o->config, "trainer.train"),
        .precision = precision_of(o),
    };
    ret->fields = dataset_fields(e->data, &ret->n_fields);
    return o->predict ? model_scores(ret, o->predict, &ret->scores, err) : OK;
}

/* Of batches of that shape. */
static status build_graph(const evaluation *e, const model_request *of, batch_shape shape, graph **ret, error *err)
{
    data_field fields[DATA_FIELDS];
    model_request request = *of;
    data_fields_of_length(of->fields, of->n_fields, shape.length, fields);
    request.fields = fields;
    request.batch_size = shape.examples;
    TRY(model_build(&request, ret, err));
    return e->metrics ? evaluation_metrics_keep(e->metrics, *ret, err) : OK;
}

static status open_metrics(evaluation *e, const evaluation_options *o, const model_request *of, error *err)
{
    data_field fields[DATA_FIELDS];
    model_request request = *of;
    data_fields_of_length(of->fields, of->n_fields, e->shapes.at[LARGEST].length, fields);
    request.fields = fields;
    if (o->predict)
        return prediction_of(&request, e->graphs[LARGEST], &e->says, err);
    e->has_perplexity = model_gives(e->graphs[LARGEST], request.fields, request.n_fields, "perplexity");
    TRY(evaluation_metrics_open(o->config, e->data, &request, e->graphs[LARGEST], &o->details,
                                &e->metrics, err));
    return e->metrics ? evaluation_metrics_keep(e->metrics, e->graphs[LARGEST], err) : OK;
}

static status build_graphs(evaluation *e, const evaluation_options *o, error *err)
{
    model_request request;
    TRY(request_of(e, o, e->batches.batch_size, &request, err));
    TRY(evaluation_shapes_choose(o->config, e->data, &request, o->whole_length, &e->shapes, err));
    TRY(build_graph(e, &request, e->shapes.at[LARGEST], &e->graphs[LARGEST], err));
    TRY(open_metrics(e, o, &request, err));
    for (size_t i = LARGEST + 1; i < e->shapes.n; i++)
        TRY(build_graph(e, &request, e->shapes.at[i], &e->graphs[i], err));
    return OK;
}

static exec_options how_to_run(const evaluation_options *o, const flat *f,
                               const graph *const *graphs, size_t n)
{
    return (exec_options){.backend = o->device.ops,
                          .device = o->device.options,
                          .flat = f,
                          .graphs = graphs,
                          .n_graphs = n};
}

/* --- memory --- */

typedef struct sizing {
    const evaluation *e;
    const evaluation_options *o;
} sizing;

/* The parameters, the ring of batches and, where the CPU computes, what its plan asks for. */
static status bytes_of(const sizing *s, const graph *g, int64_t batch, size_t *ret, error *err)
{
    flat *f = NULL;
    exec_memory m = {0};
    loader_options reading = how_to_load(s->e, batch);
    TRY(model_flat(g, &f, err));
    exec_options options = how_to_run(s->o, f, &g, 1);
    status st = s->o->device.ops->queue ? OK : exec_measure(&options, &m, err);
    if (st == OK)
        *ret = (size_t)f->n_elements * sizeof(float) + m.io + m.temp + m.constant + m.workspace +
               loader_bytes(&reading);
    flat_destroy(&f);
    return st;
}

static status need(void *user, int64_t batch, size_t *ret, error *err)
{
    const sizing *s = user;
    model_request request;
    graph *g = NULL;
    if (batch == s->e->batches.batch_size)
        return bytes_of(s, s->e->graphs[LARGEST], batch, ret, err);
    TRY(request_of(s->e, s->o, batch, &request, err));
    TRY(build_graph(s->e, &request, (batch_shape){batch, s->e->shapes.at[LARGEST].length}, &g, err));
    status st = bytes_of(s, g, batch, ret, err);
    graph_destroy(&g);
    return st;
}

static status check_memory(const evaluation *e, const evaluation_options *o, error *err)
{
    sizing s = {e, o};
    return budget_check(&(budget){.what = o->predict ? "prediction" : "evaluation",
                                  .key = o->batch_key ? o->batch_key
                                                      : "validation_data_loader.batch_size",
                                  .batch = e->batches.batch_size,
                                  .need = need,
                                  .user = &s},
                        err);
}

/* --- opening --- */

static status evaluation_build_model(evaluation *e, const evaluation_options *o, error *err)
{
    void *memory = NULL;
    TRY(build_graphs(e, o, err));
    TRY(check_memory(e, o, err));
    TRY(model_flat(e->graphs[LARGEST], &e->flat, err));
    for (size_t i = LARGEST + 1; i < e->shapes.n; i++)
        TRY(model_check_length(e->flat, e->shapes.at[LARGEST].length, e->graphs[i], e->shapes.at[i].length, err));
    TRY(mem_alloc((size_t)e->flat->n_elements * sizeof(float), "parameters", &memory, err));
    e->params = memory;

    exec_options options = how_to_run(o, e->flat, (const graph *const *)e->graphs, e->shapes.n);
    options.examples = e->batches.batch_size;
    TRY(exec_create(&options, &e->exec, err));
    exec_bind_params(e->exec, e->params);
    loader_options reading = how_to_load(e, e->batches.batch_size);
    return loader_create(&reading, &e->loader, err);
}

status evaluation_open(const evaluation_options *options, evaluation **ret, error *err)
{
    evaluation *e = xcalloc(1, sizeof *e);
    e->stop = options->stop;
    e->is_over = options->is_over;
    e->user = options->user;
    status st;
    TRY_OUT(st, evaluation_open_data(e, options, err));
    TRY_OUT(st, evaluation_build_model(e, options, err));
    *ret = e;
out:
    if (st != OK)
        evaluation_close(&e);
    return st;
}

void evaluation_close(evaluation **e)
{
    evaluation *p = *e;
    if (!p)
        return;
    exec_destroy(&p->exec);
    evaluation_metrics_close(&p->metrics);
    batch_scores_fini(&p->scores);
    for (size_t i = 0; i < p->shapes.n; i++)
        graph_destroy(&p->graphs[i]);
    flat_destroy(&p->flat);
    mem_free(p->params);
    loader_destroy(&p->loader);
    evaluation_shapes_fini(&p->shapes);
    dataset_close(&p->data);
    free(p);
    *e = NULL;
}

int64_t evaluation_examples(const evaluation *e)
{
    return e->batches.examples;
}

const dataset *evaluation_data(const evaluation *e)
{
    return e->data;
}

/* Did these data say how many classes there are, not the configuration, nor the vocabulary of the training data? */
static bool has_counted_classes(const evaluation *e)
{
    size_t n;
    const data_field *fields = dataset_fields(e->data, &n);
    for (size_t i = 0; i < n; i++)
        if (fields[i].classes_option && strcmp(fields[i].classes_option, "classes") == 0)
            return true;
    return false;
}

status evaluation_load(evaluation *e, const weights *w, error *err)
{
    const char *hint = " (with the classes counted in the data: dataset_reader.classes is not set)";
    return params_take(e->flat, w, has_counted_classes(e) ? hint : "", e->params, err);
}

/* --- running --- */

static void feed(evaluation *e, size_t variant, const data_batch *batch)
{
    for (size_t i = 0; i < batch->n_fields; i++) {
        const data_field *f = &batch->fields[i];
        void *input = exec_input(e->exec, variant, f->name, NULL);
        if (input)
            memcpy(input, batch->data[i], (size_t)batch->slot.n * data_field_bytes(f));
    }
    int64_t *id = exec_input(e->exec, variant, "batch.id", NULL);
    *id = batch->slot.batch_id;
}

static batch_score score(const evaluation *e, size_t variant, const data_batch *batch)
{
    const int64_t *right = exec_value(e->exec, variant, "accuracy.right", NULL);
    const int64_t *counted = exec_value(e->exec, variant, "accuracy.counted", NULL);
    const float *loss = exec_value(e->exec, variant, "loss", NULL);
    return (batch_score){.loss = (double)*loss,
                         .examples = (double)batch->slot.n,
                         .right = right && counted ? *right : -1,
                         .counted = right && counted ? *counted : -1,
                         .is_there = 1};
}

static void gather_inputs(const data_batch *batch, evaluation_predictions *a)
{
    _Static_assert((int)EVALUATION_INPUTS == (int)DATA_FIELDS, "room for every field");
    for (a->n_inputs = 0; a->n_inputs < batch->n_fields; a->n_inputs++) {
        const data_field *f = &batch->fields[a->n_inputs];
        evaluation_array *to = &a->inputs[a->n_inputs];
        *to = (evaluation_array){
            .name = f->name, .dtype = f->dtype, .data = batch->data[a->n_inputs]};
        to->shape = (graph_shape){.rank = f->rank + 1, .dim = {batch->slot.n}};
        memcpy(to->shape.dim + 1, f->dim, (size_t)f->rank * sizeof *f->dim);
    }
}

static void gather_outputs(evaluation *e, size_t variant, evaluation_predictions *a)
{
    const char *names[EVALUATION_OUTPUTS];
    a->n_outputs = model_outputs(e->graphs[variant], a->examples, names, EVALUATION_OUTPUTS);
    for (size_t i = 0; i < a->n_outputs; i++) {
        const graph_value *value = NULL;
        const void *data = exec_value(e->exec, variant, names[i], &value);
        a->outputs[i] = (evaluation_array){
            .name = value->name, .dtype = value->dtype, .shape = value->shape, .data = data};
    }
}

/* What is done with a batch once the model has run over it. */
typedef status batch_use(evaluation *e, size_t variant, const data_batch *batch, void *user,
                         error *err);

static status run_batch(evaluation *e, int64_t index, int64_t next_index, batch_use *use, void *user, error *err)
{
    step_slot slot = steps_slot(&e->batches, index, 0);
    const data_batch *batch = NULL;
    TRY(loader_take(e->loader, &slot, &batch, err));
    size_t variant = evaluation_shapes_find(&e->shapes, batch->shape);
    if (next_index < steps_batches_per_epoch(&e->batches)) {
        step_slot next = steps_slot(&e->batches, next_index, 0);
        loader_prefetch(e->loader, &next);
    }
    feed(e, variant, batch);
    status st = exec_run(e->exec, variant, &(exec_hooks){.cancel = e->stop}, err);
    if (st == OK)
        st = use(e, variant, batch, user, err);
    loader_release(e->loader, batch);
    return st;
}

static status add_score(evaluation *e, size_t variant, const data_batch *batch, void *user, error *err)
{
    *(batch_score *)user = score(e, variant, batch);
    return e->metrics ? evaluation_metrics_add(e->metrics, e->exec, variant, batch, err) : OK;
}

status evaluation_count(evaluation *e, int64_t share, int64_t shares, error *err)
{
    int64_t n = e->scores.n;
    batch_scores_clear(&e->scores);
    if (e->metrics)
        metrics_reset(evaluation_metrics_list(e->metrics));
    for (int64_t i = share; i < n; i += shares) {
        if (e->is_over && e->is_over(e->user))
            return FAIL(err, E_LOST, "over before batch %lld of %lld", (long long)i, (long long)n);
        TRYF(run_batch(e, i, i + shares, add_score, &e->scores.at[i], err), err, "evaluate batch %lld of %lld",
             (long long)i, (long long)n);
    }
    return OK;
}

void evaluation_save(const evaluation *e, buf *to)
{
    batch_scores_save(&e->scores, to);
    if (e->metrics)
        metrics_save(evaluation_metrics_list(e->metrics), to);
}

status evaluation_merge(evaluation *e, const char *bytes, size_t n, error *err)
{
    TRY(batch_scores_take(&e->scores, &bytes, &n, err));
    if (e->metrics)
        return evaluation_metrics_merge(e->metrics, bytes, n, err);
    return n == 0 ? OK : FAIL(err, E_DATA, "%zu bytes follow the scores of batches", n);
}

void evaluation_results(const evaluation *e, metric_set *ret, metric_figures *ret_figures)
{
    *ret = batch_scores_add_up(&e->scores, e->has_perplexity);
    *ret_figures = (metric_figures){.at = NULL};
    if (e->metrics)
        metrics_figures(evaluation_metrics_list(e->metrics), ret_figures);
}

status evaluation_run(evaluation *e, metric_set *ret, metric_figures *ret_figures, error *err)
{
    TRY(evaluation_count(e, 0, 1, err));
    evaluation_results(e, ret, ret_figures);
    return OK;
}

json_t *evaluation_take_details(const evaluation *e, metric_figures *figures)
{
    return e->metrics ? evaluation_metrics_details(e->metrics, figures) : NULL;
}

status evaluation_check(const evaluation *e, error *err)
{
    return e->metrics ? metrics_check(evaluation_metrics_list(e->metrics), err) : OK;
}

typedef struct answering {
    evaluation_taker *take;
    void *user;
    bool is_enough;
} answering;

static status give_answer(evaluation *e, size_t variant, const data_batch *batch, void *user,
                          error *err)
{
    answering *to = user;
    evaluation_predictions a = {
        .data = e->data, .says = e->says, .first = batch->slot.first, .examples = batch->slot.n};
    gather_inputs(batch, &a);
    gather_outputs(e, variant, &a);
    return to->take(to->user, &a, &to->is_enough, err);
}

status evaluation_predict(evaluation *e, evaluation_taker *take, void *user, error *err)
{
    answering to = {.take = take, .user = user};
    int64_t n = steps_batches_per_epoch(&e->batches);
    for (int64_t i = 0; i < n && !to.is_enough; i++)
        TRY(run_batch(e, i, i + 1, give_answer, &to, err));
    return OK;
}
