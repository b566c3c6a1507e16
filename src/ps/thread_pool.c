#include "ps/thread_pool.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/base/thread.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct thread_pool {
    const char *task;
    pthread_t *threads; /* [n], beside the caller */
    int n;
    pthread_mutex_t lock;
    pthread_cond_t called, left;
    bool stop, open; /* under lock, like the rest: a call that may be joined */
    uint64_t call;   /* its number */
    int inside;      /* helpers that joined it */
    thread_pool_body *body;
    void *arg;
    size_t n_pieces;
    atomic_size_t next; /* piece; anybody's who joined */
};

static void work(thread_pool *h)
{
    for (size_t i; (i = atomic_fetch_add(&h->next, 1)) < h->n_pieces;)
        h->body(i, h->arg);
}

static void *help(void *arg)
{
    thread_pool *h = arg;
    uint64_t joined = 0;
    log_set_task(h->task);
    pthread_mutex_lock(&h->lock);
    for (;;) {
        while (!h->stop && !(h->open && h->call != joined))
            pthread_cond_wait(&h->called, &h->lock);
        if (h->stop)
            break;
        joined = h->call;
        h->inside++;
        pthread_mutex_unlock(&h->lock);
        work(h);
        pthread_mutex_lock(&h->lock);
        if (--h->inside == 0)
            pthread_cond_signal(&h->left);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

status thread_pool_create(int n, const char *task, thread_pool **ret, error *err)
{
    thread_pool *h = xcalloc(1, sizeof *h);
    h->task = task;
    h->threads = xcalloc((size_t)n, sizeof *h->threads);
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->called, NULL);
    pthread_cond_init(&h->left, NULL);
    for (; h->n < n - 1; h->n++) {
        status st = thread_start(&h->threads[h->n], "helper", help, h, err);
        if (st != OK) {
            thread_pool_destroy(&h);
            return st;
        }
    }
    *ret = h;
    return OK;
}

void thread_pool_destroy(thread_pool **h)
{
    if (!h || !*h)
        return;
    pthread_mutex_lock(&(*h)->lock);
    (*h)->stop = true;
    pthread_cond_broadcast(&(*h)->called);
    pthread_mutex_unlock(&(*h)->lock);
    for (int i = 0; i < (*h)->n; i++)
        pthread_join((*h)->threads[i], NULL);
    pthread_cond_destroy(&(*h)->called);
    pthread_cond_destroy(&(*h)->left);
    pthread_mutex_destroy(&(*h)->lock);
    free((*h)->threads);
    free(*h);
    *h = NULL;
}

static void open_call(thread_pool *h, size_t n, thread_pool_body *body, void *arg)
{
    pthread_mutex_lock(&h->lock);
    h->body = body;
    h->arg = arg;
    h->n_pieces = n;
    atomic_store(&h->next, 0);
    h->call++;
    h->open = true;
    pthread_cond_broadcast(&h->called);
    pthread_mutex_unlock(&h->lock);
}

/* Nobody joins any more, and all who did have left. */
static void close_call(thread_pool *h)
{
    pthread_mutex_lock(&h->lock);
    h->open = false;
    while (h->inside)
        pthread_cond_wait(&h->left, &h->lock);
    pthread_mutex_unlock(&h->lock);
}

void thread_pool_share(thread_pool *h, size_t n, thread_pool_body *body, void *arg)
{
    if (!h || !h->n || n < 2) {
        for (size_t i = 0; i < n; i++)
            body(i, arg);
        return;
    }
    open_call(h, n, body, arg);
    work(h);
    close_call(h);
}
