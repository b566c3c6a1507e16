/* `tequio status`: how a job stands, running or not, from its job dir. */
#include "cli/commands.h"
#include "cli/inspect/kinds.h"
#include "cli/inspect/text.h"
#include "cli/look/log_file.h"
#include "cli/look/status_text.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/store/live_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FOLLOW_S = 2, WARNINGS = 5, LOG_TAIL = 256 << 10 };

#define CLEAR "\033[H\033[J"

typedef struct look {
    json_t *job, *live; /* live: NULL where nothing was told */
} look;

static void look_fini(look *l)
{
    json_decref(l->job);
    json_decref(l->live);
}

/* The last warnings of the master, which hears of all that goes wrong: "warnings" of the job. */
static void add_warnings(const char *path, json_t *job)
{
    char *folder = xasprintf("%s/log", path);
    json_t *list = json_array();
    log_file log = {0};
    if (log_file_open(folder, "master.0", &log, NULL) == OK) {
        log_file_skip(&log, LOG_TAIL);
        while (log_file_next(&log)) {
            json_t *line = log.has_head && log.level <= LOG_WARN ? json_string(log.line) : NULL;
            if (line)
                json_array_append_new(list, line);
            if (json_array_size(list) > WARNINGS)
                json_array_remove(list, 0);
        }
    }
    json_object_set_new(job, "warnings", list);
    log_file_close(&log);
    free(folder);
}

static status look_at(const char *path, look *ret, error *err)
{
    jobdir *d = NULL;
    look l = {0};
    char *job = xasprintf("%s/job.json", path);
    bool is_job = fs_exists(job);
    free(job);
    if (!is_job)
        return FAIL(err, E_DATA, "status: '%s' is no job dir: it has no job.json", path);
    TRY(inspect_look_job(path, &l.job, err));
    status st = jobdir_open(path, &d, err);
    if (st == OK)
        st = live_file_read(d, &l.live, err);
    jobdir_close(&d);
    if (st == OK)
        add_warnings(path, l.job);
    if (st == OK)
        *ret = l;
    else
        look_fini(&l);
    return st;
}

static void print_json(const look *l)
{
    json_t *both = json_pack("{s:O, s:O?}", "job", l->job, "live", l->live);
    buf text = BUF_INIT;
    json_pretty(both, &text);
    fputs(text.data, stdout);
    buf_fini(&text);
    json_decref(both);
}

static void print_text(const look *l, bool clears)
{
    struct timespec now;
    buf text = BUF_INIT;
    clock_gettime(CLOCK_REALTIME, &now);
    status_text(l->job, l->live, (double)now.tv_sec + (double)now.tv_nsec / 1e9, &text);
    printf("%s%s", clears ? CLEAR : "", text.data);
    buf_fini(&text);
}

/* *ret_runs: a master works in it. */
static status show(const args *a, bool clears, bool *ret_runs, error *err)
{
    look l = {0};
    TRY(look_at(a->operands[0], &l, err));
    *ret_runs = strcmp(inspect_str(l.job, "state"), "running") == 0;
    if (args_has(a, "json"))
        print_json(&l);
    else
        print_text(&l, clears);
    look_fini(&l);
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
