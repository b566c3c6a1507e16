/* See parallel.h. */
#include "data/index/parallel.h"

#include "common/base/log.h"
#include "common/base/read_progress.h"
#include "common/base/thread.h"

#include <stdbool.h>

enum { THREADS = 64 };

typedef struct loop {
    status (*round)(void *user, size_t i, error *err);
    void *user;
    size_t n;
    read_progress *progress; /* of who called it */
    pthread_mutex_t lock; /* guards what follows */
    size_t next;
    size_t failed_at; /* n: none failed */
    status result;
    error reason;
} loop;

static bool begin_round(loop *l, size_t *ret)
{
    pthread_mutex_lock(&l->lock);
    bool more = l->next < l->n && l->next < l->failed_at;
    *ret = l->next;
    l->next += more;
    pthread_mutex_unlock(&l->lock);
    return more;
}

static void note_failure(loop *l, size_t i, status st, const error *reason)
{
    pthread_mutex_lock(&l->lock);
    if (i < l->failed_at) {
        l->failed_at = i;
        l->result = st;
        l->reason = *reason;
    }
    pthread_mutex_unlock(&l->lock);
}

static void *run_rounds(void *arg)
{
    loop *l = arg;
    size_t i;
    while (begin_round(l, &i)) {
        error reason = ERROR_INIT;
        status st = read_progress_check(&reason);
        if (st == OK)
            st = l->round(l->user, i, &reason);
        if (st != OK)
            note_failure(l, i, st, &reason);
        read_progress_add(0);
    }
    return NULL;
}

static void *run_helper(void *arg)
{
    const loop *l = arg;
    read_progress_enter(l->progress);
    return run_rounds(arg);
}

status parallel_for(size_t n, int threads, status (*round)(void *user, size_t i, error *err), void *user,
                    error *err)
{
    loop l = {.round = round, .user = user, .n = n, .failed_at = n, .result = OK, .reason = ERROR_INIT,
              .progress = read_progress_here()};
    pthread_t helpers[THREADS];
    size_t wanted = (size_t)(threads > 0 ? threads : thread_cpus()), n_helpers = 0;
    wanted = wanted < THREADS ? wanted : THREADS;
    wanted = wanted < n ? wanted : n;
    pthread_mutex_init(&l.lock, NULL);
    while (n_helpers + 1 < wanted &&
           thread_start(&helpers[n_helpers], log_task(), run_helper, &l, NULL) == OK)
        n_helpers++;
    run_rounds(&l);
    for (size_t i = 0; i < n_helpers; i++)
        pthread_join(helpers[i], NULL);
    pthread_mutex_destroy(&l.lock);
    if (l.result != OK && err)
        *err = l.reason;
    return l.result;
}
