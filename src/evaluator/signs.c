#include "evaluator/signs.h"

#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/store/jobstate.h"

#include <stdlib.h>

static bool is_bad_end(const jobstate *s)
{
    return s->kind == JOBSTATE_FAILED || s->kind == JOBSTATE_PREEMPTED;
}

signs signs_begin(const jobdir *d, double start_timeout_s)
{
    signs s = {.dir = d,
               .start_us = (int64_t)(start_timeout_s * 1e6),
               .pulse = jobdir_pulse(d),
               .alive_us = clock_us()};
    jobstate state;
    if (jobstate_read(d, &state, NULL) == OK) {
        s.old_end = is_bad_end(&state) ? state.trace : 0;
        jobstate_fini(&state);
    }
    return s;
}

bool signs_done(const signs *s)
{
    char *path = jobdir_file(s->dir, "summary.json");
    json_t *summary = NULL;
    bool done = fs_exists(path) && json_read_file(path, &summary, NULL) == OK &&
                !json_is_false(json_object_get(summary, "complete"));
    json_decref(summary);
    free(path);
    return done;
}

static void feel_pulse(signs *s)
{
    uint64_t pulse = jobdir_pulse(s->dir);
    if (pulse == s->pulse)
        return;
    s->pulse = pulse;
    s->alive_us = clock_us();
    s->has_lived = true;
}

status signs_check(signs *s, error *err)
{
    jobstate state;
    feel_pulse(s);
    if (jobstate_read(s->dir, &state, NULL) != OK)
        return OK; /* of another version, or damaged: the pulse is left */
    s->has_lived |= state.kind == JOBSTATE_RUNNING; /* it may have died before its pulse changed */
    bool counts =
        state.trace != s->old_end || (!s->has_lived && clock_us() - s->alive_us >= s->start_us);
    status st = OK;
    if (is_bad_end(&state) && counts)
        st = FAIL(err, jobstate_outcome(&state), "the job has ended: %s", state.text);
    jobstate_fini(&state);
    return st;
}
