#include "cli/roles/metrics_server.h"

#include "common/base/log.h"
#include "watch/http/listen.h"

#include <stdio.h>
#include <stdlib.h>

/* Of the descriptors that the task needs itself; and a probe must come through, whoever else holds on to some. */
enum { CONNECTIONS = 128, PER_ADDRESS = 64, IDLE_S = 10 };

static void note_roles(const process *p, task_metrics *ret)
{
    bool evaluates = p->evaluates_here || p->c->task.role == ROLE_EVALUATOR;
    if (p->is_master)
        ret->tasks[ret->n++] = (task){ROLE_MASTER, 0};
    if (p->is_worker)
        ret->tasks[ret->n++] = p->worker;
    if (p->is_ps)
        ret->tasks[ret->n++] = p->ps;
    if (evaluates)
        ret->tasks[ret->n++] = (task){ROLE_EVALUATOR, 0};
}

/* NULL: nowhere. */
static const char *find_place(const process *p, char given[32])
{
    const char *fd = getenv("TEQUIO_METRICS_FD");
    if (!fd || !fd[0])
        return config_str(p->o->config, "distributed.metrics");
    snprintf(given, 32, "fd:%s", fd);
    return given;
}

static status find_token(const process *p, const http_place *at, char ret[JOBKEY_TEXT], error *err)
{
    jobkey key;
    TRYF(keys_find(p->o->given, p->o->config, p->o->job_dir, &key, err), err,
         "%s can be reached from elsewhere, and needs a token of the job's key", at->address);
    jobkey_derive_token(&key, JOBKEY_METRICS, ret);
    jobkey_wipe(&key, sizeof key);
    return OK;
}

static status serve(const process *p, http_place *at, metrics_server *s, error *err)
{
    char token[JOBKEY_TEXT];
    if (!at->is_local)
        TRY(find_token(p, at, token, err));
    const http_options o = {.fd = at->fd,
                            .port = at->port,
                            .handler = task_metrics_answer,
                            .user = &s->tells,
                            .token = at->is_local ? NULL : token,
                            .open_paths = task_metrics_open_paths,
                            .connections = CONNECTIONS,
                            .per_address = at->is_local ? 0 : PER_ADDRESS,
                            .idle_s = IDLE_S};
    at->fd = -1; /* the server's */
    status st = http_server_start(&o, &s->server, err);
    jobkey_wipe(token, sizeof token);
    return st;
}

static status begin(const process *p, const char *place, metrics_server *s, error *err)
{
    http_place at = HTTP_NOWHERE;
    TRY(http_check(false, err));
    TRY(http_listen(place, &at, err));
    status st = serve(p, &at, s, err);
    if (st == OK)
        LOG_I("METRICS", "http://%s/metrics", at.address);
    http_place_close(&at);
    return st;
}

status metrics_server_begin(const process *p, metrics_server *ret, error *err)
{
    char given[32];
    const char *place = find_place(p, given);
    error why = ERROR_INIT;
    if (!place)
        return OK;
    note_roles(p, &ret->tells);
    status st = begin(p, place, ret, &why);
    if (st == OK)
        return OK;
    if (p->is_alone || getenv("TEQUIO_METRICS_PROBED"))
        return FAIL(err, st, "distributed.metrics: %s", why.text);
    LOG_W("METRICS", "there are none: %s", why.text);
    return OK;
}

void metrics_server_end(metrics_server *s)
{
    http_server_stop(&s->server);
}
