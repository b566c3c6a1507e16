#include "worker/board.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

typedef struct queue {
    note *at;                   /* ring */
    size_t cap, first, n;
} queue;

struct board {
    const flat *flat;
    net_waker *waker;
    weight_store *weights;
    pthread_mutex_t lock;       /* versions, puts, queues, failure */
    pthread_cond_t arrived;
    int64_t *versions;
    loss_scale *scales;         /* [n_parts] of the versions */
    int64_t *puts;              /* how often each part was put */
    queue queues[2];
    status failed;
    error failure;
};

board *board_create(const flat *f, net_waker *waker, weight_store *weights)
{
    board *b = xcalloc(1, sizeof *b);
    b->flat = f;
    b->waker = waker;
    b->weights = weights;
    b->versions = xcalloc((size_t)f->n_parts, sizeof *b->versions);
    b->scales = xcalloc((size_t)f->n_parts, sizeof *b->scales);
    b->puts = xcalloc((size_t)f->n_parts, sizeof *b->puts);
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->arrived, NULL);
    board_forget(b);
    return b;
}

void board_destroy(board **b)
{
    if (!b || !*b)
        return;
    pthread_cond_destroy(&(*b)->arrived);
    pthread_mutex_destroy(&(*b)->lock);
    free((*b)->queues[0].at);
    free((*b)->queues[1].at);
    free((*b)->versions);
    free((*b)->scales);
    free((*b)->puts);
    free(*b);
    *b = NULL;
}

void board_move(board *b, weight_store *weights)
{
    b->weights = weights;
}

weight_store *board_weights(const board *b)
{
    return b->weights;
}

status board_put_part(board *b, const kv_part *p, error *err)
{
    TRY(b->weights->ops->put(b->weights, p->part, p->weights, err));
    pthread_mutex_lock(&b->lock);
    b->versions[p->part] = p->version;
    b->scales[p->part] = p->scale;
    b->puts[p->part]++;
    pthread_cond_broadcast(&b->arrived);
    pthread_mutex_unlock(&b->lock);
    return OK;
}

int64_t board_version(const board *b, int32_t part)
{
    return b->versions[part];       /* only the worker's thread, who asks, writes it */
}

void board_drop_part(board *b, int32_t part)
{
    pthread_mutex_lock(&b->lock);
    b->versions[part] = -1;
    pthread_mutex_unlock(&b->lock);
}

void board_forget(board *b)
{
    pthread_mutex_lock(&b->lock);
    for (int32_t p = 0; p < b->flat->n_parts; p++)
        b->versions[p] = -1;
    pthread_mutex_unlock(&b->lock);
}

status board_wait_part(board *b, int32_t part, int64_t version, const atomic_bool *cancel,
                       int64_t *ret_edition, error *err)
{
    bool frozen = b->flat->parts[part].frozen;
    pthread_mutex_lock(&b->lock);
    while (!atomic_load(cancel) &&
           (frozen ? b->versions[part] < 0 : b->versions[part] != version))
        pthread_cond_wait(&b->arrived, &b->lock);
    *ret_edition = b->puts[part];
    pthread_mutex_unlock(&b->lock);
    return atomic_load(cancel) ? FAIL(err, E_LOST, "cancelled") : OK;
}

/* A live part of that version; -1: none. */
static int32_t part_at(const board *b, int64_t version)
{
    for (int32_t p = 0; p < b->flat->n_live_parts; p++)
        if (b->versions[p] == version)
            return p;
    return -1;
}

status board_wait_scale(board *b, int64_t version, const atomic_bool *cancel, loss_scale *ret,
                        error *err)
{
    int32_t part;
    pthread_mutex_lock(&b->lock);
    while ((part = part_at(b, version)) < 0 && !atomic_load(cancel))
        pthread_cond_wait(&b->arrived, &b->lock);
    if (part >= 0)
        *ret = b->scales[part];
    pthread_mutex_unlock(&b->lock);
    return part < 0 ? FAIL(err, E_LOST, "cancelled") : OK;
}

void board_wake(board *b)
{
    pthread_mutex_lock(&b->lock);
    pthread_cond_broadcast(&b->arrived);
    pthread_mutex_unlock(&b->lock);
}

/* Only the first turns of the queue grow it; after that a step's notes fit. */
static void queue_reserve(queue *q)
{
    if (q->n < q->cap)
        return;
    size_t cap = q->cap ? 2 * q->cap : 256;
    note *at = xmalloc(cap * sizeof *at);
    for (size_t i = 0; i < q->n; i++)
        at[i] = q->at[(q->first + i) % q->cap];
    free(q->at);
    *q = (queue){.at = at, .cap = cap, .first = 0, .n = q->n};
}

void board_post(board *b, const note *n)
{
    pthread_mutex_lock(&b->lock);
    queue *q = &b->queues[n->step & 1];
    queue_reserve(q);
    q->at[(q->first + q->n++) % q->cap] = *n;
    pthread_mutex_unlock(&b->lock);
    net_waker_wake(b->waker);
}

void board_fail(board *b, status st, const error *why)
{
    pthread_mutex_lock(&b->lock);
    if (b->failed == OK) {
        b->failed = st;
        b->failure = *why;
    }
    pthread_mutex_unlock(&b->lock);
    net_waker_wake(b->waker);
}

bool board_take_note(board *b, int64_t step, note *ret)
{
    pthread_mutex_lock(&b->lock);
    queue *q = &b->queues[step & 1];
    bool any = q->n > 0 && q->at[q->first].step <= step;
    if (any) {
        *ret = q->at[q->first];
        q->first = (q->first + 1) % q->cap;
        q->n--;
    }
    pthread_mutex_unlock(&b->lock);
    return any;
}

void board_drop_notes(board *b)
{
    note n;
    for (int64_t last = INT64_MAX; last >= INT64_MAX - 1; last--)   /* one of either queue */
        while (board_take_note(b, last, &n))
            if (n.kind == NOTE_READY || n.kind == NOTE_SUM)
                span_drop(n.sum);
}

status board_failure(board *b, error *err)
{
    pthread_mutex_lock(&b->lock);
    status st = b->failed;
    if (st != OK)
        error_set(err, st, "%s", b->failure.text);
    pthread_mutex_unlock(&b->lock);
    return st;
}
