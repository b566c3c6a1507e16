#include "cli/roles/tracking.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/thread.h"
#include "watch/track/mlflow.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { SECOND_US = 1000000, EVERY_US = 2 * SECOND_US, RARELY_US = 60 * SECOND_US, PREEMPTED_S = 5 };

static const char finished[] = "FINISHED";

typedef struct tracker {
    const jobdir *dir;
    size_t number;
    double timeout_s;
    mlflow *to;                 /* NULL: it cannot work */
    _Atomic(const char *) how;  /* the job ended, in MLflow's word; NULL: it runs */
    bool is_down;               /* the last try failed */
    error why;
    pthread_t thread;
} tracker;

struct tracking {
    size_t n;
    tracker at[];
};

/* A master that was taken for dead may find another at work, whose the run is now. */
static status track(tracker *t, const char *how, error *err)
{
    int64_t sent;
    if (!jobdir_is_ours(t->dir))
        return FAIL(err, E_LOST, "another process goes on with the job");
    return mlflow_send(t->to, how, &sent, err);
}

/* Once, until it goes again. */
static void tell(tracker *t, status st, bool ends)
{
    if (st == OK && t->is_down)
        LOG_I("TRACKED", "trackers[%zu] takes again what is sent", t->number);
    else if (st != OK && !t->is_down && !ends)
        LOG_W("NOT_TRACKED", "trackers[%zu]: %s; the job goes on, and it is tried again", t->number, t->why.text);
    t->is_down = st != OK;
}

static void *track_until_end(void *arg)
{
    tracker *t = arg;
    int64_t pause = EVERY_US;
    bool is_over = false;
    thread_give_way();
    do {
        const char *how = atomic_load(&t->how);
        t->why = (error)ERROR_INIT;
        status st = track(t, how, &t->why);
        tell(t, st, how != NULL);
        pause = how ? SECOND_US : st == OK ? EVERY_US : pause < RARELY_US / 2 ? 2 * pause : RARELY_US;
        is_over = how && (st == OK || st == E_LOST);
    } while (!is_over && mlflow_pause(t->to, pause));
    if (!is_over)
        LOG_W("NOT_TRACKED", "trackers[%zu]: not all was sent: %s; `tequio track %s` sends the rest", t->number,
              t->why.text, jobdir_path(t->dir));
    return NULL;
}

static void start(tracker *t, const json_t *settings, const json_t *whole)
{
    error err = ERROR_INIT;
    t->timeout_s = json_number_value(json_object_get(settings, "timeout"));
    status st = mlflow_open(settings, whole, jobdir_path(t->dir), &t->to, &err);
    if (st == OK)
        st = thread_start(&t->thread, "tracker", track_until_end, t, &err);
    if (st == OK)
        return;
    mlflow_close(&t->to);
    LOG_W("NOT_TRACKED", "trackers[%zu]: %s; the job goes on, and `tequio track %s` sends what it tells", t->number,
          err.text, jobdir_path(t->dir));
}

tracking *tracking_start(const config *c, const jobdir *dir, bool is_done)
{
    size_t n = config_count(c, "trackers");
    if (!n)
        return NULL;
    tracking *all = xcalloc(1, sizeof *all + n * sizeof all->at[0]);
    all->n = n;
    for (size_t i = 0; i < n; i++) {
        all->at[i] = (tracker){.dir = dir, .number = i};
        atomic_store(&all->at[i].how, is_done ? finished : NULL);
        start(&all->at[i], json_array_get(config_json(c, "trackers"), i), config_json(c, ""));
    }
    return all;
}

static void end(tracker *t, status how)
{
    bool is_hurried = how == E_PREEMPTED && t->timeout_s > PREEMPTED_S;
    double wait_s = is_hurried ? PREEMPTED_S : t->timeout_s;
    atomic_store(&t->how, how == OK ? finished : how == E_PREEMPTED ? "KILLED" : "FAILED");
    mlflow_end_by(t->to, clock_us() + (int64_t)(wait_s * 1e6));
}

void tracking_end(tracking **t, status how)
{
    if (!*t)
        return;
    for (size_t i = 0; i < (*t)->n; i++)
        if ((*t)->at[i].to)
            end(&(*t)->at[i], how);
    for (size_t i = 0; i < (*t)->n; i++)
        if ((*t)->at[i].to) {
            pthread_join((*t)->at[i].thread, NULL);
            mlflow_close(&(*t)->at[i].to);
        }
    free(*t);
    *t = NULL;
}
