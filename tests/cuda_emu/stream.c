#include "cuda_emu/stream.h"
#include "cuda_emu/graph.h"
#include "cuda_emu/machine.h"
#include "cuda_emu/memory.h"
#include "cuda_emu/place.h"
#include "cuda_emu/watch.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct CUstream_st {
    struct CUstream_st *next;
    bool is_live; /* else: was destroyed, and may be had again */
    bool is_busy; /* one of its operations runs, or waits for another stream */
    int device;
    emu_operation *list; /* from number `first` on */
    size_t n, room;
    uint64_t first, done;
    unsigned asked;
    int number;
    emu_clock clock;     /* of what was put there last */
    cudaGraph_t capture; /* where what is put there goes instead; NULL: nowhere */
};

struct CUevent_st {
    int device;
    cudaStream_t on; /* NULL: never recorded */
    uint64_t upto;
    unsigned asked;
    emu_clock clock;
    bool keeps_time, is_stamped;
    int awaited;  /* stamps that streams are to give it */
    double at_ms; /* the last one */
};

enum { ASKED_ENOUGH = 3 };

static cudaStream_t streams;
static int n_streams;
static emu_clock host_clock; /* what the host has waited for */
static const emu_operation *current;
static int current_stream, current_device;
static uint64_t n_kernels[EMU_DEVICES_MOST], n_waits, n_records, n_follows, n_stamps, n_timers;

static uint64_t end_of(const struct CUstream_st *s)
{
    return s->first + s->n;
}

static bool is_done(const emu_operation *o)
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

int emu_device_now(void)
{
    return current_device;
}

bool emu_may_touch(const void *p, size_t bytes, bool writes)
{
    return emu_ranges_hold(current->ranges, p, bytes, writes);
}

uint64_t emu_kernels_run(void)
{
    uint64_t n = 0;
    for (int device = 0; device < EMU_DEVICES_MOST; device++)
        n += n_kernels[device];
    return n;
}

uint64_t emu_host_waits(void)
{
    emu_lock();
    uint64_t n = n_waits;
    emu_unlock();
    return n;
}

uint64_t emu_event_records(void)
{
    emu_lock();
    uint64_t n = n_records;
    emu_unlock();
    return n;
}

uint64_t emu_event_stamps(void)
{
    emu_lock();
    uint64_t n = n_stamps;
    emu_unlock();
    return n;
}

uint64_t emu_event_follows(void)
{
    emu_lock();
    uint64_t n = n_follows;
    emu_unlock();
    return n;
}

/* --- running --- */

static void run_kernel(int device, const emu_operation *o)
{
    const emu_machine *m = emu_machine_get();
    if (++n_kernels[device] == m->fail_at && (m->fail_of < 0 || m->fail_of == device))
        emu_break(device, m->fail_as);
    else
        emu_kernel_run(&o->kernel);
}

static void run_copy(const emu_operation *o)
{
    if (o->kind == EMU_COPY)
        emu_touch(o->from, o->bytes, false);
    emu_touch(o->to, o->bytes, true);
    if (o->kind == EMU_COPY)
        memmove(o->to, o->from, o->bytes);
    else
        memset(o->to, o->byte, o->bytes);
}

static void stamp(cudaEvent_t event)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    event->at_ms = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
    event->is_stamped = true;
    event->awaited--;
    n_stamps++;
}

/* The first operation that is left of s. */
static void run_one(cudaStream_t s)
{
    emu_operation *o = &s->list[s->done - s->first];
    if (o->kind == EMU_STAMP) {
        stamp(o->event);
    } else if (emu_broken(s->device) == cudaSuccess && o->kind != EMU_WAIT) {
        current = o;
        current_stream = s->number;
        current_device = s->device;
        if (o->kind == EMU_KERNEL)
            run_kernel(s->device, o);
        else
            run_copy(o);
        emu_memory_check();
    }
    emu_operation_free(o);
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
                const emu_operation *o = &s->list[s->done - s->first];
                if (o->kind == EMU_WAIT && !is_done(o))
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
        const emu_operation *o = &s->list[s->done - s->first];
        if (o->kind == EMU_WAIT && !is_done(o))
            force(o->on, o->upto);
        run_one(s);
    }
    s->is_busy = false;
}

static void run_rest(cudaStream_t s, uint64_t upto)
{
    if (s->done < upto) {
        emu_memory_open();
        force(s, upto);
        emu_memory_close();
    }
}

/* The host waits. */
static void wait_for(cudaStream_t s, uint64_t upto, const emu_clock *clock)
{
    run_rest(s, upto);
    join(&host_clock, clock);
}

void emu_streams_finish(int device)
{
    for (cudaStream_t s = streams; s; s = s->next)
        if (device < 0 || s->device == device)
            wait_for(s, end_of(s), &s->clock);
}

cudaError_t emu_stream_wait(cudaStream_t s)
{
    wait_for(s, end_of(s), &s->clock);
    return emu_broken(s->device);
}

static bool is_to_be_copied(const char *p, size_t bytes, bool to)
{
    for (cudaStream_t s = streams; s; s = s->next)
        for (uint64_t i = s->done; i < end_of(s); i++) {
            const emu_operation *o = &s->list[i - s->first];
            const char *at = to ? o->to : o->from;
            if (o->kind == EMU_COPY && at < p + bytes && p < at + o->bytes)
                return true;
        }
    return false;
}

bool emu_streams_will_read(const void *p, size_t bytes)
{
    return is_to_be_copied(p, bytes, false);
}

bool emu_streams_will_touch(const void *p, size_t bytes)
{
    return is_to_be_copied(p, bytes, false) || is_to_be_copied(p, bytes, true);
}

cudaError_t cudaDeviceSynchronize(void)
{
    emu_lock();
    cudaError_t e = emu_graphs_forbid();
    if (e == cudaSuccess) {
        emu_streams_finish(emu_device());
        e = emu_broken(emu_device());
    }
    emu_unlock();
    return emu_said(e);
}

/* --- streams --- */

cudaGraph_t *emu_stream_capture(cudaStream_t s)
{
    return &s->capture;
}

int emu_stream_device(cudaStream_t s)
{
    return s->device;
}

cudaError_t emu_stream_check(cudaStream_t s)
{
    if (!s)
        emu_fault("work for the default stream, which makes all others wait; name a stream");
    if (!s || !s->is_live)
        return cudaErrorInvalidResourceHandle;
    return emu_broken(s->device);
}

/* The same for what cannot be part of a graph. */
static cudaError_t check_outside(cudaStream_t s)
{
    cudaError_t e = emu_stream_check(s);
    return e == cudaSuccess && s->capture ? emu_graph_spoil(s->capture) : e;
}

/* The same for what nobody may do who captures. */
static cudaError_t check_waiting(cudaStream_t s)
{
    cudaError_t e = check_outside(s);
    return e == cudaSuccess ? emu_graphs_forbid() : e;
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

unsigned emu_streams(void)
{
    unsigned n = 0;
    emu_lock();
    for (cudaStream_t s = streams; s; s = s->next)
        n += s->is_live;
    emu_unlock();
    return n;
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    emu_lock();
    cudaError_t e = s && s->is_live ? cudaSuccess : cudaErrorInvalidResourceHandle;
    if (e == cudaSuccess && s->capture)
        emu_fault("a stream is destroyed while it is captured");
    if (e == cudaSuccess) {
        run_rest(s, end_of(s));
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
    cudaError_t e = check_waiting(s);
    if (e == cudaSuccess)
        e = query(s, end_of(s), &s->asked, &s->clock);
    emu_unlock();
    return emu_said(e);
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    emu_lock();
    cudaError_t e = check_waiting(s);
    n_waits++;
    if (e == cudaSuccess) {
        wait_for(s, end_of(s), &s->clock);
        e = emu_broken(s->device);
    }
    emu_unlock();
    return emu_said(e);
}

/* --- events --- */

/* Whether there is one more. */
static bool take_timer(void)
{
    emu_lock();
    bool is_there = n_timers < emu_machine_get()->timers;
    n_timers += is_there;
    emu_unlock();
    return is_there;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret, unsigned flags)
{
    bool keeps_time = !(flags & cudaEventDisableTiming);
    cudaEvent_t e = keeps_time && !take_timer() ? NULL : calloc(1, sizeof *e);
    if (!e)
        return emu_said(cudaErrorMemoryAllocation);
    e->device = emu_device();
    e->keeps_time = keeps_time;
    *ret = e;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    emu_lock();
    if (e->awaited)
        emu_streams_finish(-1);
    n_timers -= e->keeps_time;
    emu_unlock();
    free(e);
    return cudaSuccess;
}

static cudaError_t record(cudaEvent_t event, cudaStream_t s)
{
    cudaError_t e = check_outside(s);
    if (e == cudaSuccess && event->keeps_time)
        e = emu_stream_push(s, (emu_operation){.kind = EMU_STAMP, .event = event});
    if (e != cudaSuccess)
        return e;
    event->on = s;
    event->upto = end_of(s);
    event->asked = 0;
    event->clock = s->clock;
    return e;
}

/* A node of the graph, which every launch passes. */
static cudaError_t record_external(cudaEvent_t event, cudaStream_t s)
{
    return s->capture ? emu_stream_push(s, (emu_operation){.kind = EMU_STAMP, .event = event})
                      : cudaErrorInvalidValue;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t s)
{
    return emu_call_is_spoilt() ? cudaSuccess
                                : cudaEventRecordWithFlags(event, s, cudaEventRecordDefault);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t s, unsigned flags)
{
    emu_lock();
    n_records++;
    cudaError_t e = emu_stream_check(s);
    if (e == cudaSuccess && event->device != s->device)
        e = cudaErrorInvalidResourceHandle;
    if (e == cudaSuccess)
        e = flags == cudaEventRecordExternal ? record_external(event, s) : record(event, s);
    emu_unlock();
    return emu_said(e);
}

cudaError_t cudaEventElapsedTime(float *ret_ms, cudaEvent_t start, cudaEvent_t end)
{
    emu_lock();
    bool keep = start->keeps_time && end->keeps_time;
    bool are_stamped = start->is_stamped && end->is_stamped;
    cudaError_t e = emu_graphs_forbid();
    if (e == cudaSuccess && (!keep || !(are_stamped || start->awaited || end->awaited)))
        e = cudaErrorInvalidResourceHandle;
    else if (e == cudaSuccess && (start->awaited || end->awaited))
        e = cudaErrorNotReady;
    if (e == cudaSuccess)
        *ret_ms = (float)(end->at_ms - start->at_ms);
    emu_unlock();
    return emu_said(e);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    emu_lock();
    cudaError_t e = emu_graphs_forbid();
    if (e == cudaSuccess && event->on)
        e = query(event->on, event->upto, &event->asked, &event->clock);
    emu_unlock();
    return emu_said(e);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (emu_call_is_spoilt())
        return cudaSuccess;
    emu_lock();
    cudaError_t e = emu_graphs_forbid();
    n_waits++;
    if (e == cudaSuccess && event->on) {
        wait_for(event->on, event->upto, &event->clock);
        e = emu_broken(event->on->device);
    }
    emu_unlock();
    return emu_said(e);
}

/* --- operations --- */

cudaError_t emu_stream_push(cudaStream_t s, emu_operation o)
{
    if (!o.ranges)
        o.ranges = emu_ranges_take();
    if (s->capture) {
        cudaError_t e = emu_graph_add(s->capture, &o);
        if (e != cudaSuccess)
            emu_operation_free(&o);
        return e;
    }
    if (s->n == s->room) {
        s->room = s->room ? 2 * s->room : 64;
        s->list = realloc(s->list, s->room * sizeof *s->list);
        if (!s->list)
            abort();
    }
    join(&s->clock, &host_clock);
    if (o.kind != EMU_WAIT)
        s->clock.of[s->number]++;
    o.clock = s->clock;
    if (o.kind == EMU_STAMP)
        o.event->awaited++;
    s->list[s->n++] = o;
    s->asked = 0;
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    if (emu_call_is_spoilt())
        return cudaSuccess;
    emu_lock();
    n_follows++;
    cudaError_t e = check_outside(s);
    if (e == cudaSuccess)
        join(&s->clock, &event->clock);
    if (e == cudaSuccess && event->on && event->on != s)
        e = emu_stream_push(
            s, (emu_operation){.kind = EMU_WAIT, .on = event->on, .upto = event->upto});
    emu_unlock();
    return emu_said(e);
}
