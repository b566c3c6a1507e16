/* What a backend says of a loaded graph to whoever plans it. Threads: as variant.h. */
#ifndef TEQUIO_EXEC_VARIANT_PLAN_H
#define TEQUIO_EXEC_VARIANT_PLAN_H

#include "exec/variant.h"

typedef struct variant_wishes {
    plan_options plan;      /* of the arrays below */
    size_t *bytes;
    int32_t *runs_at;
    bool *no_inplace, *no_alias;
    graph_val *same_as;
    bool *fixed;            /* as recompute_options */
} variant_wishes;

/* Of a variant whose program is loaded. */
void variant_wishes_init(variant_wishes *w, const variant *v, const flat *layout);
void variant_wishes_fini(variant_wishes *w);

#endif
