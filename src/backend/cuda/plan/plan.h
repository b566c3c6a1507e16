/*
 * Plan functions: each looks at the shapes and attributes of a node of its family and chooses what
 * computes it.
 *
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CUDA_PLAN_PLAN_H
#define TEQUIO_BACKEND_CUDA_PLAN_PLAN_H

#include "backend/cuda/program.h"

/* Chooses launch or body, state and scratch. E_UNSUPPORTED with the reason, in n->err, if there is no
 * kernel. */
typedef status (*cuda_plan)(cuda_node *n);

/* By operator. */
extern const cuda_plan cuda_plan_of[OP_COUNT];

/* Whether it has an operand without elements and makes elements whose value that alone decides;
 * then cuda_plan_empty is its plan function. All other plan functions take such operands
 * themselves. */
bool cuda_node_is_empty(const cuda_node *n);

/* The plan functions of ops.def's families, and those of nodes in one kernel and of empty ones. */
#define OP(ID, name, fewest, most, outputs, traits, family, ...)                                   \
    MUST_USE status cuda_plan_##family(cuda_node *n);
#include "graph/ops.def"
MUST_USE status cuda_plan_chain(cuda_node *n);
MUST_USE status cuda_plan_empty(cuda_node *n);

#endif
