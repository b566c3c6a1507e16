#include "job/local.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "job/child.h"
#include "job/restart.h"
#include "job/roster.h"
#include "job/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOST_PEER = 200, PREEMPTED = 143, STORY = 1500, SETTLE_US = 500 * 1000 };
enum { DONE_US = 5 * 1000 * 1000, DONE_GRACE_US = 2 * 1000 * 1000 };

typedef struct local {
    const local_options *options;
    roster roster;
    child *children;   /* each the newest life of its task */
    restart *restarts; /* of the same tasks */
    int n, n_running;
    int signals; /* signalfd of SIGCHLD, SIGINT, SIGTERM and SIGHUP */
    sigset_t old_mask;
    struct pollfd *polls; /* [1 + 2 * n] */
    child *first;         /* whose failure was seen first */
    child *blamed;        /* who failed first as the master has it; NULL: it has not said */
    bool is_done;         /* the master has ended with 0: so has the job */
    bool is_stop_asked;   /* the master was asked for the end of all */
    bool is_preempted;    /* some task left with the code for it */
    bool is_ending;       /* the others are being stopped */
    int64_t stop_at_us;   /* when the others are stopped; INT64_MAX: never */
    int64_t kill_at_us;   /* when whoever still runs is killed; INT64_MAX: never */
    screen screen;
} local;

/* --- what tasks say --- */

/* The master's own words, by their stable id: "... error FAILED task=worker.1 ...". */
static void note_blame(local *l, const char *line)
{
    static const char sign[] = " error FAILED task=";
    const char *name = strstr(line, sign);
    if (!name || l->blamed)
        return;
    name += sizeof sign - 1;
    size_t bytes = strcspn(name, " ");
    for (int i = 0; i < l->n; i++)
        if (strlen(l->children[i].name) == bytes && !memcmp(l->children[i].name, name, bytes))
            l->blamed = &l->children[i];
}

static void take_line(void *user, child *c, int stream, const char *line, bool is_bar)
{
    local *l = user;
    if (c->task.role == ROLE_MASTER && stream == 1)
        note_blame(l, line);
    screen_show(&l->screen, c, stream, line, is_bar);
}

/* --- ends --- */

static void signal_all(local *l, int signal)
{
    for (int i = 0; i < l->n; i++)
        child_kill(&l->children[i], signal);
}

static void cancel_restarts(local *l)
{
    for (int i = 0; i < l->n; i++)
        restart_cancel(&l->restarts[i]);
}

static void stop_others(local *l)
{
    if (l->is_ending)
        return;
    l->is_ending = true;
    int64_t grace_us = l->options->grace_ms * 1000;
    l->kill_at_us =
        clock_us() + (l->is_done && grace_us > DONE_GRACE_US ? DONE_GRACE_US : grace_us);
    signal_all(l, SIGTERM);
}

static void kill_all(local *l)
{
    cancel_restarts(l);
    l->is_ending = true;
    signal_all(l, SIGKILL);
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

/* Whoever still runs has a moment to hear of it and to leave. */
static void note_done(local *l)
{
    l->is_done = true;
    cancel_restarts(l);
    if (!l->is_ending)
        l->stop_at_us = clock_us() + DONE_US;
}

/* Somebody stopped a task, or we the job: the master ends the others, in bounded time. */
static void note_preempted(local *l, const child *c)
{
    l->is_preempted = true;
    if (is_master(c))
        cancel_restarts(l);
    if (l->kill_at_us == INT64_MAX)
        l->kill_at_us = clock_us() + 2 * l->options->grace_ms * 1000;
}

static bool has_master(const local *l)
{
    return !l->children[0].has_ended || l->restarts[0].due_us != INT64_MAX;
}

/* A job that is about to end needs no new master, and nobody without one. */
static bool plan_restart(local *l, const child *c)
{
    restart *r = &l->restarts[c - l->children];
    int64_t pause_us = 0;
    bool is_leaving = l->is_stop_asked || l->is_preempted;
    if (l->first || !restart_may_help(child_exit_code(c)) ||
        (is_master(c) ? is_leaving : !has_master(l)) ||
        !restart_plan(r, l->options->max_restarts, clock_us(), &pause_us))
        return false;
    char end[80], when[32] = "";
    child_describe_end(c, end, sizeof end);
    if (pause_us)
        snprintf(when, sizeof when, " in %.1f s", (double)pause_us * 1e-6);
    screen_say(&l->screen, "%s: %s; it is started again%s (%d of %d)", c->name, end, when, r->n,
               l->options->max_restarts);
    return true;
}

static void note_end(local *l, child *c, child **worst)
{
    int code = child_exit_code(c);
    if (code == 0 && is_master(c))
        note_done(l);
    if (code == 0 || l->is_done)
        return;
    if (code == PREEMPTED)
        note_preempted(l, c);
    else if (!l->is_ending && !plan_restart(l, c) && is_better_cause(c, *worst))
        *worst = c;
}

static void reap(local *l)
{
    child *worst = NULL;
    for (int i = 0; i < l->n; i++) {
        child *c = &l->children[i];
        if (!child_reap(c))
            continue;
        l->n_running--;
        note_end(l, c, &worst);
    }
    if (worst && !l->first) {
        l->first = worst;
        cancel_restarts(l);
        /* one that can speak told the master, and it tells the others: let them say goodbye */
        bool has_spoken = child_exit_code(worst) < 128;
        l->stop_at_us = clock_us() + (has_spoken ? SETTLE_US : 0);
    }
}

static void take_signal(local *l, int signal)
{
    if (l->is_stop_asked || l->is_ending || l->is_done) {
        l->is_preempted = true;
        kill_all(l);
        return;
    }
    l->is_stop_asked = true;
    if (l->children[0].has_ended) {
        screen_say(&l->screen, "stopping without a checkpoint: the master is not running");
        l->is_preempted = true;
        kill_all(l);
        return;
    }
    screen_say(&l->screen, "stopping after a checkpoint%s",
               signal == SIGINT ? "; Ctrl-C again kills" : "");
    child_kill(&l->children[0], SIGTERM);
    l->kill_at_us = clock_us() + 2 * l->options->grace_ms * 1000;
}

static void read_signals(local *l)
{
    struct signalfd_siginfo info;
    while (read(l->signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo == SIGCHLD)
            reap(l);
        else
            take_signal(l, (int)info.ssi_signo);
}

/* --- starts --- */

/* The first life of task i, or the next one. */
static status start_task(local *l, int i, error *err)
{
    extern char **environ;
    const roster_task *t = &l->roster.tasks[i];
    int life = 1 + l->restarts[i].n, n_arguments = 0;
    const char *const *arguments = l->options->arguments;
    if (life > 1 && l->options->arguments_again)
        arguments = l->options->arguments_again;
    while (arguments[n_arguments])
        n_arguments++;
    char **argv = xcalloc((size_t)n_arguments + 2, sizeof *argv);
    argv[0] = "tequio";
    for (int k = 0; k < n_arguments; k++)
        argv[1 + k] = (char *)(uintptr_t)arguments[k];
    char name[TASK_NAME];
    char *path = xasprintf("%s/%s.log", l->options->log_dir, task_name(t->task, name));
    char **environment = roster_environment(&l->roster, i, life, l->options, environ);
    child_start start = {.task = t->task,
                         .log_path = path,
                         .argv = argv,
                         .envp = environment,
                         .listen_fd = t->listen_fd};
    status st = child_run(&l->children[i], &start, err);
    l->n_running += st == OK;
    roster_environment_free(environment);
    free(path);
    free(argv);
    return st;
}

static status start_children(local *l, error *err)
{
    for (; l->n < l->roster.n; l->n++) {
        l->restarts[l->n] = (restart)RESTART_INIT;
        TRY(start_task(l, l->n, err));
    }
    return OK;
}

/* What is left in its pipes; it does not write any more. */
static void drain(local *l, child *c)
{
    for (int stream = 0; stream < CHILD_STREAMS; stream++)
        while (child_read(c, stream, take_line, l))
            ;
}

static status start_due(local *l, error *err)
{
    for (int i = 0; i < l->n; i++) {
        if (clock_us() < l->restarts[i].due_us)
            continue;
        restart_cancel(&l->restarts[i]);
        drain(l, &l->children[i]);
        child_fini(&l->children[i]);
        l->blamed = NULL; /* what the master said of an earlier life is settled by this one */
        TRY(start_task(l, i, err));
    }
    return OK;
}

/* --- the loop --- */

static int64_t next_us(const local *l)
{
    int64_t next = l->stop_at_us < l->kill_at_us ? l->stop_at_us : l->kill_at_us;
    for (int i = 0; i < l->n; i++)
        next = l->restarts[i].due_us < next ? l->restarts[i].due_us : next;
    return next;
}

static int time_left_ms(const local *l)
{
    int64_t next = next_us(l);
    if (next == INT64_MAX)
        return -1;
    int64_t us = next - clock_us();
    return us <= 0 ? 0 : us > 1000 * 1000 * 1000 ? 1000 * 1000 : (int)((us + 999) / 1000);
}

static void read_lines(local *l)
{
    for (int i = 0; i < l->n * CHILD_STREAMS; i++)
        if (l->polls[1 + i].revents)
            child_read(&l->children[i / CHILD_STREAMS], i % CHILD_STREAMS, take_line, l);
}

static status turn(local *l, error *err)
{
    struct pollfd *polls = l->polls;
    polls[0] = (struct pollfd){.fd = l->signals, .events = POLLIN};
    for (int i = 0; i < l->n * CHILD_STREAMS; i++)
        polls[1 + i] = (struct pollfd){
            .fd = l->children[i / CHILD_STREAMS].streams[i % CHILD_STREAMS].fd, .events = POLLIN};
    if (poll(polls, (nfds_t)(1 + l->n * CHILD_STREAMS), time_left_ms(l)) < 0 && errno != EINTR)
        return FAIL(err, E_IO, "wait for the tasks: %s", strerror(errno));
    read_lines(l);
    if (polls[0].revents)
        read_signals(l);
    if (clock_us() >= l->stop_at_us) {
        l->stop_at_us = INT64_MAX;
        stop_others(l);
    }
    if (clock_us() >= l->kill_at_us) {
        l->kill_at_us = INT64_MAX;
        kill_all(l);
    }
    return start_due(l, err);
}

static bool is_over(const local *l)
{
    bool is_planned = false;
    for (int i = 0; i < l->n; i++)
        is_planned = is_planned || l->restarts[i].due_us != INT64_MAX;
    return l->n_running == 0 && !is_planned;
}

/* Whoever still runs when the launcher itself failed. */
static void end_all(local *l)
{
    signal_all(l, SIGKILL);
    for (int i = 0; i < l->n; i++)
        if (l->children[i].pid > 0 && !l->children[i].has_ended)
            waitpid(l->children[i].pid, NULL, 0);
}

static status open_signals(local *l, error *err)
{
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGCHLD);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGHUP);
    sigprocmask(SIG_BLOCK, &ours, &l->old_mask);
    signal(SIGPIPE, SIG_IGN); /* a closed terminal must not end the job */
    l->signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
    if (l->signals < 0)
        return FAIL(err, E_IO, "open a signalfd: %s", strerror(errno));
    return OK;
}

static bool is_own_failure(const child *c)
{
    return child_exit_code(c) > 0 && child_exit_code(c) < 128;
}

/* A task that only repeats what the master told it may well be the first to be gone. Unless one
 * died, it is the task that the master names or, where it names none, the master itself. */
static const child *who_failed_first(const local *l)
{
    const child *named = l->blamed ? l->blamed : &l->children[0];
    return is_own_failure(l->first) && is_own_failure(named) ? named : l->first;
}

static int tell_story(const local *l, error *err)
{
    const child *c = who_failed_first(l);
    char end[80], again[40] = "";
    int restarts = l->restarts[c - l->children].n;
    child_describe_end(c, end, sizeof end);
    if (restarts > 0)
        snprintf(again, sizeof again, " after %d restart%s", restarts, restarts > 1 ? "s" : "");
    buf lines = BUF_INIT;
    child_last_lines(c, STORY, &lines);
    int code = child_exit_code(c);
    (void)FAIL(err, E_FAIL, "%s failed first: %s%s; %s%s", c->name, end, again,
               lines.size ? "its last lines:" : "it printed nothing", lines.size ? lines.data : "");
    buf_fini(&lines);
    return code;
}

static int verdict(const local *l, error *err)
{
    if (l->is_done)
        return 0; /* also when a stop was asked for, but the job was done first */
    if (l->first)
        return tell_story(l, err);
    (void)FAIL(err, E_PREEMPTED, "stopped on request%s; --recover goes on from the last checkpoint",
               l->is_ending ? ", and killed before all had left" : "");
    return PREEMPTED;
}

int local_run(const local_options *options, error *err)
{
    local l = {.options = options, .signals = -1, .stop_at_us = INT64_MAX, .kill_at_us = INT64_MAX};
    status st = OK;
    TRY_OUT(st, open_signals(&l, err));
    TRY_OUT(st, roster_open(options, &l.roster, err));
    l.children = xcalloc((size_t)l.roster.n, sizeof *l.children);
    l.restarts = xcalloc((size_t)l.roster.n, sizeof *l.restarts);
    l.polls = xcalloc((size_t)(1 + l.roster.n * CHILD_STREAMS), sizeof *l.polls);
    TRY_OUT(st, start_children(&l, err));
    while (!is_over(&l))
        TRY_OUT(st, turn(&l, err));
    for (int i = 0; i < l.n; i++)
        drain(&l, &l.children[i]);
out:
    end_all(&l);
    int code = st == OK ? verdict(&l, err) : status_exit_code(st);
    for (int i = 0; i < l.n; i++)
        child_fini(&l.children[i]);
    roster_close(&l.roster);
    free(l.children);
    free(l.restarts);
    free(l.polls);
    if (l.signals >= 0)
        close(l.signals);
    sigprocmask(SIG_SETMASK, &l.old_mask, NULL);
    return code;
}
