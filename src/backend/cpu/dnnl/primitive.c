#include "backend/cpu/dnnl/state.h"

#include <string.h>

#include <stdlib.h>

static const int role_arg[SHIM_ROLES] = {
#define X(role, arg) [role] = arg,
    SHIM_ROLE_MAP(X)
#undef X
};

void shim_primitive_free(shim_primitive *p)
{
    for (int role = 0; role < SHIM_ROLES; role++)
        if (p->memory[role])
            dnnl_memory_destroy(p->memory[role]);
    if (p->primitive)
        dnnl_primitive_destroy(p->primitive);
    if (p->desc)
        dnnl_primitive_desc_destroy(p->desc);
    free(p);
}

static status add_arg(shim_primitive *p, int role, const_dnnl_memory_desc_t own, error *err)
{
    dnnl_memory_desc_t desc;
    TRY(shim_check(dnnl_memory_desc_clone(&desc, own), "layout", err));
    p->layout[role] = shim_layout_new(p->owner, desc);
    return shim_check(
        dnnl_memory_create(&p->memory[role], desc, p->owner->engine, DNNL_MEMORY_NONE), "memory",
        err);
}

/* One memory object for every argument the primitive has. */
static status add_args(shim_primitive *p, error *err)
{
    for (int role = 0; role < SHIM_ROLES; role++) {
        const_dnnl_memory_desc_t desc =
            dnnl_primitive_desc_query_md(p->desc, dnnl_query_exec_arg_md, role_arg[role]);
        if (desc && dnnl_memory_desc_get_size(desc) > 0)
            TRY(add_arg(p, role, desc, err));
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

status shim_reorder(shim *s, const shim_layout *from, const shim_layout *to, shim_primitive **ret,
                    error *err)
{
    dnnl_primitive_desc_t desc;
    TRY(shim_check(dnnl_reorder_primitive_desc_create(&desc, from->desc, s->engine, to->desc,
                                                      s->engine, s->attr),
                   "reorder", err));
    return shim_primitive_new(s, desc, "reorder", ret, err);
}

bool shim_is_general(const shim_primitive *p)
{
    const char *name = "";
    if (dnnl_primitive_desc_query(p->desc, dnnl_query_impl_info_str, 0, &name) != dnnl_success)
        return false;
    return strncmp(name, "x64:gemm", strlen("x64:gemm")) == 0 || strncmp(name, "gemm", strlen("gemm")) == 0 ||
           strncmp(name, "ref", strlen("ref")) == 0;
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
    if (!p->memory[role] || p->bound[role] == address)
        return OK;
    TRY(shim_check(dnnl_memory_set_data_handle(p->memory[role], (void *)(uintptr_t)address),
                   "address", err));
    if (!p->bound[role])
        p->args[p->n_args++] =
            (dnnl_exec_arg_t){.arg = role_arg[role], .memory = p->memory[role]};
    p->bound[role] = address;
    return OK;
}

status shim_execute(shim_primitive *p, error *err)
{
    return shim_check(dnnl_primitive_execute(p->primitive, p->owner->stream, p->n_args, p->args),
                      "execution", err);
}
