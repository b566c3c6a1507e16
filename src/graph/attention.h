/*
 * How the operands of ATTENTION lie in memory: queries, keys and values of every head as matrices
 * [positions, head], whatever form they came in:
 *
 *   [B, S, H * D]        the heads of a position side by side; attributes say how many
 *   [B, H, S, D]         head by head
 *   [B, S, (Hq + 2 Hkv) * D], k and v absent: queries, keys and values of a position side by side
 *
 * With fewer heads for keys than for queries each serves q_heads / kv_heads neighbouring ones.
 * Pure functions.
 */
#ifndef TEQUIO_GRAPH_ATTENTION_H
#define TEQUIO_GRAPH_ATTENTION_H

#include "graph/attrs.h"

/* Elements from one batch, head and position to the next; those of one position are neighbours. */
typedef struct attention_layout {
    int64_t offset, batch, head, position;
} attention_layout;

typedef struct attention_form {
    int64_t batch, q_heads, kv_heads, q_length, k_length;
    int64_t head, v_head; /* numbers a position has in one head */
    attention_layout q, k, v, y;
    graph_shape y_shape;
} attention_form;

/* k and v are NULL for the packed form. The shapes must fit, as the shape rule of ATTENTION made
 * sure; what does not fit is said in `why`, a text of at least 200 bytes, and false returned. */
bool attention_form_of(const attention_attr *a, const graph_shape *q, const graph_shape *k,
                       const graph_shape *v, attention_form *ret, char *why);

enum { ATTENTION_WHY = 200 };

/* What RotaryEmbedding turns: rows of `head` numbers, [batch,heads,length] or [batch,length,heads]. */
typedef struct rotary_form {
    int64_t rows, heads, length, head;
    bool by_head; /* the first of these */
} rotary_form;

/* Of an x that its shape rule took. */
rotary_form rotary_form_of(const rotary_attr *a, const graph_shape *x);

#endif
