/*
 * An import, from beginning to end: inputs and initializers into a scope, the walk into a first
 * graph, then what the outputs need of that into the caller's.
 */
#include "onnx/import.h"

#include "onnx/rewrite.h"
#include "onnx/types.h"
#include "onnx/walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_initializer(const importer *im, const char *name)
{
    return names_get(&im->initializers, name, NULL);
}

static status describe(const Onnx__ValueInfoProto *v, const char *what, onnx_io *ret, error *err)
{
    *ret = (onnx_io){.name = onnx_text(v->name)};
    if (!*ret->name)
        return FAIL(err, E_DATA, "%s of the model has no name", what);
    if (!v->type)
        return OK;
    const Onnx__TypeProto__Tensor *t = v->type->tensor_type;
    if (!t)
        return FAIL(err, E_UNSUPPORTED,
                    "%s '%s' is no tensor; sequences, maps and optional values "
                    "are not supported",
                    what, ret->name);
    if (!host_dtype_of_onnx(t->elem_type, &ret->dtype))
        return FAIL(err, E_UNSUPPORTED, "%s '%s' is of %s, which is not supported", what, ret->name,
                    host_onnx_type_name(t->elem_type));
    ret->has_type = true;
    ret->element = t->elem_type;
    if (ret->dtype == DT_F64)
        ret->dtype = DT_F32;
    if (!t->shape)
        return OK;
    if (t->shape->n_dim > GRAPH_RANK)
        return FAIL(err, E_UNSUPPORTED, "%s '%s' has %zu axes, more than %d", what, ret->name,
                    t->shape->n_dim, GRAPH_RANK);
    ret->has_shape = true;
    ret->rank = (int32_t)t->shape->n_dim;
    for (int32_t i = 0; i < ret->rank; i++) {
        const Onnx__TensorShapeProto__Dimension *d = t->shape->dim[i];
        ret->dim[i] = d->has_dim_value ? d->dim_value : -1;
        ret->param[i] = *onnx_text(d->dim_param) ? d->dim_param : NULL;
    }
    return OK;
}

/* In the file's list of inputs, the i-th that is no initializer. */
static const Onnx__ValueInfoProto *real_input(const onnx_model *m, size_t i)
{
    const Onnx__GraphProto *g = m->proto->graph;
    for (size_t k = 0; k < g->n_input; k++)
        if (onnx_initializer(m, onnx_text(g->input[k]->name)) < 0 && i-- == 0)
            return g->input[k];
    return NULL;
}

size_t onnx_n_inputs(const onnx_model *m)
{
    size_t n = 0;
    while (real_input(m, n))
        n++;
    return n;
}

size_t onnx_n_outputs(const onnx_model *m)
{
    return m->proto->graph->n_output;
}

status onnx_input(const onnx_model *m, size_t i, onnx_io *ret, error *err)
{
    return describe(real_input(m, i), "input", ret, err);
}

status onnx_output(const onnx_model *m, size_t i, onnx_io *ret, error *err)
{
    return describe(m->proto->graph->output[i], "output", ret, err);
}

static const onnx_binding *binding_of(const onnx_request *r, const char *name)
{
    for (size_t i = 0; i < r->n_inputs; i++)
        if (strcmp(r->inputs[i].input, name) == 0)
            return &r->inputs[i];
    return NULL;
}

/* A symbol that the request binds must be what is fed; the same symbol must be one size. */
static status check_symbol(importer *im, const onnx_io *io, int32_t axis, int64_t size, error *err)
{
    const onnx_request *r = im->request;
    const char *name = io->param[axis];
    for (size_t i = 0; name && i < r->n_dims; i++)
        if (strcmp(r->dims[i].param, name) == 0 && r->dims[i].size != size)
            return FAIL(err, E_CONFIG,
                        "model.dims says '%s' = %" PRId64 ", but axis %" PRId32
                        " of input '%s' is fed %" PRId64,
                        name, r->dims[i].size, axis, io->name, size);
    for (size_t i = 0; name && i < im->n_symbols; i++)
        if (strcmp(im->symbols[i].name, name) == 0 && im->symbols[i].size != size)
            return FAIL(err, E_CONFIG,
                        "axis %" PRId32 " of input '%s' is '%s', which is fed %" PRId64
                        " there and %" PRId64 " by input '%s'",
                        axis, io->name, name, size, im->symbols[i].size, im->symbols[i].input);
    if (name) {
        GROW(im->symbols, im->cap_symbols, im->n_symbols + 1);
        im->symbols[im->n_symbols++] = (symbol){name, io->name, size};
    }
    return OK;
}

static status check_fed(importer *im, const onnx_io *io, dtype type, const graph_shape *shape,
                        error *err)
{
    char text[SHAPE_TEXT];
    bool is_float64 = io->element == ONNX_FLOAT64 && type == DT_F64; /* of a known tensor */
    if (io->has_type && io->dtype != type && !is_float64)
        return FAIL(err, E_CONFIG, "input '%s' is of %s, but is fed %s", io->name,
                    dtype_name(io->dtype), dtype_name(type));
    if (!io->has_shape)
        return OK;
    if (io->rank != shape->rank)
        return FAIL(err, E_CONFIG, "input '%s' has %" PRId32 " axes, but is fed %s", io->name,
                    io->rank, graph_shape_text(shape, text, sizeof text));
    for (int32_t i = 0; i < io->rank; i++) {
        if (io->dim[i] >= 0 && io->dim[i] != shape->dim[i])
            return FAIL(err, E_CONFIG,
                        "axis %" PRId32 " of input '%s' is fixed to %" PRId64
                        " in the file, but is fed %s; export it with dynamic axes",
                        i, io->name, io->dim[i], graph_shape_text(shape, text, sizeof text));
        TRY(check_symbol(im, io, i, shape->dim[i], err));
    }
    return OK;
}

/* What is fed in a wider type is wrapped to that of the file. */
static status type_fed(importer *im, const onnx_io *io, slot *value, error *err)
{
    const onnx_element *e = io->element ? element_of(io->element) : NULL;
    if (e && (e->onnx == ONNX_UINT64 || (e->kind == ELEMENT_FLOAT && e->bits < 16)))
        return FAIL(err, E_UNSUPPORTED, "input '%s' is of %s, which cannot be fed", io->name,
                    e->name);
    if (e && element_is_narrow_integer(e))
        TRY(types_wrap(im, e, &value->value, err));
    value->element = io->element;
    return OK;
}

static status put_input(importer *im, scope *s, const Onnx__ValueInfoProto *v, const graph *outer,
                        error *err)
{
    onnx_io io;
    TRY(describe(v, "input", &io, err));
    const onnx_binding *b = binding_of(im->request, io.name);
    if (!b)
        return OK; /* an error if somebody reads it */
    slot value = {.kind = SLOT_HOST, .value = GRAPH_NONE};
    if (b->value == GRAPH_NONE) {
        TRY(check_fed(im, &io, b->host->dtype, &b->host->shape, err));
        TRY(host_create(im->a, b->host->dtype, &b->host->shape, &value.host, err));
        memcpy(value.host->data, b->host->data,
               (size_t)value.host->n * dtype_bytes(b->host->dtype));
        value.host->element = io.element;
    } else {
        const graph_value *fed = graph_value_at(outer, b->value);
        TRY(check_fed(im, &io, fed->dtype, &fed->shape, err));
        value.kind = SLOT_VALUE;
        TRY(graph_input(im->g, io.name, fed->dtype, fed->shape, &value.value, err));
        TRY(type_fed(im, &io, &value, err));
    }
    return scope_put(im, s, io.name, &value, err);
}

/* A symbol that no input has is a slip of the pen. */
static status check_dims(const importer *im, error *err)
{
    const onnx_request *r = im->request;
    for (size_t d = 0; d < r->n_dims; d++) {
        const char *has = "none";
        bool found = false;
        onnx_io io;
        for (size_t i = 0; i < onnx_n_inputs(im->m) && !found; i++) {
            TRY(onnx_input(im->m, i, &io, err));
            for (int32_t axis = 0; io.has_shape && axis < io.rank; axis++) {
                has = io.param[axis] ? io.param[axis] : has;
                found |= io.param[axis] && strcmp(io.param[axis], r->dims[d].param) == 0;
            }
        }
        if (!found)
            return FAIL(err, E_CONFIG,
                        "model.dims: no axis of an input is called '%s'; one is called '%s'",
                        r->dims[d].param, has);
    }
    return OK;
}

static status fill_scope(importer *im, scope *s, const graph *outer, error *err)
{
    const Onnx__GraphProto *g = im->m->proto->graph;
    s->opsets = im->m->proto->opset_import;
    s->n_opsets = im->m->proto->n_opset_import;
    for (size_t i = 0; i < g->n_initializer; i++)
        names_put(&im->initializers, onnx_text(g->initializer[i]->name), (int32_t)i);
    TRY(check_dims(im, err));
    for (size_t i = 0; i < g->n_input; i++)
        if (!is_initializer(im, onnx_text(g->input[i]->name)))
            TRY(put_input(im, s, g->input[i], outer, err));
    TRY(walk_initializers(im, s, g, err));
    if (im->request->batch_id == GRAPH_NONE)
        return OK;
    graph_shape one = {.rank = 1, .dim = {1}};
    return graph_input(im->g, " batch.id", DT_I64, one, &im->batch_id, err);
}

static status check_outputs(const importer *im, const char *const *wanted, size_t n, error *err)
{
    const Onnx__GraphProto *g = im->m->proto->graph;
    for (size_t i = 0; i < n; i++) {
        bool found = false;
        for (size_t k = 0; k < g->n_output; k++)
            found |= strcmp(onnx_text(g->output[k]->name), wanted[i]) == 0;
        if (!found)
            return FAIL(err, E_CONFIG, "the model has no output '%s'; its first one is '%s'",
                        wanted[i], onnx_text(g->output[0]->name));
    }
    return OK;
}

static status refusals(const importer *im, error *err)
{
    if (im->n_refusals == 0)
        return OK;
    return FAIL(err, E_UNSUPPORTED, "%d node%s cannot be imported: %s", im->n_refusals,
                im->n_refusals == 1 ? "" : "s", im->refusals.data);
}

/* The first graph's inputs stand for what the caller has bound. */
static void map_inputs(const importer *im, graph_val *to_of)
{
    for (graph_val v = 0; v < graph_n_values(im->g); v++) {
        const graph_value *value = graph_value_at(im->g, v);
        if (value->kind != VAL_INPUT)
            continue;
        to_of[v] =
            v == im->batch_id ? im->request->batch_id : binding_of(im->request, value->name)->value;
    }
}

static void list_weights(const importer *im, const graph *g, const graph_val *to_of,
                         onnx_imported *r)
{
    r->weights = arena_alloc(r->memory, (im->n_weights + 1) * sizeof *r->weights);
    for (size_t i = 0; i < im->n_weights; i++) {
        const weight *w = &im->weights[i];
        if (w->value != GRAPH_NONE && !w->is_constant && to_of[w->value] != GRAPH_NONE &&
            graph_value_at(g, to_of[w->value])->param->init.kind == INIT_PUSHED)
            r->weights[r->n_weights++] = (onnx_weight){w->name, w->initializer};
    }
}

/* What was wanted, in terms of the walk's graph; a weight that no node reads joins it only now. */
static status find_outputs(importer *im, const scope *s, const char *const *wanted, size_t n,
                           onnx_imported *r, graph_val *ret_live, size_t *ret_n_live, error *err)
{
    r->outputs = arena_alloc(r->memory, (n + 1) * sizeof *r->outputs);
    r->n_outputs = n;
    for (size_t i = 0; i < n; i++) {
        slot *out = scope_find(s, wanted[i]);
        if (!out)
            return FAIL(err, E_DATA, "nothing makes the output '%s'", wanted[i]);
        if (out->kind == SLOT_UNMADE || out->kind == SLOT_ABSENT || out->kind == SLOT_LIST)
            return FAIL(
                err, E_UNSUPPORTED,
                "the output '%s' is one that its operator does not make here; leave it out of "
                "model.outputs",
                wanted[i]);
        r->outputs[i] = (onnx_result){.name = wanted[i], .value = GRAPH_NONE};
        if (out->kind != SLOT_REFUSED)
            r->outputs[i].element = slot_element(im, out)->onnx;
        if (out->kind == SLOT_HOST)
            r->outputs[i].host = out->host;
        else
            TRY(slot_value(im, out, &ret_live[(*ret_n_live)++], err));
    }
    return OK;
}

static status collect(importer *im, const scope *s, const char *const *wanted, size_t n, graph *g,
                      onnx_imported *r, error *err)
{
    graph_val *live = arena_alloc(im->a, (n + 1) * sizeof *live);
    size_t n_live = 0;
    TRY(find_outputs(im, s, wanted, n, r, live, &n_live, err));
    size_t n_values = (size_t)graph_n_values(im->g);
    graph_val *to_of = arena_alloc(im->a, (n_values + 1) * sizeof *to_of);
    memset(to_of, 0xff, n_values * sizeof *to_of);
    map_inputs(im, to_of);
    rewrite_head head = {.weight = GRAPH_NONE};
    if (im->request->head_features)
        TRY(rewrite_find_head(im->g, live[0], im->request->head_features, &head, err));
    TRY(rewrite_copy(im->g, live, n_live, &head, g, to_of, err));
    for (size_t i = 0, k = 0; i < n; i++)
        if (!r->outputs[i].host)
            r->outputs[i].value = to_of[live[k++]];
    list_weights(im, g, to_of, r);
    return OK;
}

static status import(importer *im, scope *s, graph *g, onnx_imported *ret, error *err)
{
    const Onnx__GraphProto *p = im->m->proto->graph;
    const char *const *wanted = im->request->outputs;
    size_t n = im->request->n_outputs;
    if (n == 0) {
        const char **all = arena_alloc(im->a, p->n_output * sizeof *all);
        for (n = 0; n < p->n_output; n++)
            all[n] = onnx_text(p->output[n]->name);
        wanted = all;
    }
    TRY(check_outputs(im, wanted, n, err));
    TRY(fill_scope(im, s, g, err));
    TRY(walk_nodes(im, s, p->node, p->n_node, wanted, n, err));
    TRY(refusals(im, err));
    return collect(im, s, wanted, n, g, ret, err);
}

status onnx_import(const onnx_model *m, graph *g, const onnx_request *request, onnx_imported *ret,
                   error *err)
{
    importer im = {.m = m,
                   .request = request,
                   .a = arena_create(),
                   .batch_id = GRAPH_NONE,
                   .initializers = NAMES_INIT};
    onnx_imported r = {.memory = im.a};
    scope s;
    scope_init(&s, NULL, "");
    status st = graph_create(&im.g, err);
    if (st == OK)
        st = onnx_moves_create(m, request->train, request->n_train, &im.moves, err);
    if (st == OK)
        st = import(&im, &s, g, &r, err);
    if (st == OK)
        *ret = r;
    else {
        error_prepend(err, "%s", m->path);
        onnx_imported_fini(&r);
    }
    scope_fini(&s);
    names_fini(&im.initializers);
    onnx_moves_destroy(&im.moves);
    free(im.weights);
    free(im.symbols);
    buf_fini(&im.refusals);
    graph_destroy(&im.g);
    return st;
}

void onnx_imported_fini(onnx_imported *i)
{
    if (i->memory)
        arena_destroy(&i->memory);
    *i = (onnx_imported){.memory = NULL};
}

/* Through Identity nodes, each of which makes a weight of its own. */
bool onnx_weight_find(const onnx_model *m, const char *name, onnx_weight *ret)
{
    const Onnx__GraphProto *g = m->proto->graph;
    const char *source = name;
    int32_t at = onnx_initializer(m, source);
    for (size_t i = g->n_node; at < 0 && i-- > 0;) {
        const Onnx__NodeProto *n = g->node[i];
        if (strcmp(onnx_text(n->op_type), "Identity") != 0 || n->n_input != 1 || n->n_output != 1 ||
            strcmp(n->output[0], source) != 0)
            continue;
        source = n->input[0];
        at = onnx_initializer(m, source);
    }
    if (at >= 0)
        *ret = (onnx_weight){.name = name, .initializer = at};
    return at >= 0;
}

status onnx_weight_read(const onnx_model *m, const onnx_weight *w, float *out, int64_t n,
                        error *err)
{
    TRYF(host_read_weights(m, m->proto->graph->initializer[w->initializer], out, n, err), err, "%s",
         m->path);
    return OK;
}
