/*
 * What a table knows of a part, shared by the files that make up the table and by nobody else.
 * Threads: as table.h says.
 */
#ifndef TEQUIO_PS_TABLE_ENTRY_H
#define TEQUIO_PS_TABLE_ENTRY_H

#include "optim/update.h"
#include "ps/table.h"

typedef struct entry {
    bool held, live;
    uint64_t awaited; /* vectors of a copy that have not come, as bits; 0: complete */
    int64_t copied;   /* the version they are of */
    int64_t version;  /* -1: none is complete */
    int64_t batches;
    block_pool pool;   /* weights, state and sums of this part */
    block_pool copies; /* where these lie elsewhere: on the host, for cuts */
    span *weights[2]; /* [version & 1] is the newest, the other the one before; like the next */
    loss_scale scales[2];
    span *slots[OPTIM_SLOTS];
    tree_reducer *reducer;             /* NULL when unordered */
    batch_set applied;      /* unordered */
    uint32_t step_slots;    /* 0: no step under way */
    span *root;       /* complete, waiting for the verdict */
    bool summing;           /* an engine is at its norm */
    double norm, last_norm; /* square sums of the root, of the step before */
    int64_t norms_from;     /* the first step they are known of */
} entry;

/* Of a part's square sum: the elements of one tensor in one block of the flat vector's grid of
 * 4096. So it does not depend on who holds the part. */
typedef struct norm_term {
    size_t at, n; /* in the part */
    int32_t tensor;
    double sum;
} norm_term;

struct table {
    table_options o;
    table_hooks hooks;
    size_t n_slots;
    int64_t verdict_step; /* the last one heard; -1: none */
    verdict verdict;
    entry *entries;   /* [n_parts] */
    norm_term *terms; /* [the most that a part has], of the vote at hand */
    double *sums;     /* likewise, as an engine gives them */
    update_span *spans; /* [the most that a part has], as an engine wants them; NULL: there is none */
    int32_t *summing, n_summing; /* [n_live_parts] parts whose norms are awaited, in their order */
};

/* Of the newest version. */
static inline loss_scale entry_scale(const entry *e)
{
    return e->scales[e->version & 1];
}

/* table_update.c */
/* How many a part has; they go into `ret` if that is not NULL. */
size_t entry_terms(const flat *f, int32_t part, norm_term *ret);
/* Squares of the trainable elements, without their scale, which double has room for. Statistics add
 * nothing, but what is not finite among them shows. */
double entry_square_sum(const table *t, int32_t part, const float *grad);
/* The same of an engine, begun; and what came of it, which is waited for. */
MUST_USE status entry_square_sum_begin(const table *t, int32_t part, const float *grad, error *err);
MUST_USE status entry_square_sum_end(const table *t, int32_t part, double *ret, error *err);
/* The newest weights and state, a step further. slots_out may be the entry's own; and so is all of an engine. */
MUST_USE status entry_update(const table *t, int32_t part, float scale, const float *grad, span *out,
                             span *const *slots_out, error *err);

/* table_vote.c: the sum of a step is there, and waits for the verdict. */
MUST_USE status entry_vote(table *t, int32_t part, const float *grad, error *err);

/* table_copy.c: an entry that is held, and awaits every vector; and its end. */
MUST_USE status entry_open(table *t, int32_t part, error *err);
void entry_close(entry *e);

#endif
