#include "evaluator/signs.h"

#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/store/jobstate.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* How old an end may be to be that of our own start, and how long another start may take to show.
 */
enum { FRESH_S = 5, DOUBT_S = 3 };

static bool is_bad_end(const jobstate *s)
{
    return s->kind == JOBSTATE_FAILED || s->kind == JOBSTATE_PREEMPTED;
}

/* Seconds since the file was written, by the clock that gives files their times: that of another
 * host, perhaps. INT64_MAX if nothing can be written there. */
static int64_t age_of(const char *path)
{
    char *probe = fs_beside(path);
    struct stat then, now;
    int64_t age = INT64_MAX;
    int fd = open(probe, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0) {
        if (stat(path, &then) == 0 && fstat(fd, &now) == 0)
            age = (int64_t)(now.st_mtim.tv_sec - then.st_mtim.tv_sec);
        unlink(probe);
        close(fd);
    }
    free(probe);
    return age;
}

static bool is_fresh(const jobdir *d)
{
    char *path = jobdir_file(d, "state.json");
    bool fresh = age_of(path) <= FRESH_S;
    free(path);
    return fresh;
}

signs signs_begin(const jobdir *d, double start_timeout_s)
{
    signs s = {.dir = d, .pulse = jobdir_pulse(d), .alive_us = clock_us()};
    jobstate state;
    if (jobstate_read(d, &state, NULL) == OK) {
        s.old_end = is_bad_end(&state) ? state.trace : 0;
        jobstate_fini(&state);
    }
    if (s.old_end && start_timeout_s > DOUBT_S && is_fresh(d))
        start_timeout_s = DOUBT_S;
    s.doubt_us = (int64_t)(start_timeout_s * 1e6);
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
        state.trace != s->old_end || (!s->has_lived && clock_us() - s->alive_us >= s->doubt_us);
    status st = OK;
    if (is_bad_end(&state) && counts)
        st = FAIL(err, jobstate_outcome(&state), "the job has ended: %s", state.text);
    jobstate_fini(&state);
    return st;
}
