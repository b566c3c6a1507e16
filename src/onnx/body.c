#include "onnx/body.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

status body_find(call *c, const char *attribute, const Onnx__GraphProto **ret, error *err)
{
    const Onnx__AttributeProto *a = call_attribute(c, attribute);
    if (!a || !a->g)
        return FAIL(err, E_DATA, "it has no %s", attribute);
    *ret = a->g;
    return OK;
}

const char *body_prefix(const call *c)
{
    const char *name = *onnx_text(c->node->name) ? c->node->name : c->node->output[0];
    return arena_printf(c->im->a, "%s%s/", c->scope->prefix, name);
}

const char *body_prefix_of_turn(const call *c, int64_t turn)
{
    return arena_printf(c->im->a, "%s%" PRId64 "/", body_prefix(c), turn);
}

status body_walk(call *c, const Onnx__GraphProto *g, scope *inner, size_t first, error *err)
{
    const char **wanted = arena_alloc(c->im->a, (g->n_output + 1) * sizeof *wanted);
    size_t n = 0;
    for (size_t i = first; i < g->n_output; i++)
        wanted[n++] = onnx_text(g->output[i]->name);
    TRY(walk_initializers(c->im, inner, g, err));
    return walk_nodes(c->im, inner, g->node, g->n_node, wanted, n, err);
}

status body_result(const scope *inner, const char *name, const slot **ret, error *err)
{
    *ret = scope_find(inner, name);
    return *ret ? OK : FAIL(err, E_DATA, "its body gives '%s', which nothing makes", name);
}

status body_refuse(call *c, const char *format, ...)
{
    char why[400];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    walk_refuse(c->im, c->node, "%s", why);
    for (int32_t k = 0; k < c->n_out; k++)
        c->out[k] = (slot){.kind = SLOT_REFUSED};
    return OK;
}
