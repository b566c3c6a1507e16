/*
 * A box of elements from one order of axes to another, as move.c plans it.
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CUDA_PLAN_MOVE_H
#define TEQUIO_BACKEND_CUDA_PLAN_MOVE_H

#include "backend/cuda/kernels/move.h"

/* In the widest pieces that strides allow. Axes as for launch_move; both sides begin where values do. */
void cuda_move(cuda_stream stream, const axes *over, dtype t, void *to, const void *from);

#endif
