#include "cli/roles/process.h"

#include "cli/roles/board.h"
#include "cli/roles/endpoints.h"
#include "cli/roles/faults.h"
#include "cli/roles/metrics_server.h"
#include "cli/roles/outcome.h"
#include "cli/roles/pretrained.h"
#include "cli/roles/rendezvous/rendezvous.h"
#include "cli/roles/state.h"
#include "cli/roles/tracking.h"
#include "cli/run/devices.h"
#include "cli/run/input_files.h"
#include "cli/run/meeting_place.h"
#include "cli/run/shape.h"
#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/base/thread.h"
#include "common/config/training.h"
#include "common/live/recorder_output.h"
#include "model/initial.h"
#include "optim/settings.h"
#include "optim/whole.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- which roles --- */

static bool is_single(const cluster *c)
{
    return c->origin == CLUSTER_LOCAL ||
           (!c->jobs[ROLE_PS].n && !c->hosted_servers && c->task.role != ROLE_EVALUATOR &&
            c->task.role != ROLE_PS);
}

static void choose_roles(process *p)
{
    const cluster *c = p->c;
    p->is_alone = is_single(c);
    p->is_master = p->is_alone || c->is_chief;
    p->is_worker = p->is_alone || c->task.role == ROLE_WORKER ||
                      (c->task.role == ROLE_MASTER && shape_master_trains(p->o->config));
    p->is_ps = p->is_alone || c->task.role == ROLE_PS ||
                  (c->hosted_servers && c->task.role == ROLE_WORKER && !c->is_chief);
    p->trainer = p->is_alone || c->task.role == ROLE_MASTER;
    p->worker = (task){ROLE_WORKER, p->trainer ? 0 : c->task.index};
    p->ps = (task){ROLE_PS, p->is_alone ? 0 : c->task.index};
    p->evaluates = config_has(p->o->config, "validation_data_path");
    p->evaluates_here = p->is_master && p->evaluates && !c->jobs[ROLE_EVALUATOR].n;
}

static bool computes(const process *p)
{
    return p->is_worker || p->evaluates_here || p->c->task.role == ROLE_EVALUATOR;
}

bool process_computes(const config *c, const cluster *k)
{
    process p = {.o = &(process_options){.config = c}, .c = k};
    choose_roles(&p);
    return computes(&p);
}

static status choose_devices(process *p, error *err)
{
    const devices *d = p->o->devices;
    int64_t first = devices_first_lane(p->c, p->worker.index, p->o->lanes);
    p->lanes = p->is_worker ? p->o->lanes : 0;
    p->devices = xcalloc((size_t)p->lanes + 1, sizeof *p->devices);
    for (int32_t i = 0; i < p->lanes; i++)
        TRY(devices_of_lane(d, first + i, &p->devices[i], err));
    return devices_of_evaluator(d, &p->evaluates_on, err);
}

/* Nobody else can come to a process that is alone, so what is on the device need not be told. */
static void choose_resident(process *p)
{
    const config *c = p->o->config;
    const optim moves_by = optim_settings(c);
    bool is_wanted = strcmp(config_str(c, "distributed.resident"), "auto") == 0;
    bool is_whole = optim_is_whole(&moves_by); /* on the host alone */
    if (is_wanted && p->is_alone && p->lanes == 1 && p->devices[0].ops->queue &&
        training_schedule(c).in_order && !is_whole)
        p->resident = resident_create(&p->devices[0]);
}

/* --- where they listen and dial --- */

/* The tasks that are servers, in the order of the deal. */
static status dial_servers(process *p, error *err)
{
    const cluster *c = p->c;
    role host = c->hosted_servers ? ROLE_WORKER : ROLE_PS;
    if (c->jobs[host].n >= NET_POLL_MAX)
        return FAIL(err, E_CONFIG, "the cluster has %d servers, at most %d are supported",
                    c->jobs[host].n, NET_POLL_MAX - 1);
    p->servers = xcalloc((size_t)c->jobs[host].n + 1, sizeof(char *));
    p->first_server = c->hosted_servers && c->master_is_worker; /* the chief's port is the master's */
    for (int32_t i = p->first_server; i < c->jobs[host].n; i++) {
        TRY(endpoint_dial(p->o->config, c, (task){host, i}, p->o->stop, &p->servers[p->n_servers], err));
        p->n_servers++;
    }
    return OK;
}

/* Copies need a second server; one process that does everything has none, and needs none. An
 * evaluator knows of no servers. */
static status check_replicas(const process *p, error *err)
{
    const cluster *c = p->c;
    int n = c->hosted_servers ? c->jobs[ROLE_WORKER].n - c->master_is_worker : c->jobs[ROLE_PS].n;
    bool is_known = c->task.role != ROLE_EVALUATOR &&
                    !c->jobs[c->hosted_servers ? ROLE_WORKER : ROLE_PS].sparse;
    if (!config_int(p->o->config, "distributed.ps_replicas") || n > 1 || !is_known)
        return OK;
    if (!p->is_alone)
        return FAIL(err, E_CONFIG,
                    "distributed.ps_replicas: 1 needs a second parameter server to hold the copies, and "
                    "the cluster has %d; add one or use 0",
                    n);
    LOG_I("NO_STANDBY", "distributed.ps_replicas does nothing in one process");
    return OK;
}

static status choose_endpoints(process *p, error *err)
{
    const cluster *c = p->c;
    TRY(check_replicas(p, err));
    if (p->is_alone) {
        p->servers = xcalloc(1, sizeof(char *));
        p->servers[p->n_servers++] = xstrdup("inproc://ps");
        p->master = xstrdup("inproc://master");
        return OK;
    }
    if (p->met)
        p->listen = xstrdup(p->met->listen);
    else if (p->is_master || p->is_ps)
        TRY(endpoint_listen(p->o->config, c, c->task, p->encrypts, &p->listen, err));
    if (p->is_master || p->is_worker)
        TRY(dial_servers(p, err));
    task chief = cluster_chief(c);
    const char *address = cluster_address(c, chief);
    if (p->is_master) {
        p->master = xstrdup("inproc://master");
        p->relay = address ? xstrdup(address) : NULL;
    } else if (p->is_worker && address) {
        TRY(endpoint_dial(p->o->config, c, chief, p->o->stop, &p->master, err));
    }
    return OK;
}

/* --- running them together --- */

/* Lanes beside a chief are its own: another task is worker 0. */
static task fault_task(const process *p, task t)
{
    bool is_chiefs = t.role == ROLE_WORKER && p->trainer && !p->is_alone;
    return is_chiefs ? (task){ROLE_MASTER, 0} : t;
}

static status add_role(process *p, status (*run)(process *, error *), task t, error *err)
{
    role_thread *one = &p->threads[p->n_threads++];
    one->run = run;
    one->process = p;
    task_name(t, one->name);
    return p->o->faults ? process_faults_of(p->o->faults, fault_task(p, t), &one->fault, err)
                           : OK;
}

/* The first failure is the process's; the other roles are told to leave. */
static void run_part(role_thread *one)
{
    process *p = one->process;
    fault_enter(one->fault);
    status st = one->run(p, &one->error);
    if (st == OK)
        return;
    pthread_mutex_lock(&p->lock);
    if (p->failed == OK) {
        p->failed = st;
        p->failed_first = one;
    }
    pthread_mutex_unlock(&p->lock);
    atomic_store(&p->evaluator_stop, true);
    atomic_store(&p->abort, true);
}

static void *role_thread_main(void *arg)
{
    run_part(arg);
    return NULL;
}

static status run_threads(process *p, error *err)
{
    size_t started = 1;
    status st = OK;
    for (; st == OK && started < p->n_threads; started++)
        st = thread_start(&p->threads[started].thread, p->threads[started].name, role_thread_main,
                          &p->threads[started], err);
    log_set_task(p->threads[0].name);
    if (st == OK)
        run_part(&p->threads[0]);
    else
        atomic_store(&p->abort, true);
    for (size_t i = 1; i < (st == OK ? started : started - 1); i++)
        pthread_join(p->threads[i].thread, NULL);
    /* the first role's own word, unless it only left as another one failed: that one's, as masters say it */
    const error *first = &p->threads[0].error;
    bool is_its_own = first->code != OK && first->code != E_ABORTED;
    if (st == OK && p->failed != OK)
        st = is_its_own ? FAIL(err, first->code, "%s", first->text)
                        : FAIL(err, p->failed, "%s: %s", p->failed_first->name, p->failed_first->error.text);
    return st;
}

static status choose_threads(process *p, error *err)
{
    if (p->is_master)
        TRY(add_role(p, process_run_master, (task){ROLE_MASTER, 0}, err));
    if (p->is_worker)
        TRY(add_role(p, process_run_worker, p->worker, err));
    if (p->is_ps)
        TRY(add_role(p, process_run_ps, p->ps, err));
    if (p->evaluates_here || p->c->task.role == ROLE_EVALUATOR)
        TRY(add_role(p, process_run_evaluator, (task){ROLE_EVALUATOR, 0}, err));
    return OK;
}

void process_watching(const char *holder)
{
    LOG_W("WAIT", "for=job.lock: process %s holds it and shows no sign of life", holder);
}

static status roles_process_prepare_dir(process *p, bool *ret_done, error *err)
{
    TRY(jobdir_prepare(
        &(jobdir_request){
            .path = p->o->job_dir,
            .rule = p->o->rule,
            .recover = p->o->recover,
            .chooses = p->o->chooses,
            .step = p->o->step,
            .force = p->o->force,
            .config = p->o->config,
            .frozen_s = config_f64(p->o->config, "distributed.heartbeat_timeout"),
            .watching = process_watching,
            .check = p->is_alone ? input_files_check : NULL, /* others are told by their readers */
        },
        &p->dir, ret_done, err));
    if (p->o->events_dir)
        jobdir_use_events(p->dir, p->o->events_dir);
    if (*ret_done || !p->is_alone)
        return OK;
    char *log = jobdir_file(p->dir, "log/master.0.log");
    status st = log_open_file(log, err);
    free(log);
    return st;
}

/* Before anything is begun: without its key a task does not start. */
static status find_key(process *p, error *err)
{
    bool has_connections = !p->is_alone && p->c->task.role != ROLE_EVALUATOR;
    p->encrypts = has_connections && keys_are_needed(p->o->config, p->c);
    return p->encrypts ? keys_find(p->o->given, p->o->config, p->o->job_dir, &p->key, err) : OK;
}

static status open_net(process *p, error *err)
{
    TRY(net_create(&p->net, err));
    double silence_s = config_f64(p->o->config, "distributed.heartbeat_timeout");
    net_set_send_timeout(p->net, silence_s < 1e6 ? (int)(2000 * silence_s) : 0);
    net_limit_strangers(p->net, cluster_count(p->c, ROLE_MASTER) + cluster_count(p->c, ROLE_WORKER) +
                                    cluster_count(p->c, ROLE_PS));
    if (strcmp(config_str(p->o->config, "distributed.shared_memory"), "auto") == 0)
        net_share_memory(p->net);
    status st = p->encrypts ? net_use_key(p->net, &p->key, err) : OK;
    jobkey_wipe(&p->key, sizeof p->key);
    return st;
}

/* --- ranks --- */

static bool is_of_ranks(const process *p)
{
    return p->c->origin == CLUSTER_RANKS;
}

static void say_rank(const process *p)
{
    const cluster_world *w = &p->c->world;
    char local[48] = "";
    if (w->local_rank >= 0)
        snprintf(local, sizeof local, " local_rank=%d", (int)w->local_rank);
    const char *meaning = ": rank 0 is the chief and trains, the others train and host the "
                          "parameter servers";
    LOG_I("RANK", "rank=%d of=%d%s by=%s meeting=%s%s", (int)p->c->task.index,
          (int)p->c->jobs[ROLE_WORKER].n, local, w->by, meeting_place(p->o->config, p->c),
          p->is_master ? meaning : "");
}

static void prepare_meeting(process *p)
{
    p->meeting = (rendezvous_options){.config = p->o->config,
                                      .cluster = p->o->cluster,
                                      .net = p->net,
                                      .encrypts = p->encrypts,
                                      .stop = p->o->stop};
}

/* From ranks to a cluster; *ret_done: the job is. */
static status meet(process *p, bool *ret_done, error *err)
{
    prepare_meeting(p);
    TRY(rendezvous_meet(&p->meeting, &p->met, err));
    *ret_done = !p->met->cluster;
    p->c = *ret_done ? p->c : p->met->cluster;
    p->listen_fd = p->met->listen_fd;
    return OK;
}

/* The others would wait for a chief that has nothing to do, or cannot begin. */
static status dismiss(process *p, status why, error *err)
{
    error own = ERROR_INIT;
    const char *text = why == OK ? "the job is done already" : err->text;
    status st = open_net(p, &own);
    prepare_meeting(p);
    if (st == OK)
        st = rendezvous_dismiss(&p->meeting, why, text, &own);
    if (why != OK)
        return why;
    return st == OK ? OK : FAIL(err, st, "%s", own.text);
}

/* Of a cluster that is named: the same. Tasks of a local launcher, which has opened our socket, see the
 * job dir. */
static status dismiss_cluster(process *p, error *err)
{
    if (p->is_alone || p->listen_fd >= 0)
        return OK;
    TRY(open_net(p, err));
    TRY(choose_endpoints(p, err));
    return process_run_dismissal(p, err);
}

/* --- doing it --- */

static status run_roles(process *p, error *err)
{
    bool done = false;
    if (computes(p))
        devices_log(p->o->devices, p->devices, p->lanes);
    choose_resident(p);
    TRY(open_net(p, err));
    if (is_of_ranks(p))
        TRY(meet(p, &done, err));
    if (done)
        return OK;
    TRY(choose_endpoints(p, err));
    TRY(choose_threads(p, err));
    return run_threads(p, err);
}

/* Other processes of a cluster follow the job dir, and after a code that may be retried a supervisor
 * starts them again. */
static void undo_start(const process *p, status st)
{
    bool may_be_retried = status_exit_code(st) >= 128;
    if (p->is_alone || !may_be_retried)
        jobdir_undo_start(p->dir, p->is_alone);
}

static bool is_trial(const process *p)
{
    return p->c->trial && *p->c->trial;
}

/* Until it ends; where it ends well, what the job leaves is there as well. */
static status run_job(process *p, error *err)
{
    tracking *told = NULL;
    status st = pretrained_begin(p->o->config, p->dir, err);
    if (st == OK)
        st = model_facts(config_section(p->o->config, "model"), facts_check_of(p->o->config), &p->files,
                         err);
    if (st == OK) {
        board_begin(p->o->config, p->dir, is_trial(p));
        told = tracking_start(p->o->config, p->dir, false);
        st = run_roles(p, err);
    }
    bool is_over = st == OK;
    outcome_note(p->dir, st, err->text);
    if (is_over)
        st = outcome_leave(p->o->config, p->dir, p->c->origin == CLUSTER_LOCAL, p->o->stop, err);
    if (is_over)
        board_end(p->dir, is_trial(p));
    tracking_end(&told, st);
    if (!is_over)
        undo_start(p, st);
    return st;
}

/* A job that was done before, whose master may have been killed as it left. */
static void complete(process *p)
{
    outcome_complete(p->o->config, p->dir, p->o->stop);
    tracking *told = tracking_start(p->o->config, p->dir, true);
    tracking_end(&told, OK);
}

static void begin_recording(const process *p)
{
    const task self = p->c->task;
    bool is_own = !p->trainer || p->is_alone;
    recorder_start(&(recorder_identity){
        .task = p->is_master ? (task){ROLE_MASTER, 0} : self,
        .indexes = {[ROLE_MASTER] = p->is_master ? 0 : -1,
                    [ROLE_WORKER] = p->is_worker && is_own ? p->worker.index : -1,
                    [ROLE_PS] = p->is_ps ? p->ps.index : -1,
                    [ROLE_EVALUATOR] = p->evaluates_here || self.role == ROLE_EVALUATOR ? 0 : -1},
        .is_trainer = p->is_worker && p->trainer,
        .job_dir = p->o->job_dir,
    });
}

static status roles_process_run_task(process *p, metrics_server *metrics, error *err)
{
    choose_roles(p);
    begin_recording(p);
    TRY(choose_devices(p, err));
    if (is_of_ranks(p)) {
        TRY(meeting_place_check(p->o->config, p->c, err));
        log_set_task(task_name(p->c->task, p->name));
        say_rank(p);
    }
    TRY(find_key(p, err));
    TRY(metrics_server_begin(p, metrics, err));
    if (!p->is_master)
        return run_roles(p, err);
    bool done = false;
    error mine = ERROR_INIT;
    err = err ? err : &mine;
    status st = roles_process_prepare_dir(p, &done, err);
    if (st == OK && done)
        complete(p);
    if (st != OK || done)
        return is_of_ranks(p) ? dismiss(p, st, err) : st == OK ? dismiss_cluster(p, err) : st;
    return run_job(p, err);
}

/* What came before it is kept where it was no word of a user's, or of the configuration, that ended us. */
static void tell_failure(status st, const error *why)
{
    bool is_of_the_run = st == E_FAIL || st == E_LOST || st == E_PROTOCOL || st == E_TIMEOUT || st == E_DEVICE ||
                         st == E_NONFINITE;
    if (is_of_the_run && atomic_load(&recorder_next))
        (void)recorder_write(RECORDING_FAILURE, why->text);
}

/* Of a launcher that opened it for us; -1. */
static int inherited_fd(void)
{
    const char *text = getenv("TEQUIO_LISTEN_FD");
    return text && text[0] ? atoi(text) : -1;
}

status process_run(const process_options *options, error *err)
{
    process p = {.o = options, .c = options->cluster, .listen_fd = inherited_fd()};
    pthread_mutex_init(&p.lock, NULL);
    metrics_server metrics = {.server = NULL};
    error mine = ERROR_INIT;
    err = err ? err : &mine;
    status st = roles_process_run_task(&p, &metrics, err);
    tell_failure(st, err);
    metrics_server_end(&metrics);
    log_set_task("tequio"); /* what it was is gone with `p` */
    jobkey_wipe(&p.key, sizeof p.key);
    rendezvous_end(&p.met);
    net_destroy(&p.net);
    resident_destroy(&p.resident);
    jobdir_close(&p.dir);
    buf_fini(&p.files);
    log_close_file();
    for (int32_t i = 0; i < p.n_servers; i++)
        free(p.servers[i]);
    free(p.servers);
    free(p.devices);
    free(p.listen);
    free(p.master);
    free(p.relay);
    pthread_mutex_destroy(&p.lock);
    return st;
}
