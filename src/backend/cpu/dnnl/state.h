/*
 * What the files of this room share: the only ones that know oneDNN's types.
 * Threads: as shim.h says.
 */
#ifndef TEQUIO_BACKEND_CPU_DNNL_STATE_H
#define TEQUIO_BACKEND_CPU_DNNL_STATE_H

#include "backend/cpu/dnnl/shim.h"
#include "common/base/alloc.h"

#include <oneapi/dnnl/dnnl.h>

#if DNNL_VERSION_MAJOR < 3
#error "oneDNN 3.0 or newer is needed: scripts/setup gets one where the system's is older"
#endif

/* oneDNN's descriptor and what it answers when asked; the arrays are the descriptor's own. */
struct shim_layout {
    shim_layout *next; /* the shim's list */
    dnnl_memory_desc_t desc;
    dnnl_data_type_t type;
    int rank;
    const dnnl_dim_t *dims, *padded;
    bool is_any;                          /* left to the primitive */
    bool is_blocked;                      /* strides and blocks say all of the order */
    bool is_offset;                       /* begins behind the address */
    const dnnl_dim_t *strides;            /* from block to block, in elements */
    int n_blocks;                         /* innermost ones */
    const dnnl_dim_t *block, *block_axis; /* [n_blocks] */
};

struct shim_primitive {
    shim_primitive *next; /* the shim's list */
    shim *owner;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    int n_args; /* those whose address was set: oneDNN refuses any that it does not read */
    dnnl_exec_arg_t args[SHIM_ROLES];
    dnnl_memory_t memory[SHIM_ROLES]; /* NULL: it has no such argument */
    const void *bound[SHIM_ROLES];    /* NULL: not in args yet */
    const shim_layout *layout[SHIM_ROLES];
};

struct shim {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t attr; /* scratch memory is the caller's */
    shim_layout *layouts;
    shim_primitive *primitives;
};

/* check.c: oneDNN's word on `what` in ours */
MUST_USE status shim_check(dnnl_status_t st, const char *what, error *err);

/* isa.c: bits of dnnl_cpu_isa_t that oneDNN uses; 0 on processors that are no x86 */
unsigned shim_x86_isa(void);

/* layout.c */
/* Takes over `desc`; the layout is the shim's. */
shim_layout *shim_layout_new(shim *s, dnnl_memory_desc_t desc);
void shim_layout_free(shim_layout *l);

/* primitive.c */
/* Takes over `desc`; the primitive is the shim's. */
MUST_USE status shim_primitive_new(shim *s, dnnl_primitive_desc_t desc, const char *what,
                                   shim_primitive **ret, error *err);
void shim_primitive_free(shim_primitive *p);

#endif
