/*
 * What loading decided, for tests and for `doctor`: the CPU backend's programs opened up.
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CPU_CPU_H
#define TEQUIO_BACKEND_CPU_CPU_H

#include "backend/backend.h"

/* Inputs and outputs of the node that are reordered at every run: around its kernel, or because an
 * alias operator met a blocked input. */
int cpu_node_reorders(const backend_program *p, int32_t node);

/* The node's work is done by the node that makes its input. */
bool cpu_node_is_fused(const backend_program *p, int32_t node);

/* The value lies in an order of oneDNN's own. */
bool cpu_value_is_blocked(const backend_program *p, graph_val v);

/* The best rate, in operations a second, of a matmul of two large matrices of float32. Allocates;
 * 0 if there is no memory. */
double cpu_peak_flops(int threads);

#endif
