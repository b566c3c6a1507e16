#include "job/metrics_ports.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "watch/http/listen.h"
#include "watch/http/server.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Behind the last ':' of a place, or all of it. */
static const char *port_text(const char *place)
{
    const char *colon = strrchr(place, ':');
    return colon ? colon + 1 : place;
}

static status open_one(const char *place, int which, roster_task *t, error *err)
{
    const char *port = port_text(place);
    int first = atoi(port);
    http_place at = HTTP_NOWHERE;
    char name[TASK_NAME];
    if (!first || !which)
        TRYF(http_listen(place, &at, err), err, "%s", task_name(t->task, name));
    else {
        char *own = xasprintf("%.*s%d", (int)(port - place), place, first + which);
        status st = http_listen(own, &at, err);
        free(own);
        if (st != OK)
            error_prepend(err, "%s", task_name(t->task, name));
        TRY(st);
    }
    t->metrics_fd = at.fd;
    return OK;
}

status metrics_ports_open(const char *place, roster *tasks, error *err)
{
    if (!place)
        return OK;
    TRYF(http_check(false, err), err, "distributed.metrics");
    for (int i = 0; i < tasks->n; i++)
        TRYF(open_one(place, i, &tasks->tasks[i], err), err, "distributed.metrics");
    return OK;
}

static bool are_open(const roster *tasks)
{
    return tasks->n > 0 && tasks->tasks[0].metrics_fd >= 0;
}

static json_t *target_of(const roster_task *t, const char *job_dir)
{
    http_place at = HTTP_NOWHERE;
    char name[TASK_NAME], fd[32];
    snprintf(fd, sizeof fd, "fd:%d", t->metrics_fd);
    if (http_listen(fd, &at, NULL) != OK)
        return NULL;
    const char *address = at.address;
    char here[32];
    snprintf(here, sizeof here, "127.0.0.1:%d", at.port);
    if (strncmp(address, "0.0.0.0:", 8) == 0 || strncmp(address, "[::]:", 5) == 0)
        address = here;
    return json_pack("{s:[s], s:{s:s%, s:s}}", "targets", address, "labels", "job_dir", job_dir, strlen(job_dir),
                     "tequio_task", task_name(t->task, name));
}

void metrics_ports_tell(const roster *tasks, const char *log_dir)
{
    if (!are_open(tasks))
        return;
    char job_dir[PATH_MAX], *path = xasprintf("%s/" METRICS_PORTS_FILE, log_dir);
    error why = ERROR_INIT;
    json_t *list = json_array();
    char *parent = xasprintf("%s/..", log_dir);
    if (!realpath(parent, job_dir))
        snprintf(job_dir, sizeof job_dir, "%s", log_dir);
    for (int i = 0; i < tasks->n; i++)
        json_array_append_new(list, target_of(&tasks->tasks[i], job_dir));
    char *text = json_text(list);
    if (fs_write_atomic(path, text, strlen(text), &why) != OK)
        fprintf(stderr, "tequio: metrics: %s\n", why.text);
    free(text);
    json_decref(list);
    free(parent);
    free(path);
}

void metrics_ports_forget(const roster *tasks, const char *log_dir)
{
    char *path = xasprintf("%s/" METRICS_PORTS_FILE, log_dir);
    if (are_open(tasks))
        unlink(path);
    free(path);
}
