#include "evaluator/heartbeat.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/thread.h"
#include "common/store/eval_heartbeat.h"

#include <stdbool.h>
#include <stdlib.h>

enum { SECOND_US = 1000000 };

struct heartbeat {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t end;
    bool ends;
    char *job_dir;
};

static void *heartbeat_run(void *arg)
{
    heartbeat *a = arg;
    pthread_mutex_lock(&a->lock);
    while (!a->ends) {
        pthread_mutex_unlock(&a->lock);
        eval_heartbeat_touch(a->job_dir); /* may take as long as a disk does */
        int64_t due = clock_us() + SECOND_US;
        struct timespec until = {.tv_sec = due / SECOND_US, .tv_nsec = due % SECOND_US * 1000};
        pthread_mutex_lock(&a->lock);
        while (!a->ends && pthread_cond_timedwait(&a->end, &a->lock, &until) == 0)
            ;
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static void heartbeat_free(heartbeat **a)
{
    pthread_cond_destroy(&(*a)->end);
    pthread_mutex_destroy(&(*a)->lock);
    free((*a)->job_dir);
    free(*a);
    *a = NULL;
}

status heartbeat_begin(const char *job_dir, heartbeat **ret, error *err)
{
    heartbeat *a = xcalloc(1, sizeof *a);
    pthread_condattr_t monotonic;
    a->job_dir = xstrdup(job_dir);
    pthread_mutex_init(&a->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&a->end, &monotonic);
    pthread_condattr_destroy(&monotonic);
    status st = thread_start(&a->thread, "evaluator.alive", heartbeat_run, a, err);
    if (st != OK)
        heartbeat_free(&a);
    *ret = a;
    return st;
}

void heartbeat_end(heartbeat **a)
{
    if (!a || !*a)
        return;
    pthread_mutex_lock(&(*a)->lock);
    (*a)->ends = true;
    pthread_cond_signal(&(*a)->end);
    pthread_mutex_unlock(&(*a)->lock);
    pthread_join((*a)->thread, NULL);
    heartbeat_free(a);
}
