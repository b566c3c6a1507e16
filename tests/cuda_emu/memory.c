#include "cuda_emu/memory.h"
#include "cuda_emu/block.h"
#include "cuda_emu/fiber.h"
#include "cuda_emu/graph.h"
#include "cuda_emu/machine.h"
#include "cuda_emu/stream.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RANGE ((size_t)1 << 34) /* of addresses, a device: the thread sanitizer leaves few */

enum { ALIGN = 256, ZONE = 256, PAGE = 4096, PINNED_MOST = 1024 };

typedef struct span {
    char *at;
    size_t bytes;
} span;

typedef struct device_memory {
    span *spans; /* by address */
    size_t n, room;
    size_t used; /* bytes of all spans */
    size_t top;  /* of the range, whole pages; behind it nothing is ever open */
} device_memory;

static char *base;
static device_memory memories[EMU_DEVICES_MOST];
static int open_depth;
static span pinned[PINNED_MOST];
static size_t n_pinned;
static uint64_t n_allocations;

static void protect(int how)
{
    for (int d = 0; d < EMU_DEVICES_MOST; d++)
        if (memories[d].top)
            mprotect(base + (size_t)d * RANGE, memories[d].top, how);
}

int emu_memory_device(const void *p)
{
    uintptr_t at = (uintptr_t)p - (uintptr_t)base;
    return base && at < RANGE * EMU_DEVICES_MOST ? (int)(at / RANGE) : -1;
}

/* Tells of an access that no memory stands behind, and lets it kill the process. */
static void on_fault(int sig, siginfo_t *info, void *context)
{
    (void)context;
    char text[400], place[256];
    const char *what = NULL;
    if (emu_memory_device(info->si_addr) >= 0)
        what = open_depth ? "touched device memory where none is allocated"
                          : "the host touched memory of a device";
    else if (emu_stack_overran(info->si_addr))
        what = "a thread of a kernel needs more than 60 KB of stack";
    else if (emu_self)
        what = "a kernel touched memory that is not there";
    if (what) {
        int n = snprintf(text, sizeof text, "cuda_emu: %s: %p %s\n", what, info->si_addr,
                         emu_kernel_place(place));
        if (write(STDERR_FILENO, text, (size_t)n) < 0)
            _exit(1);
    }
    signal(sig, SIG_DFL);
}

static void reserve(void)
{
    if (base)
        return;
    base = mmap(NULL, RANGE * EMU_DEVICES_MOST, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        perror("cuda_emu: memory of devices");
        abort();
    }
}

/* Each time anew: cmocka has handlers of its own in every test, and threads no stack for them. */
static void listen(void)
{
    static char stack[64 << 10];
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack}, now;
    struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (sigaltstack(NULL, &now) == 0 && now.ss_flags & SS_DISABLE) /* a sanitizer has its own */
        sigaltstack(&alternative, NULL);
    sigaction(SIGSEGV, &act, NULL);
}

void emu_memory_open(void)
{
    if (open_depth++ == 0) {
        listen();
        protect(PROT_READ | PROT_WRITE);
    }
}

void emu_memory_close(void)
{
    if (--open_depth == 0)
        protect(PROT_NONE);
}

/* --- allocations of a device --- */

/* Where in the row of spans `need` bytes fit first, and at which address. */
static size_t find_gap(const device_memory *m, char *from, size_t need, char **ret)
{
    char *at = from + ZONE;
    size_t i = 0;
    for (; i < m->n; i++) {
        if ((size_t)(m->spans[i].at - at) >= need)
            break;
        uintptr_t end = (uintptr_t)m->spans[i].at + m->spans[i].bytes + ZONE;
        at = (char *)((end + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
    }
    *ret = at;
    return i;
}

static void insert(device_memory *m, size_t i, span s)
{
    if (m->n == m->room) {
        m->room = m->room ? 2 * m->room : 16;
        m->spans = realloc(m->spans, m->room * sizeof *m->spans);
        if (!m->spans)
            abort();
    }
    memmove(m->spans + i + 1, m->spans + i, (m->n - i) * sizeof *m->spans);
    m->spans[i] = s;
    m->n++;
    m->used += s.bytes;
}

/* Behind this many bytes and what must not be touched there. */
static size_t top_behind(size_t bytes)
{
    return (bytes + ZONE + PAGE - 1) / PAGE * PAGE;
}

static cudaError_t allocate(int device, size_t bytes, void **ret)
{
    device_memory *m = &memories[device];
    size_t most = emu_machine_get()->memory;
    if (bytes > most || m->used > most - bytes)
        return cudaErrorMemoryAllocation;
    char *from = base + (size_t)device * RANGE, *at;
    size_t i = find_gap(m, from, bytes + ZONE + ALIGN, &at);
    size_t top = top_behind((size_t)(at - from) + bytes);
    if (top > RANGE)
        return cudaErrorMemoryAllocation;
    m->top = top > m->top ? top : m->top;
    emu_memory_open();
    protect(PROT_READ | PROT_WRITE); /* there is more of it now */
    memset(at - ZONE, EMU_POISON, bytes + 2 * ZONE);
    emu_memory_close();
    insert(m, i, (span){at, bytes});
    *ret = at;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **ret, size_t bytes)
{
    emu_lock();
    reserve();
    n_allocations++;
    cudaError_t e = emu_graphs_forbid();
    if (e == cudaSuccess)
        e = emu_broken(emu_device());
    if (e == cudaSuccess && bytes == 0)
        *ret = NULL;
    else if (e == cudaSuccess)
        e = allocate(emu_device(), bytes, ret);
    emu_unlock();
    return emu_said(e);
}

static span *find(const void *p)
{
    int device = emu_memory_device(p);
    if (device < 0)
        return NULL;
    device_memory *m = &memories[device];
    for (size_t i = 0; i < m->n; i++)
        if ((const char *)p >= m->spans[i].at &&
            (const char *)p < m->spans[i].at + m->spans[i].bytes)
            return &m->spans[i];
    return NULL;
}

static void give_back(int device, span *s)
{
    device_memory *m = &memories[device];
    emu_memory_open();
    memset(s->at, EMU_POISON, s->bytes);
    emu_memory_close();
    m->used -= s->bytes;
    m->n--;
    memmove(s, s + 1, (size_t)(m->spans + m->n - s) * sizeof *s);
    const span *last = m->n ? &m->spans[m->n - 1] : NULL;
    const char *from = base + (size_t)device * RANGE;
    m->top = last ? top_behind((size_t)(last->at - from) + last->bytes) : 0;
}

cudaError_t cudaFree(void *p)
{
    if (!p)
        return cudaSuccess;
    emu_lock();
    span *s = find(p);
    cudaError_t e = s && s->at == p ? emu_graphs_forbid() : cudaErrorInvalidValue;
    if (e == cudaSuccess) {
        int device = emu_memory_device(p);
        emu_streams_finish(device);
        give_back(device, s);
    }
    emu_unlock();
    return emu_said(e);
}

cudaError_t cudaMemGetInfo(size_t *ret_free, size_t *ret_total)
{
    emu_lock();
    *ret_total = emu_machine_get()->memory;
    *ret_free = *ret_total - memories[emu_device()].used;
    cudaError_t e = emu_broken(emu_device());
    emu_unlock();
    return emu_said(e);
}

size_t emu_memory_offset(const void *p)
{
    return ((uintptr_t)p - (uintptr_t)base) % RANGE;
}

bool emu_memory_describe(const void *p, char ret[160])
{
    const span *s = find(p);
    if (s)
        snprintf(ret, 160, "byte %zu of an allocation of %zu", (size_t)((const char *)p - s->at),
                 s->bytes);
    return s;
}

bool emu_memory_holds(const void *p, size_t bytes)
{
    const span *s = find(p);
    return s && (size_t)((const char *)p - s->at) + bytes <= s->bytes;
}

bool emu_memory_is_together(const void *p, const void *q)
{
    const span *s = find(p);
    return s && s == find(q);
}

static void check_zone(const char *zone, const span *s, const char *where)
{
    static char poison[ZONE];
    if (!poison[0])
        memset(poison, EMU_POISON, ZONE);
    if (memcmp(zone, poison, ZONE) == 0)
        return;
    size_t i = 0;
    while (zone[i] == poison[i])
        i++;
    emu_fault("a write %s an allocation of %zu bytes, byte %zu of what is there", where, s->bytes,
              i);
    memset((char *)(uintptr_t)zone, EMU_POISON, ZONE);
}

void emu_memory_check(void)
{
    for (int d = 0; d < EMU_DEVICES_MOST; d++)
        for (size_t i = 0; i < memories[d].n; i++) {
            const span *s = &memories[d].spans[i];
            check_zone(s->at - ZONE, s, "in front of");
            check_zone(s->at + s->bytes, s, "behind");
        }
}

/* --- pinned memory of the host --- */

static span *find_pinned(const void *p)
{
    for (size_t i = 0; i < n_pinned; i++)
        if ((const char *)p >= pinned[i].at && (const char *)p < pinned[i].at + pinned[i].bytes)
            return &pinned[i];
    return NULL;
}

bool emu_memory_is_pinned(const void *p, size_t bytes)
{
    const span *s = find_pinned(p);
    return s && (size_t)((const char *)p - s->at) + bytes <= s->bytes;
}

static uintptr_t page_of(const char *p)
{
    return (uintptr_t)p / PAGE;
}

/* Whole pages are. */
static cudaError_t pin(char *p, size_t bytes)
{
    if (!p || bytes == 0)
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < n_pinned; i++)
        if (page_of(p) <= page_of(pinned[i].at + pinned[i].bytes - 1) &&
            page_of(pinned[i].at) <= page_of(p + bytes - 1))
            return cudaErrorHostMemoryAlreadyRegistered;
    if (n_pinned == PINNED_MOST)
        return cudaErrorMemoryAllocation;
    pinned[n_pinned++] = (span){p, bytes};
    return cudaSuccess;
}

uint64_t emu_allocations(void)
{
    return n_allocations;
}

static cudaError_t unpin(void *p)
{
    span *s = find_pinned(p);
    if (!s || s->at != p)
        return cudaErrorHostMemoryNotRegistered;
    emu_streams_finish(-1);
    *s = pinned[--n_pinned];
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags)
{
    (void)flags;
    emu_lock();
    cudaError_t e = emu_graphs_forbid();
    if (e == cudaSuccess)
        e = pin(p, bytes);
    n_allocations++;
    emu_unlock();
    return emu_said(e);
}

static cudaError_t forget(void *p, bool waits)
{
    emu_lock();
    const span *s = find_pinned(p);
    if (!waits && s && emu_streams_will_touch(s->at, s->bytes))
        emu_fault("memory of the host is unpinned, which a copy has yet to touch");
    cudaError_t e = emu_graphs_forbid();
    if (e == cudaSuccess)
        e = unpin(p);
    emu_unlock();
    return emu_said(e);
}

cudaError_t cudaHostUnregister(void *p)
{
    return forget(p, false);
}

cudaError_t cudaHostAlloc(void **ret, size_t bytes, unsigned flags)
{
    (void)flags;
    void *p = NULL;
    if (bytes && posix_memalign(&p, PAGE, (bytes + PAGE - 1) / PAGE * PAGE))
        return emu_said(cudaErrorMemoryAllocation);
    cudaError_t e = bytes ? cudaHostRegister(p, bytes, flags) : cudaSuccess;
    if (e == cudaSuccess) {
        if (bytes)
            memset(p, EMU_POISON, bytes);
        *ret = p;
    } else {
        free(p);
    }
    return e;
}

cudaError_t cudaFreeHost(void *p)
{
    cudaError_t e = p ? forget(p, true) : cudaSuccess;
    if (e == cudaSuccess)
        free(p);
    return e;
}
