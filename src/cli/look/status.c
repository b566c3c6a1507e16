/* `tequio status`: how a job stands, running or not, from its job dir. */
#include "cli/commands.h"
#include "cli/look/job_view.h"
#include "cli/look/status_text.h"

#include "common/base/alloc.h"
#include "common/base/json.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { FOLLOW_S = 2 };

#define CLEAR "\033[H\033[J"

static void print_json(const job_view *v)
{
    json_t *both = job_view_json(v);
    buf text = BUF_INIT;
    json_pretty(both, &text);
    fputs(text.data, stdout);
    buf_fini(&text);
    json_decref(both);
}

static void print_text(const job_view *v, bool clears)
{
    struct timespec now;
    buf text = BUF_INIT;
    clock_gettime(CLOCK_REALTIME, &now);
    status_text(v->job, v->live, (double)now.tv_sec + (double)now.tv_nsec / 1e9, &text);
    printf("%s%s", clears ? CLEAR : "", text.data);
    buf_fini(&text);
}

/* *ret_runs: a master works in it. */
static status show(const args *a, bool clears, bool *ret_runs, error *err)
{
    job_view v;
    TRYF(job_view_open(a->operands[0], &v, err), err, "status");
    *ret_runs = job_view_runs(&v);
    if (args_has(a, "json"))
        print_json(&v);
    else
        print_text(&v, clears);
    job_view_close(&v);
    fflush(stdout);
    return OK;
}

static status follow(const args *a, error *err)
{
    bool runs = true, clears = isatty(STDOUT_FILENO) && !args_has(a, "json");
    for (;;) {
        TRY(show(a, clears, &runs, err));
        if (!runs || ferror(stdout))
            return OK;
        nanosleep(&(struct timespec){.tv_sec = FOLLOW_S}, NULL);
    }
}

static int run(const args *a, error *err)
{
    bool runs;
    return status_exit_code(args_has(a, "follow") ? follow(a, err) : show(a, false, &runs, err));
}

static const flag flags[] = {
    {"follow", 'f', FLAG_SWITCH, NULL, "Output",
     "Show it anew every two seconds, until no master works in the job dir.", 0, 0},
    {"json", 0, FLAG_SWITCH, NULL, "Output", "Print JSON, for programs.", 0, 0},
};

const command command_status = {
    .name = "status",
    .operands = "JOB_DIR",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "How a job stands: its progress, its tasks, and what it waits for.",
    .about = "Looks into the job dir, of a job that runs or of one that has ended. While it runs its master tells "
             "every two seconds, in JOB_DIR/live.json, how far training is, who is there, who computes which slots of "
             "a step, which servers act and stand by for which shards, and for whom all wait; if nothing was told for "
             "ten seconds, that is said.",
    .flags = flags,
    .n_flags = COUNT_OF(flags),
    .run = run,
};
