#include "model/lora.h"

#include "common/base/detmath.h"
#include "graph/splice.h"
#include "model/name_globs.h"
#include "model/name_patterns.h"

#include <stdlib.h>
#include <string.h>

typedef struct lora {
    net *n;
    const config *section;
    name_patterns patterns;
    int64_t rank;
    double scale, dropout;
    bool *has;              /* [values]: a weight that has an adapter */
} lora;

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0 && name[n - m - 1] == '.';
}

bool lora_is_adapter(const char *name)
{
    return ends_with(name, LORA_A) || ends_with(name, LORA_B);
}

/* --- which weights --- */

/* The weight of a product with what an adapter can stand beside; GRAPH_NONE. */
static graph_val weight_of(const graph *g, const graph_node *n)
{
    if ((n->op != OP_GEMM && n->op != OP_MATMUL) || n->in[0] == GRAPH_NONE)
        return GRAPH_NONE;
    const graph_value *w = graph_value_at(g, n->in[1]);
    bool is_turned = n->op == OP_MATMUL && ((const matmul_attr *)n->attr)->trans_a;
    bool is_weight = w->kind == VAL_PARAM && w->param->kind != TENSOR_STATE && w->shape.rank == 2;
    return is_weight && !is_turned && n->in[0] != n->in[1] ? n->in[1] : GRAPH_NONE;
}

/* Does any product take it as its weight? */
static bool is_multiplied(const graph *g, graph_val v)
{
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        if (weight_of(g, graph_node_at(g, i)) == v)
            return true;
    return false;
}

/* Merged, the adapter would be in all that reads the weight. */
static status check_readers(const lora *l, graph_val w, error *err)
{
    const graph *g = l->n->g;
    for (int32_t i = 0; i < graph_n_nodes(g); i++) {
        const graph_node *n = graph_node_at(g, i);
        for (int32_t k = 0; k < n->n_in; k++)
            if (n->in[k] == w && (k != 1 || weight_of(g, n) != w))
                return FAIL(err, E_CONFIG,
                            "%s.patterns: '%s' is read by '%s' (%s) too, beside which no adapter would stand; leave it "
                            "out",
                            config_path(l->section), graph_value_at(g, w)->name, n->name, graph_op_of(n->op)->name);
    }
    return OK;
}

static status check_rank(const lora *l, graph_val w, error *err)
{
    const graph_value *value = graph_value_at(l->n->g, w);
    const int64_t *d = value->shape.dim, shorter = d[0] < d[1] ? d[0] : d[1];
    if (l->rank < shorter)
        return OK;
    return FAIL(err, E_CONFIG, "%s.rank: %lld is not below the shorter side of '%s', which is %lld",
                config_path(l->section), (long long)l->rank, value->name, (long long)shorter);
}

static status no_match(const lora *l, size_t which, error *err)
{
    const graph *g = l->n->g;
    const char *some = "none";
    for (graph_val v = 0; v < graph_n_values(g); v++)
        if (is_multiplied(g, v)) {
            some = graph_value_at(g, v)->name;
            break;
        }
    return FAIL(err, E_CONFIG, "%s.patterns: no weight of a Gemm or MatMul matches '%s'; one is '%s'",
                config_path(l->section), json_string_value(json_array_get(l->patterns.list, which)), some);
}

static status choose(lora *l, size_t which, error *err)
{
    const graph *g = l->n->g;
    bool matched = false;
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        bool matches = false;
        if (graph_value_at(g, v)->kind == VAL_PARAM)
            TRY(name_patterns_match(&l->patterns, which, graph_value_at(g, v)->name, &matches, err));
        if (!matches || !is_multiplied(g, v))
            continue;
        TRY(check_readers(l, v, err));
        TRY(check_rank(l, v, err));
        l->has[v] = matched = true;
    }
    return matched ? OK : no_match(l, which, err);
}

/* --- what is added --- */

/* A and B of a weight, the first time made as they lie in the product that reads it first. */
static status adapter(lora *l, graph_val w, bool out_first, graph_val ret[2], error *err)
{
    const graph_shape shape = graph_value_at(l->n->g, w)->shape;
    const char *name = graph_value_at(l->n->g, w)->name;
    const size_t length = strlen(name) - (ends_with(name, "weight") ? strlen(".weight") : 0);
    const char *layer = arena_printf(graph_arena(l->n->g), "%.*s", (int)length, name);
    const int64_t in = shape.dim[out_first ? 1 : 0], out = shape.dim[out_first ? 0 : 1], r = l->rank;
    const float bound = (float)(1.0 / det_sqrt((double)in));
    tensor_decl a = {.rank = 2,
                     .dim = {out_first ? r : in, out_first ? in : r},
                     .kind = TENSOR_TRAINABLE,
                     .init = {.kind = INIT_UNIFORM, .a = -bound, .b = bound},
                     .decay = true};
    tensor_decl b = {.rank = 2,
                     .dim = {out_first ? out : r, out_first ? r : out},
                     .kind = TENSOR_TRAINABLE,
                     .init = {.kind = INIT_CONSTANT},
                     .decay = true};
    ret[0] = graph_find(l->n->g, net_below(l->n, layer, LORA_A));
    ret[1] = graph_find(l->n->g, net_below(l->n, layer, LORA_B));
    if (ret[0] != GRAPH_NONE && ret[1] != GRAPH_NONE)
        return OK;
    TRY(net_param(l->n, layer, LORA_A, a, &ret[0], err));
    return net_param(l->n, layer, LORA_B, b, &ret[1], err);
}

/* What x is multiplied with, and what that is: where another product reads the weight the other way round, B and A. */
static status factors_of(lora *l, graph_val w, bool out_first, graph_val ret[2], error *err)
{
    graph_val by[2];
    TRY(adapter(l, w, out_first, by, err));
    const bool lies_so = (graph_value_at(l->n->g, by[0])->shape.dim[0] == l->rank) == out_first;
    ret[0] = by[lies_so ? 0 : 1];
    ret[1] = by[lies_so ? 1 : 0];
    return OK;
}

/* y + scale * (x A) B, of matrices. */
static status beside_gemm(lora *l, const graph_node *n, graph_val x, graph_val *y, error *err)
{
    graph *g = l->n->g;
    const gemm_attr *a = n->attr;
    const gemm_attr down = {GEMM_UNSCALED, .trans_a = a->trans_a, .trans_b = a->trans_b};
    const gemm_attr up = {.alpha = (float)(l->scale * (double)a->alpha), .beta = 1, .trans_b = a->trans_b};
    graph_val by[2], in[3] = {x};
    TRY(factors_of(l, n->in[1], a->trans_b, by, err));
    in[1] = by[0];
    TRY(graph_add_1(g, OP_GEMM, net_below(l->n, n->name, "lora_A"), in, 2, &down, &in[0], err));
    in[1] = by[1];
    in[2] = *y;
    return graph_add_1(g, OP_GEMM, net_below(l->n, n->name, "lora_B"), in, 3, &up, y, err);
}

/* ... of matrices in any number of axes. */
static status beside_matmul(lora *l, const graph_node *n, graph_val x, graph_val *y, error *err)
{
    graph *g = l->n->g;
    const matmul_attr by = {.trans_b = ((const matmul_attr *)n->attr)->trans_b};
    const float scale = (float)l->scale;
    graph_val factors[2], in[2] = {x};
    TRY(factors_of(l, n->in[1], by.trans_b, factors, err));
    in[1] = factors[0];
    TRY(graph_add_1(g, OP_MATMUL, net_below(l->n, n->name, "lora_A"), in, 2, &by, &in[0], err));
    in[1] = factors[1];
    TRY(graph_add_1(g, OP_MATMUL, net_below(l->n, n->name, "lora_B"), in, 2, &by, &in[0], err));
    TRY(graph_const(g, NULL, DT_F32, (graph_shape){.rank = 0}, &scale, &in[1], err));
    TRY(graph_add_1(g, OP_MUL, NULL, in, 2, NULL, &in[0], err));
    in[1] = *y;
    return graph_add_1(g, OP_ADD, net_below(l->n, n->name, "lora"), in, 2, NULL, y, err);
}

static status behind(graph *g, const graph_node *n, graph_val *ret, void *arg, error *err)
{
    lora *l = arg;
    const graph_val w = weight_of(g, n);
    if (w == GRAPH_NONE || !l->has[w])
        return OK;
    l->n->end = n->in[0];
    TRY(net_dropout(l->n, net_below(l->n, n->name, "lora_dropout"), l->dropout, err));
    return n->op == OP_GEMM ? beside_gemm(l, n, l->n->end, ret, err) : beside_matmul(l, n, l->n->end, ret, err);
}

static status add_all(lora *l, net_outputs *o, error *err)
{
    graph_val *now = xcalloc((size_t)graph_n_values(l->n->g) + 1, sizeof *now);
    status st = OK;
    for (size_t i = 0; i < l->patterns.n && st == OK; i++)
        st = choose(l, i, err);
    if (st == OK)
        st = graph_splice(l->n->g, behind, l, now, err);
    for (size_t i = 0; i < o->n && st == OK; i++)
        o->at[i] = now[o->at[i]];
    if (st == OK && o->loss != GRAPH_NONE)
        o->loss = now[o->loss];
    free(now);
    return st;
}

status lora_add(net *n, net_outputs *outputs, error *err)
{
    const config *model = n->request->model, *section = config_section(model, "lora");
    if (!section || n->request->merged)
        return OK;
    lora l = {.n = n,
              .section = section,
              .rank = config_int(section, "rank"),
              .scale = config_f64(section, "alpha") / (double)config_int(section, "rank"),
              .dropout = config_f64(section, "dropout"),
              .has = xcalloc((size_t)graph_n_values(n->g) + 1, sizeof *l.has)};
    char *place = xasprintf("%s.patterns", config_path(section));
    status st = name_patterns_init(&l.patterns, config_json(section, "patterns"), place, model, err);
    if (st == OK) {
        st = add_all(&l, outputs, err);
        name_patterns_fini(&l.patterns);
    }
    free(place);
    free(l.has);
    return st;
}

/* --- what moves --- */

static status freeze_others(graph *g, const name_patterns *saved, const json_t *train, error *err)
{
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        bool moves = false;
        if (value->kind != VAL_PARAM || value->param->kind != TENSOR_TRAINABLE || lora_is_adapter(value->name))
            continue;
        TRY(name_patterns_any(saved, value->name, &moves, err));
        if (!moves && !name_globs_any(train, value->name))
            graph_freeze(g, v);
    }
    return OK;
}

status lora_freeze(graph *g, const config *model, const json_t *train, error *err)
{
    const config *section = config_section(model, "lora");
    name_patterns saved;
    if (!section)
        return OK;
    char *place = xasprintf("%s.modules_to_save", config_path(section));
    status st = name_patterns_init(&saved, config_json(section, "modules_to_save"), place, model, err);
    if (st == OK) {
        st = freeze_others(g, &saved, train, err);
        name_patterns_fini(&saved);
    }
    free(place);
    return st;
}
