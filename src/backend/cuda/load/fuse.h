/*
 * Groups of nodes whose work one kernel does, found at load by pattern, before anything is planned:
 *
 *     chain      operators of one element each, one behind the other (kernels/chain.h)
 *     in front   a chain whose last value is what a row's normalisation reads: the residual's Add and the
 *                dropout before it; or the gradients that a BatchNormalization's gradient reads: the
 *                gradients' Add and Relu's gradient
 *     Relu       whose gradient stands between it and that of the BatchNormalization before it: the signs it
 *                looks at are made again of what the norm's gradient reads anyway
 *     averages   of a batch's mean and variance: the shares that go into the moving ones, which backward makes
 *                beside that norm's gradient
 *     behind     a chain that begins with what a normalisation makes: Add and Relu behind a
 *                BatchNormalization, the gradients' Add behind that of a LayerNormalization
 *     an end     what a matmul puts its sums through: a bias, Relu, Gelu, or a gradient of those two, where the
 *                way it is multiplied has that (matmul.h)
 *     a loss     its gradient, and who judges the same scores: one reading of them for all
 *
 * The patterns are frozen: no GPU has shown yet what any of them saves, and none is added, nor made more
 * particular, without a measurement. TEQUIO_CUDA_FUSION=0 does without, with the same bits but for ends.
 *
 * A group runs at the turn of its last node, so nobody else may read before what it makes: every
 * other reader of its values stands behind that node. Values that only the group reads take no
 * memory, the others are stored as ever; what is computed has the bits of the kernels alone, but
 * that a matmul's end reads sums that were not rounded to halves before, and that cuBLASLt's Gelu
 * has its own.
 *
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CUDA_LOAD_FUSE_H
#define TEQUIO_BACKEND_CUDA_LOAD_FUSE_H

#include "backend/cuda/kernels/chain.h"
#include "backend/cuda/program.h"

/* An operator of one element, and by which of its inputs the value before comes in. */
typedef struct fused_step {
    int32_t node, slot;
} fused_step;

typedef struct fused_steps {
    int32_t n;
    fused_step at[CHAIN_STEPS];
} fused_steps;

struct cuda_group {
    int32_t first, last;        /* nodes */
    int32_t n_nodes;            /* views among them too */
    int32_t spine; /* the node they are around, a matmul perhaps; GRAPH_NONE: one chain, `before` */
    int32_t relu_of;            /* the norm of the Relu whose gradient alone is in front; or GRAPH_NONE */
    int32_t gradients, accuracy; /* of a loss: its gradient, who judges its scores; or GRAPH_NONE */
    int32_t shares[2];          /* of a norm's gradient: products of its mean, and of its variance; or
                                 * GRAPH_NONE */
    fused_steps before, behind;
    graph_val held;             /* what it makes at its end; GRAPH_NONE: it takes no more */
};

/* Fills p->group and p->is_fused. */
void cuda_fuse(backend_program *p);

/* A group of that node alone, in the program's arena. */
cuda_group *cuda_group_new(backend_program *p, int32_t node);
void cuda_group_add(backend_program *p, cuda_group *group, int32_t node);

/* Those around losses, for cuda_fuse; fuse_loss.c */
void cuda_fuse_losses(backend_program *p);

/* Which row a node is: of unary_math.def, with its attributes; of binary_math.def's FLOAT and POWER; of
 * its CHOICE. */
unary_function cuda_unary_of(const graph_node *n, float *ret_p, float *ret_q);
binary_function cuda_binary_of(const graph *g, const graph_node *n);
choice_function cuda_choice_of(graph_op op);

/* Whether BatchNormalization, or its gradient, finds its channels last; plan/batch_norm.c. */
bool cuda_norm_is_channels_last(const cuda_node *n);

/* --- chains of a group, plan/chain.c --- */

struct cuda_chain {
    launch_chain_call call;     /* all but addresses */
    int source;                 /* these by their places in the call's in and out; -1: none */
    struct chain_places {
        int u, v, batch, y, mask;
    } at[CHAIN_STEPS];
};

/* The node as a step whose number comes in by that input: all but addresses and how operands are stored;
 * false: it is none. */
bool cuda_chain_step(const backend_program *p, int32_t node, int32_t slot, chain_step *ret);

/* Whether it can be one as it is stored; `light`: in the kernel of a normalisation. */
bool cuda_chain_takes(const backend_program *p, int32_t node, int32_t slot, bool light);

/* Whether the matmul can end with these steps. `is_seen`: others read what the last one reads.
 * plan/gemm.c */
bool cuda_matmul_takes(backend_program *p, int32_t node, const fused_steps *steps, bool is_seen);

/* Values that a chain reads, and writes, at most. */
enum { CHAIN_READS = 1 + 2 * CHAIN_STEPS, CHAIN_WRITES = 2 * CHAIN_STEPS };

/* Adds what the steps read and write to the node's reads and writes; NULL without any. `has_source`: the
 * chain reads what it begins with too. */
const cuda_chain *cuda_chain_plan(backend_program *p, cuda_node *n, const fused_steps *steps,
                                  bool has_source);

/* The chain with its addresses, in `call`; NULL for none. */
const launch_chain_call *cuda_chain_at(const cuda_chain *chain, const cuda_call *c,
                                       launch_chain_call *call);

#endif
