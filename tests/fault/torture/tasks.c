#include "fault/torture/tasks.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "fault/torture/sandbox.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    RESTARTS = 60,
    FIRST_PAUSE_US = 50000,
    PAUSES = 6,
    PROCESSES = 64,
    RETRYABLE = 128,
    PREEMPTED = 143
};

static const char *const primaries[PRIMARIES] = {"chief.0", "master.0", NULL};

/* --- words for a task --- */

static void add_task(tasks *t, const char *type, int index)
{
    snprintf(t->all[t->n++].name, sizeof t->all[0].name, "%.9s.%u", type, (unsigned)index % 100);
}

static void name_all(tasks *t)
{
    const plan *p = t->plan;
    if (p->is_launched) {
        snprintf(t->all[t->n++].name, sizeof t->all[0].name, "launcher");
        return;
    }
    if (primaries[p->primary])
        snprintf(t->all[t->n++].name, sizeof t->all[0].name, "%s", primaries[p->primary]);
    for (int i = 0; i < p->workers; i++)
        add_task(t, "worker", i);
    for (int i = 0; i < p->ps; i++)
        add_task(t, "ps", i);
    for (int i = 0; i < p->evaluators; i++)
        add_task(t, "evaluator", i);
}

static bool is_type(const task *a, const char *type)
{
    return strncmp(a->name, type, strlen(type)) == 0 && a->name[strlen(type)] == '.';
}

/* The cluster as task `who` dials it: over relays, where there are some, all but itself. */
static void add_cluster(const tasks *t, int who, const int *relays, buf *ret)
{
    static const char *const types[] = {"chief", "master", "worker", "ps"};
    bool is_first = true;
    for (size_t type = 0; type < COUNT_OF(types); type++) {
        bool begun = false;
        for (int i = 0; i < t->n; i++) {
            if (!is_type(&t->all[i], types[type]))
                continue;
            if (!begun)
                buf_addf(ret, "%s\"%s\": [", is_first ? "" : ", ", types[type]);
            buf_addf(ret, "%s\"127.0.0.1:%d\"", begun ? ", " : "",
                     relays && i != who ? relays[who * t->n + i] : t->all[i].port);
            begun = true;
            is_first = false;
        }
        if (begun)
            buf_adds(ret, "]");
    }
}

static char *role_of(const tasks *t, int who, const int *relays)
{
    buf text = BUF_INIT;
    const char *name = t->all[who].name, *dot = strchr(name, '.');
    buf_adds(&text, "TF_CONFIG={\"cluster\": {");
    add_cluster(t, who, relays, &text);
    buf_addf(&text, "}, \"task\": {\"type\": \"%.*s\", \"index\": %s}}", (int)(dot - name), name,
             dot + 1);
    return buf_detach(&text);
}

/* --- starting --- */

static char *clock_of(const tasks *t, int i)
{
    return xasprintf("%s/clock.%s", t->dir, t->all[i].name);
}

/* Nothing of what surrounds the torture decides what a task is. */
static char **environment_of(const tasks *t, int i)
{
    extern char **environ;
    static const char *const without[] = {"TF_CONFIG=", "CLUSTER_SPEC=", "TEQUIO",
                                          "TMPDIR=",    "LD_PRELOAD=",   "CUDA_VISIBLE_DEVICES="};
    size_t n = 0, own = 8;
    while (environ[n])
        n++;
    char **all = xcalloc(n + own, sizeof *all);
    n = 0;
    for (char **at = environ; *at; at++) {
        bool stays = true;
        for (size_t w = 0; w < COUNT_OF(without); w++)
            stays = stays && strncmp(*at, without[w], strlen(without[w])) != 0;
        if (stays)
            all[n++] = xstrdup(*at);
    }
    all[n++] = xasprintf("TMPDIR=%s/tmp", t->dir);
    all[n++] = xstrdup("CUDA_VISIBLE_DEVICES=");
    if (!t->plan->is_launched)
        all[n++] = xstrdup(t->roles[i]);
    if (!t->plan->is_launched && t->plan->curve)
        all[n++] = xasprintf("TEQUIO_KEY=%s", t->key);
    if (plan_has(t->plan, CLOCK)) {
        char *clock = clock_of(t, i);
        all[n++] = xasprintf("LD_PRELOAD=%s", t->clock_library);
        all[n++] = xasprintf("CLOCK_JUMP=%s", clock);
        free(clock);
    }
    return all;
}

static char *job_dir_of(const tasks *t, const task *a)
{
    bool is_apart = t->plan->apart && a != &t->all[0] && !is_type(a, "evaluator");
    return is_apart ? xasprintf("%s/apart/%s", t->dir, a->name) : xasprintf("%s/disk/job", t->dir);
}

/* In the child. */
_Noreturn static void become(const tasks *t, const task *a, char **environment)
{
    const plan *p = t->plan;
    char *log = xasprintf("%s/log/%s.log", t->dir, a->name);
    int file = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    close(file);
    close(null);
    char *words[] = {xstrdup(t->program), xstrdup("train"), xasprintf("%s/config.jsonnet", t->dir),
                     xstrdup("--job-dir"), job_dir_of(t, a), xstrdup("-o"), t->overrides,
                     /* of a launcher */
                     xstrdup("--max-restarts"), xasprintf("%d", RESTARTS), xstrdup("--workers"),
                     xasprintf("%d", p->workers), xstrdup("--ps"), xasprintf("%d", p->ps),
                     xstrdup("--evaluators"), xasprintf("%d", p->evaluators), NULL};
    if (!p->is_launched || !p->workers)
        words[7] = NULL;
    execve(words[0], words, environment);
    _exit(127);
}

static void start_life(tasks *t, int i)
{
    task *a = &t->all[i];
    char **environment = environment_of(t, i);
    a->is_disturbed = false;
    a->n_lives++;
    t->n_starts++;
    a->pid = fork();
    if (a->pid == 0)
        become(t, a, environment);
    for (char **at = environment; *at; at++)
        free(*at);
    free(environment);
}

static void make_key(const tasks *t, char ret[65])
{
    for (int i = 0; i < 32; i++)
        snprintf(ret + 2 * i, 3, "%02x",
                 (unsigned)(t->plan->seed >> i % 8 * 8 ^ (unsigned)i) & 255);
}

/* Ports, relays and roles of who is started by hand. */
static bool connect_all(tasks *t)
{
    int ports[MOST_TASKS + MOST_TASKS * MOST_TASKS], *relays = ports + t->n;
    bool is_relayed = plan_has(t->plan, LINK);
    if (!sandbox_ports(t->free_ports, ports, t->n + (is_relayed ? t->n * t->n : 0)))
        return false;
    for (int i = 0; i < t->n; i++)
        t->all[i].port = ports[i];
    if (is_relayed && !(t->links = links_start(t->n, relays, ports)))
        return false;
    for (int i = 0; i < t->n; i++)
        t->roles[i] = role_of(t, i, is_relayed ? relays : NULL);
    return true;
}

bool tasks_start(tasks *t)
{
    buf text = BUF_INIT;
    plan_overrides(t->plan, &text);
    t->overrides = buf_detach(&text);
    make_key(t, t->key);
    name_all(t);
    if (!t->plan->is_launched && !connect_all(t))
        return false;
    for (int i = 0; i < t->n; i++) {
        if (plan_has(t->plan, CLOCK))
            tasks_move_clock(t, i, 0);
        start_life(t, i);
    }
    return true;
}

/* --- watching --- */

static void end_life(tasks *t, task *a, int end)
{
    bool by_signal = WIFSIGNALED(end);
    a->pid = 0;
    a->code = by_signal ? 128 + WTERMSIG(end) : WEXITSTATUS(end);
    /* apart from the job dir nobody can know that the job is done */
    a->is_over = a->code == 0 || (t->plan->apart && tasks_first(t)->is_over);
    int pauses = a->n_lives < PAUSES ? a->n_lives : PAUSES;
    int64_t pause = ((int64_t)FIRST_PAUSE_US << pauses) / 2;
    a->again_us = clock_us() + (pause > a->rest_us ? pause : a->rest_us);
    a->rest_us = 0;
    char *text = a->code < RETRYABLE ? t->failure : t->surprise;
    bool is_leaving = t->was_told_to_leave && (a->code == PREEMPTED || t->plan->is_launched);
    bool is_expected =
        a->is_over || (a->code >= RETRYABLE && (a->is_disturbed || is_leaving || t->was_disk_full));
    if (!is_expected && !*text)
        snprintf(text, sizeof t->failure, "%s %s %d", a->name,
                 by_signal ? "was ended by signal" : "left with",
                 by_signal ? WTERMSIG(end) : a->code);
}

bool tasks_turn(tasks *t)
{
    bool goes_on = false;
    for (int i = 0; i < t->n; i++) {
        task *a = &t->all[i];
        int end;
        if (a->pid && waitpid(a->pid, &end, WNOHANG) == a->pid)
            end_life(t, a, end);
        if (!a->pid && !a->is_over && clock_us() >= a->again_us)
            start_life(t, i);
        goes_on |= !a->is_over;
    }
    return goes_on && !*t->failure;
}

task *tasks_first(tasks *t)
{
    return &t->all[0];
}

int tasks_pids(const tasks *t, pid_t ret[MOST_TASKS])
{
    int n = 0;
    if (!t->plan->is_launched || !t->plan->workers) {
        for (int i = 0; i < t->n; i++)
            if (t->all[i].pid)
                ret[n++] = t->all[i].pid;
        return n;
    }
    pid_t pids[PROCESSES];
    int n_pids = sandbox_processes(pids, PROCESSES);
    for (int i = 0; i < n_pids && n < MOST_TASKS; i++)
        if (sandbox_has_variable(pids[i], "TF_CONFIG", "task"))
            ret[n++] = pids[i];
    return n;
}

bool tasks_disturb(tasks *t, pid_t pid)
{
    for (int i = 0; i < t->n; i++)
        if (t->all[i].pid == pid)
            return t->all[i].is_disturbed = true;
    return false;
}

void tasks_move_clock(tasks *t, int i, int64_t seconds)
{
    char *path = clock_of(t, i);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || pwrite(fd, &seconds, sizeof seconds, 0) != sizeof seconds)
        fprintf(stderr, "torture: cannot write '%s'\n", path);
    close(fd);
    free(path);
}

void tasks_fini(tasks *t)
{
    links_stop(&t->links);
    for (int i = 0; i < t->n; i++)
        free(t->roles[i]);
    free(t->overrides);
}
