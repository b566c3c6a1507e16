#include "exec/resident.h"

#include "common/base/alloc.h"
#include "exec/state.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A place in a queue that the other one follows. Marks of a queue are numbered in their order, so that whoever
 * has followed one has followed all of lower numbers too. */
typedef struct place {
    backend_event *own;    /* marked for this part, and for others that changed hands with it */
    _Atomic(backend_event *) event; /* the part's own, or that of one beside it */
    atomic_uint_least64_t number;   /* of the event's last mark or an earlier one; 0: never marked */
} place;

/* How a part changes hands. */
typedef struct hands {
    place made;            /* the lane's COMPUTE: its gradient is made, its weights are read */
    place moved;           /* ours: the gradient is used, the weights are new */
    backend_event *summed; /* ours: its terms are here */
    size_t terms;          /* the first of them, of all parts' */
} hands;

/* From one queue to the other. */
typedef struct direction {
    uint64_t marked;       /* the last number; whose queue is marked */
    uint64_t followed;     /* the largest; whose queue follows */
} direction;

struct resident {
    weight_store weights;           /* as lanes see it */
    part_store store;               /* as the server does... */
    part_optimizer optimizer;       /* ...and what it has computed */
    backend_choice choice;
    backend *device;                /* NULL: not open */
    int32_t n_parts;
    hands *parts;                   /* [n_parts], and one more */
    direction made, moved;          /* what is ours of them under the lock, the rest is the lane's */
    double *terms, *terms_here;     /* of all parts, on the device, and on the host */
    backend_event *computed, *read; /* COMPUTE, DOWN; like the stage under the lock */
    float *stage;                   /* [PART_MAX] on the host, for DOWN */
    status failed;                  /* the first failure that could not be said at once; under the lock */
    error failure;
    pthread_mutex_t lock;
};

static resident *of_weights(weight_store *s)
{
    return (resident *)((char *)s - offsetof(resident, weights));
}

static resident *of(part_store *s)
{
    return (resident *)((char *)s - offsetof(resident, store));
}

static resident *of_optimizer(part_optimizer *o)
{
    return (resident *)((char *)o - offsetof(resident, optimizer));
}

static const backend_queue_ops *queue_of(const resident *r)
{
    return r->choice.ops->queue;
}

static status enter(const resident *r, error *err)
{
    return queue_of(r)->enter(r->device, err);
}

/* --- failures --- */

static void resident_keep(resident *r, status st, const error *why)
{
    pthread_mutex_lock(&r->lock);
    if (r->failed == OK && st != OK) {
        r->failed = st;
        r->failure = *why;
    }
    pthread_mutex_unlock(&r->lock);
}

/* Under the lock. */
static status sound(const resident *r, error *err)
{
    return r->failed == OK ? OK : FAIL(err, r->failed, "%s", r->failure.text);
}

/* What is begun comes behind what may be unsound. */
static status resident_begin(resident *r, error *err)
{
    pthread_mutex_lock(&r->lock);
    status st = sound(r, err);
    pthread_mutex_unlock(&r->lock);
    return st == OK ? enter(r, err) : st;
}

/* --- memory --- */

static status alloc(part_store *s, size_t n, const char *what, float **ret, error *err)
{
    const resident *r = of(s);
    void *p = NULL;
    TRY(enter(r, err));
    TRY(r->choice.ops->alloc(r->device, SPACE_DEVICE, n * sizeof(float), what, &p, err));
    *ret = p;
    return OK;
}

/* The device lets go of memory once it has done all that it was given. */
static void release(part_store *s, float *p)
{
    const resident *r = of(s);
    if (enter(r, NULL) == OK)
        r->choice.ops->release(r->device, SPACE_DEVICE, p);
}

static status copy_begin(resident *r, float *to, const float *from, size_t n, error *err)
{
    TRY(enter(r, err));
    return queue_of(r)->copy(r->device, QUEUE_COMPUTE, to, from, n * sizeof *to, err);
}

static void copy(part_store *s, float *to, const float *from, size_t n)
{
    error why = ERROR_INIT;
    resident_keep(of(s), copy_begin(of(s), to, from, n, &why), &why);
}

static status sum_begin(resident *r, float *dst, const float *left, const float *right, size_t n,
                        error *err)
{
    TRY(enter(r, err));
    return r->choice.ops->optimizer->sum(r->device, QUEUE_COMPUTE, dst, left, right, n, err);
}

static void sum(part_store *s, float *dst, const float *left, const float *right, size_t n)
{
    error why = ERROR_INIT;
    resident_keep(of(s), sum_begin(of(s), dst, left, right, n, &why), &why);
}

/* One way or the other, in pieces of the stage; behind what COMPUTE has. */
static status resident_move(resident *r, float *there, float *here, size_t n, bool up, error *err)
{
    const backend_queue_ops *queue = queue_of(r);
    TRY(enter(r, err));
    TRY(queue->mark(r->device, QUEUE_COMPUTE, r->computed, err));
    TRY(queue->follow(r->device, QUEUE_DOWN, r->computed, err));
    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < PART_MAX ? n - at : PART_MAX;
        if (up)
            memcpy(r->stage, here + at, some * sizeof *here);
        TRY(queue->copy(r->device, QUEUE_DOWN, up ? there + at : r->stage,
                        up ? r->stage : there + at, some * sizeof *here, err));
        TRY(queue->mark(r->device, QUEUE_DOWN, r->read, err));
        TRY(queue->wait(r->device, r->read, err));
        if (!up)
            memcpy(here + at, r->stage, some * sizeof *here);
    }
    return sound(r, err);
}

static status read_down(part_store *s, const float *from, size_t n, float *room, const float **ret,
                        error *err)
{
    pthread_mutex_lock(&of(s)->lock);
    status st = resident_move(of(s), (float *)(uintptr_t)from, room, n, false, err);
    pthread_mutex_unlock(&of(s)->lock);
    *ret = room;
    return st;
}

static status write_up(part_store *s, float *to, const float *host, size_t n, error *err)
{
    pthread_mutex_lock(&of(s)->lock);
    status st = resident_move(of(s), to, (float *)(uintptr_t)host, n, true, err);
    pthread_mutex_unlock(&of(s)->lock);
    return st;
}

/* --- from hand to hand --- */

/* The number is told behind the event: whoever reads a number finds its mark, or a later one. */
static status place_mark(const resident *r, backend *device, place *p, direction *d, error *err)
{
    TRY(queue_of(r)->mark(device, QUEUE_COMPUTE, p->own, err));
    atomic_store(&p->event, p->own);
    atomic_store(&p->number, ++d->marked);
    return OK;
}

static void place_share(place *p, const place *with)
{
    atomic_store(&p->event, with->own);
    atomic_store(&p->number, with->number);
}

static status place_follow(const resident *r, backend *device, place *p, direction *d, error *err)
{
    uint64_t number = atomic_load(&p->number);
    if (number <= d->followed)
        return OK;
    TRY(queue_of(r)->follow(device, QUEUE_COMPUTE, atomic_load(&p->event), err));
    d->followed = number;
    return OK;
}

static status take(part_store *s, int32_t part, error *err)
{
    resident *r = of(s);
    TRY(enter(r, err));
    pthread_mutex_lock(&r->lock);
    status st = place_follow(r, r->device, &r->parts[part].made, &r->made, err);
    pthread_mutex_unlock(&r->lock);
    return st;
}

static status give(part_store *s, int32_t part, error *err)
{
    resident *r = of(s);
    TRY(enter(r, err));
    pthread_mutex_lock(&r->lock);
    status st = place_mark(r, r->device, &r->parts[part].moved, &r->moved, err);
    pthread_mutex_unlock(&r->lock);
    return st;
}

/* --- what the server makes of it --- */

static status resident_update(part_optimizer *o, const struct update_part *u, const float *grad,
                              const float *weight_in, float *weight_out, float *const *state_in,
                              float *const *state_out, error *err)
{
    resident *r = of_optimizer(o);
    (void)state_in; /* in place, like the weights: no cut holds any of it */
    BUG_ON(weight_in != weight_out);
    TRY(resident_begin(r, err));
    return r->choice.ops->optimizer->update(r->device, QUEUE_COMPUTE, u, grad, weight_out, state_out, err);
}

static status resident_square_sums(part_optimizer *o, int32_t part, const struct update_span *spans,
                                   size_t n_spans, const float *x, size_t n, error *err)
{
    resident *r = of_optimizer(o);
    const hands *h = &r->parts[part];
    const backend_queue_ops *queue = queue_of(r);
    TRY(resident_begin(r, err));
    TRY(r->choice.ops->optimizer->square_sums(r->device, QUEUE_COMPUTE, r->terms + h->terms, x, spans,
                                              n_spans, err));
    TRY(queue->copy(r->device, QUEUE_COMPUTE, r->terms_here + h->terms, r->terms + h->terms,
                    n * sizeof *r->terms, err));
    return queue->mark(r->device, QUEUE_COMPUTE, h->summed, err);
}

static status has_terms(part_optimizer *o, int32_t part, bool *ret, error *err)
{
    resident *r = of_optimizer(o);
    TRY(resident_begin(r, err));
    return queue_of(r)->reached(r->device, r->parts[part].summed, ret, err);
}

static status terms(part_optimizer *o, int32_t part, size_t n, double *ret, error *err)
{
    resident *r = of_optimizer(o);
    TRY(resident_begin(r, err));
    TRY(queue_of(r)->wait(r->device, r->parts[part].summed, err));
    memcpy(ret, r->terms_here + r->parts[part].terms, n * sizeof *ret);
    return OK;
}

static const part_memory_ops memory = {
    .alloc = alloc,
    .release = release,
    .take = take,
    .give = give,
    .copy = copy,
    .sum = sum,
    .read = read_down,
    .write = write_up,
};

static const part_optimizer_ops optimizer = {
    .update = resident_update,
    .square_sums = resident_square_sums,
    .has_terms = has_terms,
    .terms = terms,
};

/* --- what the lane does with it --- */

static status lane_open(weight_store *s, exec *e, void **ret_params, error *err)
{
    resident *r = of_weights(s);
    TRY(resident_open(r, e->flat, err));
    *ret_params = r->store.weights;
    return OK;
}

/* The server may be asked for parts still. */
static void lane_close(weight_store *s, exec *e)
{
    (void)s, (void)e;
}

/* What the lane computes from now on comes behind the server's last change of the part, which also says that
 * its gradient is used. */
static status lane_need(weight_store *s, exec *e, int32_t part, int64_t edition, bool *ret_sent,
                        error *err)
{
    resident *r = of_weights(s);
    (void)edition, (void)ret_sent;
    return place_follow(r, e->device, &r->parts[part].moved, &r->moved, err);
}

static status lane_made(weight_store *s, exec *e, const part_event *parts, size_t n, error *err)
{
    resident *r = of_weights(s);
    place *first = &r->parts[parts[0].part].made;
    TRY(place_mark(r, e->device, first, &r->made, err));
    for (size_t i = 1; i < n; i++)
        place_share(&r->parts[parts[i].part].made, first);
    return OK;
}

/* Nothing arrives: the server puts parts where the lane reads them. */
static const weight_store_ops weights = {
    .keeps_gradients = true,
    .open = lane_open,
    .close = lane_close,
    .need = lane_need,
    .made = lane_made,
};

/* --- its life --- */

resident *resident_create(const backend_choice *device)
{
    resident *r = xcalloc(1, sizeof *r);
    r->weights.ops = &weights;
    r->store.memory = &memory;
    r->store.optimizer = &r->optimizer;
    r->optimizer.ops = &optimizer;
    r->choice = *device;
    r->choice.options.unused = 1u << QUEUE_UP | 1u << QUEUE_PEER;
    pthread_mutex_init(&r->lock, NULL);
    return r;
}

void resident_destroy(resident **r)
{
    if (!r || !*r)
        return;
    resident_close(*r);
    pthread_mutex_destroy(&(*r)->lock);
    free(*r);
    *r = NULL;
}

/* A block of the grid has a term, and every tensor in a part may begin and end one of its own. */
static size_t terms_of(const flat *f, int32_t part)
{
    size_t n_segments;
    (void)flat_part_segments(f, part, &n_segments);
    return (size_t)flat_part_elements(f, part) / PART_GRAIN + 1 + 2 * n_segments;
}

static size_t terms_bytes(const flat *f)
{
    size_t n = 0;
    for (int32_t p = 0; p < f->n_live_parts; p++)
        n += terms_of(f, p);
    return n * sizeof(double);
}

static status open_parts(resident *r, const flat *f, error *err)
{
    r->parts = xcalloc((size_t)f->n_parts + 1, sizeof *r->parts);
    r->made = r->moved = (direction){0};
    size_t terms = 0;
    for (; r->n_parts < f->n_parts; r->n_parts++) {
        hands *h = &r->parts[r->n_parts];
        h->terms = terms;
        terms += terms_of(f, r->n_parts);
        TRY(queue_of(r)->event_create(r->device, &h->made.own, err));
        TRY(queue_of(r)->event_create(r->device, &h->moved.own, err));
        TRY(queue_of(r)->event_create(r->device, &h->summed, err));
    }
    return OK;
}

static status take_memory(resident *r, const flat *f, error *err)
{
    const backend_ops *b = r->choice.ops;
    size_t bytes = (size_t)f->n_elements * sizeof(float), terms = terms_bytes(f);
    void *there = NULL, *here = NULL, *stage = NULL, *flat_vector = NULL;
    TRY(b->alloc(r->device, SPACE_DEVICE, bytes, "parameters", &flat_vector, err));
    r->store.weights = flat_vector;
    TRY(b->alloc(r->device, SPACE_DEVICE, terms, "sums of squares", &there, err));
    r->terms = there;
    TRY(b->alloc(r->device, SPACE_HOST, terms, "sums of squares on the host", &here, err));
    r->terms_here = here;
    TRY(b->alloc(r->device, SPACE_HOST, PART_MAX * sizeof(float), "what the host reads", &stage, err));
    r->stage = stage;
    return OK;
}

status resident_open(resident *r, const flat *f, error *err)
{
    TRY(r->choice.ops->open(&r->choice.options, &r->device, err));
    TRY(take_memory(r, f, err));
    TRY(queue_of(r)->event_create(r->device, &r->computed, err));
    TRY(queue_of(r)->event_create(r->device, &r->read, err));
    TRY(open_parts(r, f, err));
    atomic_store(&r->store.is_open, true);
    return OK;
}

static void close_parts(resident *r)
{
    for (int32_t p = 0; r->parts && p <= r->n_parts; p++) {
        backend_event **all[] = {&r->parts[p].made.own, &r->parts[p].moved.own, &r->parts[p].summed};
        for (size_t i = 0; i < COUNT_OF(all); i++)
            queue_of(r)->event_destroy(r->device, all[i]);
    }
    free(r->parts);
    r->parts = NULL;
    r->n_parts = 0;
}

void resident_close(resident *r)
{
    const backend_ops *b = r->choice.ops;
    atomic_store(&r->store.is_open, false);
    if (!r->device || enter(r, NULL) != OK)
        return;
    close_parts(r);
    queue_of(r)->event_destroy(r->device, &r->computed);
    queue_of(r)->event_destroy(r->device, &r->read);
    b->release(r->device, SPACE_DEVICE, r->store.weights);
    b->release(r->device, SPACE_DEVICE, r->terms);
    b->release(r->device, SPACE_HOST, r->terms_here);
    b->release(r->device, SPACE_HOST, r->stage);
    b->close(&r->device);
}

weight_store *resident_weights(resident *r)
{
    return &r->weights;
}

part_store *resident_store(resident *r)
{
    return &r->store;
}

size_t resident_bytes(const flat *f, size_t slots)
{
    return slots * (size_t)f->n_live * sizeof(float) + terms_bytes(f);
}
