#include "backend/cpu/dnnl/state.h"

#include <stdlib.h>

static const int role_arg[SHIM_ROLES] = {
#define X(role, arg) [role] = arg,
    SHIM_ROLE_MAP(X)
#undef X
};

void shim_primitive_free(shim_primitive *p)
{
    for (int i = 0; i < p->n_args; i++)
        dnnl_memory_destroy(p->args[i].memory);
    if (p->primitive)
        dnnl_primitive_destroy(p->primitive);
    if (p->desc)
        dnnl_primitive_desc_destroy(p->desc);
    free(p);
}

/* One memory object for every argument the primitive has. */
static status add_args(shim_primitive *p, error *err)
{
    for (int role = 0; role < SHIM_ROLES; role++) {
        p->arg_of[role] = -1;
        const dnnl_memory_desc_t *desc =
            dnnl_primitive_desc_query_md(p->desc, dnnl_query_exec_arg_md, role_arg[role]);
        if (!desc || desc->ndims == 0)
            continue;
        dnnl_memory_t memory;
        TRY(shim_check(dnnl_memory_create(&memory, desc, p->owner->engine, DNNL_MEMORY_NONE),
                       "memory", err));
        p->layout[role] = shim_layout_new(p->owner, desc);
        p->args[p->n_args] = (dnnl_exec_arg_t){.arg = role_arg[role], .memory = memory};
        p->arg_of[role] = p->n_args++;
    }
    return OK;
}

status shim_primitive_new(shim *s, dnnl_primitive_desc_t desc, const char *what,
                          shim_primitive **ret, error *err)
{
    shim_primitive *p = xcalloc(1, sizeof *p);
    p->owner = s;
    p->desc = desc;
    p->next = s->primitives;
    s->primitives = p;
    TRY(shim_check(dnnl_primitive_create(&p->primitive, desc), what, err));
    TRY(add_args(p, err));
    *ret = p;
    return OK;
}

status shim_describe(shim *s, const void *op, dnnl_primitive_desc_t hint, const char *what,
                     dnnl_primitive_desc_t *ret, error *err)
{
    return shim_check(dnnl_primitive_desc_create(ret, op, s->attr, s->engine, hint), what, err);
}

status shim_reorder(shim *s, const shim_layout *from, const shim_layout *to, shim_primitive **ret,
                    error *err)
{
    dnnl_primitive_desc_t desc;
    TRY(shim_check(dnnl_reorder_primitive_desc_create(&desc, &from->desc, s->engine, &to->desc,
                                                      s->engine, s->attr),
                   "reorder", err));
    return shim_primitive_new(s, desc, "reorder", ret, err);
}

const shim_layout *shim_layout_of(const shim_primitive *p, shim_role role)
{
    return p->layout[role];
}

size_t shim_bytes_of(const shim_primitive *p, shim_role role)
{
    return p->layout[role] ? shim_layout_bytes(p->layout[role]) : 0;
}

/* Setting an address may rewrite a padded layout's zeros, so it is done only on a change. */
status shim_set(shim_primitive *p, shim_role role, const void *address, error *err)
{
    int i = p->arg_of[role];
    if (i < 0 || p->bound[i] == address)
        return OK;
    TRY(shim_check(dnnl_memory_set_data_handle(p->args[i].memory, (void *)(uintptr_t)address),
                   "address", err));
    p->bound[i] = address;
    return OK;
}

status shim_execute(shim_primitive *p, error *err)
{
    return shim_check(dnnl_primitive_execute(p->primitive, p->owner->stream, p->n_args, p->args),
                      "execution", err);
}
