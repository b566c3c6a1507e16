#include "job/ssh/ssh.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "job/process/short_command.h"
#include "job/process/supervise.h"
#include "job/ssh/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AT_ONCE = 64, PROGRAM_MOST = 1 << 30 };

typedef struct ssh_job {
    const ssh_options *o;
    roster roster;
    hosts_place *places; /* of the tasks */
    char *program;       /* its folder on a host, for the shell there */
    char *command;       /* what that shell runs for a task */
    char *input;         /* of the task that was started last; */
    const char **argv;   /* its command line, */
    char **environment;  /* and what it is told */
} ssh_job;

/* --- who runs where --- */

/* Those that compute are dealt first. */
static status ssh_deal(const ssh_options *o, roster *s, hosts_place *places, error *err)
{
    hosts_clear(o->hosts);
    for (role r = 0; r < ROLE_COUNT; r++)
        for (int i = 0; i < s->n; i++) {
            roster_task *t = &s->tasks[i];
            if (t->task.role != r)
                continue;
            TRY(hosts_deal(o->hosts, o->job, t->task, &places[i], err));
            t->host = o->hosts->at[places[i].host].address;
            t->first_gpu = places[i].first_gpu;
            t->gpus = places[i].gpus;
        }
    return OK;
}

status ssh_plan(const ssh_options *o, roster *ret, hosts_place **ret_places, error *err)
{
    roster s;
    TRY(roster_check_ports(&o->shape, err));
    roster_plan(&o->shape, &s);
    hosts_place *places = xcalloc((size_t)s.n, sizeof *places);
    status st = ssh_deal(o, &s, places, err);
    if (st != OK) {
        roster_close(&s);
        free(places);
        return st;
    }
    *ret = s;
    *ret_places = places;
    return OK;
}

/* --- the program on the hosts --- */

/* Where a host keeps this program: the folder tells its hash, so what is there is the right one. */
static status name_program(ssh_job *s, error *err)
{
    buf self = BUF_INIT;
    char hex[SHA256_HEX];
    status st = fs_read("/proc/self/exe", PROGRAM_MOST, &self, err);
    if (st == OK) {
        sha256_hex(self.data, self.size, hex);
        s->program = xasprintf("$HOME/.cache/tequio/%.16s", hex);
        s->command = xasprintf("exec \"%s/tequio\" task", s->program);
    }
    buf_fini(&self);
    return st;
}

/* The client, the host, and what its shell is to do. */
static const char **command_for(const ssh_job *s, const char *where, const char *script)
{
    int n = 0;
    while (s->o->client[n])
        n++;
    const char **argv = xcalloc((size_t)n + 3, sizeof *argv);
    memcpy(argv, s->o->client, (size_t)n * sizeof *argv);
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
static status ssh_ask(const ssh_job *s, const char *script, const char *input, const bool *asked,
                      short_command *replies, error *err)
{
    int n = s->o->hosts->n;
    for (int i = 0; i < n; i++)
        replies[i] = (short_command){.input = input};
    for (int i = 0; i < n; i++)
        if (asked[i])
            replies[i].argv = (char *const *)(uintptr_t)command_for(s, s->o->hosts->at[i].name, script);
    status st = short_commands_run(replies, n, AT_ONCE, err);
    for (int i = 0; i < n; i++) {
        if (st == OK && asked[i] && replies[i].code)
            st = FAIL(err, E_FAIL, "host %s: %s", s->o->hosts->at[i].name,
                      last_line(&replies[i].output));
        free((void *)(uintptr_t)replies[i].argv);
    }
    return st;
}

static void drop(short_command *replies, int n)
{
    for (int i = 0; i < n; i++)
        buf_fini(&replies[i].output);
}

/* Looks on every host whether the program is there, and puts it where it is not. */
static status place_program(const ssh_job *s, error *err)
{
    int n = s->o->hosts->n, lacking = 0;
    bool *asked = xcalloc((size_t)n, sizeof *asked);
    short_command *replies = xcalloc((size_t)n, sizeof *replies);
    char *look = xasprintf("test -x \"%s/tequio\" && echo has-it || echo lacks-it", s->program);
    char *put = xasprintf("umask 077; mkdir -p \"%s\" && cat >\"%s/new.$$\" && chmod 700 \"%s/new.$$\" && "
                          "mv \"%s/new.$$\" \"%s/tequio\"",
                          s->program, s->program, s->program, s->program, s->program);
    for (int i = 0; i < n; i++)
        asked[i] = is_used(s, i);
    status st = ssh_ask(s, look, NULL, asked, replies, err);
    for (int i = 0; i < n; i++) {
        asked[i] = asked[i] && strcmp(last_line(&replies[i].output), "has-it") != 0;
        lacking += asked[i];
    }
    drop(replies, n);
    if (st == OK && lacking) {
        st = ssh_ask(s, put, "/proc/self/exe", asked, replies, err);
        drop(replies, n);
    }
    free(put);
    free(look);
    free(replies);
    free(asked);
    return st;
}

/* --- the tasks --- */

/* Those of its host that are this task's alone. */
static char *visible_gpus(const roster_task *t)
{
    buf list = BUF_INIT;
    buf_adds(&list, "CUDA_VISIBLE_DEVICES=");
    for (int i = 0; i < t->gpus; i++)
        buf_addf(&list, "%s%d", i ? "," : "", t->first_gpu + i);
    return list.data;
}

/* What of our own environment is for tasks, and what each is told besides. */
static char **ssh_environment_of(ssh_job *s, int i, int life)
{
    extern char **environ;
    static const char *const kept[] = {"TEQUIO_", "OMP_NUM_THREADS=", "CUDA_VISIBLE_DEVICES=",
                                       "CLOUD_ML_TRIAL_ID="};
    enum { OWN = 6 };
    size_t n = 0, n_all = 0;
    while (environ[n_all])
        n_all++;
    const job *j = s->o->job;
    char **e = xcalloc(n_all + (size_t)j->n_environment + OWN, sizeof *e);
    for (int k = 0; k < j->n_environment; k++)
        e[n++] = xstrdup(j->environment[k]);
    for (size_t k = 0; k < n_all; k++)
        for (size_t p = 0; p < COUNT_OF(kept); p++)
            if (strncmp(environ[k], kept[p], strlen(kept[p])) == 0 &&
                strncmp(environ[k], "TEQUIO_KEY", strlen("TEQUIO_KEY")) != 0)
                e[n++] = xstrdup(environ[k]);
    char *tf_config = roster_tf_config(&s->roster, i);
    e[n++] = xasprintf("TF_CONFIG=%s", tf_config);
    free(tf_config);
    const roster_task *t = &s->roster.tasks[i];
    if (t->gpus >= 0) {
        e[n++] = visible_gpus(t);
        e[n++] = xstrdup("TEQUIO_OWN_GPUS=1");
    }
    if (s->o->key)
        e[n++] = xasprintf("TEQUIO_KEY=%s", s->o->key);
    if (life > 1)
        e[n++] = xasprintf("TEQUIO_FAULT_LIFE=%d", life);
    return e;
}

static void forget(ssh_job *s)
{
    roster_environment_free(s->environment);
    free(s->argv);
    free(s->input);
    s->environment = NULL;
    s->argv = NULL;
    s->input = NULL;
}

static status ssh_start(void *user, int i, int life, child_start *ret, error *err)
{
    (void)err;
    extern char **environ;
    ssh_job *s = user;
    char folder[4096];
    forget(s);
    s->environment = ssh_environment_of(s, i, life);
    remote_task t = {
        .arguments = life > 1 ? s->o->arguments_again : s->o->arguments,
        .config = s->o->config,
        .environment = s->environment,
        .folder = getcwd(folder, sizeof folder) ? folder : "",
    };
    s->input = remote_line(&t);
    s->argv = command_for(s, s->o->hosts->at[s->places[i].host].name, s->command);
    ret->task = s->roster.tasks[i].task;
    ret->program = s->argv[0];
    ret->argv = (char *const *)(uintptr_t)s->argv;
    ret->envp = environ;
    ret->input = s->input;
    return OK;
}

static void close_job(ssh_job *s)
{
    forget(s);
    roster_close(&s->roster);
    free(s->places);
    free(s->command);
    free(s->program);
}

static status prepare(ssh_job *s, error *err)
{
    TRY(ssh_plan(s->o, &s->roster, &s->places, err));
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
                                              .start = ssh_start,
                                              .user = &s,
                                              .restarts = o->restarts,
                                              .log_dir = o->log_dir,
                                              .limit_ms = o->limit_ms,
                                              .grace_ms = o->grace_ms},
                         err);
    close_job(&s);
    return code;
}
