#include "job/roster.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "job/ports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void roster_plan(const roster_shape *shape, roster *ret)
{
    static const role order[] = {ROLE_MASTER, ROLE_PS, ROLE_WORKER, ROLE_EVALUATOR};
    int total = 0;
    for (role r = 0; r < ROLE_COUNT; r++)
        total += shape->counts[r];
    roster s = {.tasks = xcalloc((size_t)total, sizeof *s.tasks),
                .primary = shape->primary,
                .gcloud_job = shape->gcloud_job,
                .trial = shape->trial};
    for (size_t o = 0; o < COUNT_OF(order); o++)
        for (int i = 0; i < shape->counts[order[o]]; i++) {
            s.tasks[s.n] = (roster_task){.task = {.role = order[o], .index = i},
                                         .host = shape->gcloud_job ? "localhost" : NULL,
                                         .port = shape->start_port ? shape->start_port + s.n : 0,
                                         .listen_fd = -1,
                                         .metrics_fd = -1,
                                         .gpus = -1};
            s.n++;
        }
    *ret = s;
}

status roster_check_ports(const roster_shape *shape, error *err)
{
    int n = 0;
    for (role r = 0; r < ROLE_COUNT; r++)
        n += shape->gcloud_job && r == ROLE_EVALUATOR ? 0 : shape->counts[r];
    if (!shape->start_port || shape->start_port + n - 1 <= PORT_MOST)
        return OK;
    return FAIL(err, E_CONFIG,
                "%d tasks from port %d on: ports end at %d; give a lower --start-port", n,
                shape->start_port, PORT_MOST);
}

static bool is_listed(const roster *s, const roster_task *t)
{
    return !s->gcloud_job || t->task.role != ROLE_EVALUATOR;
}

status roster_open(const roster_shape *shape, roster *ret, error *err)
{
    roster s;
    TRY(roster_check_ports(shape, err));
    roster_plan(shape, &s);
    for (int i = 0; i < s.n; i++) {
        roster_task *t = &s.tasks[i];
        char name[TASK_NAME];
        if (!is_listed(&s, t))
            continue;
        status st = port_listen(t->port, task_name(t->task, name), &t->listen_fd, &t->port, err);
        if (st != OK) {
            roster_close(&s);
            return st;
        }
    }
    *ret = s;
    return OK;
}

void roster_close(roster *s)
{
    for (int i = 0; i < s->n; i++) {
        if (s->tasks[i].listen_fd >= 0)
            close(s->tasks[i].listen_fd);
        if (s->tasks[i].metrics_fd >= 0)
            close(s->tasks[i].metrics_fd);
    }
    free(s->tasks);
    free(s->cluster);
    *s = (roster){.n = 0};
}

/* What TF_CONFIG calls a role. */
static const char *job_of(const roster *s, role r)
{
    return r == ROLE_MASTER ? s->primary : role_name(r);
}

static void add_address(json_t *list, const roster_task *t)
{
    const char *host = t->host ? t->host : PORTS_HOST;
    bool is_ipv6 = strchr(host, ':') != NULL;
    char address[512];
    snprintf(address, sizeof address, "%s%s%s:%d", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "",
             t->port);
    json_array_append_new(list, json_string(address));
}

static char *cluster_text(const roster *s)
{
    json_t *jobs = json_object();
    for (int k = 0; k < s->n; k++) {
        if (!is_listed(s, &s->tasks[k]))
            continue;
        const char *job = job_of(s, s->tasks[k].task.role);
        json_t *list = json_object_get(jobs, job);
        if (!list)
            json_object_set_new(jobs, job, list = json_array());
        add_address(list, &s->tasks[k]);
    }
    char *text = json_text(jobs);
    json_decref(jobs);
    return text;
}

char *roster_tf_config(roster *s, int i)
{
    if (!s->cluster)
        s->cluster = cluster_text(s);
    task self = s->tasks[i].task;
    const char *job = s->gcloud_job;
    json_t *own = json_pack("{s:i, s:s}", "index", (int)self.index, "type", job_of(s, self.role));
    if (s->trial)
        json_object_set_new(own, "trial", json_string(s->trial));
    char *own_text = json_text(own);
    char *text = xasprintf("{\"cluster\":%s,%s%s%s\"task\":%s}", s->cluster,
                           job ? "\"environment\":\"cloud\",\"job\":" : "", job ? job : "", job ? "," : "", own_text);
    free(own_text);
    json_decref(own);
    return text;
}

static bool is_named(const char *entry, const char *name)
{
    size_t n = strlen(name);
    return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

/* Takes over `entry`, which is "NAME=value"; it replaces one of that name. */
static void put(char **e, size_t *n, char *entry)
{
    size_t bytes = strcspn(entry, "=");
    char *name = xstrndup(entry, bytes);
    size_t at = 0;
    while (at < *n && !is_named(e[at], name))
        at++;
    free(name);
    if (at < *n)
        free(e[at]);
    else
        ++*n;
    e[at] = entry;
}

char **roster_environment(roster *s, int i, int life, const roster_words *words, char *const *base)
{
    enum { OWN = 11 };
    size_t n = 0, n_base = 0;
    while (base[n_base])
        n_base++;
    char **e = xcalloc(n_base + OWN, sizeof *e);
    for (; n < n_base; n++)
        e[n] = xstrdup(base[n]);

    char *tf_config = roster_tf_config(s, i);
    put(e, &n, xasprintf("TF_CONFIG=%s", tf_config));
    free(tf_config);
    put(e, &n, xasprintf("TEQUIO_LISTEN_FD=%d", s->tasks[i].listen_fd));
    put(e, &n, s->tasks[i].metrics_fd < 0 ? xstrdup("TEQUIO_METRICS_FD=")
                                          : xasprintf("TEQUIO_METRICS_FD=%d", s->tasks[i].metrics_fd));
    put(e, &n, xstrdup("OMP_WAIT_POLICY=passive"));
    put(e, &n, xasprintf("TEQUIO_SET=%s", words->settings ? words->settings : ""));
    if (words->fault)
        put(e, &n, xasprintf("TEQUIO_FAULT=%s", words->fault));
    if (life > 1)
        put(e, &n, xasprintf("TEQUIO_FAULT_LIFE=%d", life));
    if (words->key_file)
        put(e, &n, xasprintf("TEQUIO_KEY_FILE=%s", words->key_file));
    if (words->threads > 0)
        put(e, &n, xasprintf("OMP_NUM_THREADS=%d", words->threads));
    if (words->worker_memory && s->tasks[i].task.role == ROLE_WORKER)
        put(e, &n, xasprintf("TEQUIO_MEMORY=%zu", words->worker_memory));
    return e;
}

void roster_environment_free(char **e)
{
    for (size_t i = 0; e && e[i]; i++)
        free(e[i]);
    free(e);
}
