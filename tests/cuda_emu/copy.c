/* Copies that streams make between the host and devices. */
#include "cuda_emu/graph.h"
#include "cuda_emu/machine.h"
#include "cuda_emu/memory.h"
#include "cuda_emu/stream.h"

#include <string.h>

static uint64_t n_pageable, bytes_up, bytes_down;

uint64_t emu_pageable_copies(void)
{
    return n_pageable;
}

uint64_t emu_bytes_up(void)
{
    return bytes_up;
}

uint64_t emu_bytes_down(void)
{
    return bytes_down;
}

void emu_copy_spoil(const emu_operation *o)
{
    if (o->kind == EMU_COPY && emu_memory_device(o->to) < 0 &&
        !emu_streams_will_read(o->to, o->bytes))
        memset(o->to, EMU_POISON, o->bytes);
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
    bytes_up += !from_device && to_device ? bytes : 0;
    bytes_down += from_device && !to_device ? bytes : 0;
    bool is_pinned = (from_device || emu_memory_is_pinned(from, bytes)) &&
                     (to_device || emu_memory_is_pinned(to, bytes));
    if (!is_pinned && *emu_stream_capture(s))
        return emu_graph_spoil(*emu_stream_capture(s));
    emu_operation o = {.kind = EMU_COPY, .to = to, .from = from, .bytes = bytes};
    if (is_pinned && !*emu_stream_capture(s))
        emu_copy_spoil(&o);
    cudaError_t e = emu_stream_push(s, o);
    if (!is_pinned) {
        n_pageable++;
        e = emu_stream_wait(s);
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
    const emu_operation o = {.kind = EMU_CLEAR, .to = to, .bytes = bytes, .byte = byte};
    emu_lock();
    cudaError_t e = emu_stream_check(s);
    if (e == cudaSuccess && bytes)
        e = check_side(to, bytes, true, "of a byte to") ? emu_stream_push(s, o)
                                                        : cudaErrorInvalidValue;
    emu_unlock();
    return emu_said(e);
}
