/*
 * The CPU beside its backend, for `doctor`.
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CPU_CPU_H
#define TEQUIO_BACKEND_CPU_CPU_H

/* The best rate, in operations a second, of a matmul of two large matrices of float32. Allocates;
 * 0 if there is no memory. */
double cpu_peak_flops(int threads);

#endif
