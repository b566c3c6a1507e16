#include "job/process/supervise.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/descriptors.h"
#include "job/process/hung.h"
#include "job/process/log_mux.h"
#include "job/process/said.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOST_PEER = 200, SETTLE_US = 500 * 1000 };
enum { POLLS = 1 + CHILD_STREAMS };
enum { NO_MASTER_GRACE_US = 2 * 1000 * 1000, NEEDS_US = 1000 * 1000 };

/* --- ends --- */

/* What is left in its pipes; it does not write any more. */
static void drain(supervision *s, child *c)
{
    for (int stream = 0; stream < CHILD_STREAMS; stream++)
        while (child_read(c, stream, said_take_line, s))
            ;
}

static void signal_all(supervision *s, int signal)
{
    for (int i = 0; i < s->n; i++)
        child_kill(&s->children[i], signal);
}

static void cancel_restarts(supervision *s)
{
    for (int i = 0; i < s->n; i++)
        restart_cancel(&s->restarts[i]);
}

static bool has_master(const supervision *s)
{
    return !s->children[0].has_ended || s->restarts[0].due_us != INT64_MAX;
}

static void stop_others(supervision *s)
{
    if (s->is_ending)
        return;
    s->is_ending = true;
    int64_t grace_us = s->options->grace_ms * 1000;
    if (!has_master(s) && grace_us > NO_MASTER_GRACE_US) /* nobody takes a checkpoint */
        grace_us = NO_MASTER_GRACE_US;
    s->kill_at_us = clock_us() + grace_us;
    signal_all(s, SIGTERM);
}

static void kill_all(supervision *s)
{
    cancel_restarts(s);
    s->is_ending = s->is_cut_short = true;
    signal_all(s, SIGKILL);
}

/* A task that lost its peer speaks of another's end: among those found dead together it comes last.
 */
static bool is_better_cause(const child *a, const child *b)
{
    return !b || (child_exit_code(b) == LOST_PEER && child_exit_code(a) != LOST_PEER);
}

static bool is_master(const child *c)
{
    return c->task.role == ROLE_MASTER;
}

/* Tasks that still run have a moment to hear of it and to leave. */
static void note_done(supervision *s)
{
    s->is_done = true;
    cancel_restarts(s);
    if (!s->is_ending)
        s->stop_at_us = clock_us() + SUPERVISION_LEAVE_US;
}

/* Somebody stopped a task, or we the job: the master ends the others, in bounded time. It may not
 * know, of a task that it had not met. */
static void note_preempted(supervision *s, const child *c)
{
    s->is_preempted = true;
    if (is_master(c))
        cancel_restarts(s);
    if (s->kill_at_us != INT64_MAX)
        return;
    s->stop_at_us = clock_us() + SUPERVISION_LEAVE_US;
    s->kill_at_us = clock_us() + 2 * s->options->grace_ms * 1000;
}

/* A task that the master told to leave is started with the next one: this one, which is about to leave,
 * would tell it again. True: it waits for that, though not for ever, as it may have left by itself. */
static bool await_next_master(supervision *s, const child *c)
{
    if (child_exit_code(c) != LOST_PEER || is_master(c) || s->children[0].has_ended)
        return false;
    s->restarts[c - s->children].due_us = clock_us() + SUPERVISION_LEAVE_US;
    return true;
}

static void start_with_master(supervision *s)
{
    for (int i = 1; i < s->n; i++)
        if (s->restarts[i].due_us != INT64_MAX)
            s->restarts[i].due_us = s->restarts[0].due_us;
}

/* A job that is about to end needs no new master, and nobody without one. */
static bool plan_restart(supervision *s, const child *c)
{
    restart *r = &s->restarts[c - s->children];
    int64_t pause_us = 0;
    bool is_leaving = s->is_stop_asked || s->is_preempted;
    if (s->first || !restart_may_help(child_exit_code(c)) ||
        (is_master(c) ? is_leaving : !has_master(s)) ||
        !restart_plan(r, &s->options->restarts, clock_us(), &pause_us))
        return false;
    char *end = child_describe_failure(c), when[32] = "";
    if (await_next_master(s, c))
        snprintf(when, sizeof when, " when the master has left");
    else if (pause_us)
        snprintf(when, sizeof when, " in %.1f s", (double)pause_us * 1e-6);
    log_mux_say("%s: %s; it is started again%s (%d of %d)", c->name, end, when,
               r->counted, s->options->restarts.most);
    free(end);
    return true;
}

static void supervise_note_end(supervision *s, child *c, child **worst)
{
    int code = child_exit_code(c);
    if (code == 0 && is_master(c))
        note_done(s);
    if (code == 0)
        return;
    if (s->is_done || (s->options->primary_decides && !is_master(c)))
        supervision_say_end(c);
    else if (code == PREEMPTED)
        note_preempted(s, c);
    else if (!s->is_ending && !plan_restart(s, c) && is_better_cause(c, *worst))
        *worst = c;
    if (code != LOST_PEER || !is_master(c) || !has_master(s))
        return;
    s->hung_at_us = clock_us() + SUPERVISION_LEAVE_US;
    start_with_master(s);
}

/* How long the others may take to leave by themselves: one that can speak told the master, and it tells
 * them. An evaluator knows no master, so we speak for it. */
static int64_t time_to_settle(supervision *s, const child *failed)
{
    bool has_spoken = child_exit_code(failed) < 128;
    if (failed->task.role != ROLE_EVALUATOR || !has_master(s))
        return has_spoken ? SETTLE_US : 0;
    child_kill(&s->children[0], SIGTERM);
    return SUPERVISION_LEAVE_US;
}

/* Nobody is told anything any more, and no end is awaited that matters. */
static bool is_settled(const supervision *s)
{
    bool is_awaited = s->options->primary_decides || (s->blamed && !s->blamed->has_ended);
    return !has_master(s) && !is_awaited;
}

/* The first failure decides. */
static void note_worst(supervision *s, child *worst)
{
    if (worst && !s->first) {
        s->first = worst;
        cancel_restarts(s);
        s->stop_at_us = clock_us() + time_to_settle(s, worst);
    }
    if (s->first && !s->is_ending && is_settled(s))
        s->stop_at_us = clock_us();
}

static void reap(supervision *s)
{
    child *worst = NULL;
    for (int i = 0; i < s->n; i++) {
        child *c = &s->children[i];
        if (!child_reap(c))
            continue;
        s->n_running--;
        drain(s, c);
        supervise_note_end(s, c, &worst);
    }
    note_worst(s, worst);
    hung_look_at_master(s);
}

/* The master takes a checkpoint and ends all. */
static void ask_to_stop(supervision *s, const char *why)
{
    s->is_stop_asked = true;
    if (s->children[0].has_ended) {
        log_mux_say("stopping without a checkpoint: the master is not running");
        s->is_preempted = true;
        kill_all(s);
        return;
    }
    log_mux_say("stopping after a checkpoint%s", why);
    child_kill(&s->children[0], SIGTERM);
    s->kill_at_us = clock_us() + 2 * s->options->grace_ms * 1000;
}

static void take_signal(supervision *s, int signal)
{
    if (s->is_stop_asked || s->is_ending || s->is_done) {
        s->is_stop_asked = s->is_preempted = true;
        kill_all(s);
        return;
    }
    ask_to_stop(s, signal == SIGINT ? "; Ctrl-C again kills" : "");
}

static void take_limit(supervision *s)
{
    s->limit_at_us = INT64_MAX;
    if (s->is_stop_asked || s->is_ending || s->is_done)
        return;
    s->is_too_long = true;
    ask_to_stop(s, ": its time is over");
}

/* Each task writes what it did last (common/live/recorder_output.h). */
static void pass_on(supervision *s, int signal)
{
    for (int i = 0; i < s->options->n; i++)
        if (!s->children[i].has_ended)
            child_kill(&s->children[i], signal);
}

static void read_signals(supervision *s)
{
    for (int number; signals_next(&s->signals, &number);)
        if (number == SIGCHLD)
            reap(s);
        else if (number == SIGUSR1)
            pass_on(s, number);
        else
            take_signal(s, number);
}

/* --- starts --- */

/* The first life of task i, or the next one. */
static status start_task(supervision *s, int i, error *err)
{
    child_start start = {.listen_fd = -1, .metrics_fd = -1};
    TRY(s->options->start(s->options->user, i, 1 + s->restarts[i].n, &start, err));
    char name[TASK_NAME];
    char *path = xasprintf("%s/%s.log", s->options->log_dir, task_name(start.task, name));
    start.log_path = path;
    status st = child_run(&s->children[i], &start, err);
    s->n_running += st == OK;
    free(path);
    return st;
}

static status start_children(supervision *s, error *err)
{
    for (; s->n < s->options->n; s->n++) {
        s->restarts[s->n] = (restart)RESTART_INIT;
        restart_began(&s->restarts[s->n], clock_us());
        TRY(start_task(s, s->n, err));
    }
    return OK;
}

/* *ret_wait: what tasks need is not there; tasks that still run know how long it is worth waiting. */
static status await_needs(supervision *s, int i, bool *ret_wait, error *err)
{
    const char *needs = s->options->needs;
    *ret_wait = needs && access(needs, F_OK) != 0;
    s->is_needy = s->is_needy && *ret_wait;
    if (!*ret_wait)
        return OK;
    const char *why = strerror(errno), *name = s->children[i].name;
    if (s->n_running == 0)
        return FAIL(err, E_DISK, "start %s again: '%s' is not there: %s", name, needs, why);
    if (!s->is_needy)
        log_mux_say("'%s' is not there (%s): %s is started again when it is back", needs, why, name);
    s->is_needy = true;
    s->restarts[i].due_us = clock_us() + NEEDS_US;
    return OK;
}

static status start_due(supervision *s, error *err)
{
    for (int i = 0; i < s->n; i++) {
        bool waits = true;
        if (clock_us() >= s->restarts[i].due_us)
            TRY(await_needs(s, i, &waits, err));
        if (waits)
            continue;
        restart_began(&s->restarts[i], clock_us());
        drain(s, &s->children[i]);
        child_fini(&s->children[i]);
        s->blamed = NULL; /* what the master said of an earlier life is settled by this one */
        TRY(start_task(s, i, err));
    }
    return OK;
}

/* --- the loop --- */

static int64_t next_us(const supervision *s)
{
    int64_t next = s->stop_at_us < s->kill_at_us ? s->stop_at_us : s->kill_at_us;
    next = s->limit_at_us < next ? s->limit_at_us : next;
    next = s->hung_at_us < next ? s->hung_at_us : next;
    next = s->look_at_us < next ? s->look_at_us : next;
    for (int i = 0; i < s->n; i++)
        next = s->restarts[i].due_us < next ? s->restarts[i].due_us : next;
    return next;
}

static int time_left_ms(const supervision *s)
{
    int64_t next = next_us(s);
    if (next == INT64_MAX)
        return -1;
    int64_t us = next - clock_us();
    return us <= 0 ? 0 : us > 1000 * 1000 * 1000 ? 1000 * 1000 : (int)((us + 999) / 1000);
}

static void look_at(const child *c, struct pollfd *polls)
{
    polls[0] = (struct pollfd){.fd = c->input.size ? c->input_fd : -1, .events = POLLOUT};
    for (int i = 0; i < CHILD_STREAMS; i++)
        polls[1 + i] = (struct pollfd){.fd = c->streams[i].fd, .events = POLLIN};
}

static void listen_to(supervision *s, child *c, const struct pollfd *polls)
{
    if (polls[0].revents)
        child_write(c);
    for (int i = 0; i < CHILD_STREAMS; i++)
        if (polls[1 + i].revents)
            child_read(c, i, said_take_line, s);
}

static status supervise_turn(supervision *s, error *err)
{
    struct pollfd *polls = s->polls;
    polls[0] = (struct pollfd){.fd = s->signals.fd, .events = POLLIN};
    for (int i = 0; i < s->n; i++)
        look_at(&s->children[i], &polls[1 + i * POLLS]);
    if (poll(polls, (nfds_t)(1 + s->n * POLLS), time_left_ms(s)) < 0 && errno != EINTR)
        return FAIL(err, E_IO, "wait for the tasks: %s", strerror(errno));
    for (int i = 0; i < s->n; i++)
        listen_to(s, &s->children[i], &polls[1 + i * POLLS]);
    if (polls[0].revents)
        read_signals(s);
    if (clock_us() >= s->limit_at_us)
        take_limit(s);
    if (clock_us() >= s->hung_at_us)
        hung_kill_left(s);
    if (clock_us() >= s->look_at_us)
        hung_look_at_master(s);
    if (clock_us() >= s->stop_at_us) {
        s->stop_at_us = INT64_MAX;
        stop_others(s);
    }
    if (clock_us() >= s->kill_at_us) {
        s->kill_at_us = INT64_MAX;
        kill_all(s);
    }
    return start_due(s, err);
}

static bool is_over(const supervision *s)
{
    bool is_planned = false;
    for (int i = 0; i < s->n; i++)
        is_planned = is_planned || s->restarts[i].due_us != INT64_MAX;
    return s->n_running == 0 && !is_planned;
}

/* What still runs when the launcher itself failed. */
static void end_all(supervision *s)
{
    signal_all(s, SIGKILL);
    for (int i = 0; i < s->n; i++)
        if (s->children[i].pid > 0 && !s->children[i].has_ended)
            waitpid(s->children[i].pid, NULL, 0);
}

int supervise(const supervise_options *options, error *err)
{
    supervision s = {
        .options = options,
        .signals = SIGNALS_INIT,
        .limit_at_us = options->limit_ms ? clock_us() + options->limit_ms * 1000 : INT64_MAX,
        .stop_at_us = INT64_MAX,
        .kill_at_us = INT64_MAX,
        .hung_at_us = INT64_MAX,
        .look_at_us = INT64_MAX,
    };
    status st = OK;
    descriptors_take(); /* of every task two pipes and a log */
    s.children = xcalloc((size_t)options->n, sizeof *s.children);
    s.restarts = xcalloc((size_t)options->n, sizeof *s.restarts);
    s.polls = xcalloc((size_t)(1 + options->n * POLLS), sizeof *s.polls);
    signal(SIGPIPE, SIG_IGN); /* a closed terminal must not end the job */
    TRY_OUT(st, signals_open(true, &s.signals, err));
    TRY_OUT(st, start_children(&s, err));
    while (!is_over(&s))
        TRY_OUT(st, supervise_turn(&s, err));
    for (int i = 0; i < s.n; i++)
        drain(&s, &s.children[i]);
out:
    end_all(&s);
    int code = st == OK ? supervision_verdict(&s, err) : status_exit_code(st);
    for (int i = 0; i < s.n; i++)
        child_fini(&s.children[i]);
    free(s.children);
    free(s.restarts);
    free(s.polls);
    signals_close(&s.signals);
    return code;
}
