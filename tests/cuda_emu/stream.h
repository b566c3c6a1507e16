/*
 * Streams and events. What is put on a stream waits there until somebody waits for it (or asks a
 * third time whether it is done), and then no more of it runs than has to; with EMU_RUSH other
 * streams run ahead of it as far as nothing holds them. Under the lock of the devices.
 */
#ifndef TEQUIO_TESTS_CUDA_EMU_STREAM_H
#define TEQUIO_TESTS_CUDA_EMU_STREAM_H

#include "cuda_emu/block.h"
#include "cuda_runtime_api.h"

#include <stddef.h>
#include <stdint.h>

enum { EMU_STREAMS = 32 }; /* further ones share their numbers */

/* How many operations of each stream come before something, by order, events and waits. */
typedef struct emu_clock {
    uint32_t of[EMU_STREAMS];
} emu_clock;

/* Of the operation that runs, which is number of[*ret_stream] of that stream. */
const emu_clock *emu_clock_now(int *ret_stream);

/* An error unless there is such a stream, and its device works. */
cudaError_t emu_stream_check(cudaStream_t s);
void emu_stream_push_kernel(cudaStream_t s, const emu_kernel *k);

/* Runs all that is left on the streams of a device, or (-1) of all. */
void emu_streams_finish(int device);
/* Shared memory a block may have at most, on these devices. */
size_t emu_shared_most(void);

#endif
