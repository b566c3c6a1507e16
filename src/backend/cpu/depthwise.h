/*
 * The gradient of weights of a convolution in which every channel has a kernel of its own, where oneDNN has none made
 * for it. Threads: as program.h.
 */
#ifndef TEQUIO_BACKEND_CPU_DEPTHWISE_H
#define TEQUIO_BACKEND_CPU_DEPTHWISE_H

#include "backend/cpu/program.h"

/* Plans the node over x and dy in these layouts, which name channels in blocks, and plain results. False if it is none
 * of these, or lies otherwise. */
bool depthwise_plan_weights(cpu_node *n, const shim_layout *x, const shim_layout *dy);

#endif
