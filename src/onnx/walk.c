/* See walk.h. Control flow and functions are in control.c. */
#include "onnx/walk.h"

#include "onnx/control.h"
#include "onnx/ops.h"
#include "onnx/types.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_STEPS = 1 << 20, MOST_PORTS = 4096 };
enum { OTHER_VERSION = 13 }; /* of operators that others are made of: axes are inputs */

void walk_refuse(importer *im, const Onnx__NodeProto *n, const char *format, ...)
{
    char why[512];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    buf_addf(&im->refusals, "%s%s: %s", im->n_refusals ? "; " : "", NODE(n), why);
    im->n_refusals++;
}

/* What ONNX says of the node's operator in the version that the model uses, or NULL with what is
 * wrong said. */
static const onnx_schema *find_schema(importer *im, const scope *s, const Onnx__NodeProto *n,
                                      int64_t *ret_version)
{
    const char *domain = onnx_text(n->domain), *type = onnx_text(n->op_type);
    const onnx_schema *first = onnx_schema_first(domain, type), *schema;
    bool is_main = !*domain || strcmp(domain, "ai.onnx") == 0;
    int64_t version = *ret_version = onnx_opset(s->opsets, s->n_opsets, domain);
    if (!first && is_main)
        walk_refuse(im, n, "ONNX has no such operator, up to opset %d", ONNX_OPSET_MAX);
    else if (!first)
        walk_refuse(im, n,
                    "no such operator in the domain '%s' here; export it written out in ONNX's own",
                    domain);
    else if (version <= 0)
        walk_refuse(im, n,
                    "the model does not say which version of the domain '%s' it uses; give it an "
                    "opset_import",
                    *domain ? domain : "ai.onnx");
    else if (is_main && version > ONNX_OPSET_MAX)
        walk_refuse(im, n,
                    "the model uses opset %" PRId64
                    ", newer than %d; export it with that opset_version",
                    version, ONNX_OPSET_MAX);
    else if (!(schema = onnx_schema_find(domain, type, version)))
        walk_refuse(im, n, "this operator is not in opset %" PRId64 "; since %" PRId64
                    ", with which the model may be exported",
                    version, first->since);
    else
        return schema;
    return NULL;
}

/* The row that can carry the node out, or NULL with what is wrong said. */
static const onnx_op *find_row(importer *im, const Onnx__NodeProto *n, int64_t version)
{
    const onnx_op *row = onnx_op_find(onnx_text(n->domain), onnx_text(n->op_type));
    if (!row)
        walk_refuse(im, n, "this operator is not supported; docs/MODELS.md lists those it may be "
                           "written in");
    else if (version < row->first) {
        walk_refuse(im, n, "supported from opset %" PRId64 " on, the model uses %" PRId64
                    "; export it with a newer one",
                    row->first, version);
        return NULL;
    }
    return row;
}

static status no_source(const importer *im, const char *name, error *err)
{
    const Onnx__GraphProto *g = im->m->proto->graph;
    for (size_t i = 0; i < g->n_input; i++)
        if (strcmp(onnx_text(g->input[i]->name), name) == 0)
            return FAIL(err, E_CONFIG, "it reads the model's input '%s', which is fed by nothing",
                        name);
    return FAIL(err, E_DATA, "it reads '%s', which nothing makes", name);
}

static status find_inputs(importer *im, const scope *s, const Onnx__NodeProto *n, slot ***ret,
                          error *err)
{
    static slot absent = {.kind = SLOT_ABSENT};
    slot **in = arena_alloc(im->a, (n->n_input + 1) * sizeof(slot *));
    for (size_t i = 0; i < n->n_input; i++) {
        in[i] = *n->input[i] ? scope_find(s, n->input[i]) : &absent;
        if (!in[i])
            return no_source(im, n->input[i], err);
    }
    *ret = in;
    return OK;
}

static bool any_is(const call *c, slot_kind kind)
{
    for (int32_t i = 0; i < c->n_in; i++)
        if (c->in[i]->kind == kind)
            return true;
    return false;
}

static bool has_result(const call *c)
{
    for (int32_t k = 0; k < c->n_out; k++)
        if (c->out[k].kind != SLOT_ABSENT)
            return true;
    return false;
}

static status carry_out(call *c, const onnx_op *row, error *err)
{
    status st = OK;
    if (!any_is(c, SLOT_VALUE) && !any_is(c, SLOT_WEIGHT))
        st = row->fold(c, err);
    if (st == OK && !has_result(c))
        st = row->translate(c, err);
    if (c->wrong)
        error_clear(err);
    if (st == OK || c->wrong)
        st = call_check_read(c, err);
    return st == OK ? types_settle(c, err) : st;
}

status call_other(call *c, const char *type, slot **in, int32_t n_in, const int32_t *axis,
                  slot *ret, error *err)
{
    Onnx__AttributeProto *a = arena_alloc(c->im->a, sizeof *a);
    Onnx__NodeProto *n = arena_alloc(c->im->a, sizeof *n);
    onnx__node_proto__init(n);
    onnx__attribute_proto__init(a);
    n->op_type = arena_strdup(c->im->a, type);
    n->input = c->node->input;
    n->output = c->node->output;
    n->attribute = arena_alloc(c->im->a, sizeof *n->attribute);
    n->attribute[0] = a;
    n->n_attribute = axis != NULL;
    a->name = arena_strdup(c->im->a, "axis");
    a->has_i = true;
    a->i = axis ? *axis : 0;
    call other = {.im = c->im,
                  .scope = c->scope,
                  .node = n,
                  .version = OTHER_VERSION,
                  .schema = onnx_schema_find("", type, OTHER_VERSION),
                  .in = in,
                  .n_in = n_in,
                  .out = arena_alloc(c->im->a, sizeof *other.out),
                  .n_out = 1};
    TRY(carry_out(&other, onnx_op_find("", type), err));
    *ret = other.out[0];
    return OK;
}

/* Names what the node made. A result nobody asked for by name is forgotten. */
static status put_results(importer *im, scope *s, const call *c, error *err)
{
    for (int32_t k = 0; k < c->n_out; k++) {
        const char *name = c->node->output[k];
        if (!*name)
            continue;
        slot value = c->out[k];
        if (value.kind == SLOT_ABSENT)
            value.kind = SLOT_UNMADE;
        TRY(scope_put(im, s, name, &value, err));
    }
    return OK;
}

static void refuse_results(call *c)
{
    for (int32_t k = 0; k < c->n_out; k++)
        c->out[k] = (slot){.kind = SLOT_REFUSED};
}

static void refuse_unmade(importer *im, const call *c)
{
    for (int32_t i = 0; i < c->n_in; i++)
        if (c->in[i]->kind == SLOT_UNMADE)
            walk_refuse(
                im, c->node,
                "it reads '%s', an output that its operator does not make here; do without it",
                c->node->input[i]);
}

static status walk_row(importer *im, call *c, error *err)
{
    const onnx_op *row = find_row(im, c->node, c->version);
    refuse_unmade(im, c);
    if (!row || any_is(c, SLOT_REFUSED) || any_is(c, SLOT_UNMADE)) {
        refuse_results(c);
        return OK;
    }
    TRY(call_check(c, err));
    return carry_out(c, row, err);
}

/* A node of an operator of ONNX's. */
static status walk_operator(importer *im, call *c, error *err)
{
    c->schema = find_schema(im, c->scope, c->node, &c->version);
    if (!c->schema) {
        refuse_results(c);
        return OK;
    }
    if (!control_of(c->node))
        return walk_row(im, c, err);
    TRY(call_check(c, err));
    return control_of(c->node)(c, err);
}

/* What cannot be carried out is noted, and what it would have made is refused. */
static status walk_or_refuse(importer *im, call *c, error *err)
{
    error own = ERROR_INIT;
    translate_fn *function = control_function(c);
    status st = function ? function(c, &own) : walk_operator(im, c, &own);
    if (st == OK)
        return OK;
    if (st != E_UNSUPPORTED)
        return FAIL(err, st, "%s", own.text);
    walk_refuse(im, c->node, "%s", own.text);
    refuse_results(c);
    return OK;
}

status walk_step(importer *im, error *err)
{
    if (++im->steps > MOST_STEPS)
        return FAIL(err, E_UNSUPPORTED,
                    "the model has more than %d nodes, those of a loop counted once an iteration",
                    MOST_STEPS);
    return OK;
}

static status walk_node(importer *im, scope *s, const Onnx__NodeProto *n, error *err)
{
    call c = {.im = im, .scope = s, .node = n};
    TRY(walk_step(im, err));
    if (n->n_input > MOST_PORTS || n->n_output > MOST_PORTS)
        return FAIL(err, E_UNSUPPORTED, "it has more than %d inputs or outputs", MOST_PORTS);
    if (n->n_output == 0)
        return OK;
    TRY(find_inputs(im, s, n, &c.in, err));
    c.n_in = (int32_t)n->n_input;
    c.n_out = (int32_t)n->n_output;
    c.out = arena_alloc(im->a, n->n_output * sizeof *c.out);
    c.name = *n->output[0] ? arena_printf(im->a, "%s%s", s->prefix, n->output[0]) : NULL;
    TRY(walk_or_refuse(im, &c, err));
    return put_results(im, s, &c, err);
}

status walk_nodes(importer *im, scope *s, Onnx__NodeProto *const *nodes, size_t n_nodes,
                  const char *const *wanted, size_t n_wanted, error *err)
{
    onnx_order order = {.n = 0};
    TRY(onnx_order_nodes(im->a, nodes, n_nodes, wanted, n_wanted, &order, err));
    for (size_t i = 0; i < order.n; i++) {
        const Onnx__NodeProto *n = nodes[order.nodes[i]];
        TRYF(walk_node(im, s, n, err), err, "%s", NODE(n));
    }
    return OK;
}
