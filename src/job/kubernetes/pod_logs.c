#include "job/kubernetes/pod_logs.h"

#include "common/base/clock.h"
#include "job/process/log_mux.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* --- one --- */

/* Both outputs of a task come as one, so they are shown as what it logs. */
static void take_line(void *user, child *c, int stream, const char *line, bool is_bar)
{
    pod_logs *f = user;
    (void)stream;
    for (int i = 0; i < f->n; i++)
        if (&f->at[i].child == c)
            f->at[i].heard_s = (int64_t)time(NULL);
    log_mux_show(c, 1, line, is_bar);
}

/* "--since-time=..." where lines have come before. */
static void say_since(const pod_log *p, char *ret, size_t bytes)
{
    struct tm utc;
    time_t heard = (time_t)p->heard_s;
    gmtime_r(&heard, &utc);
    strftime(ret, bytes, "--since-time=%Y-%m-%dT%H:%M:%SZ", &utc);
}

static status open_log(pod_logs *f, pod_log *p, task t, error *err)
{
    char since[64], name[TASK_NAME];
    const char *argv[8] = {"kubectl", "logs", "--follow", p->pod};
    int n = 4;
    if (f->o->namespace) {
        argv[n++] = "--namespace";
        argv[n++] = f->o->namespace;
    }
    if (p->heard_s) {
        say_since(p, since, sizeof since);
        argv[n++] = since;
    }
    char *path = xasprintf("%s/%s.log", f->log_dir, task_name(t, name));
    child_start start = {.task = t,
                         .log_path = path,
                         .program = "kubectl",
                         .argv = (char *const *)(uintptr_t)argv,
                         .envp = environ,
                         .listen_fd = -1,
                         .metrics_fd = -1};
    status st = child_run(&p->child, &start, err);
    p->is_open = st == OK;
    p->is_closed = false;
    free(path);
    return st;
}

static void close_log(pod_log *p)
{
    if (!p->is_open)
        return;
    child_kill(&p->child, SIGKILL);
    while (!child_reap(&p->child))
        poll(NULL, 0, 1);
    child_fini(&p->child);
    p->is_open = false;
}

static void forget(pod_log *p)
{
    close_log(p);
    free(p->pod);
    free(p->uid);
    free(p->waits);
}

/* --- all --- */

static pod_log *find(pod_logs *f, const kubectl_pod *pod)
{
    for (int i = 0; i < f->n; i++)
        if (strcmp(f->at[i].uid, pod->uid) == 0)
            return &f->at[i];
    return NULL;
}

static bool is_gone(const pod_log *p, const kubectl_view *v)
{
    for (int i = 0; i < v->n_pods; i++)
        if (strcmp(v->pods[i].uid, p->uid) == 0)
            return false;
    return !p->is_open;
}

/* In the place of one that is gone, or in a new one; NULL: there is no room. */
static pod_log *pod_logs_add(pod_logs *f, const kubectl_view *v, const kubectl_pod *pod)
{
    int at = 0;
    while (at < f->n && !is_gone(&f->at[at], v))
        at++;
    if (at == POD_LOGS_MOST)
        return NULL;
    if (at < f->n)
        forget(&f->at[at]);
    else
        f->n++;
    f->at[at] =
        (pod_log){.pod = xstrdup(pod->name), .uid = xstrdup(pod->uid), .waits = xstrdup("")};
    return &f->at[at];
}

static void say_wait(pod_log *p, const kubectl_pod *pod)
{
    if (pod->has_begun || !*pod->waits || strcmp(pod->waits, p->waits) == 0 ||
        strcmp(pod->waits, "ContainerCreating") == 0)
        return;
    log_mux_say("the pod %s waits: %s", pod->name, pod->waits);
    free(p->waits);
    p->waits = xstrdup(pod->waits);
}

/* A log that ended while its pod runs was cut off, if the pod still runs at the next look. */
static bool wants_log(pod_log *p, const kubectl_pod *pod)
{
    bool was_seen_closed = p->is_closed;
    p->is_closed = !p->is_open;
    if (!pod->has_begun || p->is_open)
        return false;
    return !p->child.pid || (pod->exit_code < 0 && was_seen_closed);
}

status pod_logs_follow(pod_logs *f, const kubectl_view *v, error *err)
{
    for (int i = 0; i < v->n_pods; i++) {
        const kubectl_pod *pod = &v->pods[i];
        pod_log *p = find(f, pod);
        p = p ? p : pod_logs_add(f, v, pod);
        if (!p)
            continue;
        say_wait(p, pod);
        if (wants_log(p, pod))
            TRY(open_log(f, p, pod->task, err));
    }
    return OK;
}

/* Whether its kubectl has come to its end. */
static bool has_ended(pod_log *p)
{
    return p->child.streams[0].fd < 0 && p->child.streams[1].fd < 0 && child_reap(&p->child);
}

void pod_logs_turn(pod_logs *f, int fd, int limit_ms)
{
    struct pollfd polls[CHILD_STREAMS * POD_LOGS_MOST + 1] = {{.fd = fd, .events = POLLIN}};
    int n = 1;
    for (int i = 0; i < f->n; i++)
        for (int k = 0; k < CHILD_STREAMS; k++)
            polls[n++] = (struct pollfd){.fd = f->at[i].is_open ? f->at[i].child.streams[k].fd : -1,
                                         .events = POLLIN};
    poll(polls, (nfds_t)n, limit_ms);
    for (int i = 0; i < f->n; i++) {
        pod_log *p = &f->at[i];
        for (int k = 0; k < CHILD_STREAMS && p->is_open; k++)
            while (child_read(&p->child, k, take_line, f))
                ;
        if (p->is_open && has_ended(p)) {
            child_fini(&p->child);
            p->is_open = false;
        }
    }
}

static bool is_anybody_open(const pod_logs *f)
{
    for (int i = 0; i < f->n; i++)
        if (f->at[i].is_open)
            return true;
    return false;
}

void pod_logs_drain(pod_logs *f, int limit_ms)
{
    int64_t until = clock_us() + (int64_t)limit_ms * 1000;
    while (is_anybody_open(f) && clock_us() < until)
        pod_logs_turn(f, -1, 100);
}

void pod_logs_fini(pod_logs *f)
{
    for (int i = 0; i < f->n; i++)
        forget(&f->at[i]);
    f->n = 0;
}
