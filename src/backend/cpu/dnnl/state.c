#include "backend/cpu/dnnl/state.h"

#include <stdio.h>
#include <stdlib.h>

static status create_attr(shim *s, error *err)
{
    TRY(shim_check(dnnl_primitive_attr_create(&s->attr), "attribute", err));
    return shim_check(dnnl_primitive_attr_set_scratchpad_mode(s->attr, dnnl_scratchpad_mode_user),
                      "attribute", err);
}

status shim_create(shim **ret, error *err)
{
    shim *s = xcalloc(1, sizeof *s);
    status st;
    TRY_OUT(st, shim_check(dnnl_engine_create(&s->engine, dnnl_cpu, 0), "CPU engine", err));
    TRY_OUT(st, shim_check(dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags),
                           "stream", err));
    TRY_OUT(st, create_attr(s, err));
    *ret = s;
    return OK;
out:
    shim_destroy(&s);
    return st;
}

void shim_destroy(shim **s)
{
    shim *d = *s;
    if (!d)
        return;
    while (d->primitives) {
        shim_primitive *p = d->primitives;
        d->primitives = p->next;
        shim_primitive_free(p);
    }
    while (d->layouts) {
        shim_layout *l = d->layouts;
        d->layouts = l->next;
        shim_layout_free(l);
    }
    if (d->attr)
        dnnl_primitive_attr_destroy(d->attr);
    if (d->stream)
        dnnl_stream_destroy(d->stream);
    if (d->engine)
        dnnl_engine_destroy(d->engine);
    free(d);
    *s = NULL;
}

void shim_version(char *ret, size_t bytes)
{
    const dnnl_version_t *v = dnnl_version();
    snprintf(ret, bytes, "%d.%d.%d", v->major, v->minor, v->patch);
}
