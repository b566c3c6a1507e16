/*
 * Attention as it is imported: its outputs against what ONNX says of them, written down in double,
 * and its gradients against central differences of that.
 */
#include "common/base/rng.h"
#include "graph/attrs.h"
#include "numeric/support_compare.h"
#include "numeric/support_gradient.h"
#include "numeric/support_lane.h"
#include "onnx/import.h"
#include "unit/onnx/support_file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 2, Q_HEADS = 4, KV_HEADS = 2, QUERIES = 3, KEYS = 5, PAST = 2, HEAD = 3, V_HEAD = 2 };
enum { MOST = 1024, OUTPUTS = 4 };

static const double TOLERANCE = 2e-5;

typedef enum operand { Q, K, V, MASK, PAST_KEY, PAST_VALUE, LENGTHS, OPERANDS } operand;
static const char *const names[OPERANDS] = {"q", "k", "v", "mask", "past_key", "past_value", "ends"};
static const char *const outputs[OUTPUTS] = {"y", "present_key", "present_value", "scores"};

typedef enum mask_kind { NO_MASK, FLOATS, BOOLS } mask_kind;

typedef struct row {
    const char *name;
    bool joined, past, causal, ends, presents, scores;
    mask_kind mask;
    const char *mask_shape;
    double softcap;
    int mode;
    int left, right; /* window sizes + 1; 0: not given */
} row;

static const row rows[] = {
    {"as it is", .mode = 0},
    {"side by side", .joined = true, .causal = true},
    {"the past", .past = true, .causal = true},
    {"the past, side by side, presents", .joined = true, .past = true, .presents = true},
    {"the past, masked", .past = true, .causal = true, .mask = FLOATS, .mask_shape = "4,3,7"},
    {"presents without a past", .joined = true, .presents = true},
    {"a short mask", .mask = FLOATS, .mask_shape = "2,1,3,4"},
    {"a short mask of bools", .mask = BOOLS, .mask_shape = "3,4"},
    {"ends", .ends = true},
    {"ends, causal: some queries see none", .ends = true, .causal = true},
    {"ends, causal, masked", .ends = true, .causal = true, .mask = FLOATS, .mask_shape = "2,4,3,5"},
    {"softcap", .softcap = 0.8},
    {"softcap, causal, the past, side by side", .joined = true, .past = true, .causal = true,
     .softcap = 1.5},
    {"softcap, ends, causal, masked", .ends = true, .causal = true, .mask = FLOATS,
     .mask_shape = "4,3,5", .softcap = 1.1},
    {"products", .scores = true},
    {"capped scores", .scores = true, .mode = 1, .softcap = 0.7},
    {"masked scores", .scores = true, .mode = 2, .softcap = 0.9, .mask = FLOATS, .mask_shape = "3,5"},
    {"probabilities", .scores = true, .mode = 3, .ends = true, .causal = true, .mask = BOOLS,
     .mask_shape = "2,1,1,5"},
    {"probabilities, side by side, all outputs", .joined = true, .past = true, .presents = true,
     .scores = true, .mode = 3, .causal = true},
    {"a window", .left = 2, .right = 1},
    {"a window over the past, masked", .past = true, .left = 3, .right = 2, .mask = FLOATS,
     .mask_shape = "3,7"},
};

/* A run of a row: what it reads and what it should give. */
typedef struct scene {
    const row *r;
    int64_t n[OPERANDS], n_out[OUTPUTS];
    double x[OPERANDS][MOST], mix[OUTPUTS][MOST];
} scene;

typedef struct result {
    double out[OUTPUTS][MOST];
} result;

static int64_t total_keys(const row *r)
{
    return KEYS + (r->past ? PAST : 0);
}

static const char *shape_of(const row *r, operand o)
{
    static const char *const split[] = {"2,4,3,3", "2,2,5,3", "2,2,5,2"};
    static const char *const joined[] = {"2,3,12", "2,5,6", "2,5,4"};
    switch (o) {
    case MASK:
        return r->mask ? r->mask_shape : NULL;
    case PAST_KEY:
        return r->past ? "2,2,2,3" : NULL;
    case PAST_VALUE:
        return r->past ? "2,2,2,2" : NULL;
    case LENGTHS:
        return r->ends ? "2" : NULL;
    default:
        return (r->joined ? joined : split)[o];
    }
}

static bool is_float(const row *r, operand o)
{
    return shape_of(r, o) && o != LENGTHS && (o != MASK || r->mask == FLOATS);
}

static bool gives(const row *r, int output)
{
    return output == 0 || (output == 3 ? r->scores : r->presents);
}

static graph_shape read_shape(const char *text)
{
    graph_shape s = {.rank = 0};
    for (char *end = (char *)(uintptr_t)text; *text; text = *end ? end + 1 : end)
        s.dim[s.rank++] = strtoll(text, &end, 10);
    return s;
}

static void draw(double *x, int64_t n, uint64_t stream)
{
    rng r = rng_make(9, RNG_TEST, stream);
    for (int64_t i = 0; i < n; i++)
        x[i] = (double)rng_normal(&r, (uint64_t)i);
}

static scene *scene_of(const row *r)
{
    scene *s = xcalloc(1, sizeof *s);
    s->r = r;
    for (operand o = Q; o < OPERANDS; o++) {
        graph_shape shape = shape_of(r, o) ? read_shape(shape_of(r, o)) : (graph_shape){1, {0}};
        s->n[o] = graph_shape_elements(&shape);
        draw(s->x[o], s->n[o], o);
        for (int64_t i = 0; o == MASK && r->mask == BOOLS && i < s->n[o]; i++)
            s->x[o][i] = s->x[o][i] > -0.4;
    }
    s->x[LENGTHS][0] = 2; /* fewer than queries */
    s->x[LENGTHS][1] = 4;
    s->n_out[0] = BATCH * Q_HEADS * QUERIES * V_HEAD;
    s->n_out[1] = r->presents ? BATCH * KV_HEADS * total_keys(r) * HEAD : 0;
    s->n_out[2] = r->presents ? BATCH * KV_HEADS * total_keys(r) * V_HEAD : 0;
    s->n_out[3] = r->scores ? BATCH * Q_HEADS * QUERIES * total_keys(r) : 0;
    for (int k = 0; k < OUTPUTS; k++)
        draw(s->mix[k], s->n_out[k], 100 + (uint64_t)k);
    return s;
}

/* --- what ONNX says --- */

static double element(const scene *s, operand o, int64_t b, int64_t h, int64_t position, int64_t i)
{
    const int64_t heads[] = {Q_HEADS, KV_HEADS, KV_HEADS}, lengths[] = {QUERIES, KEYS, KEYS};
    const int64_t widths[] = {HEAD, HEAD, V_HEAD};
    if (s->r->joined)
        return s->x[o][((b * lengths[o] + position) * heads[o] + h) * widths[o] + i];
    return s->x[o][((b * heads[o] + h) * lengths[o] + position) * widths[o] + i];
}

/* Of the keys or values, the past's first. */
static double kept(const scene *s, operand o, int64_t b, int64_t h, int64_t key, int64_t i)
{
    int64_t past = s->r->past ? PAST : 0, width = o == K ? HEAD : V_HEAD;
    if (key >= past)
        return element(s, o, b, h, key - past, i);
    return s->x[o == K ? PAST_KEY : PAST_VALUE][((b * KV_HEADS + h) * PAST + key) * width + i];
}

static double bias(const scene *s, int64_t b, int64_t h, int64_t query, int64_t key)
{
    const row *r = s->r;
    int64_t off = r->past ? PAST : r->ends ? (int64_t)s->x[LENGTHS][b] - QUERIES : 0;
    int64_t place = query + off, at[] = {b, h, query, key}, i = 0;
    if ((r->causal && key > place) || (r->ends && key >= (int64_t)s->x[LENGTHS][b]) ||
        (r->left && key < place - (r->left - 1)) || (r->right && key > place + (r->right - 1)))
        return -(double)INFINITY;
    if (!r->mask)
        return 0;
    graph_shape m = read_shape(r->mask_shape);
    if (key >= m.dim[m.rank - 1])
        return -(double)INFINITY;
    for (int32_t d = 0; d < m.rank; d++)
        i = i * m.dim[d] + (m.dim[d] == 1 ? 0 : at[4 - m.rank + d]);
    return r->mask == FLOATS ? s->x[MASK][i] : s->x[MASK][i] != 0 ? 0 : -(double)INFINITY;
}

static void attend(const scene *s, int64_t b, int64_t h, int64_t query, result *ret)
{
    const row *r = s->r;
    int64_t keys = total_keys(r), kv = h / (Q_HEADS / KV_HEADS), line = (b * Q_HEADS + h) * QUERIES + query;
    double stage[4][KEYS + PAST], most = -(double)INFINITY, sum = 0;
    for (int64_t j = 0; j < keys; j++) {
        double dot = 0;
        for (int64_t i = 0; i < HEAD; i++)
            dot += element(s, Q, b, h, query, i) * kept(s, K, b, kv, j, i);
        stage[0][j] = dot / sqrt(HEAD);
        stage[1][j] = r->softcap > 0 ? r->softcap * tanh(stage[0][j] / r->softcap) : stage[0][j];
        stage[2][j] = stage[1][j] + bias(s, b, h, query, j);
        most = fmax(most, stage[2][j]);
    }
    for (int64_t j = 0; j < keys; j++)
        sum += stage[3][j] = stage[2][j] == -(double)INFINITY ? 0 : exp(stage[2][j] - most);
    for (int64_t j = 0; j < keys; j++)
        stage[3][j] = sum > 0 ? stage[3][j] / sum : 0;
    for (int64_t i = 0; i < V_HEAD; i++) {
        int64_t to = r->joined ? ((b * QUERIES + query) * Q_HEADS + h) * V_HEAD + i : line * V_HEAD + i;
        ret->out[0][to] = 0;
        for (int64_t j = 0; j < keys; j++)
            ret->out[0][to] += stage[3][j] * kept(s, V, b, kv, j, i);
    }
    memcpy(ret->out[3] + line * keys, stage[r->mode], (size_t)keys * sizeof(double));
}

static void evaluate(const scene *s, result *ret)
{
    int64_t keys = total_keys(s->r);
    for (int64_t i = 0; i < BATCH * Q_HEADS * QUERIES; i++)
        attend(s, i / QUERIES / Q_HEADS, i / QUERIES % Q_HEADS, i % QUERIES, ret);
    for (int64_t i = 0; i < BATCH * KV_HEADS * keys * HEAD; i++)
        ret->out[1][i] = kept(s, K, i / HEAD / keys / KV_HEADS, i / HEAD / keys % KV_HEADS,
                              i / HEAD % keys, i % HEAD);
    for (int64_t i = 0; i < BATCH * KV_HEADS * keys * V_HEAD; i++)
        ret->out[2][i] = kept(s, V, i / V_HEAD / keys / KV_HEADS, i / V_HEAD / keys % KV_HEADS,
                              i / V_HEAD % keys, i % V_HEAD);
}

static double loss_of(const scene *s, result *room)
{
    double sum = 0;
    evaluate(s, room);
    for (int k = 0; k < OUTPUTS; k++)
        for (int64_t i = 0; i < s->n_out[k]; i++)
            sum += s->mix[k][i] * room->out[k][i];
    return sum;
}

static void gradients_of(scene *s, operand o, result *room, double *ret)
{
    const double step = 1e-4;
    for (int64_t i = 0; i < s->n[o]; i++) {
        double x = s->x[o][i], sides[2];
        for (int k = 0; k < 2; k++) {
            s->x[o][i] = k ? x - step : x + step;
            sides[k] = loss_of(s, room);
        }
        s->x[o][i] = x;
        ret[i] = (sides[0] - sides[1]) / (2 * step);
    }
}

/* --- what we make of it --- */

static onnx_model *model_of(const row *r)
{
    static const char *const inputs[] = {"q", "k", "v", "mask", "past_key", "past_value", "ends"};
    char in[80] = "", out[64] = "";
    file *f = file_create(r->left || r->right ? 25 : 24);
    for (operand o = Q; o < OPERANDS; o++) {
        int32_t type = o == LENGTHS ? FILE_INT64 : is_float(r, o) ? FILE_FLOAT : FILE_BOOL;
        if (shape_of(r, o))
            file_input(f, inputs[o], type, shape_of(r, o));
        snprintf(in + strlen(in), sizeof in - strlen(in), "%s ", shape_of(r, o) ? inputs[o] : "-");
    }
    for (int k = 0; k < OUTPUTS; k++)
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s ", gives(r, k) ? outputs[k] : "-");
    Onnx__NodeProto *n = file_node(f, "Attention", in, out);
    file_int(f, n, "is_causal", r->causal);
    file_int(f, n, "qk_matmul_output_mode", r->mode);
    file_float(f, n, "softcap", (float)r->softcap);
    if (r->joined) {
        file_int(f, n, "q_num_heads", Q_HEADS);
        file_int(f, n, "kv_num_heads", KV_HEADS);
    }
    if (r->left || r->right) {
        file_int(f, n, "left_window_size", r->left - 1);
        file_int(f, n, "right_window_size", r->right - 1);
    }
    for (int k = 0; k < OUTPUTS; k++)
        if (gives(r, k))
            file_output(f, outputs[k]);
    onnx_model *m = file_open(f);
    file_destroy(&f);
    return m;
}

static graph_val bind(graph *g, const row *r, operand o)
{
    error err = ERROR_INIT;
    graph_val v;
    graph_shape shape = read_shape(shape_of(r, o));
    tensor_decl decl = {.name = names[o], .rank = shape.rank};
    memcpy(decl.dim, shape.dim, sizeof shape.dim);
    must(is_float(r, o) ? graph_param(g, &decl, &v, &err)
                        : graph_input(g, names[o], o == MASK ? DT_BOOL : DT_I64, shape, &v, &err),
         &err);
    return v;
}

/* The sum of output k times its mix is added to the loss. */
static void add_output(graph *g, const scene *s, int k, graph_val y, graph_val *loss)
{
    error err = ERROR_INIT;
    graph_val both[2] = {y}, sum[2] = {*loss};
    float mix[MOST];
    for (int64_t i = 0; i < s->n_out[k]; i++)
        mix[i] = (float)s->mix[k][i];
    graph_shape shape = graph_value_at(g, y)->shape;
    assert_int_equal(graph_shape_elements(&shape), s->n_out[k]);
    must(graph_const(g, NULL, DT_F32, shape, mix, &both[1], &err), &err);
    char kept_name[32];
    snprintf(kept_name, sizeof kept_name, "kept.%s", outputs[k]);
    must(graph_add_1(g, OP_IDENTITY, kept_name, &y, 1, NULL, &y, &err), &err);
    graph_keep(g, y);
    must(graph_add_1(g, OP_MUL, NULL, both, 2, NULL, &sum[1], &err), &err);
    must(graph_add_1(g, OP_REDUCE_SUM, NULL, &sum[1], 1, &(reduce_attr){.drop_dims = true}, &sum[1],
                     &err),
         &err);
    if (*loss == GRAPH_NONE)
        *loss = sum[1];
    else
        must(graph_add_1(g, OP_ADD, NULL, sum, 2, NULL, loss, &err), &err);
}

static graph *build(const scene *s, const onnx_model *m)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    onnx_binding bound[OPERANDS];
    onnx_imported imported;
    size_t n = 0;
    graph_val loss = GRAPH_NONE;
    must(graph_create(&g, &err), &err);
    for (operand o = Q; o < OPERANDS; o++)
        if (shape_of(s->r, o))
            bound[n++] = (onnx_binding){.input = names[o], .value = bind(g, s->r, o)};
    onnx_request request = {.inputs = bound, .n_inputs = n, .batch_id = GRAPH_NONE};
    must(onnx_import(m, g, &request, &imported, &err), &err);
    size_t at = 0;
    for (int k = 0; k < OUTPUTS; k++)
        if (gives(s->r, k))
            add_output(g, s, k, imported.outputs[at++].value, &loss);
    onnx_imported_fini(&imported);
    gradient_append(g, loss);
    return g;
}

static bool compare(scene *s, lane *l, result *want)
{
    bool close = true;
    char what[96];
    double got[MOST], gradients[MOST];
    evaluate(s, want);
    for (int k = 0; k < OUTPUTS; k++) {
        if (!gives(s->r, k))
            continue;
        snprintf(what, sizeof what, "kept.%s", outputs[k]);
        lane_get(l, 0, what, got);
        snprintf(what, sizeof what, "%s: %s", s->r->name, outputs[k]);
        close = is_close(what, got, want->out[k], s->n_out[k], TOLERANCE) && close;
    }
    for (operand o = Q; o < OPERANDS; o++) {
        if (!is_float(s->r, o))
            continue;
        const float *grad = lane_grad(l, names[o]);
        for (int64_t i = 0; i < s->n[o]; i++)
            got[i] = (double)grad[i];
        gradients_of(s, o, want, gradients);
        snprintf(what, sizeof what, "%s: gradient of %s", s->r->name, names[o]);
        close = is_close(what, got, gradients, s->n[o], TOLERANCE) && close;
    }
    return close;
}

static bool check_row(const row *r)
{
    scene *s = scene_of(r);
    result *want = xcalloc(1, sizeof *want);
    onnx_model *m = model_of(r);
    graph *g = build(s, m);
    lane l;
    lane_init(&l, (const graph *const *)&g, 1, 2);
    for (operand o = Q; o < OPERANDS; o++)
        if (shape_of(r, o))
            lane_set(&l, 0, names[o], s->x[o]);
    lane_set(&l, 0, "weight", &(double){1});
    lane_run(&l, 0, NULL);
    bool close = compare(s, &l, want);
    lane_fini(&l);
    graph_destroy(&g);
    onnx_close(&m);
    free(want);
    free(s);
    return close;
}

static void values_and_gradients_are_those_of_onnx(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        wrong += !check_row(&rows[i]);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_gradients_are_those_of_onnx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
