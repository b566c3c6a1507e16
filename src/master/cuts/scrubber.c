#include "master/cuts/scrubber.h"

#include "common/base/alloc.h"
#include "common/base/thread.h"
#include "common/store/checkpoint.h"

#include <stdatomic.h>
#include <stdlib.h>

struct scrubber {
    pthread_t thread;
    bool runs;      /* it was started, and is not joined */
    char *dir;
    int64_t step;
    status st;      /* the thread's, like `why`, until is_over */
    error why;
    atomic_bool stop, is_over;
};

/* Damage may lie in memory, or on the way: then it is not there the second time. */
static void *scrubber_run(void *arg)
{
    scrubber *s = arg;
    thread_idle();
    s->st = checkpoint_scrub(s->dir, &s->stop, &s->why);
    if (s->st == E_DATA) {
        error_clear(&s->why);
        s->st = checkpoint_scrub(s->dir, &s->stop, &s->why);
    }
    atomic_store(&s->is_over, true);
    return NULL;
}

static void scrubber_join(scrubber *s)
{
    if (!s->runs)
        return;
    pthread_join(s->thread, NULL);
    s->runs = false;
    free(s->dir);
}

scrubber *scrubber_create(void)
{
    return xcalloc(1, sizeof(scrubber));
}

void scrubber_destroy(scrubber **s)
{
    if (!s || !*s)
        return;
    atomic_store(&(*s)->stop, true);
    scrubber_join(*s);
    free(*s);
    *s = NULL;
}

bool scrubber_is_free(const scrubber *s)
{
    return !s->runs;
}

/* Where there is no thread to be had, nothing is read this time. */
void scrubber_begin(scrubber *s, const jobdir *d, int64_t step)
{
    BUG_ON(s->runs);
    s->dir = checkpoint_path(d, step);
    s->step = step;
    error_clear(&s->why);
    atomic_store(&s->is_over, false);
    s->runs = thread_start(&s->thread, "scrubber", scrubber_run, s, NULL) == OK;
    if (!s->runs)
        free(s->dir);
}

bool scrubber_take(scrubber *s, int64_t *ret_step, status *ret_st, error *why)
{
    if (!s->runs || !atomic_load(&s->is_over))
        return false;
    scrubber_join(s);
    *ret_step = s->step;
    *ret_st = s->st;
    *why = s->why;
    return true;
}
