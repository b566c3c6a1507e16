#include "job/local.h"

#include "cli/progress.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "job/child.h"
#include "job/roster.h"

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

typedef struct local {
    const local_options *options;
    roster roster;
    child *children;
    int n, n_running;
    int signals; /* signalfd of SIGCHLD, SIGINT, SIGTERM and SIGHUP */
    sigset_t old_mask;
    struct pollfd *polls; /* [1 + 2 * n] */
    child *first;         /* whose failure was seen first */
    child *blamed;        /* who failed first as the master has it; NULL: it has not said */
    bool is_stop_asked;   /* the master was asked for the end of all */
    bool is_preempted;    /* some task left with the code for it */
    bool is_ending;       /* the others are being stopped */
    int64_t stop_at_us;   /* when the others are stopped; INT64_MAX: never */
    int64_t kill_at_us;   /* when whoever still runs is killed; INT64_MAX: never */
    char bar[1024];       /* on the screen now, "" if there is none */
} local;

/* --- the screen --- */

static void print_plain(local *l, const char *prefix, const char *line)
{
    fprintf(stderr, "%s%s%s\n", l->bar[0] ? "\r\033[K" : "", prefix, line);
    if (l->bar[0])
        fprintf(stderr, "%s\r", l->bar);
    fflush(stderr);
}

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

static void show_line(void *user, child *c, int stream, const char *line, bool is_bar)
{
    local *l = user;
    bool is_master = c->task.role == ROLE_MASTER;
    if (is_master && stream == 0) {
        printf("%s\n", line);
        fflush(stdout);
        return;
    }
    if (is_master)
        note_blame(l, line);
    if (is_master && is_bar) {
        snprintf(l->bar, sizeof l->bar, "%s", line);
        fprintf(stderr, "\r%s\r", line);
        fflush(stderr);
        return;
    }
    if (is_master && !*line && l->bar[0]) { /* the bar is done: leave its line */
        l->bar[0] = 0;
        fputc('\n', stderr);
        return;
    }
    char prefix[TASK_NAME + 8];
    snprintf(prefix, sizeof prefix, "[%s %d] ", role_name(c->task.role), c->task.index);
    bool is_progress = is_master && strncmp(line, PROGRESS_MARK, strlen(PROGRESS_MARK)) == 0;
    print_plain(l, is_progress ? "" : prefix, line);
}

/* --- ends --- */

static void signal_all(local *l, int signal)
{
    for (int i = 0; i < l->n; i++)
        child_kill(&l->children[i], signal);
}

static void stop_others(local *l)
{
    if (l->is_ending)
        return;
    l->is_ending = true;
    l->kill_at_us = clock_us() + l->options->grace_ms * 1000;
    signal_all(l, SIGTERM);
}

/* A task that lost its peer speaks of another's end: among those found dead together it comes last.
 */
static bool is_better_cause(const child *a, const child *b)
{
    return !b || (child_exit_code(b) == LOST_PEER && child_exit_code(a) != LOST_PEER);
}

/* They only watch the job dir, where nothing says that a job was interrupted. */
static void end_evaluators(const local *l)
{
    for (int i = 0; i < l->n; i++)
        if (l->children[i].task.role == ROLE_EVALUATOR)
            child_kill(&l->children[i], SIGTERM);
}

static void note_end(local *l, child *c, child **worst)
{
    int code = child_exit_code(c);
    if (code == 0)
        return;
    if (code == PREEMPTED) {
        /* somebody stopped a task, or we the job: the master ends the others, in bounded time */
        l->is_preempted = true;
        if (c->task.role == ROLE_MASTER)
            end_evaluators(l);
        if (l->kill_at_us == INT64_MAX)
            l->kill_at_us = clock_us() + 2 * l->options->grace_ms * 1000;
        return;
    }
    if (!l->is_ending && is_better_cause(c, *worst))
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
        /* one that can speak told the master, and it tells the others: let them say goodbye */
        bool has_spoken = child_exit_code(worst) < 128;
        l->stop_at_us = clock_us() + (has_spoken ? SETTLE_US : 0);
    }
}

static void take_signal(local *l, int signal)
{
    if (l->is_stop_asked || l->is_ending) {
        signal_all(l, SIGKILL);
        l->is_preempted = true;
        l->is_ending = true;
        return;
    }
    l->is_stop_asked = true;
    print_plain(l, "",
                signal == SIGINT ? "tequio: stopping after a checkpoint; Ctrl-C again kills"
                                 : "tequio: stopping after a checkpoint");
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

/* --- the loop --- */

static int time_left_ms(const local *l)
{
    int64_t next_us = l->stop_at_us < l->kill_at_us ? l->stop_at_us : l->kill_at_us;
    if (next_us == INT64_MAX)
        return -1;
    int64_t us = next_us - clock_us();
    return us <= 0 ? 0 : us > 1000 * 1000 * 1000 ? 1000 * 1000 : (int)((us + 999) / 1000);
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
    for (int i = 0; i < l->n * CHILD_STREAMS; i++)
        if (polls[1 + i].revents)
            child_read(&l->children[i / CHILD_STREAMS], i % CHILD_STREAMS, show_line, l);
    if (polls[0].revents)
        read_signals(l);
    if (clock_us() >= l->stop_at_us) {
        l->stop_at_us = INT64_MAX;
        stop_others(l);
    }
    if (clock_us() >= l->kill_at_us) {
        l->kill_at_us = INT64_MAX;
        l->is_ending = true;
        signal_all(l, SIGKILL);
    }
    return OK;
}

/* What is left in the pipes; no task writes any more. */
static void drain(local *l)
{
    for (int i = 0; i < l->n; i++)
        for (int stream = 0; stream < CHILD_STREAMS; stream++)
            while (child_read(&l->children[i], stream, show_line, l))
                ;
}

static status start_children(local *l, error *err)
{
    extern char **environ;
    int n_arguments = 0;
    while (l->options->arguments[n_arguments])
        n_arguments++;
    char **argv = xcalloc((size_t)n_arguments + 2, sizeof *argv);
    argv[0] = "tequio";
    for (int i = 0; i < n_arguments; i++)
        argv[1 + i] = (char *)l->options->arguments[i];
    status st = OK;
    for (; l->n < l->roster.n && st == OK; l->n += st == OK) {
        const roster_task *t = &l->roster.tasks[l->n];
        char name[TASK_NAME];
        char *path = xasprintf("%s/%s.log", l->options->log_dir, task_name(t->task, name));
        char **environment = roster_environment(&l->roster, l->n, l->options, environ);
        child_start start = {.task = t->task,
                             .log_path = path,
                             .argv = argv,
                             .envp = environment,
                             .listen_fd = t->listen_fd};
        st = child_run(&l->children[l->n], &start, err);
        roster_environment_free(environment);
        free(path);
    }
    l->n_running = l->n;
    free(argv);
    return st;
}

/* Whoever still runs when the launcher itself failed. */
static void end_all(local *l)
{
    signal_all(l, SIGKILL);
    for (int i = 0; i < l->n; i++)
        if (!l->children[i].has_ended)
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
    char end[80];
    child_describe_end(c, end, sizeof end);
    buf lines = BUF_INIT;
    child_last_lines(c, STORY, &lines);
    int code = child_exit_code(c);
    (void)FAIL(err, E_FAIL, "%s failed first: %s; %s%s", c->name, end,
               lines.size ? "its last lines:" : "it printed nothing", lines.size ? lines.data : "");
    buf_fini(&lines);
    return code;
}

static int verdict(const local *l, error *err)
{
    if (l->first)
        return tell_story(l, err);
    if (!l->is_ending && !l->is_preempted)
        return 0; /* also when a stop was asked for, but the job was done first */
    (void)FAIL(err, E_PREEMPTED, "stopped on request%s; --recover goes on from the last checkpoint",
               l->is_ending ? ", and killed when that took too long" : "");
    return PREEMPTED;
}

int local_run(const local_options *options, error *err)
{
    local l = {.options = options, .signals = -1, .stop_at_us = INT64_MAX, .kill_at_us = INT64_MAX};
    status st = OK;
    TRY_OUT(st, open_signals(&l, err));
    TRY_OUT(st, roster_open(options, &l.roster, err));
    l.children = xcalloc((size_t)l.roster.n, sizeof *l.children);
    l.polls = xcalloc((size_t)(1 + l.roster.n * CHILD_STREAMS), sizeof *l.polls);
    TRY_OUT(st, start_children(&l, err));
    roster_close(&l.roster); /* the tasks hold them now */
    while (l.n_running > 0)
        TRY_OUT(st, turn(&l, err));
    drain(&l);
out:
    end_all(&l);
    int code = st == OK ? verdict(&l, err) : status_exit_code(st);
    for (int i = 0; i < l.n; i++)
        child_fini(&l.children[i]);
    roster_close(&l.roster);
    free(l.children);
    free(l.polls);
    if (l.signals >= 0)
        close(l.signals);
    sigprocmask(SIG_SETMASK, &l.old_mask, NULL);
    return code;
}
