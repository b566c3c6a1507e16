/* `tequio submit --target slurm`: every task is one of a step that Slurm runs. */
#include "cli/submit/target.h"
#include "job/slurm.h"

#include <stdlib.h>

static slurm_options target_slurm_options_of(const launch *l)
{
    const submit_request *o = l->request;
    return (slurm_options){
        .job = &o->job,
        .program = l->program,
        .primary = o->primary,
        .arguments = o->arguments,
        .log_dir = l->logs,
        .sbatch = target_words(l, args_text(l->args, "sbatch")),
        .start_port = (int)args_count(l->args, "start-port", 0),
        .trial = submit_trial(),
        .restarts = target_task_restarts(l),
        .max_requeues = target_job_restarts(l),
        .waits = !args_has(l->args, "async"),
    };
}

/* Where and at which ports is known when Slurm has allotted the nodes. */
static status plan(const launch *l, roster *ret, error *err)
{
    (void)err;
    roster_shape shape = target_shape(l, 0);
    shape.start_port = 0;
    roster_plan(&shape, ret);
    for (int i = 0; i < ret->n; i++)
        ret->tasks[i].host = "NODE";
    return OK;
}

static status write_script(const launch *l, buf *ret, error *err)
{
    (void)err;
    slurm_options o = target_slurm_options_of(l);
    slurm_script(&o, ret);
    return OK;
}

/* The tasks find the key in the job dir, which Slurm's nodes share. */
static status place_key(const launch *l, error *err)
{
    char *path = NULL;
    TRY(keys_find_file(&l->given, l->request->resolved, l->request->job.job_dir, &path, err));
    free(path);
    return OK;
}

static int run(const launch *l, error *err)
{
    status st = l->request->is_secured ? place_key(l, err) : OK;
    slurm_options o = target_slurm_options_of(l);
    return st == OK ? slurm_run(&o, err) : status_exit_code(st);
}

const target target_slurm = {
    .name = "slurm",
    .group = TARGET_GROUP("slurm"),
    .begins_again = true,
    .lives_on = true,
    .keeps_files_here = true, /* the file system is shared */
    .plan = plan,
    .write = write_script,
    .run = run,
};
