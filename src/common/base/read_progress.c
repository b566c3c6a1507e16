#include "common/base/read_progress.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/utf8.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes that end a path, and of what is read, in words; files that are shared at a time; how often it is told, there
 * and in the log. */
enum { PATH_END = 64, WHAT = 128, SHARED = 64, SHARE_US = 250 * 1000, SAY_US = 10 * 1000 * 1000 };

struct read_progress {
    atomic_uint_least64_t done, moves;
    atomic_int_least64_t next_us;   /* when it is told next */
    atomic_bool is_stopped;
    const atomic_bool *stop_flag;   /* or by it; NULL: there is none */
    pthread_mutex_t lock;           /* guards what follows */
    char what[WHAT];                /* "indexing 'train.jsonl'" */
    uint64_t n;
    const char *unit;               /* NULL: bytes */
    int64_t said_us;                /* in the log, or when this began */
    int shared[SHARED];
    size_t n_shared;
    bool follows;                   /* it waits for another process... */
    read_state followed;            /* ...which said this last */
};

static read_progress of_process = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local read_progress *current;

read_progress *read_progress_create(void)
{
    read_progress *p = xcalloc(1, sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

void read_progress_destroy(read_progress **p)
{
    if (!*p)
        return;
    pthread_mutex_destroy(&(*p)->lock);
    free(*p);
    *p = NULL;
}

void read_progress_enter(read_progress *p)
{
    current = p;
}

read_progress *read_progress_here(void)
{
    return current ? current : &of_process;
}

/* --- in words --- */

static void write_bytes(const char *what, uint64_t done, uint64_t n, char ret[READ_PROGRESS_TEXT])
{
    uint64_t most = n > done ? n : done;
    bool is_large = most >= 1000 * 1000 * 1000;
    double scale = is_large ? 1e-9 : 1e-6;
    const char *unit = is_large ? "GB" : "MB";
    if (n > 0 && done <= n)
        snprintf(ret, READ_PROGRESS_TEXT, "%s: %.1f of %.1f %s", what, (double)done * scale, (double)n * scale, unit);
    else
        snprintf(ret, READ_PROGRESS_TEXT, "%s: %.1f %s", what, (double)done * scale, unit);
}

/* Lock held. */
static void describe(const read_progress *p, char ret[READ_PROGRESS_TEXT])
{
    uint64_t done = atomic_load(&p->done);
    if (p->follows)
        snprintf(ret, READ_PROGRESS_TEXT, "waiting while another process is %.*s", WHAT,
                 p->followed.text[0] ? p->followed.text : "making a file");
    else if (!p->what[0] || (done == 0 && p->n == 0))
        snprintf(ret, READ_PROGRESS_TEXT, "%s", p->what);
    else if (!p->unit)
        write_bytes(p->what, done, p->n, ret);
    else if (p->n > 0)
        snprintf(ret, READ_PROGRESS_TEXT, "%s: %" PRIu64 " of %" PRIu64 " %s", p->what, done, p->n, p->unit);
    else
        snprintf(ret, READ_PROGRESS_TEXT, "%s: %" PRIu64 " %s", p->what, done, p->unit);
}

void read_progress_look(read_progress *p, read_state *ret)
{
    pthread_mutex_lock(&p->lock);
    ret->moves = atomic_load(&p->moves);
    describe(p, ret->text);
    pthread_mutex_unlock(&p->lock);
}

/* --- telling --- */

/* Lock held. A file that cannot be written tells nothing: who waits for it learns at the end. */
static void share(const read_progress *p)
{
    read_state s;
    if (p->n_shared == 0)
        return;
    memset(&s, 0, sizeof s);
    s.moves = atomic_load(&p->moves);
    describe(p, s.text);
    for (size_t i = 0; i < p->n_shared; i++)
        (void)!pwrite(p->shared[i], &s, sizeof s, 0);
}

static void tell(read_progress *p, int64_t now_us)
{
    char text[READ_PROGRESS_TEXT] = "";
    pthread_mutex_lock(&p->lock);
    share(p);
    if ((p->what[0] || p->follows) && now_us - p->said_us >= SAY_US) {
        p->said_us = now_us;
        describe(p, text);
    }
    pthread_mutex_unlock(&p->lock);
    if (text[0])
        LOG_I("READING", "%s", text);
}

/* One of the threads that move it finds that it is time. */
static void move(read_progress *p)
{
    int64_t now_us = clock_us(), next_us = atomic_load_explicit(&p->next_us, memory_order_relaxed);
    atomic_fetch_add_explicit(&p->moves, 1, memory_order_relaxed);
    if (now_us >= next_us && atomic_compare_exchange_strong(&p->next_us, &next_us, now_us + SHARE_US))
        tell(p, now_us);
}

void read_progress_begin(const char *what, const char *of, uint64_t n, const char *unit)
{
    read_progress *p = read_progress_here();
    size_t length = strlen(of);
    bool is_long = length > PATH_END;
    pthread_mutex_lock(&p->lock);
    snprintf(p->what, sizeof p->what, "%s '%s%s'", what, is_long ? "..." : "", is_long ? of + length - PATH_END : of);
    utf8_mend(p->what);
    p->n = n;
    p->unit = unit;
    p->follows = false;
    p->said_us = clock_us();
    atomic_store(&p->done, 0);
    pthread_mutex_unlock(&p->lock);
    move(p);
}

void read_progress_add(uint64_t n)
{
    read_progress *p = read_progress_here();
    atomic_fetch_add_explicit(&p->done, n, memory_order_relaxed);
    move(p);
}

/* --- the end before its time --- */

static bool is_stopped(const read_progress *p)
{
    return atomic_load_explicit(&p->is_stopped, memory_order_relaxed) ||
           (p->stop_flag && atomic_load_explicit(p->stop_flag, memory_order_relaxed));
}

status read_progress_check(error *err)
{
    return is_stopped(read_progress_here()) ? FAIL(err, E_ABORTED, "stopped while data were read") : OK;
}

void read_progress_stop_by(read_progress *p, const atomic_bool *flag)
{
    p->stop_flag = flag;
}

void read_progress_stop(read_progress *p)
{
    atomic_store(&p->is_stopped, true);
}

/* --- other processes --- */

void read_progress_share(int fd)
{
    read_progress *p = read_progress_here();
    pthread_mutex_lock(&p->lock);
    p->follows = false;
    if (p->n_shared < SHARED)
        p->shared[p->n_shared++] = fd;
    share(p);
    pthread_mutex_unlock(&p->lock);
}

void read_progress_unshare(int fd)
{
    read_progress *p = read_progress_here();
    pthread_mutex_lock(&p->lock);
    size_t kept = 0;
    for (size_t i = 0; i < p->n_shared; i++)
        if (p->shared[i] != fd)
            p->shared[kept++] = p->shared[i];
    p->n_shared = kept;
    pthread_mutex_unlock(&p->lock);
}

void read_progress_follow(int fd)
{
    read_progress *p = read_progress_here();
    read_state s;
    if (pread(fd, &s, sizeof s, 0) != (ssize_t)sizeof s)
        return;
    s.text[sizeof s.text - 1] = '\0';
    pthread_mutex_lock(&p->lock);
    bool has_moved = s.moves != p->followed.moves || strcmp(s.text, p->followed.text) != 0;
    p->followed = s;
    p->follows = true;
    pthread_mutex_unlock(&p->lock);
    if (has_moved)
        move(p);
}
