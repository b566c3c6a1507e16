/*
 * Inside of attention: what forward and backward share. Scores are made in tiles of QUERIES rows
 * and up to KEYS columns, in scratch memory that each member of the team has for itself.
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CPU_ATTENTION_H
#define TEQUIO_BACKEND_CPU_ATTENTION_H

#include "backend/cpu/drop_mask.h"
#include "backend/cpu/program.h"
#include "graph/attention.h"

#include <stdatomic.h>

enum { QUERIES = 64, KEYS = 512 };

typedef struct attention_state {
    attention_form form;
    const attention_attr *attr;
    float scale;
    dtype mask_type;
    int64_t mask_stride[4]; /* elements, by batch, head, query and key; 0: broadcast */
    factor_form factors; /* queries, keys and values; probabilities, where they are multiplied */
    size_t tile, rounded_tile; /* bytes of scratch for one tile of float, and of rounded factors */
    size_t block;              /* and for a block of y's rows, rounded */
} attention_state;

/* One run over one head of queries: matrices [positions, head] with strides of their own. */
typedef struct attention_head {
    const attention_state *s;
    const void *q, *k, *v; /* as s->factors says */
    const void *mask;      /* of this head; NULL: none */
    const drop_mask *bits; /* NULL: no dropout */
    uint64_t first_score;  /* number of the head's first score, for dropout */
    atomic_bool *failed;
} attention_head;

/* A tile: rows first_query .. + n_queries, columns first_key .. + n_keys of the scores. */
typedef struct attention_tile {
    int64_t first_query, n_queries, first_key, n_keys;
    float *scores; /* [n_queries,n_keys] */
    void *rounded; /* for the same, rounded */
} attention_tile;

attention_state *attention_state_new(backend_program *p, const cpu_node *n, int first_in);

/* The operands of head `head` of batch `batch`. */
attention_head attention_head_at(const attention_state *s, const void *q, const void *k,
                                 const void *v, const void *mask, const drop_mask *bits,
                                 int64_t batch, int64_t head, atomic_bool *failed);

/* Rows first .. of q, k or v, which lie as `l` says, as a factor. */
shim_matrix attention_rows(const attention_head *h, const void *x, const attention_layout *l,
                           int64_t first);

/* Dense rows of n numbers as a factor: x itself, or rounded into `rounded`. */
shim_matrix attention_rounded(const attention_head *h, const float *x, int64_t rows, int64_t stride,
                              int64_t n, void *rounded);

/* How many keys the last of these queries looks at. */
int64_t attention_limit(const attention_state *s, int64_t first_query, int64_t n_queries);

/* scale q k^T */
void attention_scores(const attention_head *h, const attention_tile *t);

/* How many keys of the tile row i looks at, after setting what its mask says in them. */
int64_t attention_mask_row(const attention_head *h, const attention_tile *t, int64_t i);

/* The bits of row i of the tile: 1 where its probability is kept. */
void attention_drop_row(const attention_head *h, const attention_tile *t, int64_t i, uint8_t *ret);

/* c = alpha a b + beta c, or h->failed */
void attention_matmul(const attention_head *h, int64_t m, int64_t n, int64_t k, float alpha,
                      shim_matrix a, shim_matrix b, float beta, float *c, int64_t c_stride);

#endif
