#include "worker/lane_notes.h"

#include "common/base/alloc.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct queue {
    note *at;                   /* ring */
    size_t cap, first, n;
} queue;

struct lane_notes {
    net_waker *waker;
    pthread_mutex_t lock;       /* of all below */
    queue queues[2];            /* by step & 1 */
    status failed;
    error failure;
};

lane_notes *lane_notes_create(net_waker *waker)
{
    lane_notes *l = xcalloc(1, sizeof *l);
    l->waker = waker;
    pthread_mutex_init(&l->lock, NULL);
    return l;
}

void lane_notes_destroy(lane_notes **l)
{
    if (!l || !*l)
        return;
    pthread_mutex_destroy(&(*l)->lock);
    free((*l)->queues[0].at);
    free((*l)->queues[1].at);
    free(*l);
    *l = NULL;
}

/* Only the first turns of the queue grow it; after that a step's notes fit. */
static void lane_notes_queue_reserve(queue *q)
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

void lane_notes_post(lane_notes *l, const note *n)
{
    pthread_mutex_lock(&l->lock);
    queue *q = &l->queues[n->step & 1];
    lane_notes_queue_reserve(q);
    q->at[(q->first + q->n++) % q->cap] = *n;
    pthread_mutex_unlock(&l->lock);
    net_waker_wake(l->waker);
}

void lane_notes_fail(lane_notes *l, status st, const error *why)
{
    pthread_mutex_lock(&l->lock);
    if (l->failed == OK) {
        l->failed = st;
        l->failure = *why;
    }
    pthread_mutex_unlock(&l->lock);
    net_waker_wake(l->waker);
}

bool lane_notes_take(lane_notes *l, int64_t step, note *ret)
{
    pthread_mutex_lock(&l->lock);
    queue *q = &l->queues[step & 1];
    bool any = q->n > 0 && q->at[q->first].step <= step;
    if (any) {
        *ret = q->at[q->first];
        q->first = (q->first + 1) % q->cap;
        q->n--;
    }
    pthread_mutex_unlock(&l->lock);
    return any;
}

void lane_notes_drop(lane_notes *l)
{
    note n;
    for (int64_t last = INT64_MAX; last >= INT64_MAX - 1; last--)   /* one of either queue */
        while (lane_notes_take(l, last, &n))
            if (n.kind == NOTE_READY || n.kind == NOTE_SUM)
                span_drop(n.sum);
            else if (n.kind == NOTE_MEASURED)
                slot_report_fini(&n.measured);
}

status lane_notes_failure(lane_notes *l, error *err)
{
    pthread_mutex_lock(&l->lock);
    status st = l->failed;
    if (st != OK)
        error_set(err, st, "%s", l->failure.text);
    pthread_mutex_unlock(&l->lock);
    return st;
}
