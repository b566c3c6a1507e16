#include "master/profile/trace_writer.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/thread.h"
#include "master/profile/trace_json.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { LEAVE_US = 3 * 1000 * 1000 };

/* What a process told, or, with `why`, that it did not. */
typedef struct item {
    trace_source source;
    char task[TASK_NAME];
    char *why;
} item;

struct trace_writer {
    pthread_t thread;
    char *path, *beside;
    trace_window steps;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    item *items;                    /* all below under lock */
    size_t n, taken, cap;
    trace_json *json;               /* while it is being written */
    bool ends, stop, is_over, is_left;
    status outcome;
    error failure;
};

/* The next one; false: there is none to come. */
static bool next_item(trace_writer *w, item *ret)
{
    pthread_mutex_lock(&w->lock);
    while (!w->stop && !w->ends && w->taken == w->n)
        pthread_cond_wait(&w->changed, &w->lock);
    bool is_there = !w->stop && w->taken < w->n;
    if (is_there) {
        *ret = w->items[w->taken];
        w->items[w->taken++] = (item){.why = NULL};
    }
    pthread_mutex_unlock(&w->lock);
    return is_there;
}

static void tell_json(trace_writer *w, trace_json *j)
{
    pthread_mutex_lock(&w->lock);
    w->json = j;
    pthread_mutex_unlock(&w->lock);
}

static void write_items(trace_writer *w, FILE *f)
{
    trace_json *j = trace_json_begin(f, w->steps);
    item one;
    tell_json(w, j);
    while (next_item(w, &one)) {
        if (one.why)
            trace_json_miss(j, one.task, one.why);
        else
            trace_json_add(j, &one.source);
        trace_source_free(&one.source);
        free(one.why);
    }
    tell_json(w, NULL);
    trace_json_end(&j);
}

static bool is_whole(trace_writer *w)
{
    pthread_mutex_lock(&w->lock);
    bool is_whole = w->ends && w->taken == w->n;
    pthread_mutex_unlock(&w->lock);
    return is_whole;
}

static status write_file(trace_writer *w, error *err)
{
    char *folder = fs_parent(w->path);
    status st = fs_mkdirs(folder, err);
    free(folder);
    TRY(st);
    FILE *f = fopen(w->beside, "w");
    if (!f)
        return fs_fail(err, "cannot write", w->beside);
    write_items(w, f);
    bool failed = ferror(f) != 0;
    if (fclose(f) != 0 || failed)
        st = fs_fail(err, "cannot write", w->path);
    else if (!is_whole(w))
        st = FAIL(err, E_ABORTED, "'%s' was not told whole", w->path);
    else if (rename(w->beside, w->path) != 0)
        st = fs_fail(err, "cannot write", w->path);
    if (st != OK)
        unlink(w->beside);
    return st;
}

static void trace_writer_free(trace_writer *w)
{
    for (size_t i = 0; i < w->n; i++) {
        trace_source_free(&w->items[i].source);
        free(w->items[i].why);
    }
    free(w->items);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
    free(w->path);
    free(w->beside);
    free(w);
}

static void *trace_writer_run(void *arg)
{
    trace_writer *w = arg;
    error failure = ERROR_INIT;
    thread_give_way();
    status st = write_file(w, &failure);
    pthread_mutex_lock(&w->lock);
    w->outcome = st;
    w->failure = failure;
    w->is_over = true;
    bool is_left = w->is_left;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    if (is_left)
        trace_writer_free(w);
    return NULL;
}

status trace_writer_create(const char *path, trace_window window, trace_writer **ret, error *err)
{
    trace_writer *w = xcalloc(1, sizeof *w);
    *w = (trace_writer){.path = xstrdup(path), .beside = fs_beside(path), .steps = window};
    pthread_mutex_init(&w->lock, NULL);
    thread_cond_init(&w->changed);
    status st = thread_start(&w->thread, "trace", trace_writer_run, w, err);
    if (st != OK)
        trace_writer_free(w);
    else
        *ret = w;
    return st;
}

/* Whether it ends soon. Else what it needs is its own from now on. */
static bool stop_thread(trace_writer *w)
{
    int64_t until = clock_us() + LEAVE_US;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_broadcast(&w->changed);
    while (!w->is_over && thread_cond_wait_until(&w->changed, &w->lock, until))
        continue;
    bool is_over = w->is_over;
    w->is_left = !is_over;
    pthread_mutex_unlock(&w->lock);
    return is_over;
}

void trace_writer_destroy(trace_writer **writer)
{
    trace_writer *w = *writer;
    if (!w)
        return;
    *writer = NULL;
    pthread_t thread = w->thread;
    if (!stop_thread(w)) {
        pthread_detach(thread);
        return;
    }
    pthread_join(thread, NULL);
    trace_writer_free(w);
}

static void add(trace_writer *w, item one)
{
    pthread_mutex_lock(&w->lock);
    GROW(w->items, w->cap, w->n + 1);
    w->items[w->n++] = one;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

void trace_writer_add(trace_writer *w, trace_source *s)
{
    add(w, (item){.source = *s});
    *s = (trace_source){.about = NULL};
}

void trace_writer_miss(trace_writer *w, const char *name, const char *why)
{
    item one = {.why = xstrdup(why)};
    snprintf(one.task, sizeof one.task, "%s", name);
    add(w, one);
}

size_t trace_writer_waiting(trace_writer *w)
{
    pthread_mutex_lock(&w->lock);
    size_t n = w->n - w->taken;
    pthread_mutex_unlock(&w->lock);
    return n;
}

uint64_t trace_writer_progress(trace_writer *w)
{
    pthread_mutex_lock(&w->lock);
    uint64_t n = w->taken + (w->json ? trace_json_written(w->json) : 0);
    pthread_mutex_unlock(&w->lock);
    return n;
}

void trace_writer_end(trace_writer *w)
{
    pthread_mutex_lock(&w->lock);
    w->ends = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

bool trace_writer_is_over(trace_writer *w, status *ret, error *err)
{
    pthread_mutex_lock(&w->lock);
    bool is_over = w->is_over;
    if (is_over && w->outcome != OK)
        error_set(err, w->outcome, "%s", w->failure.text);
    *ret = w->outcome;
    pthread_mutex_unlock(&w->lock);
    return is_over;
}
