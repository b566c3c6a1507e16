/*
 * Tables for tests: a flat vector of a few parts, gradients that are a pure function of (step,
 * slot, element), and what one process makes of them by plain recursion.
 */
#ifndef TEQUIO_TESTS_UNIT_PS_SUPPORT_TABLE_H
#define TEQUIO_TESTS_UNIT_PS_SUPPORT_TABLE_H

#include "ps/table.h"

typedef struct shape {
    flat *flat;
    steps steps;
    optim optim;
    lr_sequence rates;
    float clip_value;
    bool votes;
    loss_scale_rule scaling;
    float factor; /* what is handed to tables is multiplied by it; 0: by 1 */
    schedule schedule;
    int64_t total;    /* units */
    thread_pool *thread_pool; /* of the tables */
    part_store *store; /* NULL: the host; likewise, and of what they are handed */
} shape;

shape shape_small(int64_t per_step); /* one live part */
shape shape_large(int64_t per_step); /* live parts, state, frozen parts */
shape shape_wide(int64_t per_step);  /* a live part that is updated in several pieces */
void shape_fini(shape *s);

/* The gradient of a node of `step`, for the whole of `part`: the recursion over its slots. */
void shape_node(const shape *s, int32_t part, int64_t step, tree_node node, float *ret);

/* What one process holds. */
typedef struct whole {
    const shape *shape;
    int64_t version, skipped;
    float *weights, *slots[OPTIM_SLOTS]; /* [flat->n_elements] */
} whole;

enum { SEED = 77 };

whole whole_make(const shape *s);
void whole_fini(whole *w);
void whole_step(whole *w, float scale);
void whole_skip(whole *w); /* a step that moves nothing */
/* The same with the gradient of any step. */
void whole_apply(whole *w, int64_t step, float scale);

/* Blocks handed to a table; every one must come back. */
span *hand(const shape *s, int32_t part, int64_t step, tree_node node, bool writable);
span *hand_zeros(size_t n);
size_t hands_out(void);

/* Servers that hold the parts among them. */
enum { SERVERS_MAX = 4 };
typedef struct servers {
    const shape *shape;
    int32_t n;
    int32_t *placement;
    table *tables[SERVERS_MAX];
    table_hooks hooks;
} servers;

servers servers_make(const shape *s, int32_t n, const table_hooks *hooks, int64_t step,
                     const checkpoint *restore);
/* From another loss scale than the first. */
servers servers_make_scaled(const shape *s, int32_t n, const table_hooks *hooks, int64_t step,
                            const checkpoint *restore, loss_scale scale);
void servers_fini(servers *v);

/* Pushes all slots of `step` as single leaves to whoever holds the part. */
void servers_push_step(servers *v, int32_t part, int64_t step);
void servers_push_all(servers *v, int64_t step);

/* Bits of weights and state of every part held, against one process. */
void servers_check(const servers *v, const whole *w);

/* Hooks that do nothing. */
extern const table_hooks quiet_hooks;

#endif
