/* What each role of this process is given. */
#include "cli/roles/state.h"
#include "common/base/clock.h"
#include "evaluator/evaluator.h"
#include "master/master.h"
#include "ps/ps.h"
#include "worker/worker.h"

#include <math.h>

static void show_progress(void *user, const master_progress *m)
{
    process *p = user;
    progress_show(&p->progress,
                  &(progress_state){
                      .step = m->step,
                      .total_steps = m->total_steps,
                      .epoch = m->epoch,
                      .epochs = m->epochs,
                      .loss = m->loss,
                      .accuracy = m->accuracy,
                      .rate = m->rate,
                      .examples_per_s = m->examples_per_s,
                      .eta_s = isnan(m->eta_s) ? -1 : m->eta_s,
                  },
                  clock_us());
}

/* Of the whole job, a chief that trains among them; 0: not known. */
static int32_t process_count_workers(const process *p)
{
    int32_t n = p->c->jobs[ROLE_WORKER].sparse ? 0 : p->c->jobs[ROLE_WORKER].n;
    if (p->is_alone)
        return 1;
    return p->trainer && p->is_worker && n ? n + 1 : n;
}

/* Where it listens, and whom it knows. */
static master_options master_place(const process *p, const char *endpoints[2])
{
    size_t n = 0;
    endpoints[n++] = "inproc://master";
    if (p->listen)
        endpoints[n++] = p->listen;
    return (master_options){
        .config = p->o->config,
        .net = p->net,
        .endpoints = endpoints,
        .n_endpoints = n,
        .listen_fd = p->listen_fd,
        .relay_address = p->relay,
        .servers = (const char *const *)p->servers,
        .n_servers = p->n_servers,
        .first_server = p->first_server,
        .dir = p->dir,
        .n_workers = process_count_workers(p),
    };
}

status process_run_dismissal(process *p, error *err)
{
    const char *endpoints[2];
    master_options o = master_place(p, endpoints);
    o.n_workers -= p->is_worker && o.n_workers;
    return master_dismiss(&o, err);
}

status process_run_master(process *p, error *err)
{
    const char *endpoints[2];
    master_options o = master_place(p, endpoints);
    o.files = p->files.data;
    o.evaluates = p->evaluates;
    o.stop = p->o->stop;
    o.abort = &p->abort;
    o.progress = show_progress;
    o.user = p;
    progress_init(&p->progress, p->o->progress);
    status st = master_run(&o, err);
    progress_finish(&p->progress);
    if (st != OK)
        atomic_store(&p->evaluator_stop, true);
    atomic_store(&p->reading_stop, true);
    return st;
}

/* SIGTERM is the master's to act on where there is one in this process. */
static const atomic_bool *stop_of(const process *p)
{
    return p->is_master ? NULL : p->o->stop;
}

status process_run_worker(process *p, error *err)
{
    return worker_run(
        &(worker_options){
            .config = p->o->config,
            .self = p->worker,
            .trainer = p->trainer,
            .net = p->net,
            .master = p->master,
            .servers = (const char *const *)p->servers,
            .n_servers = p->n_servers,
            .first_server = p->first_server,
            .servers_here = p->o->servers_here,
            .n_workers = process_count_workers(p),
            .n_lanes = p->lanes,
            .n_readers = p->o->readers,
            .devices = p->devices,
            .resident = p->resident,
            .job_dir = p->is_master || p->o->force ? NULL : p->o->job_dir,
            .stop = stop_of(p),
            .abort = &p->abort,
        },
        err);
}

status process_run_ps(process *p, error *err)
{
    const char *endpoint = p->is_alone ? "inproc://ps" : p->listen;
    return ps_run(
        &(ps_options){
            .config = p->o->config,
            .self = p->ps,
            .chief = p->is_alone ? NULL : cluster_address(p->c, cluster_chief(p->c)),
            .net = p->net,
            .endpoints = &endpoint,
            .n_endpoints = 1,
            .listen_fd = p->is_alone ? -1 : p->listen_fd,
            .job_dir = p->o->job_dir,
            .starts_over = p->is_master || p->o->force,
            .store = p->resident ? resident_store(p->resident) : NULL,
            .stop = stop_of(p),
            .abort = &p->abort,
        },
        err);
}

/* An evaluator of its own that is asked to leave has more to evaluate, unless the job is done. */
static status check_preempted(const process *p, const jobdir *dir, error *err)
{
    bool done = true;
    if (p->is_master || !p->o->stop || !atomic_load(p->o->stop))
        return OK;
    TRY(jobdir_is_done(dir, &done, err));
    return done ? OK : FAIL(err, E_PREEMPTED, "preempted; start again to evaluate what follows");
}

status process_run_evaluator(process *p, error *err)
{
    jobdir *dir = NULL;
    TRY(jobdir_open(p->o->job_dir, &dir, err));
    if (p->o->events_dir)
        jobdir_use_events(dir, p->o->events_dir);
    status st = evaluator_run(
        &(evaluator_options){
            .config = p->o->config,
            .dir = dir,
            .device = p->evaluates_on,
            .stop = p->is_master ? &p->evaluator_stop : p->o->stop,
            .stop_reading = p->is_master ? &p->reading_stop : p->o->stop,
        },
        err);
    if (st == OK)
        st = check_preempted(p, dir, err);
    jobdir_close(&dir);
    return st;
}
