/*
 * Muon (Jordan et al. 2024; torch.optim.Muon): a matrix moves along the orthogonal factor of its momentum, which five
 * or so steps of a polynomial come near to (Newton and Schulz). Products are summed in float32 in the order of the
 * inner axis, so bits depend on the shape alone; PyTorch's are in bfloat16.
 * Threads: pure functions, as many at once as there are rooms.
 */
#ifndef TEQUIO_OPTIM_MUON_H
#define TEQUIO_OPTIM_MUON_H

#include <stddef.h>
#include <stdint.h>

/* Floats of room for each element of a matrix. */
enum { MUON_ROOM = 5 };

/* x [rows, columns] becomes nearly orthogonal; `room` has MUON_ROOM times as many floats. */
void muon_orthogonalise(float *x, int64_t rows, int64_t columns, int64_t steps, double eps, float *room);

#endif
