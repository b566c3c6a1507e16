#include "cuda_emu/stream.h"
#include "cuda_emu/block.h"
#include "cuda_emu/machine.h"
#include "cuda_emu/memory.h"
#include "cuda_emu/watch.h"

#include <stdlib.h>
#include <string.h>

typedef struct operation {
    enum { KERNEL, COPY, CLEAR, WAIT } kind;
    emu_kernel kernel;
    void *to;
    const void *from;
    size_t bytes;
    int byte;
    struct CUstream_st *on; /* WAIT: until this many of that stream's are done */
    uint64_t upto;
    emu_clock clock;
} operation;

struct CUstream_st {
    struct CUstream_st *next;
    bool is_live; /* else: was destroyed, and may be had again */
    bool is_busy; /* one of its operations runs, or waits for another stream */
    int device;
    operation *list; /* from number `first` on */
    size_t n, room;
    uint64_t first, done;
    unsigned asked;
    int number;
    emu_clock clock; /* of what was put there last */
};

struct CUevent_st {
    cudaStream_t on; /* NULL: never recorded */
    uint64_t upto;
    unsigned asked;
    emu_clock clock;
};

enum { ASKED_ENOUGH = 3 };

static cudaStream_t streams;
static int n_streams;
static emu_clock host_clock; /* what the host has waited for */
static const operation *current;
static int current_stream;
static uint64_t n_pageable, n_kernels[EMU_DEVICES_MOST];

uint64_t emu_pageable_copies(void)
{
    return n_pageable;
}

static uint64_t end_of(const struct CUstream_st *s)
{
    return s->first + s->n;
}

static bool is_done(const operation *o)
{
    return o->on->done >= o->upto;
}

/* --- what comes before what --- */

static void join(emu_clock *a, const emu_clock *b)
{
    for (int i = 0; i < EMU_STREAMS; i++)
        if (b->of[i] > a->of[i])
            a->of[i] = b->of[i];
}

const emu_clock *emu_clock_now(int *ret_stream)
{
    *ret_stream = current_stream;
    return &current->clock;
}

/* --- running --- */

static void run_kernel(int device, const operation *o)
{
    if (++n_kernels[device] == emu_machine_get()->fail_at)
        emu_break(device, cudaErrorIllegalAddress);
    else
        emu_kernel_run(&o->kernel);
}

static void run_copy(const operation *o)
{
    if (o->kind == COPY)
        emu_touch(o->from, o->bytes, false);
    emu_touch(o->to, o->bytes, true);
    if (o->kind == COPY)
        memmove(o->to, o->from, o->bytes);
    else
        memset(o->to, o->byte, o->bytes);
}

/* The first operation that is left of s. */
static void run_one(cudaStream_t s)
{
    operation *o = &s->list[s->done - s->first];
    if (emu_broken(s->device) == cudaSuccess && o->kind != WAIT) {
        current = o;
        current_stream = s->number;
        emu_memory_open();
        if (o->kind == KERNEL)
            run_kernel(s->device, o);
        else
            run_copy(o);
        emu_memory_check();
        emu_memory_close();
    }
    free(o->kernel.arguments);
    if (++s->done == end_of(s)) {
        s->first = s->done;
        s->n = 0;
    }
}

/* All other streams go on until each is at its end or waits for what has not run. */
static void rush(void)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (cudaStream_t s = streams; s; s = s->next)
            while (!s->is_busy && s->done < end_of(s)) {
                const operation *o = &s->list[s->done - s->first];
                if (o->kind == WAIT && !is_done(o))
                    break;
                run_one(s);
                moved = true;
            }
    }
}

static void force(cudaStream_t s, uint64_t upto)
{
    s->is_busy = true;
    while (s->done < upto) {
        if (emu_schedule() & EMU_RUSH)
            rush();
        const operation *o = &s->list[s->done - s->first];
        if (o->kind == WAIT && !is_done(o))
            force(o->on, o->upto);
        run_one(s);
    }
    s->is_busy = false;
}

/* The host waits. */
static void wait_for(cudaStream_t s, uint64_t upto, const emu_clock *clock)
{
    force(s, upto);
    join(&host_clock, clock);
}

void emu_streams_finish(int device)
{
    for (cudaStream_t s = streams; s; s = s->next)
        if (device < 0 || s->device == device)
            wait_for(s, end_of(s), &s->clock);
}

cudaError_t cudaDeviceSynchronize(void)
{
    emu_lock();
    emu_streams_finish(emu_device());
    cudaError_t e = emu_broken(emu_device());
    emu_unlock();
    return emu_said(e);
}

/* --- streams --- */

cudaError_t emu_stream_check(cudaStream_t s)
{
    if (!s)
        emu_fault("work for the default stream, which makes all others wait; name a stream");
    if (!s || !s->is_live)
        return cudaErrorInvalidResourceHandle;
    return emu_broken(s->device);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *ret_least, int *ret_greatest)
{
    *ret_least = 0;
    *ret_greatest = -5;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *ret, unsigned flags)
{
    if (flags != cudaStreamNonBlocking)
        emu_fault("a stream that blocks the default stream; say cudaStreamNonBlocking");
    emu_lock();
    cudaError_t e = emu_broken(emu_device());
    cudaStream_t s = streams;
    while (s && s->is_live)
        s = s->next;
    if (e == cudaSuccess && !s) {
        s = calloc(1, sizeof *s);
        if (s) {
            s->next = streams;
            s->number = n_streams++ % EMU_STREAMS;
            streams = s;
        } else {
            e = cudaErrorMemoryAllocation;
        }
    }
    if (e == cudaSuccess) {
        s->is_live = true;
        s->device = emu_device();
        *ret = s;
    }
    emu_unlock();
    return emu_said(e);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *ret, unsigned flags, int priority)
{
    (void)priority;
    return cudaStreamCreateWithFlags(ret, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    emu_lock();
    cudaError_t e = s && s->is_live ? cudaSuccess : cudaErrorInvalidResourceHandle;
    if (e == cudaSuccess) {
        wait_for(s, end_of(s), &s->clock);
        s->is_live = false;
        free(s->list);
        s->list = NULL;
        s->room = 0;
    }
    emu_unlock();
    return emu_said(e);
}

/* Whether number `upto` of s is done; makes it so when asked often enough. */
static cudaError_t query(cudaStream_t s, uint64_t upto, unsigned *asked, const emu_clock *clock)
{
    if (s->done < upto && ++*asked < ASKED_ENOUGH)
        return cudaErrorNotReady;
    *asked = 0;
    wait_for(s, upto, clock);
    return emu_broken(s->device);
}

cudaError_t cudaStreamQuery(cudaStream_t s)
{
    emu_lock();
    cudaError_t e = emu_stream_check(s);
    if (e == cudaSuccess)
        e = query(s, end_of(s), &s->asked, &s->clock);
    emu_unlock();
    return emu_said(e);
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    emu_lock();
    cudaError_t e = emu_stream_check(s);
    if (e == cudaSuccess) {
        wait_for(s, end_of(s), &s->clock);
        e = emu_broken(s->device);
    }
    emu_unlock();
    return emu_said(e);
}

/* --- events --- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret, unsigned flags)
{
    (void)flags;
    cudaEvent_t e = calloc(1, sizeof *e);
    if (!e)
        return emu_said(cudaErrorMemoryAllocation);
    *ret = e;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    free(e);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t s)
{
    emu_lock();
    cudaError_t e = emu_stream_check(s);
    if (e == cudaSuccess)
        *event = (struct CUevent_st){s, end_of(s), 0, s->clock};
    emu_unlock();
    return emu_said(e);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    emu_lock();
    cudaError_t e =
        event->on ? query(event->on, event->upto, &event->asked, &event->clock) : cudaSuccess;
    emu_unlock();
    return emu_said(e);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    emu_lock();
    cudaError_t e = cudaSuccess;
    if (event->on) {
        wait_for(event->on, event->upto, &event->clock);
        e = emu_broken(event->on->device);
    }
    emu_unlock();
    return emu_said(e);
}

/* --- operations --- */

static cudaError_t push(cudaStream_t s, operation o)
{
    if (s->n == s->room) {
        s->room = s->room ? 2 * s->room : 64;
        s->list = realloc(s->list, s->room * sizeof *s->list);
        if (!s->list)
            abort();
    }
    join(&s->clock, &host_clock);
    if (o.kind != WAIT)
        s->clock.of[s->number]++;
    o.clock = s->clock;
    s->list[s->n++] = o;
    s->asked = 0;
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    emu_lock();
    cudaError_t e = emu_stream_check(s);
    if (e == cudaSuccess)
        join(&s->clock, &event->clock);
    if (e == cudaSuccess && event->on && event->on != s)
        e = push(s, (operation){.kind = WAIT, .on = event->on, .upto = event->upto});
    emu_unlock();
    return emu_said(e);
}

/* Which side of a copy p is on, and whether all of it is there. */
static bool check_side(const void *p, size_t bytes, bool is_device, const char *what)
{
    bool lies_there = emu_memory_device(p) >= 0;
    if (lies_there != is_device)
        emu_fault("copy %s %p, which is %smemory of a device", what, p, lies_there ? "" : "no ");
    else if (is_device && !emu_memory_holds(p, bytes))
        emu_fault("copy %s %p: no allocation holds these %zu bytes", what, p, bytes);
    else
        return true;
    return false;
}

/* Host memory a copy is going to write shows what was read too early; unless it is yet to be read
 * by a copy in front. */
static void spoil(void *to, size_t bytes)
{
    for (cudaStream_t s = streams; s; s = s->next)
        for (uint64_t i = s->done; i < end_of(s); i++) {
            const operation *o = &s->list[i - s->first];
            const char *from = o->from;
            if (o->kind == COPY && from < (char *)to + bytes && (char *)to < from + o->bytes)
                return;
        }
    memset(to, EMU_POISON, bytes);
}

static cudaError_t push_copy(cudaStream_t s, void *to, const void *from, size_t bytes,
                             cudaMemcpyKind kind)
{
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    if (kind == cudaMemcpyDefault) {
        from_device = emu_memory_device(from) >= 0;
        to_device = emu_memory_device(to) >= 0;
    }
    if (!check_side(from, bytes, from_device, "from") || !check_side(to, bytes, to_device, "to"))
        return cudaErrorInvalidValue;
    bool is_pinned = (from_device || emu_memory_is_pinned(from, bytes)) &&
                     (to_device || emu_memory_is_pinned(to, bytes));
    if (is_pinned && !to_device)
        spoil(to, bytes);
    cudaError_t e = push(s, (operation){.kind = COPY, .to = to, .from = from, .bytes = bytes});
    if (!is_pinned) {
        n_pageable++;
        wait_for(s, end_of(s), &s->clock);
        e = emu_broken(s->device);
    }
    return e;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t s)
{
    emu_lock();
    cudaError_t e = emu_stream_check(s);
    if (e == cudaSuccess && bytes)
        e = push_copy(s, to, from, bytes, kind);
    emu_unlock();
    return emu_said(e);
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t s)
{
    emu_lock();
    cudaError_t e = emu_stream_check(s);
    if (e == cudaSuccess && bytes)
        e = check_side(to, bytes, true, "of a byte to")
                ? push(s, (operation){.kind = CLEAR, .to = to, .bytes = bytes, .byte = byte})
                : cudaErrorInvalidValue;
    emu_unlock();
    return emu_said(e);
}

void emu_stream_push_kernel(cudaStream_t s, const emu_kernel *k)
{
    (void)push(s, (operation){.kind = KERNEL, .kernel = *k});
}
