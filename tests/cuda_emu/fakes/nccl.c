/*
 * NCCL, as far as we use it: sends and receives between the GPUs of one process. A group's end waits,
 * on the host, until all whom it sends to or receives from have come to the end of theirs: NCCL may do
 * so, and who does not call for every GPU from a thread of its own would stand still. Here that is a
 * fault, after a while, as is whatever does not fit: sizes, types, GPUs, streams.
 */
#include "cuda_emu/fakes/fakes.h"
#include "cuda_emu/machine.h"
#include "cuda_emu/memory.h"
#include "cuda_emu/stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { UNHANDLED = 1, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, REMOTE = 6, CALLS_MOST = 512 };

/* The GPUs that were connected together. Kept to the end: somebody may still be waiting. */
typedef struct clique {
    struct clique *next;
    int n;
    bool aborted;
    struct ncclComm *comms;
} clique;

struct ncclComm {
    clique *clique;
    int rank, device;
    bool *has_met; /* by rank; to meet another one takes memory */
};

/* A send or a receive of a group that has ended, until its counterpart is there too. */
typedef struct call {
    struct call *next;
    nccl_comm comm;
    bool sends, done;
    char *at;
    size_t n;
    int peer;
    cudaStream_t stream;
} call;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static call *waiting;      /* the oldest first; all under the lock */
static clique *cliques;
static int timeout_ms = 20000;
static uint64_t n_sent;

static int failing = -1;
static bool is_poor;

static _Thread_local call mine[CALLS_MOST];
static _Thread_local int n_mine, depth;

void fake_nccl_timeout(int ms)
{
    timeout_ms = ms;
}

void fake_nccl_fail(int device)
{
    failing = device;
}

void fake_nccl_impoverish(void)
{
    is_poor = true;
}

uint64_t fake_nccl_sends(void)
{
    return n_sent;
}

static unsigned get_version(int *ret)
{
    *ret = 22809;
    return API_SUCCESS;
}

static const char *error_string(unsigned result)
{
    return result == REMOTE      ? "remote process exited or there was a network error"
           : result == UNHANDLED ? "unhandled cuda error"
                                 : "invalid usage";
}

static const char *last_error(nccl_comm c)
{
    (void)c;
    return is_poor       ? "Cuda failure 2 'out of memory'"
           : failing < 0 ? ""
                         : "a GPU does not answer";
}

/* --- connections --- */

static unsigned init_all(nccl_comm ret[], int n, const int devices[])
{
    clique *q = calloc(1, sizeof *q);
    if (!q || !(q->comms = calloc((size_t)n, sizeof *q->comms)))
        abort();
    q->n = n;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            if (devices[k] == devices[i])
                emu_fault("NCCL: GPU %d twice among those that are connected", devices[i]);
        q->comms[i] = (struct ncclComm){.clique = q, .rank = i, .device = devices[i]};
        if (!(q->comms[i].has_met = calloc((size_t)n, sizeof(bool))))
            abort();
        ret[i] = &q->comms[i];
    }
    pthread_mutex_lock(&lock);
    q->next = cliques;
    cliques = q;
    pthread_mutex_unlock(&lock);
    return API_SUCCESS;
}

static unsigned destroy(nccl_comm c)
{
    pthread_mutex_lock(&lock);
    for (const call *w = waiting; w; w = w->next)
        if (w->comm == c)
            emu_fault("NCCL: rank %d is destroyed while it waits", c->rank);
    pthread_mutex_unlock(&lock);
    return API_SUCCESS;
}

static unsigned abort_comm(nccl_comm c)
{
    pthread_mutex_lock(&lock);
    c->clique->aborted = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return API_SUCCESS;
}

static unsigned async_error(nccl_comm c, unsigned *ret)
{
    pthread_mutex_lock(&lock);
    *ret = c->clique->aborted ? REMOTE : API_SUCCESS;
    pthread_mutex_unlock(&lock);
    return API_SUCCESS;
}

/* --- groups --- */

static unsigned group_start(void)
{
    depth++;
    return API_SUCCESS;
}

static void after(cudaStream_t first, cudaStream_t second)
{
    int here = emu_device();
    cudaEvent_t meeting = NULL;
    (void)cudaSetDevice(emu_stream_device(first));
    if (cudaEventCreateWithFlags(&meeting, cudaEventDisableTiming) != cudaSuccess)
        abort();
    (void)cudaEventRecord(meeting, first);
    (void)cudaStreamWaitEvent(second, meeting, 0);
    (void)cudaEventDestroy(meeting);
    (void)cudaSetDevice(here);
}

/* Begins when both streams have come so far, and both go on when it is over. */
static void pass(const call *out, const call *in)
{
    if (out->n != in->n)
        emu_fault("NCCL: rank %d sends %zu elements, rank %d receives %zu", out->comm->rank, out->n,
                  in->comm->rank, in->n);
    after(out->stream, in->stream);
    (void)cudaMemcpyAsync(in->at, out->at, in->n * sizeof(float), cudaMemcpyDeviceToDevice,
                          in->stream);
    after(in->stream, out->stream);
    n_sent++;
}

static bool fits(const call *a, const call *b)
{
    return a->sends != b->sends && a->comm->clique == b->comm->clique && a->peer == b->comm->rank &&
           b->peer == a->comm->rank;
}

static void take_out(call *c)
{
    call **at = &waiting;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
}

/* With the oldest that fits, or to wait for one. */
static void match(call *c)
{
    call **end = &waiting;
    for (; *end; end = &(*end)->next) {
        call *other = *end;
        if (!fits(c, other))
            continue;
        pass(c->sends ? c : other, c->sends ? other : c);
        c->done = other->done = true;
        take_out(other);
        pthread_cond_broadcast(&changed);
        return;
    }
    c->next = NULL;
    *end = c;
}

static unsigned wait_for(call *c, const struct timespec *until)
{
    while (!c->done && !c->comm->clique->aborted)
        if (pthread_cond_timedwait(&changed, &lock, until) == ETIMEDOUT)
            break;
    if (c->done)
        return API_SUCCESS;
    take_out(c);
    if (!c->comm->clique->aborted)
        emu_fault("NCCL: rank %d %s rank %d, which does not %s", c->comm->rank,
                  c->sends ? "sends to" : "receives from", c->peer, c->sends ? "receive" : "send");
    return c->comm->clique->aborted ? REMOTE : UNHANDLED;
}

static unsigned group_end(void)
{
    unsigned result = API_SUCCESS;
    struct timespec until;
    if (--depth)
        return result;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += timeout_ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n_mine; i++)
        match(&mine[i]);
    for (int i = 0; i < n_mine; i++) {
        unsigned one = wait_for(&mine[i], &until);
        result = one == API_SUCCESS ? result : one;
    }
    n_mine = 0;
    pthread_mutex_unlock(&lock);
    return result;
}

static unsigned add(bool sends, const void *at, size_t n, unsigned type, int peer, nccl_comm c,
                    cuda_stream stream)
{
    const char *what = sends ? "send" : "receive";
    if (type != NCCL_F32 || n_mine == CALLS_MOST || peer < 0 || peer >= c->clique->n)
        return INVALID_ARGUMENT;
    emu_lock();
    if (emu_memory_device(at) != c->device || !emu_memory_holds(at, n * sizeof(float)))
        emu_fault("NCCL, %s: %zu elements are not all on GPU %d", what, n, c->device);
    if (emu_stream_device(stream) != c->device)
        emu_fault("NCCL, %s: the stream is not GPU %d's", what, c->device);
    emu_unlock();
    group_start();
    mine[n_mine++] = (call){.comm = c,
                            .sends = sends,
                            .at = (char *)(uintptr_t)at,
                            .n = n,
                            .peer = peer,
                            .stream = stream};
    return group_end();
}

static unsigned send_to(const void *x, size_t n, unsigned type, int peer, nccl_comm c,
                        cuda_stream stream)
{
    bool is_first = peer >= 0 && peer < c->clique->n && !c->has_met[peer];
    if (is_first && is_poor)
        return UNHANDLED;
    if (is_first)
        c->has_met[peer] = true;
    else if (c->device == failing)
        return REMOTE;
    return add(true, x, n, type, peer, c, stream);
}

static unsigned receive_from(void *x, size_t n, unsigned type, int peer, nccl_comm c,
                             cuda_stream stream)
{
    return add(false, x, n, type, peer, c, stream);
}

void fake_nccl_fill(api_table *t)
{
    t->ncclGetVersion = get_version;
    t->ncclGetErrorString = error_string;
    t->ncclGetLastError = last_error;
    t->ncclCommInitAll = init_all;
    t->ncclCommDestroy = destroy;
    t->ncclCommAbort = abort_comm;
    t->ncclCommGetAsyncError = async_error;
    t->ncclGroupStart = group_start;
    t->ncclGroupEnd = group_end;
    t->ncclSend = send_to;
    t->ncclRecv = receive_from;
}
