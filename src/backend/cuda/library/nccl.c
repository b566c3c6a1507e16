/*
 * What the GPUs of one process send each other, by NCCL, which knows the ways between them. A
 * GPU's lane puts its sends and receives into its own queue, as one group; they begin when the
 * others' are there. NCCL takes its memory for two GPUs when they first meet, and has their threads
 * wait for each other then: so all meet in the beginning, where one thread has them all, and where
 * copies are still a way out.
 */
#include "backend/cuda/device/device.h"
#include "backend/cuda/device/gpu.h"
#include "backend/cuda/library/api.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct backend_group {
    int32_t n;
    backend **members;    /* [n] */
    nccl_comm *comms;     /* [n] */
    pthread_mutex_t lock;
    pthread_cond_t quiet; /* no calls are under way */
    int32_t n_calls;      /* that use the comms now; under the lock, as... */
    bool aborted;         /* ...the comms are gone, or about to go */
};

/* How long an abort waits for calls under way, which put work into queues and return. One that takes longer waits
 * for a GPU that has given up, and only the abort ends it. */
enum { GRACE_MS = 500 };

/* What it said last names the cause, such as CUDA's error or a peer; it may be about another call. */
static status check(unsigned result, const char *what, error *err)
{
    if (result == API_SUCCESS)
        return OK;
    const char *last = api.ncclGetLastError(NULL);
    return FAIL(err, E_DEVICE, "NCCL, %s: %s%s%s", what, api.ncclGetErrorString(result),
                *last ? "; it said last: " : "", last);
}

/* NCCL wants a GPU of its own for each member. */
static status open_comms(backend_group *g, error *err)
{
    int *devices = xcalloc((size_t)g->n, sizeof *devices);
    bool shared = false;
    for (int32_t i = 0; i < g->n; i++) {
        devices[i] = g->members[i]->device;
        for (int32_t k = 0; k < i; k++)
            shared |= devices[k] == devices[i];
    }
    status st = shared ? FAIL(err, E_UNSUPPORTED, "several lanes have the same GPU")
                       : check(api.ncclCommInitAll(g->comms, g->n, devices), "connecting GPUs", err);
    free(devices);
    return st;
}

static unsigned put(const backend_group *g, int32_t member, const backend_exchange *p)
{
    cuda_stream stream = g->members[member]->queues[QUEUE_PEER];
    unsigned e = API_SUCCESS;
    if (p->n_out)
        e = api.ncclSend(p->out, p->n_out, NCCL_F32, p->with, g->comms[member], stream);
    if (e == API_SUCCESS && p->n_in)
        e = api.ncclRecv(p->in, p->n_in, NCCL_F32, p->with, g->comms[member], stream);
    return e;
}

/* buffers[i]: what member i sends, and behind it a place for what each sends it. */
static status meet(const backend_group *g, float *const buffers[], error *err)
{
    TRY(check(api.ncclGroupStart(), "beginning a group", err));
    unsigned e = API_SUCCESS;
    for (int32_t i = 0; i < g->n; i++)
        for (int32_t k = 0; e == API_SUCCESS && k < g->n; k++)
            if (k != i)
                e = put(g, i,
                        &(backend_exchange){.with = k,
                                          .out = buffers[i],
                                          .n_out = 1,
                                          .in = buffers[i] + 1 + k,
                                          .n_in = 1});
    unsigned end = api.ncclGroupEnd();
    TRY(check(e == API_SUCCESS ? end : e, "connecting GPUs", err));
    for (int32_t i = 0; i < g->n; i++)
        TRY_CUDA(cudaStreamSynchronize(g->members[i]->queues[QUEUE_PEER]), "connecting GPUs", err);
    return OK;
}

static status meet_once(const backend_group *g, error *err)
{
    size_t bytes = ((size_t)g->n + 1) * sizeof(float);
    float **buffers = xcalloc((size_t)g->n, sizeof *buffers);
    status st = OK;
    for (int32_t i = 0; i < g->n && st == OK; i++) {
        void *p = NULL;
        st = cuda_queue_ops.enter(g->members[i], err);
        if (st == OK)
            st = cuda_alloc(g->members[i], SPACE_DEVICE, bytes, "what GPUs send first", &p, err);
        buffers[i] = p;
    }
    if (st == OK)
        st = meet(g, buffers, err);
    for (int32_t i = 0; i < g->n; i++)
        cuda_release(g->members[i], SPACE_DEVICE, buffers[i]);
    free(buffers);
    return st;
}

static void group_destroy(backend_group **g)
{
    if (!*g)
        return;
    for (int32_t i = 0; i < (*g)->n && !(*g)->aborted; i++)
        if ((*g)->comms[i])
            (void)api.ncclCommDestroy((*g)->comms[i]);
    pthread_cond_destroy(&(*g)->quiet);
    pthread_mutex_destroy(&(*g)->lock);
    free((*g)->members);
    free((*g)->comms);
    free(*g);
    *g = NULL;
}

/* Under the lock. */
static void wait_for_calls(backend_group *g)
{
    int64_t until = clock_us() + GRACE_MS * 1000;
    while (g->n_calls && thread_cond_wait_until(&g->quiet, &g->lock, until))
        ;
}

/* No call begins from here on, and those that have begun are let finish: an abort frees the comms. */
static void group_abort(backend_group *g)
{
    pthread_mutex_lock(&g->lock);
    bool first = !g->aborted;
    g->aborted = true;
    if (first)
        wait_for_calls(g);
    for (int32_t i = 0; i < g->n && first; i++)
        if (g->comms[i])
            (void)api.ncclCommAbort(g->comms[i]);
    pthread_mutex_unlock(&g->lock);
}

static void init_lock(backend_group *g)
{
    thread_cond_init(&g->quiet);
    pthread_mutex_init(&g->lock, NULL);
}

static status group_create(backend *const *members, int32_t n, backend_group **ret, error *err)
{
    if (!device_wants("TEQUIO_CUDA_NCCL"))
        return FAIL(err, E_UNSUPPORTED, "TEQUIO_CUDA_NCCL is 0");
    TRY(api_open(API_NCCL, err));
    backend_group *g = xcalloc(1, sizeof *g);
    g->n = n;
    g->members = xcalloc((size_t)n, sizeof(backend *));
    g->comms = xcalloc((size_t)n, sizeof(nccl_comm));
    init_lock(g);
    memcpy(g->members, members, (size_t)n * sizeof(backend *));
    status st = open_comms(g, err);
    if (st == OK)
        st = meet_once(g, err);
    if (st == OK) {
        *ret = g;
        return OK;
    }
    group_abort(g);
    group_destroy(&g);
    return st;
}

static void leave(backend_group *g)
{
    pthread_mutex_lock(&g->lock);
    if (--g->n_calls == 0)
        pthread_cond_broadcast(&g->quiet);
    pthread_mutex_unlock(&g->lock);
}

/* Until leave() the comms stay. Tells what went wrong behind the last call's back, and then it has left. */
static status begin_call(backend_group *g, int32_t member, error *err)
{
    unsigned trouble = API_SUCCESS, asked = API_SUCCESS;
    pthread_mutex_lock(&g->lock);
    bool aborted = g->aborted;
    g->n_calls += !aborted;
    if (!aborted)
        asked = api.ncclCommGetAsyncError(g->comms[member], &trouble);
    pthread_mutex_unlock(&g->lock);
    if (aborted)
        return FAIL(err, E_DEVICE, "NCCL: another GPU has given up");
    status st = check(asked == API_SUCCESS ? trouble : asked, "between GPUs", err);
    if (st != OK)
        leave(g);
    return st;
}

static status send_all(const backend_group *g, int32_t member, const backend_exchange *exchanges, int32_t n,
                       error *err)
{
    TRY(check(api.ncclGroupStart(), "beginning a group", err));
    unsigned e = API_SUCCESS;
    for (int32_t i = 0; e == API_SUCCESS && i < n; i++)
        e = put(g, member, &exchanges[i]);
    unsigned end = api.ncclGroupEnd();
    return check(e == API_SUCCESS ? end : e, "sending to other GPUs", err);
}

static status group_exchange(backend_group *g, int32_t member, const backend_exchange *exchanges, int32_t n,
                      error *err)
{
    TRY(begin_call(g, member, err));
    status st = send_all(g, member, exchanges, n, err);
    leave(g);
    return st;
}

/* Without a way of their own copies go by the host. */
static void approach(backend *b, const backend *other)
{
    int possible = 0;
    if (b->device != other->device && cudaSetDevice(b->device) == cudaSuccess &&
        cudaDeviceCanAccessPeer(&possible, b->device, other->device) == cudaSuccess && possible)
        (void)cudaDeviceEnablePeerAccess(other->device, 0);
    (void)cudaGetLastError(); /* another lane may have enabled it */
}

const backend_group_ops cuda_group_ops = {
    .approach = approach,
    .create = group_create,
    .destroy = group_destroy,
    .exchange = group_exchange,
    .abort = group_abort,
};
