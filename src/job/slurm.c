#include "job/slurm.h"

#include "common/base/fs.h"
#include "common/base/json.h"
#include "job/process/shell_word.h"
#include "job/process/short_command.h"
#include "job/process/signals.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long before the end of a job's time Slurm signals it, and how much sooner it may. */
enum { EARLY_S = 120, SLACK_S = 60 };
enum { LOOK_MS = 1000, NICE_MOST = 1000 };

/* --- the script --- */

static void add_directives(const slurm_options *o, buf *b)
{
    const job *j = o->job;
    buf_addf(b, "#SBATCH --job-name=%s\n#SBATCH --ntasks=%" PRId64 "\n", j->id, job_tasks(j));
    buf_addf(b, "#SBATCH --output=\"%s/slurm.log\"\n#SBATCH --open-mode=append\n", o->log_dir);
    buf_addf(b, "#SBATCH --requeue\n#SBATCH --signal=TERM@%d\n", EARLY_S);
    if (j->priority)
        buf_addf(b, "#SBATCH --nice=%" PRId64 "\n", NICE_MOST - j->priority);
    if (j->max_running_s > 0) {
        int64_t minutes = (int64_t)((j->max_running_s + EARLY_S + 59) / 60);
        buf_addf(b, "#SBATCH --time=%" PRId64 "\n", minutes);
    }
    for (int i = 0; j->labels && i < j->labels->n; i++)
        buf_addf(b, "%s%s=%s%s", i ? "," : "#SBATCH --comment=", j->labels->key[i],
                 j->labels->item[i]->text, i + 1 == j->labels->n ? "\n" : "");
}

static void add_roles(const slurm_options *o, buf *b)
{
    const struct {
        const char *name;
        role role;
    } roles[] = {{o->primary, ROLE_MASTER},
                 {"evaluator", ROLE_EVALUATOR},
                 {"ps", ROLE_PS},
                 {"worker", ROLE_WORKER}};
    buf_adds(b, "export TEQUIO_SLURM_JOBS=");
    const char *comma = "";
    for (size_t i = 0; i < COUNT_OF(roles); i++)
        if (o->job->pools[roles[i].role].count) {
            buf_addf(b, "%s%s:%" PRId64, comma, roles[i].name, o->job->pools[roles[i].role].count);
            comma = ",";
        }
    buf_adds(b, "\n");
}

/* Beside Slurm's own variables: which trial of a search it is. */
static void add_trial(const slurm_options *o, buf *b)
{
    if (!o->trial)
        return;
    json_t *words = json_pack("{s:{s:s}}", "task", "trial", o->trial);
    char *text = words ? json_text(words) : xstrdup("");
    buf_adds(b, "export CLOUD_ML_TRIAL_ID=");
    shell_word_add(o->trial, b);
    buf_adds(b, "\nexport TF_CONFIG=");
    shell_word_add(text, b);
    buf_adds(b, "\n");
    free(text);
    json_decref(words);
}

static void add_port(const slurm_options *o, buf *b)
{
    if (o->start_port)
        buf_addf(b, "export TEQUIO_SLURM_PORT=%d\n", o->start_port);
    else
        buf_adds(b, "# jobs that share a node get ports of their own\n"
                    "export TEQUIO_SLURM_PORT=$((20000 + SLURM_JOB_ID * 64 % 12000))\n");
}

static void add_environment(const slurm_options *o, buf *b)
{
    for (int i = 0; i < o->job->n_environment; i++) {
        buf_adds(b, "export ");
        shell_word_add(o->job->environment[i], b);
        buf_adds(b, "\n");
    }
}

/* The line that a task is, for the shell of the wrapper below. */
static void add_command(const slurm_options *o, buf *b)
{
    shell_word_add(o->program, b);
    for (int i = 0; o->arguments[i]; i++) {
        buf_adds(b, " ");
        shell_word_add(o->arguments[i], b);
    }
}

static const char wrapper[] =
    "# What srun starts: a task, and again if it died of what may pass (128 and above, but 143). The master\n"
    "# decides by its end, or the first that fails otherwise, unless the master ends soon: it was told why,\n"
    "# and the others may only repeat it. Then all others are told to leave.\n"
    "play() {\n"
    "    again=\n"
    "    life=0 counted=0\n"
    "    while :; do\n"
    "        life=$((life + 1)) began=$SECONDS\n"
    "        TEQUIO_FAULT_LIFE=$life task $again & pid=$!\n"
    "        trap 'kill -TERM $pid 2>/dev/null' TERM\n"
    "        wait $pid; code=$?\n"
    "        if [ -d /proc/$pid ]; then wait $pid; code=$?; fi # the signal had ended the first wait\n"
    "        if [ $code -lt 128 ] || [ $code -eq 143 ]; then break; fi\n"
    "        if [ $((SECONDS - began)) -ge $forgiven ]; then counted=0; fi\n"
    "        if [ $counted -ge $restarts ]; then break; fi\n"
    "        counted=$((counted + 1))\n"
    "        echo \"tequio: task $SLURM_PROCID: exit $code; it is started again ($counted of $restarts)\" >&2\n"
    "        again=--recover\n"
    "    done\n"
    "    if [ \"$SLURM_PROCID\" -eq 0 ] || { [ \"$code\" -ne 0 ] && [ \"$code\" -ne 143 ]; }; then\n"
    "        [ \"$SLURM_PROCID\" -eq 0 ] || for _ in 1 2 3 4 5; do "
    "[ -e \"$logs/exit.$SLURM_JOB_ID\" ] || sleep 1; done\n"
    "        (set -C; echo \"$code\" >\"$logs/exit.$SLURM_JOB_ID\") 2>/dev/null\n"
    "        [ \"$code\" -eq 0 ] || scancel --quiet --signal=TERM \"$SLURM_JOB_ID.$SLURM_STEP_ID\"\n"
    "    fi\n"
    "    exit \"$code\"\n"
    "}\n";

static const char batch[] =
    "# The batch job: one step of all tasks. Task 0 is the master.\n"
    "rm -f \"$logs/exit.$SLURM_JOB_ID\"\n"
    "srun --distribution=block --kill-on-bad-exit=0 --wait=0 --label bash \"$logs/job.sbatch\" play\n"
    "code=$(cat \"$logs/exit.$SLURM_JOB_ID\" 2>/dev/null || echo 137)\n"
    "if [ \"$code\" -eq 143 ] && [ $limit -gt 0 ] && [ $SECONDS -ge $((limit - slack)) ]; then\n"
    "    echo \"tequio: not done after $limit s, the time it was given\" >&2\n"
    "    code=1\n"
    "fi\n"
    "if [ \"$code\" -ge 128 ] && [ ! -e \"$logs/stop.$SLURM_JOB_ID\" ] &&\n"
    "    { [ \"$code\" -eq 143 ] || [ \"${SLURM_RESTART_COUNT:-0}\" -lt $requeues ]; }; then\n"
    "    echo \"tequio: the master ended with $code; the job goes into the queue again\" >&2\n"
    "    exec scontrol requeue \"$SLURM_JOB_ID\"\n"
    "fi\n"
    "echo \"$code\" >\"$logs/done.$SLURM_JOB_ID\"\n"
    "exit \"$code\"\n";

void slurm_script(const slurm_options *o, buf *ret)
{
    buf_adds(ret, "#!/bin/bash\n");
    add_directives(o, ret);
    buf_adds(ret, "\nlogs=");
    shell_word_add(o->log_dir, ret);
    buf_addf(ret, " restarts=%d forgiven=%.0f requeues=%d limit=%" PRId64 " slack=%d\n",
             o->restarts.most, ceil(o->restarts.forgiven_s), o->max_requeues, (int64_t)o->job->max_running_s,
             SLACK_S);
    add_environment(o, ret);
    add_trial(o, ret);
    add_roles(o, ret);
    add_port(o, ret);
    buf_adds(ret, "task() { exec ");
    add_command(o, ret);
    buf_adds(ret, " \"$@\"; }\n\n");
    buf_adds(ret, wrapper);
    buf_adds(ret, "[ \"${1:-}\" != play ] || play\n\n");
    buf_adds(ret, batch);
}

/* --- submitting and waiting --- */

typedef struct waiting {
    const slurm_options *o;
    char *id;
    char *log, *done, *stop;    /* paths */
    long shown;                 /* bytes of the log */
    signals signals;
    int asked;                  /* how often we were asked to stop */
    error *err;
} waiting;

static status slurm_submit(waiting *w, const char *script)
{
    int n = 0;
    while (w->o->sbatch[n])
        n++;
    const char **argv = xcalloc((size_t)n + 4, sizeof *argv);
    argv[0] = "sbatch";
    argv[1] = "--parsable";
    memcpy(&argv[2], w->o->sbatch, (size_t)n * sizeof *argv);
    argv[2 + n] = script;
    status st = short_command_ask(argv, &w->id, w->err);
    free(argv);
    if (st == OK)
        w->id[strcspn(w->id, ";\n")] = '\0'; /* "123;cluster" */
    return st;
}

static status write_script(const waiting *w, const char *path)
{
    buf text = BUF_INIT;
    slurm_script(w->o, &text);
    status st = fs_write_atomic(path, text.data, text.size, w->err);
    buf_fini(&text);
    return st;
}

static void show_log(waiting *w)
{
    FILE *f = fopen(w->log, "re");
    char piece[8192];
    if (!f)
        return;
    fseek(f, w->shown, SEEK_SET);
    for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0; w->shown += (long)n)
        fwrite(piece, 1, n, stderr);
    fclose(f);
}

/* The first time a checkpoint and an end of all, the second time an end. */
static void ask_to_stop(waiting *w)
{
    const char *gently[] = {"scancel", "--signal=TERM", w->id, NULL};
    const char *at_once[] = {"scancel", w->id, NULL};
    error why = ERROR_INIT;
    fprintf(stderr, "tequio: %s\n",
            w->asked ? "cancelling" : "stopping after a checkpoint; Ctrl-C again cancels");
    if (fs_write_atomic(w->stop, "", 0, &why) != OK ||
        short_command_ask(w->asked++ ? at_once : gently, NULL, &why) != OK)
        fprintf(stderr, "tequio: %s\n", why.text);
}

static void take_signals(waiting *w)
{
    for (int number; signals_next(&w->signals, &number);)
        ask_to_stop(w);
}

static bool is_queued(const waiting *w)
{
    const char *argv[] = {"squeue", "--noheader", "--jobs", w->id, "--format", "%T", NULL};
    char *said = NULL;
    bool is_there = short_command_ask(argv, &said, NULL) == OK && *said; /* one that is forgotten is an error */
    free(said);
    return is_there;
}

static status read_code(const waiting *w, int *ret)
{
    buf text = BUF_INIT;
    status st = fs_read(w->done, 64, &text, w->err);
    if (st == OK)
        *ret = atoi(text.data ? text.data : "");
    buf_fini(&text);
    return st;
}

/* Until the job says that it is done, or Slurm knows it no more. */
static int slurm_await_end(waiting *w)
{
    enum { LOOKS_A_QUESTION = 5 };
    for (int look = 0;; look++) {
        struct pollfd p = {.fd = w->signals.fd, .events = POLLIN};
        poll(&p, 1, LOOK_MS);
        take_signals(w);
        show_log(w);
        int code = 0;
        if (access(w->done, F_OK) == 0)
            return read_code(w, &code) == OK ? code : status_exit_code(E_IO);
        if (look % LOOKS_A_QUESTION || is_queued(w) || access(w->done, F_OK) == 0)
            continue;
        show_log(w);
        if (w->asked)
            return status_exit_code(FAIL(w->err, E_PREEMPTED, "Slurm's job %s was cancelled", w->id));
        return status_exit_code(FAIL(w->err, E_FAIL,
                                     "Slurm's job %s is gone without having ended by itself; `scontrol "
                                     "show job %s` and %s may tell more",
                                     w->id, w->id, w->log));
    }
}

static void close_waiting(waiting *w)
{
    signals_close(&w->signals);
    free(w->id);
    free(w->log);
    free(w->done);
    free(w->stop);
}

/* Slurm reads patterns in the names of files, and quotes around them. */
static status check_folder(const char *path, error *err)
{
    if (!path[strcspn(path, "%\"\\\n")])
        return OK;
    return FAIL(err, E_CONFIG,
                "the job dir '%s': Slurm cannot write to a name with %%, \", \\ or a new line in it", path);
}

int slurm_run(const slurm_options *o, error *err)
{
    waiting w = {.o = o, .signals = SIGNALS_INIT, .err = err};
    w.log = xasprintf("%s/slurm.log", o->log_dir);
    char *script = xasprintf("%s/job.sbatch", o->log_dir);
    int code = 0;
    status st = check_folder(o->log_dir, err);
    if (st == OK)
        st = write_script(&w, script);
    if (st == OK && truncate(w.log, 0) && errno != ENOENT)
        st = FAIL(err, E_IO, "empty '%s': %s", w.log, strerror(errno));
    if (st == OK && o->waits)
        st = signals_open(false, &w.signals, err);
    if (st == OK)
        st = slurm_submit(&w, script);
    free(script);
    if (st == OK) {
        fprintf(stderr, "tequio: submitted as Slurm's job %s; its output: %s\n", w.id, w.log);
        w.done = xasprintf("%s/done.%s", o->log_dir, w.id);
        w.stop = xasprintf("%s/stop.%s", o->log_dir, w.id);
        code = o->waits ? slurm_await_end(&w) : 0;
    }
    close_waiting(&w);
    if (code && err->code == OK)
        (void)FAIL(err, E_FAIL, "the master ended with %d; %s/slurm.log tells more", code, o->log_dir);
    return st == OK ? code : status_exit_code(st);
}
