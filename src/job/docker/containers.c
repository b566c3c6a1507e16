#include "job/docker/containers.h"

#include "common/base/alloc.h"
#include "job/process/exit_hook.h"
#include "job/process/short_command.h"
#include "job/process/supervise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 16 };

typedef struct composed {
    const containers_options *o;
    char **ids;          /* [tasks] of their containers */
    const char *argv[5]; /* of the task that was started last */
} composed;

/* --- Docker's tools --- */

status containers_check(error *err)
{
    const char *ask[] = {"docker", "version", "--format", "{{.Server.Version}}", NULL};
    return short_command_ask(ask, NULL, err);
}

/* `docker compose`, or its predecessor, which is a command of its own. */
static status find_compose(const char **ret, error *err)
{
    const char *newer[] = {"docker", "compose", "version", NULL};
    const char *older[] = {"sh", "-c", "command -v docker-compose", NULL};
    int n = 0;
    if (short_command_ask(newer, NULL, NULL) == OK)
        ret[n++] = "docker", ret[n++] = "compose";
    else if (short_command_ask(older, NULL, NULL) == OK)
        ret[n++] = "docker-compose";
    else
        return FAIL(err, E_FAIL, "neither `docker compose` nor docker-compose is here");
    ret[n] = NULL;
    return OK;
}

/* COMPOSE --project-name P --file F ... */
static void compose_line(const containers_options *o, const char *const *compose,
                         const char *const *rest, const char **ret)
{
    const char *const middle[] = {"--project-name", o->project, "--file", o->file};
    size_t n = 0;
    for (size_t i = 0; compose[i]; i++)
        ret[n++] = compose[i];
    for (size_t i = 0; i < COUNT_OF(middle); i++)
        ret[n++] = middle[i];
    for (size_t i = 0; rest[i]; i++)
        ret[n++] = rest[i];
    ret[n] = NULL;
}

/* --- the containers --- */

/* "worker-1 0123456789ab" */
static void take_container(composed *c, const char *line)
{
    size_t bytes = strcspn(line, " ");
    const roster *tasks = c->o->tasks;
    for (int i = 0; i < tasks->n; i++)
        if (line[bytes] && !c->ids[i] && strlen(tasks->tasks[i].host) == bytes &&
            !memcmp(tasks->tasks[i].host, line, bytes))
            c->ids[i] = xstrdup(line + bytes + 1);
}

static status find_containers(composed *c, error *err)
{
    char *filter = xasprintf("label=com.docker.compose.project=%s", c->o->project);
    static const char format[] = "{{.Label \"com.docker.compose.service\"}} {{.ID}}";
    const char *ask[] = {"docker", "ps", "--all", "--filter", filter, "--format", format, NULL};
    char *said = NULL, *rest = NULL;
    status st = short_command_ask(ask, &said, err);
    free(filter);
    for (char *line = st == OK ? strtok_r(said, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest))
        take_container(c, line);
    free(said);
    for (int i = 0; st == OK && i < c->o->tasks->n; i++)
        if (!c->ids[i])
            st = FAIL(err, E_FAIL, "docker ps: there is no container for %s",
                      c->o->tasks->tasks[i].host);
    return st;
}

/* A client that is attached, and beside it who passes on the signals that child.h writes: some
 * clients end by a signal themselves (docker 28's with 0). The container may be about to start. */
static const char attach[] =
    "exec 3<&0\n"
    "docker start --attach \"$0\" </dev/null &\n"
    "client=$!\n"
    "while read -r _ number; do\n"
    "    until docker kill --signal \"$number\" \"$0\" >/dev/null 2>&1 ||\n"
    "        ! kill -0 $client 2>/dev/null; do\n"
    "        sleep 0.2\n"
    "    done\n"
    "done <&3 &\n"
    "wait $client\n";

static status containers_start(void *user, int i, int life, child_start *ret, error *err)
{
    (void)life;
    (void)err;
    extern char **environ;
    composed *c = user;
    const char *argv[] = {"sh", "-c", attach, c->ids[i], NULL};
    memcpy(c->argv, argv, sizeof argv);
    ret->task = c->o->tasks->tasks[i].task;
    ret->program = argv[0];
    ret->argv = (char *const *)(uintptr_t)c->argv;
    ret->envp = environ;
    ret->input = "";
    return OK;
}

static int play(composed *c, error *err)
{
    const containers_options *o = c->o;
    status st = find_containers(c, err);
    if (st != OK)
        return status_exit_code(st);
    return supervise(&(supervise_options){.n = o->tasks->n,
                                          .start = containers_start,
                                          .user = c,
                                          .restarts = o->restarts,
                                          .log_dir = o->log_dir,
                                          .limit_ms = o->limit_ms,
                                          .grace_ms = o->grace_ms},
                     err);
}

static status prepare(const containers_options *o, exit_hook *ret, error *err)
{
    static const char *const up[] = {"up", "--no-start", NULL};
    static const char *const down[] = {"down", "--volumes", "--timeout", "0", NULL};
    const char *compose[3], *line[WORDS];
    TRY(find_compose(compose, err));
    compose_line(o, compose, down, line);
    char *log = xasprintf("%s/compose.log", o->log_dir);
    status st = exit_hook_set(line, log, ret, err);
    free(log);
    compose_line(o, compose, up, line);
    return st == OK ? short_command_ask(line, NULL, err) : st;
}

int containers_run(const containers_options *o, error *err)
{
    composed c = {.o = o, .ids = xcalloc((size_t)o->tasks->n, sizeof *c.ids)};
    exit_hook all_end = {.keeper = 0};
    status st = prepare(o, &all_end, err);
    int code = st == OK ? play(&c, err) : status_exit_code(st);
    if (exit_hook_run(&all_end))
        fprintf(stderr, "tequio: containers may be left; %s/compose.log tells why\n", o->log_dir);
    for (int i = 0; i < o->tasks->n; i++)
        free(c.ids[i]);
    free(c.ids);
    return code;
}
