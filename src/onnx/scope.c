/* Scopes and slots: what names mean, and how what is known becomes values of the graph. */
#include "onnx/walk.h"

#include <stdlib.h>
#include <string.h>

void scope_init(scope *s, const scope *parent, const char *prefix)
{
    *s = (scope){.parent = parent, .prefix = prefix, .index = NAMES_INIT};
    if (parent) {
        s->opsets = parent->opsets;
        s->n_opsets = parent->n_opsets;
        s->function = parent->function;
        s->caller = parent->caller;
        s->caller_scope = parent->caller_scope;
        s->depth = parent->depth + 1;
    }
}

void scope_fini(scope *s)
{
    names_fini(&s->index);
    free(s->slots);
    *s = (scope){.parent = NULL};
}

slot *scope_find(const scope *s, const char *name)
{
    int32_t at;
    for (; s; s = s->parent)
        if (names_get(&s->index, name, &at))
            return s->slots[at];
    return NULL;
}

status scope_put(importer *im, scope *s, const char *name, const slot *value, error *err)
{
    if (names_get(&s->index, name, NULL))
        return FAIL(err, E_DATA, "two values are called '%s'", name);
    slot *copy = arena_alloc(im->a, sizeof *copy);
    *copy = *value;
    GROW(s->slots, s->cap, s->n + 1);
    s->slots[s->n] = copy;
    names_put(&s->index, name, (int32_t)s->n++);
    return OK;
}

/* A graph has float32 only, so float64 is rounded. */
static status add_constant(importer *im, const host_tensor *h, graph_val *ret, error *err)
{
    if (h->dtype != DT_F64)
        return graph_const(im->g, NULL, h->dtype, h->shape, h->data, ret, err);
    host_tensor *rounded;
    TRY(host_create(im->a, DT_F32, &h->shape, &rounded, err));
    for (int64_t i = 0; i < h->n; i++)
        host_set(rounded, i, host_get(h, i));
    return graph_const(im->g, NULL, DT_F32, rounded->shape, rounded->data, ret, err);
}

static status declare(importer *im, weight *w, tensor_kind kind, float momentum, error *err)
{
    const Onnx__TensorProto *t = im->m->proto->graph->initializer[w->initializer];
    dtype type;
    graph_shape shape;
    TRY(host_check(im->m, t, NULL, err));
    TRY(host_describe(t, &type, &shape, err));
    tensor_decl decl = {
        .name = w->name,
        .rank = shape.rank,
        .kind = kind,
        .init = {.kind = INIT_PUSHED},
        .momentum = momentum,
        .decay = kind == TENSOR_TRAINABLE,
    };
    memcpy(decl.dim, shape.dim, sizeof decl.dim);
    w->kind = kind;
    w->is_constant = false;
    return graph_param(im->g, &decl, &w->value, err);
}

static status known_weight(importer *im, slot *s, error *err)
{
    if (s->host)
        return OK;
    const weight *w = &im->weights[s->weight];
    return host_read(im->m, im->m->proto->graph->initializer[w->initializer], im->a, &s->host, err);
}

static status weight_value(importer *im, slot *s, graph_val *ret, error *err)
{
    weight *w = &im->weights[s->weight];
    if (w->value == GRAPH_NONE && !w->is_constant)
        TRY(declare(im, w, w->kind, 0.0f, err));
    if (w->value == GRAPH_NONE) {
        TRY(known_weight(im, s, err));
        TRY(add_constant(im, s->host, &w->value, err));
    }
    *ret = w->value;
    return OK;
}

status slot_value(importer *im, slot *s, graph_val *ret, error *err)
{
    switch (s->kind) {
    case SLOT_WEIGHT:
        return weight_value(im, s, ret, err);
    case SLOT_HOST:
        if (s->value == GRAPH_NONE)
            TRY(add_constant(im, s->host, &s->value, err));
        *ret = s->value;
        return OK;
    case SLOT_VALUE:
        *ret = s->value;
        return OK;
    default:
        BUG("a value was asked of a slot that has none");
    }
}

status slot_describe(importer *im, const slot *s, graph_shape *ret_shape, dtype *ret_dtype,
                     error *err)
{
    switch (s->kind) {
    case SLOT_HOST:
        *ret_shape = s->host->shape;
        *ret_dtype = s->host->dtype;
        return OK;
    case SLOT_WEIGHT:
        return host_describe(
            im->m->proto->graph->initializer[im->weights[s->weight].initializer], ret_dtype,
            ret_shape, err);
    case SLOT_VALUE:
        *ret_shape = graph_value_at(im->g, s->value)->shape;
        *ret_dtype = graph_value_at(im->g, s->value)->dtype;
        return OK;
    default:
        return FAIL(err, E_DATA, "a sequence, or nothing, stands where a tensor must be");
    }
}

const onnx_element *slot_element(const importer *im, const slot *s)
{
    int32_t said = s->element;
    if (s->kind != SLOT_HOST && s->kind != SLOT_WEIGHT && s->kind != SLOT_VALUE)
        return element_of(ONNX_FLOAT32);
    if (s->kind == SLOT_WEIGHT)
        said = im->m->proto->graph->initializer[im->weights[s->weight].initializer]->data_type;
    else if (s->kind == SLOT_HOST && !said)
        said = s->host->element;
    if (said)
        return element_of(said);
    return element_of_dtype(s->kind == SLOT_HOST ? s->host->dtype
                                                 : graph_value_at(im->g, s->value)->dtype);
}

status slot_state(importer *im, slot *s, float momentum, graph_val *ret, error *err)
{
    while (s->moved)
        s = s->moved;
    if (s->kind != SLOT_WEIGHT)
        return slot_value(im, s, ret, err);
    weight *w = &im->weights[s->weight];
    if (w->value == GRAPH_NONE)
        TRY(declare(im, w, TENSOR_STATE, momentum, err));
    const tensor_decl *decl = graph_value_at(im->g, w->value)->param;
    if (w->kind != TENSOR_STATE)
        return FAIL(err, E_UNSUPPORTED,
                    "'%s' is a running statistic here and something else for another node; give the "
                    "layer statistics of its own",
                    w->name);
    if (decl->momentum != momentum)
        return FAIL(err, E_UNSUPPORTED,
                    "it moves '%s' with momentum %g, another node with %g; give both the same",
                    w->name, (double)momentum, (double)decl->momentum);
    *ret = w->value;
    return OK;
}

status slot_known(importer *im, slot *s, const host_tensor **ret, error *err)
{
    *ret = NULL;
    if (s->kind == SLOT_WEIGHT)
        TRY(known_weight(im, s, err));
    if (s->kind == SLOT_WEIGHT || s->kind == SLOT_HOST)
        *ret = s->host;
    return OK;
}
