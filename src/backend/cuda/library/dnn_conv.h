/*
 * Convolutions and their gradients as graphs of cuDNN. Operands lie as the task says, channel by
 * channel or with their channels last; sums are float32's. What is made of factors in half
 * precision may be float32, and may have a bias added: both are done with the sum, before it is
 * rounded.
 *
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CUDA_LIBRARY_DNN_CONV_H
#define TEQUIO_BACKEND_CUDA_LIBRARY_DNN_CONV_H

#include "backend/cuda/kernels/conv.h"
#include "backend/cuda/library/dnn.h"

/* The numbers of a graph's operands, the bias behind them. */
typedef enum conv_part { PART_X, PART_W, PART_Y, PARTS } conv_part;

/* Makes one part from the other two; of the task all but addresses, alpha, and how work is cut.
 * E_UNSUPPORTED with the reason if cuDNN is not there or has no engine that will do. */
MUST_USE status dnn_conv_plan(backend_program *p, const conv_task *t, conv_part makes,
                              dnn_graph **ret, error *err);

#endif
