/*
 * Plan functions: each looks at the shapes and attributes of a node of its family and chooses what
 * computes it.
 *
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CUDA_PLAN_PLAN_H
#define TEQUIO_BACKEND_CUDA_PLAN_PLAN_H

#include "backend/cuda/program.h"

/* Chooses body, state and scratch. E_UNSUPPORTED with the reason if there is no kernel. */
typedef status (*cuda_plan)(backend_program *p, cuda_node *n, error *err);

/* By operator; NULL: there is no kernel for it. */
extern const cuda_plan cuda_plan_of[OP_COUNT];

/* Whether it has an operand without elements and makes elements whose value that alone decides;
 * then cuda_plan_empty is its plan function. All other plan functions take such operands
 * themselves. */
bool cuda_node_is_empty(const cuda_node *n);

/* Plan functions, by file */
MUST_USE status cuda_plan_accuracy(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_along(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_attention(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_attention_bwd(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_batch_norm(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_batch_norm_bwd(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_binary(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_cast(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_chain(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_compare(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_conv(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_conv_bwd_data(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_conv_bwd_weights(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_copy(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_dropout(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_empty(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_gather(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_gather_bwd(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_group_norm(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_loss(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_loss_bwd(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_lrn(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_pool(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_product(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_random(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_recurrent(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_reduce(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_reduce_prod_bwd(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_roi_align(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_rotary(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_row_norm(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_row_norm_bwd(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_scatter(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_softmax(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_to_half(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_top_k(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_concat(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_move(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_one_hot(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_reverse_sequence(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_slice_bwd(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_trilu(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_grid_sample(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_grid_sample_bwd(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_pad(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_resample(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_unary(backend_program *p, cuda_node *n, error *err);
MUST_USE status cuda_plan_where(backend_program *p, cuda_node *n, error *err);

#endif
