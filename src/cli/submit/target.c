#include "cli/submit/target.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

const char *submit_trial(void)
{
    const char *number = getenv("CLOUD_ML_TRIAL_ID");
    return number && *number ? number : NULL;
}

/* Trials at a time listen at ports of their own, as long as there are so many: below those that kernels deal out, if
 * the first one is. */
static int first_port(int first, int64_t tasks)
{
    enum { DEALT_OUT = 32768 };
    const char *trial = submit_trial();
    long number = trial ? strtol(trial, NULL, 10) : 0;
    int64_t room = ((first < DEALT_OUT ? DEALT_OUT : PORT_MOST + 1) - first) / tasks;
    return first && number > 0 && room > 1 ? first + (int)((number - 1) % room * tasks) : first;
}

roster_shape target_shape(const launch *l, int default_port)
{
    roster_shape tasks = {
        .primary = l->request->primary,
        .start_port = first_port((int)args_count(l->args, "start-port", default_port), job_tasks(&l->request->job)),
        .trial = submit_trial(),
    };
    for (role r = 0; r < ROLE_COUNT; r++)
        tasks.counts[r] = (int)l->request->job.pools[r].count;
    return tasks;
}

restart_limit target_task_restarts(const launch *l)
{
    const submit_request *o = l->request;
    return o->job.is_tried_once ? (restart_limit){0} : restart_limit_of(o->resolved);
}

int target_job_restarts(const launch *l)
{
    return l->request->job.is_tried_once ? 0 : TARGET_JOB_RESTARTS;
}

const char *const *target_words(const launch *l, const char *text)
{
    arena *memory = l->request->memory;
    char *rest = arena_strdup(memory, text ? text : "");
    const char **words = arena_alloc(memory, (strlen(rest) / 2 + 2) * sizeof *words);
    size_t n = 0;
    for (char *word = strtok_r(rest, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        words[n++] = word;
    words[n] = NULL;
    return words;
}

status target_choose_key(const launch *l, char text[JOBKEY_TEXT], error *err)
{
    jobkey key;
    status st = keys_choose(&l->given, l->request->resolved, l->request->job.job_dir, &key, err);
    if (st == OK)
        jobkey_text(&key, text);
    jobkey_wipe(&key, sizeof key);
    return st;
}
