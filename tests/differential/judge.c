#include "differential/judge.h"

#include "exec/exec.h"
#include "graph/attrs.h"
#include "model/model.h"
#include "numeric/support_values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const verdict_names[VERDICTS] = {
    [RIGHT] = "right",
    [REFUSED] = "refused",
    [WRONG_VALUE] = "wrong value",
    [WRONG_GRADIENT] = "wrong gradient",
    [WRONG_BITS] = "wrong bits",
    [PEER_DIFFERS] = "ONNX Runtime differs",
};

/* How far off a result may be, in what the kernels' errors move it by, relative to itself, and for
 * derivatives relative to their terms and to the loss's. */
static const double SPREADS = 12, ITSELF = 4e-6, TERMS = 1e-6, LOSS = 1e-6;
enum { MORE_NOISES = 40, MOST_BOUND = 64 };

typedef struct derivative {
    bool measured;
    double value, spread; /* by how much the kernels' errors move it */
} derivative;

typedef struct attempt {
    view *v;
    const peer *peer;
    emitter e;
    onnx_model *model;
    graph *g;
    onnx_imported imported;
    graph_val loss; /* GRAPH_NONE: nothing to differentiate */
    flat *flat;
    derivative derivatives[SKETCH_TERMS]; /* of weights */
    verdict *ret;
} attempt;

static int32_t term_named(const sketch *s, const char *name)
{
    for (int32_t t = 0; t < s->n_terms; t++)
        if (strcmp(s->terms[t].name, name) == 0)
            return t;
    BUG("no term '%s'", name);
}

static void say(attempt *a, verdict_kind kind, const char *what, const error *err)
{
    a->ret->kind = kind;
    snprintf(a->ret->text, sizeof a->ret->text, "%s%s", what, err ? err->text : "");
}

/* --- the graph --- */

static status add_loss_of(attempt *a, const onnx_result *r, error *err)
{
    int32_t t = term_named(a->v->s, r->name);
    if (!view_counts(a->v, t) || r->value == GRAPH_NONE)
        return OK;
    const term *at = &a->v->s->terms[t];
    float *mix = xcalloc((size_t)at->n + 1, sizeof *mix);
    for (int64_t i = 0; i < at->n; i++)
        mix[i] = view_mix(t, i);
    graph_val in[2] = {r->value, GRAPH_NONE}, sum;
    status st = graph_const(a->g, NULL, DT_F32, at->shape, mix, &in[1], err);
    free(mix);
    TRY(st);
    TRY(graph_add_1(a->g, OP_MUL, NULL, in, 2, NULL, &sum, err));
    TRY(graph_add_1(a->g, OP_REDUCE_SUM, NULL, &sum, 1, &(reduce_attr){.drop_dims = true}, &sum,
                    err));
    if (a->loss != GRAPH_NONE)
        TRY(graph_add_1(a->g, OP_ADD, NULL, (graph_val[]){a->loss, sum}, 2, NULL, &sum, err));
    a->loss = sum;
    return OK;
}

static status add_backward(attempt *a, error *err)
{
    graph_val weight;
    for (size_t i = 0; i < a->imported.n_outputs; i++)
        TRY(add_loss_of(a, &a->imported.outputs[i], err));
    if (a->loss == GRAPH_NONE)
        return OK;
    TRY(graph_input(a->g, "slot.weight", DT_F32, (graph_shape){.rank = 0}, &weight, err));
    return graph_backward(a->g, a->loss, weight, err);
}

static status build(attempt *a, error *err)
{
    onnx_binding bound[MOST_BOUND];
    onnx_request request = {.mode = ONNX_AS_IS, .inputs = bound, .keep_tied = true};
    view_emit(a->v, &a->e);
    TRY(emit_open(&a->e, &a->model, err));
    TRY(graph_create(&a->g, err));
    TRY(graph_input(a->g, "batch.id", DT_I64, (graph_shape){1, {1}}, &request.batch_id, err));
    for (size_t i = 0; i < onnx_n_inputs(a->model); i++) {
        onnx_io io;
        TRY(onnx_input(a->model, i, &io, err));
        const term *t = &a->v->s->terms[term_named(a->v->s, io.name)];
        bound[i] = (onnx_binding){.input = t->name};
        TRY(graph_input(a->g, t->name, t->type, t->shape, &bound[i].value, err));
    }
    request.n_inputs = onnx_n_inputs(a->model);
    TRY(onnx_import(a->model, a->g, &request, &a->imported, err));
    for (size_t i = 0; i < a->imported.n_outputs; i++)
        if (a->imported.outputs[i].value != GRAPH_NONE)
            graph_keep(a->g, a->imported.outputs[i].value);
    TRY(add_backward(a, err));
    return model_flat(a->g, &a->flat, err);
}

/* --- a run --- */

typedef struct lane {
    float *params;
    exec *exec;
} lane;

static void fill(const attempt *a, lane *l)
{
    const sketch *s = a->v->s;
    const float one = 1;
    for (int32_t i = 0; i < a->flat->n_tensors; i++) {
        const term *t = &s->terms[term_named(s, a->flat->tensors[i].name)];
        values_store(DT_F32, t->n, t->x[POINT_HERE], l->params + a->flat->offset[i]);
    }
    for (int32_t t = 0; t < s->n_terms; t++) {
        void *to = a->v->live[t] && view_kind(a->v, t) == TERM_FED
                       ? exec_input(l->exec, 0, s->terms[t].name, NULL)
                       : NULL;
        if (to)
            values_store(s->terms[t].type, s->terms[t].n, s->terms[t].x[POINT_HERE], to);
    }
    void *weight = exec_input(l->exec, 0, "slot.weight", NULL);
    if (weight)
        memcpy(weight, &one, sizeof one);
}

static status lane_init(lane *l, const attempt *a, int threads, error *err)
{
    void *memory = NULL;
    *l = (lane){0};
    TRY(mem_alloc((size_t)a->flat->n_elements * sizeof(float), "weights", &memory, err));
    l->params = memory;
    exec_options options = {
        .backend = &backend_cpu,
        .device = {.threads = threads},
        .flat = a->flat,
        .graphs = (const graph *const[]){a->g},
        .n_graphs = 1,
    };
    TRY(exec_create(&options, &l->exec, err));
    exec_bind_params(l->exec, l->params);
    fill(a, l);
    return exec_run(l->exec, 0, NULL, err);
}

static void lane_fini(lane *l)
{
    exec_destroy(&l->exec);
    mem_free(l->params);
}

/* An output's elements; NULL for one that no run makes. */
static const void *made(const attempt *a, const lane *l, const onnx_result *r)
{
    const graph_value *value = r->value == GRAPH_NONE ? NULL : graph_value_at(a->g, r->value);
    return value && value->kind == VAL_TEMP ? exec_value(l->exec, 0, value->name, NULL) : NULL;
}

/* --- values --- */

static double spread_of(const term *t, int64_t i)
{
    double spread = 0;
    for (int p = POINT_NOISY; p < POINT_NOISY + NOISES; p++)
        spread = fmax(spread, fabs(t->x[p][i] - t->x[POINT_HERE][i]));
    return spread;
}

/* The first element that is too far off, -1 if none is. */
static int64_t far_off(const term *t, const double *got)
{
    double scale = sketch_scale(t->x[POINT_HERE], t->n), spread = 0;
    for (int64_t i = 0; i < t->n; i++)
        spread = sketch_is_moderate(t->x[POINT_HERE][i]) ? fmax(spread, spread_of(t, i)) : spread;
    for (int64_t i = 0; i < t->n; i++) {
        double want = t->x[POINT_HERE][i];
        double allowed = t->type == DT_F32 ? SPREADS * spread + ITSELF * (scale + fabs(want)) : 0;
        bool same = got[i] == want || (isnan(got[i]) && isnan(want));
        if (!same && !(fabs(got[i] - want) <= allowed))
            return i;
    }
    return -1;
}

static bool is_as_sketched(attempt *a, verdict_kind otherwise, const char *name, dtype type,
                           const graph_shape *shape, const void *data)
{
    const term *t = &a->v->s->terms[term_named(a->v->s, name)];
    char is[SHAPE_TEXT], was[SHAPE_TEXT];
    if (type != t->type || !graph_shape_equal(shape, &t->shape)) {
        a->ret->kind = otherwise;
        snprintf(a->ret->text, sizeof a->ret->text, "%s is %s %s, alone %s %s", name,
                 dtype_name(type), graph_shape_text(shape, is, sizeof is), dtype_name(t->type),
                 graph_shape_text(&t->shape, was, sizeof was));
        return false;
    }
    double *got = xcalloc((size_t)t->n + 1, sizeof *got);
    values_load(type, t->n, data, got);
    int64_t i = far_off(t, got);
    if (i >= 0) {
        a->ret->kind = otherwise;
        snprintf(a->ret->text, sizeof a->ret->text, "%s, element %lld of %s: %.9g, in double %.9g",
                 name, (long long)i, graph_shape_text(shape, is, sizeof is), got[i],
                 t->x[POINT_HERE][i]);
    }
    free(got);
    return i < 0;
}

static bool values_are_right(attempt *a, const lane *l)
{
    for (size_t i = 0; i < a->imported.n_outputs; i++) {
        const onnx_result *r = &a->imported.outputs[i];
        const void *data = r->host ? r->host->data : made(a, l, r);
        const graph_value *v = r->host ? NULL : graph_value_at(a->g, r->value);
        if (data && !is_as_sketched(a, WRONG_VALUE, r->name, r->host ? r->host->dtype : v->dtype,
                                    r->host ? &r->host->shape : &v->shape, data))
            return false;
    }
    return true;
}

/* --- gradients --- */

/* By how much the kernels' errors, in as many draws, move a derivative. */
static double derivative_spread(view *v, int32_t w, double value, int first, int last)
{
    double spread = 0;
    for (int noise = first; noise <= last; noise++)
        spread = fmax(spread, fabs(view_derivative(v, w, noise) - value));
    return spread;
}

/* Measured once, for however many runs. */
static derivative *derivative_of(attempt *a, int32_t w)
{
    derivative *s = &a->derivatives[w];
    if (!s->measured) {
        s->measured = true;
        s->value = view_derivative(a->v, w, 0);
        s->spread = derivative_spread(a->v, w, s->value, 1, NOISES);
    }
    return s;
}

static bool is_derivative(attempt *a, int32_t w, const float *grad)
{
    const term *t = &a->v->s->terms[w];
    derivative *s = derivative_of(a, w);
    double got = 0, size = 0, want = s->value;
    for (int64_t i = 0; i < t->n; i++) {
        double product = (double)grad[i] * (double)view_mix(w + SKETCH_TERMS, i);
        got += product;
        size += fabs(product);
    }
    if (!isfinite(want)) /* of what a view cut out: there is no derivative */
        return true;
    double known = ITSELF * fabs(want) + TERMS * size + LOSS * view_loss_scale(a->v);
    if (fabs(got - want) <= known + SPREADS * s->spread)
        return true;
    s->spread = fmax(s->spread, derivative_spread(a->v, w, want, NOISES + 1, MORE_NOISES));
    if (fabs(got - want) <= known + SPREADS * s->spread)
        return true;
    a->ret->kind = WRONG_GRADIENT;
    snprintf(a->ret->text, sizeof a->ret->text,
             "of %s: derivative %.9g, by differences %.9g, allowed %.2g", t->name, got, want,
             known + SPREADS * s->spread);
    return false;
}

static bool gradients_are_right(attempt *a, const lane *l)
{
    for (int32_t i = 0; i < a->flat->n_tensors; i++) {
        int32_t w = term_named(a->v->s, a->flat->tensors[i].name);
        graph_val param = graph_find(a->g, a->flat->tensors[i].name);
        const graph_value *value = graph_value_at(a->g, param);
        if (value->grad == GRAPH_NONE || value->param->kind != TENSOR_TRAINABLE)
            continue;
        a->ret->n_gradients++;
        if (!is_derivative(a, w, exec_grad(l->exec) + a->flat->offset[i]))
            return false;
    }
    return true;
}

/* --- runs --- */

/* Of all outputs and gradients. */
static uint64_t bits_of(const attempt *a, const lane *l)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < a->imported.n_outputs; i++) {
        const onnx_result *r = &a->imported.outputs[i];
        const uint8_t *data = made(a, l, r);
        const graph_value *v = data ? graph_value_at(a->g, r->value) : NULL;
        for (size_t k = 0; v && k < (size_t)graph_shape_elements(&v->shape) * dtype_bytes(v->dtype);
             k++)
            hash = rng_mix(hash, data[k]);
    }
    for (int64_t i = 0; a->loss != GRAPH_NONE && i < a->flat->n_live; i++) {
        uint32_t word;
        memcpy(&word, exec_grad(l->exec) + i, sizeof word);
        hash = rng_mix(hash, word);
    }
    return hash;
}

/* The number of threads may decide bits, the run may not. */
static void judge_run(attempt *a, int threads)
{
    lane l = {0};
    error err = ERROR_INIT;
    status st = lane_init(&l, a, threads, &err);
    uint64_t bits = st == OK ? bits_of(a, &l) : 0;
    if (st == OK && values_are_right(a, &l) && a->loss != GRAPH_NONE)
        gradients_are_right(a, &l);
    if (st == OK)
        st = exec_run(l.exec, 0, NULL, &err);
    if (st != OK)
        say(a, REFUSED, "run: ", &err);
    else if (a->ret->kind == RIGHT && bits_of(a, &l) != bits)
        say(a, WRONG_BITS, "at the second run", NULL);
    lane_fini(&l);
}

/* --- ONNX Runtime --- */

static host_tensor host_of(arena *a, const term *t)
{
    host_tensor h = {.dtype = t->type, .shape = t->shape, .n = t->n};
    h.data = arena_alloc(a, (size_t)t->n * dtype_bytes(t->type) + 1);
    values_store(t->type, t->n, t->x[POINT_HERE], h.data);
    return h;
}

static void judge_peer(attempt *a)
{
    const sketch *s = a->v->s;
    peer_value in[SKETCH_TERMS], out[SKETCH_TERMS];
    size_t n_in = 0, n_out = 0;
    buf model = BUF_INIT;
    error err = ERROR_INIT;
    emit_pack(&a->e, &model);
    for (int32_t t = 0; t < s->n_terms; t++) {
        if (a->v->live[t] && view_kind(a->v, t) == TERM_FED)
            in[n_in++] = (peer_value){s->terms[t].name, host_of(a->e.a, &s->terms[t])};
        if (a->v->output[t])
            out[n_out++] = (peer_value){.name = s->terms[t].name};
    }
    a->ret->peer_judged = peer_run(a->peer, &model, in, n_in, out, n_out, a->e.a, &err) == OK;
    if (!a->ret->peer_judged && getenv("PEER_WHY"))
        fprintf(stderr, "peer: %s\n", err.text);
    for (size_t i = 0; a->ret->peer_judged && i < n_out; i++)
        if (!is_as_sketched(a, PEER_DIFFERS, out[i].name, out[i].tensor.dtype, &out[i].tensor.shape,
                            out[i].tensor.data))
            break;
    buf_fini(&model);
}

verdict judge(view *v, const peer *p)
{
    verdict ret = {.kind = RIGHT};
    error err = ERROR_INIT;
    attempt a = {.v = v, .peer = p, .loss = GRAPH_NONE, .ret = &ret};
    if (build(&a, &err) != OK)
        say(&a, REFUSED, "", &err);
    for (int threads = 1; threads <= 2 && ret.kind == RIGHT; threads++)
        judge_run(&a, threads);
    if (p && ret.kind == RIGHT)
        judge_peer(&a);
    if (a.flat)
        flat_destroy(&a.flat);
    if (a.imported.memory)
        onnx_imported_fini(&a.imported);
    if (a.g)
        graph_destroy(&a.g);
    if (a.model)
        onnx_close(&a.model);
    emit_fini(&a.e);
    return ret;
}
