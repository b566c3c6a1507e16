/*
 * What attention.c knows of attention or a gradient of it, for the ways there are to compute it.
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CUDA_PLAN_ATTENTION_H
#define TEQUIO_BACKEND_CUDA_PLAN_ATTENTION_H

#include "backend/cuda/library/dnn_attention.h"
#include "graph/attention.h"

enum { ATTENTION_GRADIENTS = 3 }; /* of queries, keys and values */

/* cuDNN reads and writes halves: of a value that is stored otherwise a copy in the scratch. */
typedef struct half_copy {
    int64_t elements; /* 0: there is none */
    size_t at;
} half_copy;

typedef struct attention_state {
    attention_form form;
    launch_attention launch; /* without addresses */
    launch_dropout drop;     /* likewise */
    dnn_graph *dnn;          /* NULL: our kernels */
    dnn_attention asked;     /* of cuDNN, likewise; the rest is for it alone */
    int64_t batch_of_run;    /* backward: so much of the batch at a time */
    half_copy y, dy, gradients[ATTENTION_GRADIENTS];
    int64_t n_bias;          /* numbers of the mask */
    size_t bias_at, seed_at; /* in the scratch */
    size_t dnn_scratch;      /* where cuDNN's begins */
} attention_state;

/* --- attention_operands.c --- */

/* Bytes of an element. */
size_t attention_bytes_of(launch_type t);

/* With addresses; operands stand among the inputs from `first` on: q, k, v, mask, batch id. Packed keys and
 * values are in the queries' value. */
launch_attention attention_launch_of(const cuda_node *n, const cuda_call *c, int first);
/* gradients[i] is where the gradient of operand i begins, of elements of so many bytes. */
launch_attention_bwd attention_bwd_of(const cuda_node *n, const cuda_call *c, void *const gradients[],
                                      size_t bytes);

/* So much more scratch; returns where it begins. */
size_t attention_reserve(cuda_node *n, size_t bytes);

/* --- attention.c --- */

/* Of attention or its gradient: has cuDNN asked for what its plan function will, as cuda_conv_ask. */
void cuda_attention_ask(cuda_node *n);

/* --- attention_dnn.c --- */

/* The same of a node whose state is s. */
void attention_ask_dnn(const cuda_node *n, attention_state *s);
/* By cuDNN, of a node whose state is s; leaves s->dnn NULL where our kernels have to do it. */
MUST_USE status attention_plan_dnn(cuda_node *n, attention_state *s);

#endif
