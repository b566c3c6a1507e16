/*
 * A job as a batch job of Slurm: a script is written, given to sbatch, and waited for.
 *
 * One step (srun) has all tasks; each finds its role by TEQUIO_SLURM_JOBS (common/cluster/slurm.h).
 * A task that dies is started again where it was, as process/supervise.h does it; if that does not
 * help, the batch job is put into the queue again. Slurm's early signal asks for a checkpoint, and
 * then the job is queued again too, as it is when Slurm takes its nodes away; but not when the time
 * that the job gives itself (maxRunningTime) is over. The job dir, the program and the data are on
 * a file system that all nodes share, and so is the folder where the job is submitted.
 *
 * Threads: the launcher's only one.
 * Source: sbatch(1), srun(1), scontrol(1) of Slurm 22.05.
 */
#ifndef TEQUIO_JOB_SLURM_H
#define TEQUIO_JOB_SLURM_H

#include "job/process/restart.h"
#include "job/spec/job.h"

typedef struct slurm_options {
    const job *job;
    const char *program;            /* absolute */
    const char *primary;            /* "chief" or "master" */
    const char *const *arguments;   /* of every task */
    const char *log_dir;            /* absolute; must be there. The script and all output go there */
    const char *const *sbatch;      /* its further options, NULL at the end */
    int start_port;                 /* of the first task on each node; 0: by the number of Slurm's job */
    const char *trial;              /* of a search, which the job is; NULL: it is none */
    restart_limit restarts;         /* of a task */
    int max_requeues;               /* of the job, for failures */
    bool waits;                     /* for its end */
} slurm_options;

void slurm_script(const slurm_options *o, buf *ret);

/* Submits it; if it `waits`, shows what the tasks print until the job has ended, and returns the
 * master's exit code. SIGINT and SIGTERM ask for a checkpoint and an end (143), a second one
 * cancels. What Slurm's tools refuse is E_FAIL in their words. */
int slurm_run(const slurm_options *o, error *err);

#endif
