#include "evaluator/heartbeat.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/thread.h"
#include "common/live/recorder_output.h"
#include "common/store/eval_heartbeat.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { SECOND_US = 1000000 };

struct heartbeat {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t end;
    bool ends;
    read_progress *reads; /* NULL: it reads nothing */
    char *job_dir;
    char *masters_events;
};

/* The master talks to no evaluator: what it has written itself tells that it has asked all others. Not so if we have
 * written at that time: then a signal has asked both. */
static int64_t last_asked(const heartbeat *a)
{
    struct stat s;
    if (stat(a->masters_events, &s) != 0)
        return 0;
    int64_t asked_us = (int64_t)s.st_mtim.tv_sec * SECOND_US + s.st_mtim.tv_nsec / 1000;
    return asked_us > recorder_written_us() + 2 * SECOND_US ? asked_us : 0;
}

static void *heartbeat_run(void *arg)
{
    heartbeat *a = arg;
    recorder_request asked = {.is_known = false};
    pthread_mutex_lock(&a->lock);
    while (!a->ends) {
        read_state now;
        bool reads = a->reads != NULL;
        if (reads)
            read_progress_look(a->reads, &now);
        pthread_mutex_unlock(&a->lock);
        eval_heartbeat_touch(a->job_dir, reads ? &now : NULL); /* may take as long as a disk does */
        recorder_take_request(&asked, last_asked(a));
        int64_t due = clock_us() + SECOND_US;
        pthread_mutex_lock(&a->lock);
        while (!a->ends && thread_cond_wait_until(&a->end, &a->lock, due))
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
    free((*a)->masters_events);
    free(*a);
    *a = NULL;
}

status heartbeat_begin(const char *job_dir, heartbeat **ret, error *err)
{
    heartbeat *a = xcalloc(1, sizeof *a);
    a->job_dir = xstrdup(job_dir);
    a->masters_events = xasprintf("%s/log/events/master.0.bin", job_dir);
    pthread_mutex_init(&a->lock, NULL);
    thread_cond_init(&a->end);
    status st = thread_start(&a->thread, "evaluator.alive", heartbeat_run, a, err);
    if (st != OK)
        heartbeat_free(&a);
    *ret = a;
    return st;
}

void heartbeat_reads(heartbeat *a, read_progress *p)
{
    pthread_mutex_lock(&a->lock);
    a->reads = p;
    pthread_mutex_unlock(&a->lock);
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
