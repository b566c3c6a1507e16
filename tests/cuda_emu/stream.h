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

/* What an operation may touch of the allocations these lie in; others it may only read. */
typedef struct emu_range {
    const char *from;
    size_t bytes;
    bool is_written;
} emu_range;
typedef struct emu_ranges emu_ranges;

/* Holds for what this thread puts on streams from now on; n = 0: it may touch anything. */
void emu_ranges_set(const emu_range *list, size_t n);
emu_ranges *emu_ranges_take(void); /* to be kept in an operation; NULL: none are set */
bool emu_ranges_hold(const emu_ranges *r, const void *p, size_t bytes, bool writes);

/* What a stream has to do. */
typedef struct emu_operation {
    enum { EMU_KERNEL, EMU_COPY, EMU_CLEAR, EMU_WAIT, EMU_STAMP } kind;
    emu_kernel kernel; /* with arguments to be freed behind it */
    void *to;
    const void *from;
    size_t bytes;
    int byte;
    struct CUstream_st *on; /* EMU_WAIT: until this many of that stream's are done */
    uint64_t upto;
    struct CUevent_st *event; /* EMU_STAMP: learns the time */
    emu_ranges *ranges;       /* or NULL */
    emu_clock clock;
} emu_operation;

/* The same with arguments of its own; and an end to it. */
emu_operation emu_operation_twin(const emu_operation *o);
void emu_operation_free(emu_operation *o);

/* Of the operation that runs, which is number of[*ret_stream] of that stream. */
const emu_clock *emu_clock_now(int *ret_stream);
int emu_device_now(void); /* its stream's */
/* Whether that operation may touch these bytes. */
bool emu_may_touch(const void *p, size_t bytes, bool writes);

/* How often events were recorded so far, and streams told to wait for one. */
uint64_t emu_event_records(void);
uint64_t emu_event_follows(void);

/* An error unless there is such a stream, and its device works. */
cudaError_t emu_stream_check(cudaStream_t s);
/* Behind what s has to do or, while it is captured, into the graph; takes what belongs to o. */
cudaError_t emu_stream_push(cudaStream_t s, emu_operation o);
/* The host waits for all of s. */
cudaError_t emu_stream_wait(cudaStream_t s);
int emu_stream_device(cudaStream_t s);
/* The graph that takes what is put on s; NULL: none. */
cudaGraph_t *emu_stream_capture(cudaStream_t s);
/* Whether a copy that has not run yet reads some of these bytes. */
bool emu_streams_will_read(const void *p, size_t bytes);
bool emu_streams_will_touch(const void *p, size_t bytes); /* or writes them */

/* Host memory a copy is going to write shows what was read too early; unless a copy in front is yet
 * to read it. */
void emu_copy_spoil(const emu_operation *o);

/* Runs all that is left on the streams of a device, or (-1) of all. */
void emu_streams_finish(int device);
/* Shared memory a block may have at most, on these devices. */
size_t emu_shared_most(void);

#endif
