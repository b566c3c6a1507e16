#include "job/process/supervision.h"

#include "job/process/log_mux.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STORY = 1500 };

void supervision_say_end(const child *c)
{
    char *end = child_describe_failure(c);
    log_mux_say("%s: %s", c->name, end);
    free(end);
}

static bool is_own_failure(const child *c)
{
    return child_exit_code(c) > 0 && child_exit_code(c) < 128;
}

/* A task that only repeats what the master told it may well be the first to be gone. Unless one
 * died, it is the task that the master names or, where it names none, the master itself. */
static const child *who_failed_first(const supervision *s)
{
    bool is_blamed = s->blamed && !s->options->primary_decides;
    const child *named = is_blamed ? s->blamed : &s->children[0];
    return is_own_failure(s->first) && is_own_failure(named) ? named : s->first;
}

/* What others failed by, unless it is the same, or that they were told to leave. */
static void say_other_failures(const supervision *s, const child *first)
{
    const char *cause = child_failure(first);
    for (int i = 0; i < s->n; i++) {
        const child *c = &s->children[i];
        const char *why = c->has_ended && is_own_failure(c) ? child_failure(c) : NULL;
        bool is_same = why && cause && (strstr(why, cause) || strstr(cause, why));
        if (why && c != first && !is_same && strncmp(why, "stopped by the master", 21) != 0)
            supervision_say_end(c);
    }
}

/* As itself has it, with what the master adds to that, such as where the job can be taken up. */
static const char *find_cause(const supervision *s, const child *first)
{
    const char *why = child_failure(first), *of_master = child_failure(&s->children[0]);
    const char *longer = why && of_master ? strstr(of_master, why) : NULL;
    return longer ? longer : why;
}

static int tell_story(const supervision *s, error *err)
{
    const child *c = who_failed_first(s);
    char end[80], again[40] = "";
    int restarts = s->restarts[c - s->children].n, code = child_exit_code(c);
    const char *why = find_cause(s, c);
    child_describe_end(c, end, sizeof end);
    if (restarts > 0)
        snprintf(again, sizeof again, " after %d restart%s", restarts, restarts > 1 ? "s" : "");
    buf lines = BUF_INIT;
    child_last_lines(c, STORY, &lines);
    say_other_failures(s, c);
    if (why)
        (void)FAIL(err, E_FAIL, "%s failed first: %s%s: %s", c->name, end, again, why);
    else
        (void)FAIL(err, E_FAIL, "%s failed first: %s%s; %s%s", c->name, end, again,
                   lines.size ? "its last lines:" : "it printed nothing", lines.size ? lines.data : "");
    buf_fini(&lines);
    return code;
}

/* The job is done, and nobody failed on whom its results wait. */
static bool is_all_done(const supervision *s)
{
    return s->is_done && !(s->first && s->first->task.role == ROLE_EVALUATOR);
}

int supervision_verdict(const supervision *s, error *err)
{
    if (is_all_done(s))
        return 0; /* also when a stop was asked for, but the job was done first */
    if (s->first)
        return tell_story(s, err);
    if (s->is_too_long)
        return status_exit_code(FAIL(
            err, E_TIMEOUT, "not done after %g s, the time it was given; --recover goes on from the last "
            "checkpoint",
            (double)s->options->limit_ms / 1000));
    (void)FAIL(err, s->is_stop_asked ? E_PREEMPTED : E_ABORTED,
               "stopped on request%s%s; --recover goes on from the last checkpoint",
               s->is_stop_asked ? "" : " to a task", s->is_cut_short ? ", and killed before all had left" : "");
    return PREEMPTED;
}
