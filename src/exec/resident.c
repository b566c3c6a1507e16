#include "exec/resident.h"

#include "common/base/alloc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct resident {
    part_engine engine;             /* the first member: who has it has this */
    backend_choice choice;
    backend *device;                /* NULL: not open */
    backend_event *done[QUEUE_COUNT];
    double *terms, *terms_here;     /* [ENGINE_TERMS] on the device, and on the host */
    float *stage;                   /* [PART_MAX] on the host, for DOWN; under the lock, like the rest */
    status failed;                  /* the first failure that could not be said at once */
    error failure;
    pthread_mutex_t lock;
};

static resident *of(part_engine *e)
{
    return (resident *)e;
}

static const backend_async *async_of(const resident *r)
{
    return r->choice.ops->async;
}

static status enter(const resident *r, error *err)
{
    return async_of(r)->enter(r->device, err);
}

/* What the queue was given until now is done. */
static status reach(resident *r, backend_queue q, error *err)
{
    TRY(async_of(r)->mark(r->device, q, r->done[q], err));
    return async_of(r)->wait(r->device, r->done[q], err);
}

/* --- failures --- */

static void keep(resident *r, status st, const error *why)
{
    pthread_mutex_lock(&r->lock);
    if (r->failed == OK && st != OK) {
        r->failed = st;
        r->failure = *why;
    }
    pthread_mutex_unlock(&r->lock);
}

static status sound(resident *r, error *err)
{
    pthread_mutex_lock(&r->lock);
    status st = r->failed == OK ? OK : FAIL(err, r->failed, "%s", r->failure.text);
    pthread_mutex_unlock(&r->lock);
    return st;
}

/* --- memory --- */

static status take(part_engine *e, size_t n, const char *what, float **ret, error *err)
{
    const resident *r = of(e);
    void *p = NULL;
    TRY(enter(r, err));
    TRY(r->choice.ops->alloc(r->device, SPACE_DEVICE, n * sizeof(float), what, &p, err));
    *ret = p;
    return OK;
}

static void give_back(part_engine *e, float *p)
{
    const resident *r = of(e);
    if (enter(r, NULL) == OK)
        r->choice.ops->release(r->device, SPACE_DEVICE, p);
}

static status copy_up(resident *r, float *to, const float *from, size_t n, error *err)
{
    TRY(enter(r, err));
    TRY(async_of(r)->copy(r->device, QUEUE_UP, to, from, n * sizeof *to, err));
    return reach(r, QUEUE_UP, err);
}

static void copy(part_engine *e, float *to, const float *from, size_t n)
{
    error why = ERROR_INIT;
    keep(of(e), copy_up(of(e), to, from, n, &why), &why);
}

static status add(resident *r, float *dst, const float *left, const float *right, size_t n, error *err)
{
    TRY(enter(r, err));
    TRY(async_of(r)->sum(r->device, QUEUE_PEER, dst, left, right, n, err));
    return reach(r, QUEUE_PEER, err);
}

static void sum(part_engine *e, float *dst, const float *left, const float *right, size_t n)
{
    error why = ERROR_INIT;
    keep(of(e), add(of(e), dst, left, right, n, &why), &why);
}

/* One way or the other, in pieces of the stage. */
static status move(resident *r, float *there, float *here, size_t n, bool up, error *err)
{
    TRY(enter(r, err));
    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < PART_MAX ? n - at : PART_MAX;
        if (up)
            memcpy(r->stage, here + at, some * sizeof *here);
        TRY(async_of(r)->copy(r->device, QUEUE_DOWN, up ? there + at : r->stage,
                              up ? r->stage : there + at, some * sizeof *here, err));
        TRY(reach(r, QUEUE_DOWN, err));
        if (!up)
            memcpy(here + at, r->stage, some * sizeof *here);
    }
    return OK;
}

static status read_down(part_engine *e, float *host, const float *from, size_t n, error *err)
{
    TRY(sound(of(e), err));
    pthread_mutex_lock(&of(e)->lock);
    status st = move(of(e), (float *)(uintptr_t)from, host, n, false, err);
    pthread_mutex_unlock(&of(e)->lock);
    return st;
}

static status write_up(part_engine *e, float *to, const float *host, size_t n, error *err)
{
    pthread_mutex_lock(&of(e)->lock);
    status st = move(of(e), to, (float *)(uintptr_t)host, n, true, err);
    pthread_mutex_unlock(&of(e)->lock);
    return st;
}

/* --- what the server makes of it --- */

static status update(part_engine *e, const struct update *u, size_t n, const float *grad,
                     const float *weight, float *weight_out, const float *const *state,
                     float *const *state_out, error *err)
{
    const resident *r = of(e);
    TRY(enter(r, err));
    return async_of(r)->update(r->device, QUEUE_COMPUTE, u, n, grad, weight, weight_out, state,
                               state_out, err);
}

static status average(part_engine *e, float momentum, float scale, size_t n, const float *value,
                      const float *in, float *out, error *err)
{
    const resident *r = of(e);
    TRY(enter(r, err));
    return async_of(r)->average(r->device, QUEUE_COMPUTE, momentum, scale, n, value, in, out, err);
}

static status finish(part_engine *e, error *err)
{
    TRY(reach(of(e), QUEUE_COMPUTE, err));
    return sound(of(e), err);
}

static status square_sums(part_engine *e, size_t at, int64_t first, size_t n, const float *x,
                          error *err)
{
    const resident *r = of(e);
    TRY(enter(r, err));
    return async_of(r)->square_sums(r->device, QUEUE_COMPUTE, r->terms + at, first, n, x, err);
}

static status terms(part_engine *e, size_t n, double *ret, error *err)
{
    resident *r = of(e);
    TRY(async_of(r)->copy(r->device, QUEUE_COMPUTE, r->terms_here, r->terms, n * sizeof *ret, err));
    TRY(finish(e, err));
    memcpy(ret, r->terms_here, n * sizeof *ret);
    return OK;
}

static const part_engine_ops ops = {
    .alloc = take,
    .release = give_back,
    .copy = copy,
    .sum = sum,
    .read = read_down,
    .write = write_up,
    .update = update,
    .average = average,
    .finish = finish,
    .square_sums = square_sums,
    .terms = terms,
};

/* --- its life --- */

resident *resident_create(const backend_choice *device)
{
    resident *r = xcalloc(1, sizeof *r);
    r->engine.ops = &ops;
    r->choice = *device;
    pthread_mutex_init(&r->lock, NULL);
    return r;
}

static void release(const resident *r, backend_space space, void *p)
{
    r->choice.ops->release(r->device, space, p);
}

void resident_destroy(resident **r)
{
    if (!r || !*r)
        return;
    if ((*r)->device && enter(*r, NULL) == OK) {
        for (int q = 0; q < QUEUE_COUNT; q++)
            async_of(*r)->event_destroy((*r)->device, &(*r)->done[q]);
        release(*r, SPACE_DEVICE, (*r)->terms);
        release(*r, SPACE_HOST, (*r)->terms_here);
        release(*r, SPACE_HOST, (*r)->stage);
        (*r)->choice.ops->close(&(*r)->device);
    }
    pthread_mutex_destroy(&(*r)->lock);
    free(*r);
    *r = NULL;
}

status resident_open(resident *r, error *err)
{
    const backend_ops *b = r->choice.ops;
    const size_t bytes = ENGINE_TERMS * sizeof(double);
    void *there = NULL, *here = NULL, *stage = NULL;
    TRY(b->open(&r->choice.options, &r->device, err));
    for (int q = 0; q < QUEUE_COUNT; q++)
        TRY(async_of(r)->event_create(r->device, &r->done[q], err));
    TRY(b->alloc(r->device, SPACE_DEVICE, bytes, "sums of squares", &there, err));
    r->terms = there;
    TRY(b->alloc(r->device, SPACE_HOST, bytes, "sums of squares on the host", &here, err));
    r->terms_here = here;
    TRY(b->alloc(r->device, SPACE_HOST, PART_MAX * sizeof(float), "what the host reads", &stage, err));
    r->stage = stage;
    atomic_store(&r->engine.is_open, true);
    return OK;
}

part_engine *resident_engine(resident *r)
{
    return &r->engine;
}

size_t resident_bytes(const flat *f, size_t slots)
{
    size_t live = (size_t)f->n_live, frozen = (size_t)(f->n_elements - f->n_live);
    return ((2 + slots) * live + frozen) * sizeof(float) + ENGINE_TERMS * sizeof(double);
}
