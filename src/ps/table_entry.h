/*
 * What a table knows of a part, shared by the files that make up the table and by nobody else.
 * Threads: as table.h says.
 */
#ifndef TEQUIO_PS_TABLE_ENTRY_H
#define TEQUIO_PS_TABLE_ENTRY_H

#include "optim/update.h"
#include "optim/whole.h"
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
    tree_reducer *reducer;  /* NULL where a unit is a batch */
    batch_set applied;      /* the units that made its version */
    int64_t unit;           /* under way, or the last one; -1: none */
    uint32_t step_slots;    /* 0: no step under way */
    span *root;       /* complete, waiting for the verdict */
    bool summing;           /* its norm is being computed */
    double norm, last_norm; /* square sums of the root, of the step before */
    int64_t norms_from;     /* the first step they are known of */
} entry;

struct table {
    table_options o;
    table_hooks hooks;
    size_t n_slots;
    int64_t verdict_step; /* the last one heard; -1: none */
    verdict verdict;
    entry *entries;   /* [n_parts] */
    part_optimizer *optimizer;  /* the store's, or... */
    part_optimizer *own;        /* ...the server's threads; NULL: the store has one */
    double *terms;              /* [the most that a part has] of a square sum: what the elements of one tensor
                                 * in one block of the flat vector's grid of 4096 give, so that it does not
                                 * depend on who holds the part */
    int32_t *tensors;           /* likewise: which tensor */
    optim_group *groups;        /* [n_groups] */
    update *rules;              /* [2 n_groups] of a step: rule_of */
    update_shape *shapes;       /* of its spans, where there are whole rules */
    whole_rule *whole_rules;    /* likewise, instead, where the optimizer needs tensors whole; NULL */
    bool *is_made;              /* likewise: what spans of the part ask for */
    update_span *spans;         /* [the most that a part has] */
    int32_t *summing, n_summing; /* [n_live_parts] parts whose norms are awaited, in their order */
};

/* Of the newest version. */
static inline loss_scale entry_scale(const entry *e)
{
    return e->scales[e->version & 1];
}

/* Where it lies in the part. */
static inline update_span entry_span(const flat *f, int32_t part, const part_segment *s)
{
    return (update_span){.first = (uint32_t)(s->at - f->parts[part].begin), .n = (uint32_t)s->n};
}

/* table_host.c: the server's threads, which are kept; NULL: its own alone. For sums of so many terms; `whole` moves in,
 * NULL: no part has spans that ask for it. */
part_optimizer *host_optimizer_create(thread_pool *threads, size_t most_terms, whole_step *whole);
void host_optimizer_destroy(part_optimizer **o);

/* table_vote.c */
/* How many terms a part's square sum has; their tensors go into `ret_tensors` if that is not NULL. */
size_t entry_terms(const flat *f, int32_t part, int32_t *ret_tensors);
/* The sum of a step is there, and waits for the verdict. */
MUST_USE status entry_vote(table *t, int32_t part, const float *grad, error *err);

/* table_copy.c: an entry that is held, and awaits every vector; and its end. */
MUST_USE status entry_open(table *t, int32_t part, error *err);
void entry_close(entry *e);

#endif
