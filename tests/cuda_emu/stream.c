#include "cuda_emu/stream.h"
#include "cuda_emu/block.h"
#include "cuda_emu/machine.h"
#include "cuda_emu/memory.h"

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
};

struct CUevent_st {
    cudaStream_t on; /* NULL: never recorded */
    uint64_t upto;
    unsigned asked;
};

enum { ASKED_ENOUGH = 3 };

static cudaStream_t streams;
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

/* --- running --- */

static void run_kernel(int device, const operation *o)
{
    if (++n_kernels[device] == emu_machine_get()->fail_at)
        emu_break(device, cudaErrorIllegalAddress);
    else
        emu_kernel_run(&o->kernel);
}

/* The first operation that is left of s. */
static void run_one(cudaStream_t s)
{
    operation *o = &s->list[s->done - s->first];
    if (emu_broken(s->device) == cudaSuccess) {
        emu_memory_open();
        if (o->kind == KERNEL)
            run_kernel(s->device, o);
        else if (o->kind == COPY)
            memmove(o->to, o->from, o->bytes);
        else if (o->kind == CLEAR)
            memset(o->to, o->byte, o->bytes);
        if (o->kind != WAIT)
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

void emu_streams_finish(int device)
{
    for (cudaStream_t s = streams; s; s = s->next)
        if (device < 0 || s->device == device)
            force(s, end_of(s));
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

static cudaError_t check_stream(cudaStream_t s)
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
        force(s, end_of(s));
        s->is_live = false;
        free(s->list);
        s->list = NULL;
        s->room = 0;
    }
    emu_unlock();
    return emu_said(e);
}

/* Whether number `upto` of s is done; makes it so when asked often enough. */
static cudaError_t query(cudaStream_t s, uint64_t upto, unsigned *asked)
{
    if (s->done < upto && ++*asked < ASKED_ENOUGH)
        return cudaErrorNotReady;
    *asked = 0;
    force(s, upto);
    return emu_broken(s->device);
}

cudaError_t cudaStreamQuery(cudaStream_t s)
{
    emu_lock();
    cudaError_t e = check_stream(s);
    if (e == cudaSuccess)
        e = query(s, end_of(s), &s->asked);
    emu_unlock();
    return emu_said(e);
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    emu_lock();
    cudaError_t e = check_stream(s);
    if (e == cudaSuccess) {
        force(s, end_of(s));
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
    cudaError_t e = check_stream(s);
    if (e == cudaSuccess)
        *event = (struct CUevent_st){s, end_of(s), 0};
    emu_unlock();
    return emu_said(e);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    emu_lock();
    cudaError_t e = event->on ? query(event->on, event->upto, &event->asked) : cudaSuccess;
    emu_unlock();
    return emu_said(e);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    emu_lock();
    cudaError_t e = cudaSuccess;
    if (event->on) {
        force(event->on, event->upto);
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
    s->list[s->n++] = o;
    s->asked = 0;
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    emu_lock();
    cudaError_t e = check_stream(s);
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
        force(s, end_of(s));
        e = emu_broken(s->device);
    }
    return e;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t s)
{
    emu_lock();
    cudaError_t e = check_stream(s);
    if (e == cudaSuccess && bytes)
        e = push_copy(s, to, from, bytes, kind);
    emu_unlock();
    return emu_said(e);
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t s)
{
    emu_lock();
    cudaError_t e = check_stream(s);
    if (e == cudaSuccess && bytes)
        e = check_side(to, bytes, true, "of a byte to")
                ? push(s, (operation){.kind = CLEAR, .to = to, .bytes = bytes, .byte = byte})
                : cudaErrorInvalidValue;
    emu_unlock();
    return emu_said(e);
}

/* --- kernels --- */

typedef struct allowance {
    const void *kernel;
    size_t bytes;
} allowance;

static allowance allowances[256];
static size_t n_allowances;

size_t emu_shared_most(void)
{
    switch (emu_arch()) {
    case 75:
        return 64 << 10;
    case 80:
        return 163 << 10;
    case 90:
    case 100:
        return EMU_SHARED_MOST;
    }
    return 99 << 10;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute what, int value)
{
    if (what != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        (size_t)value > emu_shared_most())
        return emu_said(cudaErrorInvalidValue);
    emu_lock();
    size_t i = 0;
    while (i < n_allowances && allowances[i].kernel != kernel)
        i++;
    if (i == n_allowances && n_allowances < sizeof allowances / sizeof *allowances)
        n_allowances++;
    allowances[i] = (allowance){kernel, (size_t)value};
    emu_unlock();
    return cudaSuccess;
}

static size_t allowed_shared(const void *kernel)
{
    for (size_t i = 0; i < n_allowances; i++)
        if (allowances[i].kernel == kernel)
            return allowances[i].bytes;
    return EMU_SHARED_DEFAULT;
}

static cudaError_t check_launch(const emu_kernel *k, const void *kernel)
{
    uint64_t n_threads = (uint64_t)k->block.x * k->block.y * k->block.z;
    const char *wrong = NULL;
    if (n_threads == 0 || n_threads > EMU_THREADS || k->block.z > 64)
        wrong = "a block has 1 to 1024 threads";
    else if (!k->grid.x || !k->grid.y || !k->grid.z)
        wrong = "a grid has at least one block";
    else if (k->grid.x > 0x7fffffffu || k->grid.y > 65535 || k->grid.z > 65535)
        wrong = "a grid has at most 65535 blocks along y and z";
    else if (k->shared_bytes > allowed_shared(kernel))
        wrong = "more than 48 KB of shared memory need an ALLOW_SHARED";
    if (!wrong)
        return cudaSuccess;
    emu_fault("%s: grid (%u, %u, %u), block (%u, %u, %u), %zu bytes of shared memory: %s", k->name,
              k->grid.x, k->grid.y, k->grid.z, k->block.x, k->block.y, k->block.z, k->shared_bytes,
              wrong);
    return cudaErrorInvalidConfiguration;
}

void *emu_launch(const char *name, const void *kernel, uint3 grid, uint3 block, size_t shared_bytes,
                 cudaStream_t s, size_t bytes, void (*body)(void *arguments))
{
    emu_kernel k = {name, body, NULL, grid, block, shared_bytes};
    emu_lock();
    cudaError_t e = check_stream(s);
    if (e == cudaSuccess)
        e = check_launch(&k, kernel);
    if (e == cudaSuccess) {
        k.arguments = aligned_alloc(16, (bytes + 15) & ~(size_t)15);
        if (!k.arguments)
            abort();
        e = push(s, (operation){.kind = KERNEL, .kernel = k});
    }
    emu_unlock();
    (void)emu_said(e);
    return k.arguments;
}
