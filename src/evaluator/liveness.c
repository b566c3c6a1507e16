#include "evaluator/liveness.h"

#include "common/base/clock.h"
#include "common/store/jobstate.h"
#include "common/store/lockfile.h"

#include <stdlib.h>

/* How old an end may be to be that of our own start, and how long another start may take to show;
 * after how long without a look it is asked how old the newest sign is. */
enum { SECOND_US = 1000000, FRESH_US = 5 * SECOND_US, DOUBT_S = 3, AWAY_US = 2 * SECOND_US };

static bool is_bad_end(const jobstate *s)
{
    return s->kind == JOBSTATE_FAILED || s->kind == JOBSTATE_PREEMPTED;
}

static bool is_fresh(const jobdir *d)
{
    char *path = jobdir_file(d, "state.json");
    bool fresh = lockfile_age_us(path) <= FRESH_US;
    free(path);
    return fresh;
}

static uint64_t trace_of_summary(const jobdir *d)
{
    char *path = jobdir_file(d, "summary.json");
    uint64_t trace = lockfile_trace(path);
    free(path);
    return trace;
}

liveness liveness_begin(const jobdir *d, const config *c, double start_timeout_s)
{
    liveness s = {.dir = d, .alive_us = clock_us()};
    s.looked_us = s.alive_us;
    s.old_summary = jobdir_can_move_end(d, c) ? trace_of_summary(d) : 0;
    jobstate state;
    if (jobstate_read(d, &state, NULL) == OK) {
        s.old_end = is_bad_end(&state) ? state.trace : 0;
        jobstate_fini(&state);
    }
    s.pulse = jobdir_pulse(d); /* after its end: what comes now is another master's */
    if (s.old_end && start_timeout_s > DOUBT_S && is_fresh(d))
        start_timeout_s = DOUBT_S;
    s.doubt_us = (int64_t)(start_timeout_s * 1e6);
    return s;
}

bool liveness_done(const liveness *s)
{
    if (s->old_summary && trace_of_summary(s->dir) == s->old_summary)
        return false;
    bool done;
    return jobdir_is_done(s->dir, &done, NULL) == OK && done;
}

/* After a while without a look, as when a disk held us up, a change that is found may be long past. */
static void feel_pulse(liveness *s)
{
    uint64_t pulse = jobdir_pulse(s->dir);
    int64_t now = clock_us(), away = now - s->looked_us;
    s->looked_us = now;
    if (pulse == s->pulse)
        return;
    s->pulse = pulse;
    s->has_lived = true;
    s->alive_us = now;
    if (away < AWAY_US)
        return;
    char *path = jobdir_file(s->dir, JOBDIR_LOCK);
    int64_t age = lockfile_age_us(path);
    free(path);
    if (age > 0 && age < away)
        s->alive_us = now - age;
}

status liveness_check(liveness *s, error *err)
{
    jobstate state;
    feel_pulse(s);
    if (jobstate_read(s->dir, &state, NULL) != OK)
        return OK; /* of another version, or damaged: the pulse is left */
    s->has_lived |= state.kind == JOBSTATE_RUNNING; /* it may have died before its pulse changed */
    bool counts =
        state.trace != s->old_end || (!s->has_lived && clock_us() - s->alive_us >= s->doubt_us);
    status st = OK;
    if (is_bad_end(&state) && counts)
        st = FAIL(err, jobstate_outcome(&state), "the job has ended: %s", state.text);
    jobstate_fini(&state);
    return st;
}
