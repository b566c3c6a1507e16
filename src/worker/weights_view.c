#include "worker/weights_view.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"

#include <pthread.h>
#include <stdlib.h>

struct weights_view {
    const flat *flat;
    weight_store *store;
    pthread_mutex_t lock;       /* of all below */
    pthread_cond_t arrived;
    int64_t *versions;
    loss_scale *scales;         /* [n_parts] of the versions */
    int64_t *puts;              /* how often each part was put */
    kv_times *times;            /* [n_parts] of the versions */
    kv_times last;              /* of the part that came last */
    kv_taking taking;           /* of the gradient that was taken last */
    int64_t hold_since_us;      /* 0: lanes may go on */
    int64_t held_us;            /* before that */
};

weights_view *weights_view_create(const flat *f, weight_store *store)
{
    weights_view *v = xcalloc(1, sizeof *v);
    v->flat = f;
    v->store = store;
    v->versions = xcalloc((size_t)f->n_parts, sizeof *v->versions);
    v->scales = xcalloc((size_t)f->n_parts, sizeof *v->scales);
    v->puts = xcalloc((size_t)f->n_parts, sizeof *v->puts);
    v->times = xcalloc((size_t)f->n_parts, sizeof *v->times);
    pthread_mutex_init(&v->lock, NULL);
    pthread_cond_init(&v->arrived, NULL);
    weights_view_forget(v);
    return v;
}

void weights_view_destroy(weights_view **v)
{
    if (!v || !*v)
        return;
    pthread_cond_destroy(&(*v)->arrived);
    pthread_mutex_destroy(&(*v)->lock);
    free((*v)->versions);
    free((*v)->scales);
    free((*v)->puts);
    free((*v)->times);
    free(*v);
    *v = NULL;
}

void weights_view_move(weights_view *v, weight_store *store)
{
    v->store = store;
}

weight_store *weights_view_store(const weights_view *v)
{
    return v->store;
}

status weights_view_put(weights_view *v, const kv_part *p, error *err)
{
    TRY(weight_store_put(v->store, p->part, p->weights, err));
    pthread_mutex_lock(&v->lock);
    v->versions[p->part] = p->version;
    v->scales[p->part] = p->scale;
    v->puts[p->part]++;
    v->times[p->part] = v->last = p->times;
    pthread_cond_broadcast(&v->arrived);
    pthread_mutex_unlock(&v->lock);
    return OK;
}

int64_t weights_view_version(const weights_view *v, int32_t part)
{
    return v->versions[part];       /* only the worker's thread writes it, and it is the one that asks */
}

void weights_view_drop(weights_view *v, int32_t part)
{
    pthread_mutex_lock(&v->lock);
    v->versions[part] = -1;
    pthread_mutex_unlock(&v->lock);
}

void weights_view_forget(weights_view *v)
{
    pthread_mutex_lock(&v->lock);
    for (int32_t p = 0; p < v->flat->n_parts; p++)
        v->versions[p] = -1;
    pthread_mutex_unlock(&v->lock);
}

status weights_view_wait(weights_view *v, int32_t part, int64_t version, const atomic_bool *cancel,
                         int64_t *ret_edition, error *err)
{
    bool frozen = v->flat->parts[part].frozen;
    pthread_mutex_lock(&v->lock);
    while (!atomic_load(cancel) &&
           (frozen ? v->versions[part] < 0 : v->versions[part] != version))
        pthread_cond_wait(&v->arrived, &v->lock);
    *ret_edition = v->puts[part];
    pthread_mutex_unlock(&v->lock);
    return atomic_load(cancel) ? FAIL(err, E_LOST, "cancelled") : OK;
}

/* A live part of that version; -1: none. */
static int32_t part_at(const weights_view *v, int64_t version)
{
    for (int32_t p = 0; p < v->flat->n_live_parts; p++)
        if (v->versions[p] == version)
            return p;
    return -1;
}

status weights_view_wait_scale(weights_view *v, int64_t version, const atomic_bool *cancel,
                               loss_scale *ret, error *err)
{
    int32_t part;
    pthread_mutex_lock(&v->lock);
    while ((part = part_at(v, version)) < 0 && !atomic_load(cancel))
        pthread_cond_wait(&v->arrived, &v->lock);
    if (part >= 0)
        *ret = v->scales[part];
    pthread_mutex_unlock(&v->lock);
    return part < 0 ? FAIL(err, E_LOST, "cancelled") : OK;
}

void weights_view_times(weights_view *v, int32_t part, kv_times *ret, kv_taking *ret_taking)
{
    pthread_mutex_lock(&v->lock);
    *ret = part < 0 ? v->last : v->times[part];
    *ret_taking = v->taking;
    pthread_mutex_unlock(&v->lock);
}

void weights_view_taken(weights_view *v, const kv_taking *t)
{
    pthread_mutex_lock(&v->lock);
    v->taking = *t;
    pthread_mutex_unlock(&v->lock);
}

void weights_view_hold(weights_view *v, bool holds)
{
    pthread_mutex_lock(&v->lock);
    if (holds && !v->hold_since_us)
        v->hold_since_us = clock_us();
    if (!holds && v->hold_since_us) {
        v->held_us += clock_us() - v->hold_since_us;
        v->hold_since_us = 0;
    }
    pthread_mutex_unlock(&v->lock);
}

int64_t weights_view_held_us(weights_view *v)
{
    pthread_mutex_lock(&v->lock);
    int64_t us = v->held_us + (v->hold_since_us ? clock_us() - v->hold_since_us : 0);
    pthread_mutex_unlock(&v->lock);
    return us;
}

void weights_view_wake(weights_view *v)
{
    pthread_mutex_lock(&v->lock);
    pthread_cond_broadcast(&v->arrived);
    pthread_mutex_unlock(&v->lock);
}
