#include "onnx/control.h"

#include <string.h>

const Onnx__FunctionProto *control_function(const onnx_model *m, const Onnx__NodeProto *n)
{
    for (size_t i = 0; i < m->proto->n_functions; i++) {
        const Onnx__FunctionProto *f = m->proto->functions[i];
        if (strcmp(onnx_text(f->name), onnx_text(n->op_type)) == 0 &&
            strcmp(onnx_text(f->domain), onnx_text(n->domain)) == 0 &&
            strcmp(onnx_text(f->overload), onnx_text(n->overload)) == 0)
            return f;
    }
    return NULL;
}

static const char *prefix_of(const call *c)
{
    const char *name = *onnx_text(c->node->name) ? c->node->name : c->node->output[0];
    return arena_printf(c->im->a, "%s%s/", c->scope->prefix, name);
}

/* What the inner scope calls inside[k] is the call's output k. */
static status take_results(call *c, const scope *inner, const char *const *inside, size_t n,
                           error *err)
{
    for (int32_t k = 0; k < c->n_out && (size_t)k < n; k++) {
        const slot *s = scope_find(inner, inside[k]);
        if (!s && call_wants(c, k))
            return FAIL(err, E_DATA, "its output '%s' is '%s' inside, which nothing makes",
                        c->node->output[k], inside[k]);
        if (s)
            c->out[k] = *s;
    }
    return OK;
}

static status walk_function(call *c, const Onnx__FunctionProto *f, scope *body, error *err)
{
    for (size_t i = 0; i < f->n_input; i++) {
        slot absent = {.kind = SLOT_ABSENT};
        TRY(scope_put(c->im, body, f->input[i], (int32_t)i < c->n_in ? c->in[i] : &absent, err));
    }
    const char *const *wanted = (const char *const *)f->output;
    TRY(walk_nodes(c->im, body, f->node, f->n_node, wanted, f->n_output, err));
    return take_results(c, body, wanted, f->n_output, err);
}

status control_call(call *c, const Onnx__FunctionProto *f, error *err)
{
    if (c->scope->depth > ONNX_NESTING)
        return FAIL(err, E_DATA, "functions call each other more than %d deep, or themselves",
                    ONNX_NESTING);
    scope body;
    scope_init(&body, NULL, prefix_of(c));
    body.opsets = f->opset_import;
    body.n_opsets = f->n_opset_import;
    body.function = f;
    body.caller = c->node;
    body.caller_scope = c->scope;
    body.depth = c->scope->depth + 1;
    status st = walk_function(c, f, &body, err);
    scope_fini(&body);
    return st;
}

bool control_is(const Onnx__NodeProto *n)
{
    static const char *const types[] = {"If", "Loop", "Scan"};
    for (size_t i = 0; !*onnx_text(n->domain) && i < COUNT_OF(types); i++)
        if (strcmp(onnx_text(n->op_type), types[i]) == 0)
            return true;
    return false;
}

static status walk_branch(call *c, const Onnx__GraphProto *g, scope *inner, error *err)
{
    const char **wanted = arena_alloc(c->im->a, (g->n_output + 1) * sizeof *wanted);
    for (size_t i = 0; i < g->n_output; i++)
        wanted[i] = onnx_text(g->output[i]->name);
    TRY(walk_initializers(c->im, inner, g, err));
    TRY(walk_nodes(c->im, inner, g->node, g->n_node, wanted, g->n_output, err));
    return take_results(c, inner, wanted, g->n_output, err);
}

static status refuse(call *c, const char *why)
{
    walk_refuse(c->im, c->node, "%s", why);
    for (int32_t k = 0; k < c->n_out; k++)
        c->out[k] = (slot){.kind = SLOT_REFUSED};
    return OK;
}

status control_walk(call *c, error *err)
{
    if (strcmp(c->node->op_type, "If") != 0)
        return refuse(c, "loops are not supported; an export with fixed lengths has none");
    if (call_has(c, 0) && c->in[0]->kind == SLOT_REFUSED)
        return OK;
    const host_tensor *condition = NULL;
    if (call_has(c, 0))
        TRY(slot_known(c->im, c->in[0], &condition, err));
    if (!condition || condition->n != 1)
        return refuse(c, "its condition depends on data, but must be known before the run");
    const char *name = host_get_int(condition, 0) ? "then_branch" : "else_branch";
    const Onnx__AttributeProto *branch = call_attribute(c, name);
    if (!branch || !branch->g)
        return FAIL(err, E_DATA, "it has no %s", name);
    scope inner;
    scope_init(&inner, c->scope, prefix_of(c));
    status st = walk_branch(c, branch->g, &inner, err);
    scope_fini(&inner);
    return st;
}
