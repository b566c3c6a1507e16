/* `tequio status`: how a job stands, running or not, from its job dir, or from where that is. */
#include "cli/commands.h"
#include "cli/inspect/text.h"
#include "cli/look/place.h"
#include "cli/look/status_text.h"

#include "common/base/alloc.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FOLLOW_S = 2 };

#define CLEAR "\033[H\033[J"

static void print_text(const json_t *jobs, bool clears)
{
    struct timespec now;
    buf text = BUF_INIT;
    size_t i;
    json_t *one;
    clock_gettime(CLOCK_REALTIME, &now);
    json_array_foreach(jobs, i, one)
        status_text(json_object_get(one, "job"), json_object_get(one, "live"),
                    (double)now.tv_sec + (double)now.tv_nsec / 1e9, &text);
    printf("%s%s", clears ? CLEAR : "", text.data ? text.data : "");
    buf_fini(&text);
}

static bool any_runs(const json_t *jobs)
{
    size_t i;
    json_t *one;
    bool any = false;
    json_array_foreach(jobs, i, one)
        any = any || strcmp(inspect_str(json_object_get(one, "job"), "state"), "running") == 0;
    return any;
}

/* *ret_runs: a master works in it. */
static status show(const args *a, place *p, bool clears, bool *ret_runs, error *err)
{
    json_t *jobs = NULL;
    TRYF(place_look(p, &jobs, err), err, "status");
    *ret_runs = any_runs(jobs);
    if (args_has(a, "json"))
        place_print_json(jobs);
    else
        print_text(jobs, clears);
    json_decref(jobs);
    fflush(stdout);
    return OK;
}

static status follow(const args *a, place *p, error *err)
{
    bool runs = true, clears = isatty(STDOUT_FILENO) && !args_has(a, "json");
    for (;;) {
        TRY(show(a, p, clears, &runs, err));
        if (!runs || ferror(stdout))
            return OK;
        nanosleep(&(struct timespec){.tv_sec = FOLLOW_S}, NULL);
    }
}

static int run(const args *a, error *err)
{
    place *p = NULL;
    bool runs;
    status st = place_open(a, a->n_operands ? a->operands[0] : ".", &p, err);
    if (st != OK)
        error_prepend(err, "status");
    else
        st = args_has(a, "follow") ? follow(a, p, err) : show(a, p, false, &runs, err);
    place_close(&p);
    return status_exit_code(st);
}

static const flag flags[] = {
    {"follow", 'f', FLAG_SWITCH, NULL, "Output",
     "Show it anew every two seconds, until no master works in the job dir.", 0, 0},
    {"json", 0, FLAG_SWITCH, NULL, "Output", "Print JSON, for programs.", 0, 0},
    PLACE_FLAGS,
};

const command command_status = {
    .name = "status",
    .operands = "[JOB_DIR|PLACE]",
    .min_operands = 0,
    .max_operands = 1,
    .summary = "How a job stands: its progress, its tasks, and what it waits for.",
    .about = "Looks into the job dir, this folder unless one is named, of a job that runs or of one that has ended. "
             "While it runs its master tells every two seconds, in JOB_DIR/live.json, how far training is, who is "
             "there, who computes which slots of a step, which servers act and stand by for which shards, and for "
             "whom all wait; if nothing was told for ten seconds, that is said.\n\n"
             "A job elsewhere is named by its page, HOST:PORT or the address that `tequio page` prints; by "
             "ssh://[USER@]HOST[:PORT]/DIR, where /~/DIR is below the home folder; or by kubernetes://NAME, as `submit "
             "--target kubernetes` knows it. On a host and in a pod this program looks.",
    .flags = flags,
    .n_flags = COUNT_OF(flags),
    .run = run,
};
