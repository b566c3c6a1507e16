#include "master/cuts/sweeper.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/base/thread.h"
#include "common/store/checkpoint.h"

#include <stdlib.h>

struct sweeper {
    const jobdir *dir;
    pthread_t thread;
    bool runs;
    pthread_mutex_t lock;
    pthread_cond_t news;
    bool due, stop; /* under lock */
};

/* What cannot be removed takes room and does no other harm; the next time tries again. */
static void sweep(const sweeper *s)
{
    error why = ERROR_INIT;
    if (checkpoint_sweep(s->dir, &why) != OK)
        LOG_W("CHECKPOINTS", "old ones take room still: %s", why.text);
}

static void *sweeper_run(void *arg)
{
    sweeper *s = arg;
    pthread_mutex_lock(&s->lock);
    while (s->due || !s->stop) {
        if (!s->due) {
            pthread_cond_wait(&s->news, &s->lock);
            continue;
        }
        s->due = false;
        pthread_mutex_unlock(&s->lock);
        sweep(s);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

sweeper *sweeper_create(const jobdir *d)
{
    sweeper *s = xcalloc(1, sizeof *s);
    s->dir = d;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->news, NULL);
    s->runs = thread_start(&s->thread, "sweeper", sweeper_run, s, NULL) == OK;
    return s;
}

static void sweeper_tell(sweeper *s, bool *what)
{
    pthread_mutex_lock(&s->lock);
    *what = true;
    pthread_cond_signal(&s->news);
    pthread_mutex_unlock(&s->lock);
}

void sweeper_destroy(sweeper **s)
{
    if (!s || !*s)
        return;
    if ((*s)->runs) {
        sweeper_tell(*s, &(*s)->stop);
        pthread_join((*s)->thread, NULL);
    }
    pthread_cond_destroy(&(*s)->news);
    pthread_mutex_destroy(&(*s)->lock);
    free(*s);
    *s = NULL;
}

void sweeper_go(sweeper *s)
{
    if (s->runs)
        sweeper_tell(s, &s->due);
    else
        sweep(s);
}
