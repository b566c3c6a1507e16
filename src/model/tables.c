/*
 * Tables of categories and numbers, as advertisements are ranked by.
 *
 * wide_deep: a linear model over the categories beside a network over their embeddings and the
 * numbers (Cheng et al.: Wide & Deep Learning for Recommender Systems, 2016).
 * dlrm: numbers and categories meet in the dot products of their vectors (Naumov et al.: Deep
 * Learning Recommendation Model for Personalization and Recommendation Systems, 2019), with the
 * names of the authors' program.
 *
 * Fields: every int64 field but the labels gives columns of categories, every float32 one numbers.
 */
#include "common/base/detmath.h"
#include "model/builders.h"
#include "model/tokens.h"

#include <string.h>

typedef struct columns {
    graph_val numbers;   /* [batch, n_numbers]; GRAPH_NONE: none */
    graph_val *category; /* [batch], int64 */
    int64_t *sizes;      /* of each category's table */
    size_t n;
} columns;

/* One column after the other out of a field [batch, k]. */
static status add_categories(net *n, const data_field *f, columns *c, error *err)
{
    graph_val field;
    int64_t k = data_field_elements(f), batch = n->request->batch_size;
    TRY(net_field(n, f, &field, err));
    TRY(net_reshape(n, field, (graph_shape){2, {batch, k}}, &field, err));
    for (int64_t i = 0; i < k; i++) {
        graph_val *column = &c->category[c->n];
        const slice_attr one = {
            .n_axes = 1, .axes = {1}, .begin = {i}, .end = {i + 1}, .step = {1}};
        TRY(graph_add_1(n->g, OP_SLICE, NULL, &field, 1, &one, column, err));
        TRY(net_reshape(n, *column, (graph_shape){1, {batch}}, column, err));
        c->sizes[c->n++] = f->sizes ? f->sizes[i % f->dim[f->rank - 1]] : f->classes;
    }
    return OK;
}

static status add_numbers(net *n, const data_field *f, graph_val *in, int32_t *n_in, error *err)
{
    graph_val *v = &in[(*n_in)++];
    TRY(net_field(n, f, v, err));
    graph_shape rows = {2, {n->request->batch_size, data_field_elements(f)}};
    return net_reshape(n, *v, rows, v, err);
}

static status take_sizes(const config *model, columns *c, error *err)
{
    size_t given = config_count(model, "categories");
    const json_t *sizes = config_json(model, "categories");
    if (sizes && given != c->n)
        return FAIL(err, E_CONFIG,
                    "%s.categories: %zu sizes, but the data have %zu columns of "
                    "categories",
                    config_path(model), given, c->n);
    for (size_t i = 0; i < c->n; i++) {
        if (sizes)
            c->sizes[i] = json_integer_value(json_array_get(sizes, i));
        if (c->sizes[i] < 1)
            return FAIL(err, E_CONFIG,
                        "%s.categories: null, and the data do not say how many categories column "
                        "%zu has",
                        config_path(model), i);
    }
    return OK;
}

static status read_columns(net *n, const config *model, columns *ret, error *err)
{
    const model_request *r = n->request;
    arena *a = graph_arena(n->g);
    int64_t most = 0;
    int32_t n_numbers = 0;
    for (size_t i = 0; i < r->n_fields; i++)
        most += r->fields[i].dtype == DT_I64 ? data_field_elements(&r->fields[i]) : 0;
    columns c = {.numbers = GRAPH_NONE};
    c.category = arena_alloc(a, (size_t)(most + 1) * sizeof *c.category);
    c.sizes = arena_alloc(a, (size_t)(most + 1) * sizeof *c.sizes);
    graph_val *numbers = arena_alloc(a, (r->n_fields + 1) * sizeof *numbers);
    for (size_t i = 0; i < r->n_fields; i++) {
        const data_field *f = &r->fields[i];
        if (loss_reads(n->loss, f))
            continue;
        if (f->dtype == DT_I64)
            TRY(add_categories(n, f, &c, err));
        else if (f->dtype == DT_F32)
            TRY(add_numbers(n, f, numbers, &n_numbers, err));
    }
    if (n_numbers > 1)
        TRY(graph_add_1(n->g, OP_CONCAT, "numbers", numbers, n_numbers, &(axis_attr){.axis = 1},
                        &numbers[0], err));
    c.numbers = n_numbers ? numbers[0] : GRAPH_NONE;
    if (c.n == 0)
        return FAIL(err, E_CONFIG, "%s: the data have no int64 field of categories; they have %s",
                    config_path(model), model_field_names(r, a));
    TRY(take_sizes(model, &c, err));
    *ret = c;
    return OK;
}

/* What stands for the category of column k: [batch, width]. */
static status look_up(net *n, const char *tables, const columns *c, size_t k, int64_t width,
                      init_rule init, graph_val *ret, error *err)
{
    graph_val table;
    const char *name = arena_printf(graph_arena(n->g), "%s.%zu", tables, k);
    tensor_decl rows = {.rank = 2,
                        .dim = {c->sizes[k], width},
                        .kind = TENSOR_TRAINABLE,
                        .init = init,
                        .decay = true};
    TRY(net_param(n, name, "weight", rows, &table, err));
    return graph_add_1(n->g, OP_GATHER, name, (graph_val[]){table, c->category[k]}, 2,
                       &(gather_attr){.axis = 0}, ret, err);
}

/* --- wide_deep --- */

/* The linear model: a number for each category, their sum and a bias; [batch, features] */
static status wide(net *n, const columns *c, graph_val *ret, error *err)
{
    graph_val sum[2];
    int64_t features = n->loss->features;
    TRY(net_constant(n, "wide", "bias", (graph_shape){1, {features}}, 0.0, &sum[0], err));
    for (size_t k = 0; k < c->n; k++) {
        init_rule zero = {.kind = INIT_CONSTANT};
        TRY(look_up(n, "wide.tables", c, k, features, zero, &sum[1], err));
        TRY(graph_add_1(n->g, OP_ADD, NULL, (graph_val[]){sum[1], sum[0]}, 2, NULL, &sum[0], err));
    }
    *ret = sum[0];
    return OK;
}

status build_wide_deep(net *n, const config *model, net_outputs *ret, error *err)
{
    columns c;
    graph_val linear;
    const init_rule normal = {.kind = INIT_NORMAL, .b = 1.0f}; /* as torch.nn.Embedding */
    TRY(read_columns(n, model, &c, err));
    graph_val *in = arena_alloc(graph_arena(n->g), (c.n + 1) * sizeof *in);
    for (size_t k = 0; k < c.n; k++)
        TRY(look_up(n, "deep.tables", &c, k, config_int(model, "width"), normal, &in[k], err));
    int32_t n_in = (int32_t)c.n;
    if (c.numbers != GRAPH_NONE)
        in[n_in++] = c.numbers;
    TRY(graph_add_1(n->g, OP_CONCAT, "deep", in, n_in, &(axis_attr){.axis = 1}, &n->end, err));
    TRY(build_head(n, model, ret, err));
    TRY(wide(n, &c, &linear, err));
    TRY(net_add(n, "sum", linear, err));
    ret->at[0] = n->end;
    return OK;
}

/* --- dlrm --- */

/* A linear layer with the first weights of the authors' program. */
static status tables_dense(net *n, const char *name, int64_t features, error *err)
{
    int64_t width = net_shape(n)->dim[1];
    double both = (double)(width + features);
    init_rule init = {.kind = INIT_NORMAL, .b = (float)det_sqrt(2.0 / both)};
    tensor_decl weight = {
        .rank = 2, .dim = {features, width}, .kind = TENSOR_TRAINABLE, .init = init, .decay = true};
    tensor_decl bias = {
        .rank = 1,
        .dim = {features},
        .kind = TENSOR_TRAINABLE,
        .decay = true,
        .init = {.kind = INIT_NORMAL, .b = (float)det_sqrt(1.0 / (double)features)}};
    graph_val in[3] = {n->end};
    TRY(net_param(n, name, "weight", weight, &in[1], err));
    TRY(net_param(n, name, "bias", bias, &in[2], err));
    const gemm_attr attr = {GEMM_UNSCALED, .trans_b = true};
    return graph_add_1(n->g, OP_GEMM, name, in, 3, &attr, &n->end, err);
}

/* "<name>.0", "<name>.2", ...: each with a Relu behind it, as in a torch.nn.Sequential. */
static status tower(net *n, const char *name, const config *model, const char *key, error *err)
{
    arena *a = graph_arena(n->g);
    const json_t *widths = config_json(model, key);
    for (size_t i = 0; i < config_count(model, key); i++) {
        int64_t features = json_integer_value(json_array_get(widths, i));
        TRY(tables_dense(n, arena_printf(a, "%s.%zu", name, 2 * i), features, err));
        TRY(net_activation(n, arena_printf(a, "%s.%zu", name, 2 * i + 1), "relu", err));
    }
    return OK;
}

/* The dot products of every two of m vectors [batch, m, width]: [batch, m (m - 1) / 2] */
static status dot_products(net *n, graph_val vectors, int64_t m, graph_val *ret, error *err)
{
    int64_t batch = n->request->batch_size, pairs = m * (m - 1) / 2, at = 0;
    int64_t *below = arena_alloc(graph_arena(n->g), (size_t)(pairs + 1) * sizeof *below);
    graph_val in[2] = {vectors, vectors};
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < i; j++)
            below[at++] = i * m + j;
    TRY(graph_add_1(n->g, OP_MATMUL, "interact", in, 2, &(matmul_attr){.trans_b = true}, &in[0],
                    err));
    TRY(net_reshape(n, in[0], (graph_shape){2, {batch, m * m}}, &in[0], err));
    TRY(graph_const(n->g, "interact.below", DT_I64, (graph_shape){1, {pairs}}, below, &in[1], err));
    return graph_add_1(n->g, OP_GATHER, "interact.pairs", in, 2, &(gather_attr){.axis = 1}, ret,
                       err);
}

static status interact(net *n, const columns *c, int64_t width, error *err)
{
    arena *a = graph_arena(n->g);
    int64_t m = (int64_t)c->n + 1, batch = n->request->batch_size;
    graph_val *in = arena_alloc(a, (c->n + 1) * sizeof *in), both[2];
    in[0] = n->end;
    for (size_t k = 0; k < c->n; k++) {
        double bound = 1.0 / det_sqrt((double)c->sizes[k]);
        init_rule init = {.kind = INIT_UNIFORM, .a = (float)-bound, .b = (float)bound};
        TRY(look_up(n, "emb_l", c, k, width, init, &in[k + 1], err));
    }
    both[0] = n->end;
    TRY(graph_add_1(n->g, OP_CONCAT, "vectors", in, (int32_t)m, &(axis_attr){.axis = 1}, &both[1],
                    err));
    TRY(net_reshape(n, both[1], (graph_shape){3, {batch, m, width}}, &both[1], err));
    TRY(dot_products(n, both[1], m, &both[1], err));
    return graph_add_1(n->g, OP_CONCAT, "features", both, 2, &(axis_attr){.axis = 1}, &n->end, err);
}

status build_dlrm(net *n, const config *model, net_outputs *ret, error *err)
{
    columns c;
    size_t n_bottom = config_count(model, "bottom");
    TRY(read_columns(n, model, &c, err));
    if (c.numbers == GRAPH_NONE || n_bottom < 1)
        return FAIL(err, E_CONFIG, "%s: needs %s", config_path(model),
                    n_bottom < 1 ? "layers in `bottom`" : "a float32 field of numbers");
    int64_t width = json_integer_value(json_array_get(config_json(model, "bottom"), n_bottom - 1));
    n->end = c.numbers;
    TRY(tower(n, "bot_l", model, "bottom", err));
    TRY(interact(n, &c, width, err));
    TRY(tower(n, "top_l", model, "top", err));
    size_t last = 2 * config_count(model, "top");
    if (n->loss->features < 1)
        return FAIL(err, E_CONFIG, "%s: the data do not say how many scores it has to give",
                    config_path(model));
    TRY(tables_dense(n, arena_printf(graph_arena(n->g), "top_l.%zu", last), n->loss->features, err));
    ret->at[ret->n++] = n->end;
    return OK;
}
