#include "onnx/function.h"

#include "onnx/body.h"
#include "onnx/nesting.h"

#include <string.h>

static const Onnx__FunctionProto *function_of(const onnx_model *m, const Onnx__NodeProto *n)
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

static bool declares(const Onnx__FunctionProto *f, const char *attribute)
{
    for (size_t i = 0; i < f->n_attribute; i++)
        if (strcmp(f->attribute[i], attribute) == 0)
            return true;
    for (size_t i = 0; i < f->n_attribute_proto; i++)
        if (strcmp(onnx_text(f->attribute_proto[i]->name), attribute) == 0)
            return true;
    return false;
}

/* A call gives a function what it declares, and nothing beyond. */
static status check_call(const call *c, const Onnx__FunctionProto *f, error *err)
{
    if ((size_t)c->n_in > f->n_input || (size_t)c->n_out > f->n_output)
        return FAIL(err, E_DATA, "it has %d inputs and %d outputs, the function %zu and %zu",
                    (int)c->n_in, (int)c->n_out, f->n_input, f->n_output);
    for (size_t i = 0; i < c->node->n_attribute; i++)
        if (!declares(f, onnx_text(c->node->attribute[i]->name)))
            return FAIL(err, E_DATA, "its attribute '%s' is none that the function has",
                        onnx_text(c->node->attribute[i]->name));
    return OK;
}

bool function_is_called(const call *c)
{
    return function_of(c->im->m, c->node) != NULL;
}

status function_walk(call *c, error *err)
{
    const Onnx__FunctionProto *f = function_of(c->im->m, c->node);
    TRY(check_call(c, f, err));
    if (c->scope->depth > ONNX_NESTING)
        return FAIL(err, E_DATA, "functions call each other more than %d deep, or themselves",
                    ONNX_NESTING);
    scope body;
    scope_init(&body, NULL, body_prefix(c));
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
