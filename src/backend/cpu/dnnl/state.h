/*
 * What the files of this room share: the only ones that know oneDNN's types.
 * Threads: as shim.h says.
 */
#ifndef TEQUIO_BACKEND_CPU_DNNL_STATE_H
#define TEQUIO_BACKEND_CPU_DNNL_STATE_H

#include "backend/cpu/dnnl/shim.h"
#include "common/base/alloc.h"

#include <oneapi/dnnl/dnnl.h>

struct shim_layout {
    dnnl_memory_desc_t desc;
};

struct shim_primitive {
    shim_primitive *next; /* the shim's list */
    shim *owner;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    int n_args;
    dnnl_exec_arg_t args[SHIM_ROLES];
    int arg_of[SHIM_ROLES];        /* index in args or -1 */
    const void *bound[SHIM_ROLES]; /* by index in args */
    const shim_layout *layout[SHIM_ROLES];
};

struct shim {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t attr; /* scratch memory is the caller's */
    arena *layouts;
    shim_primitive *primitives;
};

/* shim.c: oneDNN's word on `what` in ours */
MUST_USE status shim_check(dnnl_status_t st, const char *what, error *err);

/* layout.c: the shim's; desc may be NULL */
shim_layout *shim_layout_new(shim *s, const dnnl_memory_desc_t *desc);

/* primitive.c */
/* `op` is a descriptor of oneDNN's, `hint` that of the forward primitive or NULL. */
MUST_USE status shim_describe(shim *s, const void *op, dnnl_primitive_desc_t hint, const char *what,
                              dnnl_primitive_desc_t *ret, error *err);
/* Takes over `desc`; the primitive is the shim's. */
MUST_USE status shim_primitive_new(shim *s, dnnl_primitive_desc_t desc, const char *what,
                                   shim_primitive **ret, error *err);
void shim_primitive_free(shim_primitive *p);

#endif
