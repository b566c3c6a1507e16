/*
 * How fast a device multiplies: the rate that a model's FLOPs are held against. Square matrices of
 * normal numbers are multiplied by the kernel that training would take, in the same precision;
 * sides double from 256 to 8192 until a product takes 2 ms or memory ends, and the best rate of all
 * sides counts, each over a burst of 50 ms. On a GPU its own clock measures.
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_CLI_BENCH_MATMUL_H
#define TEQUIO_CLI_BENCH_MATMUL_H

#include "backend/registry.h"
#include "graph/precision.h"

/* FLOPs a second, two for each multiply-add. */
MUST_USE status matmul_rate(const backend_choice *on, graph_precision precision, double *ret,
                            error *err);

#endif
