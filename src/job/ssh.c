#include "job/ssh.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "job/errand.h"
#include "job/remote.h"
#include "job/supervise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AT_ONCE = 64, WORDS = 64, PROGRAM_MOST = 1 << 30 };

typedef struct ssh_job {
    const ssh_options *o;
    roster roster;
    int *host_of;
    char *words;                        /* of the client */
    const char *client[WORDS];          /* NULL at the end */
    char *place;                        /* of the program on a host, for its shell */
    char *command;                      /* what its shell runs for a task */
    char *input;                        /* of the task that was started last; */
    const char *argv[WORDS + 4];        /* its command line, */
    char **environment;                 /* and what it is told */
} ssh_job;

/* --- who runs where --- */

/* Servers before workers: what others dial is there first. */
static const role order[] = {ROLE_MASTER, ROLE_PS, ROLE_WORKER, ROLE_EVALUATOR};
/* But the computing ones are dealt first. */
static const role dealt[] = {ROLE_MASTER, ROLE_WORKER, ROLE_PS, ROLE_EVALUATOR};

static int first_of(const job *j, role r)
{
    int at = 0;
    for (size_t i = 0; order[i] != r; i++)
        at += (int)j->pools[order[i]].count;
    return at;
}

static status deal(const ssh_options *o, roster *s, int *host_of, error *err)
{
    for (size_t k = 0; k < COUNT_OF(dealt); k++)
        for (int i = 0; i < o->job->pools[dealt[k]].count; i++) {
            int at = first_of(o->job, dealt[k]) + i;
            task t = {.role = dealt[k], .index = i};
            TRY(hosts_deal(o->hosts, o->job, t, &host_of[at], err));
            s->tasks[at] = (roster_task){.task = t,
                                         .host = o->hosts->at[host_of[at]].address,
                                         .port = o->start_port + at,
                                         .listen_fd = -1};
        }
    return OK;
}

status ssh_plan(const ssh_options *o, roster *ret, int **ret_host_of, error *err)
{
    int n = (int)job_tasks(o->job);
    if (o->start_port + n - 1 > 65535)
        return FAIL(err, E_CONFIG, "%d tasks from port %d on: ports end at 65535; give a lower --start-port",
                    n, o->start_port);
    roster s = {.n = n, .tasks = xcalloc((size_t)n, sizeof *s.tasks), .primary = o->primary};
    int *host_of = xcalloc((size_t)n, sizeof *host_of);
    status st = deal(o, &s, host_of, err);
    if (st != OK) {
        s.n = 0; /* nobody listens yet */
        roster_close(&s);
        free(host_of);
        return st;
    }
    *ret = s;
    *ret_host_of = host_of;
    return OK;
}

/* --- the program on the hosts --- */

static status split_client(ssh_job *s, error *err)
{
    int n = 0;
    s->words = xstrdup(s->o->ssh);
    char *rest = NULL;
    for (char *w = strtok_r(s->words, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        if (n == WORDS - 1)
            return FAIL(err, E_USAGE, "--ssh '%s': more than %d words", s->o->ssh, WORDS - 1);
        s->client[n++] = w;
    }
    return n ? OK : FAIL(err, E_USAGE, "--ssh is empty; it is a command, as 'ssh -i key'");
}

/* Where a host keeps this program: the folder tells its hash, so what is there is the right one. */
static status name_program(ssh_job *s, error *err)
{
    buf self = BUF_INIT;
    char hex[SHA256_HEX];
    status st = fs_read("/proc/self/exe", PROGRAM_MOST, &self, err);
    if (st == OK) {
        sha256_hex(self.data, self.size, hex);
        s->place = xasprintf("$HOME/.cache/tequio/%.16s", hex);
        s->command = xasprintf("exec \"%s/tequio\" task", s->place);
    }
    buf_fini(&self);
    return st;
}

/* The client, the host, and what its shell is to do. */
static const char **command_for(const ssh_job *s, const char *where, const char *script)
{
    int n = 0;
    while (s->client[n])
        n++;
    const char **argv = xcalloc((size_t)n + 3, sizeof *argv);
    memcpy(argv, s->client, (size_t)n * sizeof *argv);
    argv[n] = where;
    argv[n + 1] = script;
    return argv;
}

static bool is_used(const ssh_job *s, int i)
{
    return s->o->hosts->at[i].n > 0;
}

/* The last line that a command said. */
static const char *last_line(buf *output)
{
    if (!output->size)
        return "it said nothing";
    while (output->size && strchr("\r\n", output->data[output->size - 1]))
        output->data[--output->size] = '\0';
    char *line = strrchr(output->data, '\n');
    return line ? line + 1 : output->data;
}

/* The same command on all hosts that are to be asked; `reply` of each is its output. */
static status ask(const ssh_job *s, const char *script, const char *input, const bool *asked,
                  errand *replies, error *err)
{
    int n = s->o->hosts->n;
    for (int i = 0; i < n; i++)
        replies[i] = (errand){.input = input};
    for (int i = 0; i < n; i++)
        if (asked[i])
            replies[i].argv = (char *const *)(uintptr_t)command_for(s, s->o->hosts->at[i].name, script);
    status st = errands_run(replies, n, AT_ONCE, err);
    for (int i = 0; i < n; i++) {
        if (st == OK && asked[i] && replies[i].code)
            st = FAIL(err, E_FAIL, "host %s: %s", s->o->hosts->at[i].name,
                      last_line(&replies[i].output));
        free((void *)(uintptr_t)replies[i].argv);
    }
    return st;
}

static void drop(errand *replies, int n)
{
    for (int i = 0; i < n; i++)
        buf_fini(&replies[i].output);
}

/* Looks on every host whether the program is there, and puts it where it is not. */
static status place_program(const ssh_job *s, error *err)
{
    int n = s->o->hosts->n, lacking = 0;
    bool *asked = xcalloc((size_t)n, sizeof *asked);
    errand *replies = xcalloc((size_t)n, sizeof *replies);
    char *look = xasprintf("test -x \"%s/tequio\" && echo has-it || echo lacks-it", s->place);
    char *put = xasprintf("umask 077; mkdir -p \"%s\" && cat >\"%s/new.$$\" && chmod 700 \"%s/new.$$\" && "
                          "mv \"%s/new.$$\" \"%s/tequio\"",
                          s->place, s->place, s->place, s->place, s->place);
    for (int i = 0; i < n; i++)
        asked[i] = is_used(s, i);
    status st = ask(s, look, NULL, asked, replies, err);
    for (int i = 0; i < n; i++) {
        asked[i] = asked[i] && strcmp(last_line(&replies[i].output), "has-it") != 0;
        lacking += asked[i];
    }
    drop(replies, n);
    if (st == OK && lacking) {
        st = ask(s, put, "/proc/self/exe", asked, replies, err);
        drop(replies, n);
    }
    free(put);
    free(look);
    free(replies);
    free(asked);
    return st;
}

/* --- the tasks --- */

/* What of our own environment is for tasks, and what each is told besides. */
static char **environment_of(ssh_job *s, int i, int life)
{
    extern char **environ;
    static const char *const kept[] = {"TEQUIO_", "OMP_NUM_THREADS=", "CUDA_VISIBLE_DEVICES="};
    enum { OWN = 4 };
    size_t n = 0, n_all = 0;
    while (environ[n_all])
        n_all++;
    char **e = xcalloc(n_all + OWN, sizeof *e);
    for (size_t k = 0; k < n_all; k++)
        for (size_t p = 0; p < COUNT_OF(kept); p++)
            if (strncmp(environ[k], kept[p], strlen(kept[p])) == 0 &&
                strncmp(environ[k], "TEQUIO_KEY", strlen("TEQUIO_KEY")) != 0)
                e[n++] = xstrdup(environ[k]);
    char *tf_config = roster_tf_config(&s->roster, i);
    e[n++] = xasprintf("TF_CONFIG=%s", tf_config);
    free(tf_config);
    if (s->o->key)
        e[n++] = xasprintf("TEQUIO_KEY=%s", s->o->key);
    if (life > 1)
        e[n++] = xasprintf("TEQUIO_FAULT_LIFE=%d", life);
    return e;
}

static void forget(ssh_job *s)
{
    roster_environment_free(s->environment);
    free(s->input);
    s->environment = NULL;
    s->input = NULL;
}

static status start(void *user, int i, int life, child_start *ret, error *err)
{
    (void)err;
    extern char **environ;
    ssh_job *s = user;
    char folder[4096];
    forget(s);
    s->environment = environment_of(s, i, life);
    remote_task t = {
        .arguments = life > 1 ? s->o->arguments_again : s->o->arguments,
        .config = s->o->config,
        .environment = s->environment,
        .folder = getcwd(folder, sizeof folder) ? folder : "",
    };
    s->input = remote_line(&t);
    int n = 0;
    for (; s->client[n]; n++)
        s->argv[n] = s->client[n];
    s->argv[n++] = s->o->hosts->at[s->host_of[i]].name;
    s->argv[n++] = s->command;
    s->argv[n] = NULL;
    ret->task = s->roster.tasks[i].task;
    ret->program = s->client[0];
    ret->argv = (char *const *)(uintptr_t)s->argv;
    ret->envp = environ;
    ret->input = s->input;
    return OK;
}

static void close_job(ssh_job *s)
{
    forget(s);
    roster_close(&s->roster);
    free(s->host_of);
    free(s->command);
    free(s->place);
    free(s->words);
}

static status prepare(ssh_job *s, error *err)
{
    TRY(split_client(s, err));
    TRY(ssh_plan(s->o, &s->roster, &s->host_of, err));
    TRY(name_program(s, err));
    return place_program(s, err);
}

int ssh_run(const ssh_options *o, error *err)
{
    ssh_job s = {.o = o};
    status st = prepare(&s, err);
    int code = status_exit_code(st);
    if (st == OK)
        code = supervise(&(supervise_options){.n = s.roster.n,
                                              .start = start,
                                              .user = &s,
                                              .max_restarts = o->max_restarts,
                                              .log_dir = o->log_dir,
                                              .limit_ms = o->limit_ms,
                                              .grace_ms = o->grace_ms},
                         err);
    close_job(&s);
    return code;
}
