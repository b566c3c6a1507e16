#include "cli/tune/trial_process.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/thread.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* How long an end is put off: the first pause, the longest, and all together. */
enum { PAUSE_MS = 1000, PAUSE_MOST_MS = 32000, PUT_OFF_MOST_MS = 300000 };

status trial_processes_open(int places, trial_environment environment, trial_processes *ret, error *err)
{
    trial_processes t = {.places = places, .environment = environment, .signals = SIGNALS_INIT};
    TRY(signals_open(true, &t.signals, err));
    int cpus = thread_cpus() / places;
    t.threads = cpus > 1 ? cpus : 1;
    t.at = xcalloc((size_t)places, sizeof *t.at);
    t.polls = xcalloc((size_t)(1 + places * CHILD_STREAMS), sizeof *t.polls);
    *ret = t;
    return OK;
}

static void drop_line(void *user, child *c, int stream, const char *line, bool is_bar)
{
    (void)user, (void)c, (void)stream, (void)line, (void)is_bar; /* the child has it in its log */
}

static void drain(child *c)
{
    for (int stream = 0; stream < CHILD_STREAMS; stream++)
        while (child_read(c, stream, drop_line, NULL))
            ;
}

void trial_processes_close(trial_processes *t)
{
    for (int i = 0; i < t->places; i++)
        if (t->at[i].number) {
            child_kill(&t->at[i].child, SIGKILL);
            if (!t->at[i].child.has_ended)
                waitpid(t->at[i].child.pid, NULL, 0);
            child_fini(&t->at[i].child);
        }
    signals_close(&t->signals);
    free(t->at);
    free(t->polls);
    *t = (trial_processes){.signals = SIGNALS_INIT};
}

/* --- starting --- */

/* This process's, with what a trial is told in the place of what was there. */
static char **environment_of(const trial_processes *t, int number)
{
    extern char **environ;
    static const char *const replaced[] = {"TF_CONFIG=", "CLOUD_ML_TRIAL_ID="};
    size_t n = 0;
    while (environ[n])
        n++;
    char **e = xcalloc(n + 4, sizeof *e);
    n = 0;
    for (char **from = environ; *from; from++) {
        bool is_ours = false;
        for (size_t i = 0; i < COUNT_OF(replaced); i++)
            is_ours = is_ours || strncmp(*from, replaced[i], strlen(replaced[i])) == 0;
        if (!is_ours)
            e[n++] = xstrdup(*from);
    }
    e[n++] = xasprintf("CLOUD_ML_TRIAL_ID=%d", number);
    if (t->environment.has_tf_config)
        e[n++] = xasprintf("TF_CONFIG={\"task\": {\"trial\": \"%d\"}}", number);
    if (t->environment.shares_cpus && !getenv("OMP_NUM_THREADS"))
        e[n] = xasprintf("OMP_NUM_THREADS=%d", t->threads);
    return e;
}

static trial_process *free_place(trial_processes *t)
{
    for (int i = 0; i < t->places; i++)
        if (!t->at[i].number)
            return &t->at[i];
    BUG("a trial without a place");
}

status trial_processes_start(trial_processes *t, int number, char *const *argv, const char *log_path, error *err)
{
    trial_process *p = free_place(t);
    char **environment = environment_of(t, number);
    child_start start = {.task = {.role = ROLE_MASTER, .index = number},
                         .log_path = log_path,
                         .argv = argv,
                         .envp = environment,
                         .listen_fd = -1,
                         .metrics_fd = -1};
    status st = child_run(&p->child, &start, err);
    for (char **e = environment; *e; e++)
        free(*e);
    free(environment);
    if (st != OK)
        return st;
    p->number = number;
    p->began_us = clock_us();
    t->running++;
    return OK;
}

/* --- waiting --- */

static void kill_all(trial_processes *t)
{
    for (int i = 0; i < t->places; i++)
        if (t->at[i].number)
            child_kill(&t->at[i].child, SIGKILL);
}

void trial_process_stop(trial_process *p)
{
    if (!p->is_leaving)
        child_kill(&p->child, SIGTERM);
    p->is_leaving = true;
}

void trial_processes_stop(trial_processes *t)
{
    for (int i = 0; i < t->places; i++)
        if (t->at[i].number)
            trial_process_stop(&t->at[i]);
}

const trial_process *trial_processes_find(const trial_processes *t, int number)
{
    for (int i = 0; i < t->places; i++)
        if (t->at[i].number == number)
            return &t->at[i];
    return NULL;
}

static bool is_due(const trial_process *p)
{
    return p->is_leaving || p->again_us <= clock_us();
}

static trial_process *ended(trial_processes *t)
{
    for (int i = 0; i < t->places; i++) {
        trial_process *p = &t->at[i];
        if (p->number && (p->child.has_ended || child_reap(&p->child)) && is_due(p))
            return p;
    }
    return NULL;
}

/* `end_us`, or when the next of those that were put off is due. */
static int64_t next_due(const trial_processes *t, int64_t end_us)
{
    for (int i = 0; i < t->places; i++)
        if (t->at[i].number && t->at[i].again_us && t->at[i].again_us < end_us)
            end_us = t->at[i].again_us;
    return end_us;
}

bool trial_process_put_off(trial_process *p)
{
    int64_t now_us = clock_us();
    if (!p->ended_us)
        p->ended_us = now_us;
    if (now_us - p->ended_us > 1000LL * PUT_OFF_MOST_MS)
        return false;
    p->pause_ms = !p->pause_ms ? PAUSE_MS : p->pause_ms < PAUSE_MOST_MS ? 2 * p->pause_ms : p->pause_ms;
    p->again_us = now_us + 1000LL * p->pause_ms;
    return true;
}

static status wait_for_words(trial_processes *t, int most_ms, error *err)
{
    nfds_t n = 0;
    t->polls[n++] = (struct pollfd){.fd = t->signals.fd, .events = POLLIN};
    for (int i = 0; i < t->places; i++)
        for (int k = 0; k < CHILD_STREAMS; k++) {
            int fd = t->at[i].number ? t->at[i].child.streams[k].fd : -1;
            t->polls[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
        }
    if (poll(t->polls, n, most_ms) < 0 && errno != EINTR)
        return FAIL(err, E_IO, "wait for trials: %s", strerror(errno));
    for (int i = 0; i < t->places; i++)
        if (t->at[i].number)
            drain(&t->at[i].child);
    return OK;
}

/* True: one of them asks for an end. */
static bool take_signals(const trial_processes *t)
{
    bool asks = false;
    for (int signal; signals_next(&t->signals, &signal);)
        asks = asks || (signal != SIGCHLD && signal != SIGUSR1);
    return asks;
}

status trial_processes_wait(trial_processes *t, int most_ms, trial_process **ret, error *err)
{
    for (int64_t end_us = clock_us() + 1000LL * most_ms;;) {
        *ret = ended(t);
        if (*ret) {
            drain(&(*ret)->child);
            return OK;
        }
        if (take_signals(t)) {
            bool is_second = t->is_stopping;
            t->is_stopping = true;
            if (!is_second) {
                trial_processes_stop(t);
                return OK;
            }
            kill_all(t);
        }
        int64_t now_us = clock_us(), left_us = next_due(t, end_us) - now_us;
        if (end_us <= now_us)
            return OK;
        if (left_us < 0)
            left_us = 0;
        TRY(wait_for_words(t, (int)(left_us / 1000) + 1, err));
    }
}

void trial_process_free(trial_processes *t, trial_process *p)
{
    child_fini(&p->child);
    *p = (trial_process){.number = 0};
    t->running--;
}
