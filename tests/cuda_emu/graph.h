/*
 * Graphs: what is put on a stream while it is captured, to be launched as often as one likes. As
 * strict as CUDA in the mode "thread local": what a graph cannot hold, and what might wait for the
 * device, spoils the captures of the thread that does it. Stricter than CUDA, a capture keeps to
 * its stream: events are not taken in, and no other stream can join. Under the lock of the devices.
 */
#ifndef TEQUIO_TESTS_CUDA_EMU_GRAPH_H
#define TEQUIO_TESTS_CUDA_EMU_GRAPH_H

#include "cuda_emu/stream.h"

/* Takes the operation in, and on success what belongs to it. */
cudaError_t emu_graph_add(cudaGraph_t g, const emu_operation *o);
/* The capture has failed; the error to say so. */
cudaError_t emu_graph_spoil(cudaGraph_t g);
/* The same for all captures of this thread; cudaSuccess if there are none. */
cudaError_t emu_graphs_forbid(void);

#endif
