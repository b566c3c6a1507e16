#include "job/local.h"

#include "common/base/alloc.h"
#include "common/base/host_memory.h"
#include "job/metrics_ports.h"
#include "job/process/supervise.h"

#include <stdint.h>
#include <stdlib.h>

typedef struct local {
    const local_options *options;
    roster_words words;
    roster roster;
    char **argv, **environment; /* of the task that was started last */
} local;

static char **command_line(const char *const *arguments)
{
    size_t n = 0;
    while (arguments[n])
        n++;
    char **argv = xcalloc(n + 2, sizeof *argv);
    argv[0] = "tequio";
    for (size_t i = 0; i < n; i++)
        argv[1 + i] = (char *)(uintptr_t)arguments[i];
    return argv;
}

static void forget(local *l)
{
    roster_environment_free(l->environment);
    free(l->argv);
    l->environment = NULL;
    l->argv = NULL;
}

static status local_start(void *user, int i, int life, child_start *ret, error *err)
{
    (void)err;
    extern char **environ;
    local *l = user;
    const local_options *o = l->options;
    forget(l);
    l->argv = command_line(life > 1 && o->arguments_again ? o->arguments_again : o->arguments);
    l->environment = roster_environment(&l->roster, i, life, &l->words, environ);
    ret->task = l->roster.tasks[i].task;
    ret->argv = l->argv;
    ret->envp = l->environment;
    ret->listen_fd = l->roster.tasks[i].listen_fd;
    ret->metrics_fd = l->roster.tasks[i].metrics_fd;
    return OK;
}

/* What the machine has is looked at once, before any task has taken some, and dealt to workers. */
static status deal_memory(local *l, error *err)
{
    host_memory host;
    int workers = l->options->shape.counts[ROLE_WORKER];
    TRY(host_memory_left(&host, err));
    if (workers > 0 && host.left < SIZE_MAX)
        l->words.worker_memory = host.left / (size_t)workers;
    return OK;
}

int local_run(const local_options *options, error *err)
{
    local l = {.options = options, .words = options->words};
    status st = deal_memory(&l, err);
    if (st == OK)
        st = roster_open(&options->shape, &l.roster, err);
    if (st == OK)
        st = metrics_ports_open(options->metrics, &l.roster, err);
    if (st != OK) {
        roster_close(&l.roster);
        return status_exit_code(st);
    }
    metrics_ports_tell(&l.roster, options->log_dir);
    supervise_options all = {.n = l.roster.n,
                             .start = local_start,
                             .user = &l,
                             .restarts = options->restarts,
                             .primary_decides = options->primary_decides,
                             .log_dir = options->log_dir,
                             .needs = options->needs,
                             .limit_ms = options->limit_ms,
                             .hang_ms = options->hang_ms,
                             .grace_ms = options->grace_ms};
    int code = supervise(&all, err);
    forget(&l);
    metrics_ports_forget(&l.roster, options->log_dir);
    roster_close(&l.roster);
    return code;
}
