/* See inproc_cluster.h. */
#include "support/inproc_cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "cli/roles/process.h"
#include "cli/run/devices.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/thread.h"
#include "evaluator/evaluator.h"
#include "master/master.h"
#include "ps/ps.h"
#include "support/folder.h"
#include "worker/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIXELS = INPROC_CLUSTER_SIDE * INPROC_CLUSTER_SIDE,
    TASKS = 16,
};

static void must(status st, const error *err)
{
    if (st != OK)
        fail_msg("%s", err->text);
}

/* --- data and configuration --- */

static char *write_data(const char *dir)
{
    unsigned char images[16 + INPROC_CLUSTER_EXAMPLES * PIXELS] = {
        0, 0, 8, 3, 0, 0, 0, INPROC_CLUSTER_EXAMPLES, 0, 0, 0, INPROC_CLUSTER_SIDE, 0, 0, 0, INPROC_CLUSTER_SIDE};
    unsigned char labels[8 + INPROC_CLUSTER_EXAMPLES] = {0, 0, 8, 1, 0, 0, 0, INPROC_CLUSTER_EXAMPLES};
    for (int i = 0; i < INPROC_CLUSTER_EXAMPLES; i++) {
        labels[8 + i] = (unsigned char)(i * 7 % INPROC_CLUSTER_CLASSES);
        for (int k = 0; k < PIXELS; k++)
            images[16 + i * PIXELS + k] = (unsigned char)(i * 37 + k * k * 11 + k * i * 3);
    }
    error err = ERROR_INIT;
    char *path = xasprintf("%s/v-images-idx3-ubyte", dir);
    char *other = xasprintf("%s/v-labels-idx1-ubyte", dir);
    must(fs_write_atomic(path, images, sizeof images, &err), &err);
    must(fs_write_atomic(other, labels, sizeof labels, &err), &err);
    free(other);
    return path;
}

inproc_cluster inproc_cluster_make(const char *more)
{
    inproc_cluster v = {.path = folder_create()};
    v.images = write_data(v.path);
    char *text = xasprintf("{train_data_path: '%s', dataset_reader: {classes: %d}} + {%s}",
                           v.images, INPROC_CLUSTER_CLASSES, more);
    error err = ERROR_INIT;
    must(config_load(&(config_source){.text = text}, &v.config, &err), &err);
    free(text);
    if (!getenv("TEQUIO_LOG_LEVEL"))
        log_set_level(LOG_ERROR);
    return v;
}

void inproc_cluster_fini(inproc_cluster *v)
{
    config_destroy(&v->config);
    folder_destroy(&v->path);
    free(v->images);
}

/* --- one run --- */

typedef struct run run;

typedef struct role_thread {
    run *run;
    task task;
    char name[TASK_NAME];
    char *address, *back_door; /* a server's for workers, for the master */
    status (*work)(struct role_thread *t, error *err);
    pthread_t thread;
    status status;
    error error;
} role_thread;

struct run {
    const inproc_cluster *inproc_cluster;
    const inproc_cluster_shape *shape;
    char *job_dir;
    net *net;
    jobdir *dir;                   /* the master's */
    const char *servers[TASKS];    /* where workers dial them */
    const char *back_doors[TASKS]; /* where the master does */
    const char *master;
    role_thread tasks[TASKS];
    int n_tasks;
    atomic_bool abort, stop;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int64_t step; /* complete; under lock */
};

enum { LATE = 2 };

static void move_to(run *r, int64_t step)
{
    pthread_mutex_lock(&r->lock);
    r->step = step > r->step ? step : r->step;
    pthread_cond_broadcast(&r->moved);
    pthread_mutex_unlock(&r->lock);
}

/* How many engines stand. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int n;
} engines = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static status counted_open(const backend_options *options, backend **ret, error *err)
{
    TRY(backend_cpu.open(options, ret, err));
    pthread_mutex_lock(&engines.lock);
    engines.n++;
    pthread_cond_broadcast(&engines.changed);
    pthread_mutex_unlock(&engines.lock);
    return OK;
}

static void wait_for_engines(int n)
{
    pthread_mutex_lock(&engines.lock);
    while (engines.n < n)
        pthread_cond_wait(&engines.changed, &engines.lock);
    pthread_mutex_unlock(&engines.lock);
}

/* The job goes on when the late ones are about to say hello. */
static void on_progress(void *user, const master_progress *p)
{
    run *r = user;
    move_to(r, p->step);
    if (r->shape->late && p->step >= LATE)
        wait_for_engines(r->shape->workers * r->shape->lanes);
    if (r->shape->preempt_at && p->step >= r->shape->preempt_at)
        atomic_store(&r->stop, true);
    if (r->shape->on_step)
        r->shape->on_step(r->shape->user, p->step);
}

static status run_master(role_thread *t, error *err)
{
    run *r = t->run;
    const char *endpoint = t->address;
    return master_run(
        &(master_options){
            .config = r->inproc_cluster->config,
            .net = r->net,
            .endpoints = &endpoint,
            .n_endpoints = 1,
            .listen_fd = -1,
            .servers = r->back_doors,
            .n_servers = r->shape->servers,
            .dir = r->dir,
            .n_workers = r->shape->workers - r->shape->late,
            .evaluates = r->shape->evaluator,
            .stop = &r->stop,
            .abort = &r->abort,
            .progress = on_progress,
            .user = r,
        },
        err);
}

static status run_ps(role_thread *t, error *err)
{
    run *r = t->run;
    const char *endpoints[] = {t->address, t->back_door};
    return ps_run(
        &(ps_options){
            .config = r->inproc_cluster->config,
            .self = t->task,
            .net = r->net,
            .endpoints = endpoints,
            .n_endpoints = COUNT_OF(endpoints),
            .listen_fd = -1,
            .job_dir = r->job_dir,
            .abort = &r->abort,
        },
        err);
}

static status run_worker(role_thread *t, error *err)
{
    run *r = t->run;
    backend_ops counted = backend_cpu;
    counted.open = counted_open;
    int64_t come_at = t->task.index < r->shape->workers - r->shape->late ? 0 : LATE;
    pthread_mutex_lock(&r->lock);
    while (r->step < come_at)
        pthread_cond_wait(&r->moved, &r->lock);
    pthread_mutex_unlock(&r->lock);
    backend_choice *lanes = xcalloc((size_t)r->shape->lanes, sizeof *lanes);
    int threads = (int)config_int(r->inproc_cluster->config, "trainer.threads");
    for (int i = 0; i < r->shape->lanes; i++)
        lanes[i] = (backend_choice){.ops = &counted, .options = {.threads = threads}};
    status st = worker_run(
        &(worker_options){
            .config = r->inproc_cluster->config,
            .self = t->task,
            .net = r->net,
            .master = r->master,
            .servers = r->servers,
            .n_servers = r->shape->servers,
            .n_lanes = r->shape->lanes,
            .devices = lanes,
            .abort = &r->abort,
        },
        err);
    free(lanes);
    return st;
}

static status run_evaluator(role_thread *t, error *err)
{
    run *r = t->run;
    jobdir *dir = NULL;
    TRY(jobdir_open(r->job_dir, &dir, err));
    status st = evaluator_run(
        &(evaluator_options){
            .config = r->inproc_cluster->config,
            .dir = dir,
            .device = backend_numbered(
                -1, (int)config_int(r->inproc_cluster->config, "trainer.threads")),
            .stop = &r->abort,
        },
        err);
    jobdir_close(&dir);
    return st;
}

static void *role_run(void *arg)
{
    role_thread *t = arg;
    t->status = t->work(t, &t->error);
    if (t->status == OK || t->status == E_PREEMPTED)
        return NULL;
    atomic_store(&t->run->abort, true);
    move_to(t->run, INT64_MAX);
    return NULL;
}

static char *address_of(const run *r, const char *name, const char *suffix)
{
    const char *format = r->shape->address ? r->shape->address : "inproc://%s";
    const char *mark = strstr(format, "%s");
    return xasprintf("%.*s%s%s%s", (int)(mark - format), format, name, suffix, mark + 2);
}

static role_thread *add_task(run *r, role which, int index,
                             status (*work)(role_thread *t, error *err))
{
    role_thread *t = &r->tasks[r->n_tasks++];
    t->run = r;
    t->task = (task){which, index};
    t->work = work;
    task_name(t->task, t->name);
    t->address = address_of(r, t->name, "");
    return t;
}

/* Workers and servers first: they must bear a master that comes late. */
static void choose_tasks(run *r)
{
    for (int i = 0; i < r->shape->servers; i++) {
        role_thread *t = add_task(r, ROLE_PS, i, run_ps);
        t->back_door = address_of(r, t->name, ".master");
        r->servers[i] = t->address;
        r->back_doors[i] = t->back_door;
    }
    for (int i = 0; i < r->shape->workers; i++)
        add_task(r, ROLE_WORKER, i, run_worker);
    if (r->shape->evaluator)
        add_task(r, ROLE_EVALUATOR, 0, run_evaluator);
    r->master = add_task(r, ROLE_MASTER, 0, run_master)->address;
}

static inproc_cluster_result read_summary(const char *job_dir)
{
    error err = ERROR_INIT;
    json_t *summary = NULL;
    char *path = xasprintf("%s/summary.json", job_dir);
    must(json_read_file(path, &summary, &err), &err);
    free(path);
    inproc_cluster_result r = {
        .steps = json_integer_value(json_object_get(summary, "steps")),
        .batches_applied = json_integer_value(json_object_get(summary, "batches_applied")),
    };
    snprintf(r.params_sha256, sizeof r.params_sha256, "%s",
             json_string_value(json_object_get(summary, "params_sha256")));
    json_decref(summary);
    return r;
}

static void run_tasks(run *r)
{
    error err = ERROR_INIT;
    for (int i = 0; i < r->n_tasks; i++)
        must(thread_start(&r->tasks[i].thread, r->tasks[i].name, role_run, &r->tasks[i], &err),
             &err);
    for (int i = 0; i < r->n_tasks; i++)
        pthread_join(r->tasks[i].thread, NULL);
    status expected = r->shape->preempt_at ? E_PREEMPTED : OK;
    for (int i = 0; i < r->n_tasks; i++)
        if (r->tasks[i].status != expected)
            fail_msg("%s: %s", r->tasks[i].name, r->tasks[i].error.text);
}

inproc_cluster_result inproc_cluster_train(inproc_cluster *v, const inproc_cluster_shape *shape)
{
    error err = ERROR_INIT;
    bool done = false;
    run *r = xcalloc(1, sizeof *r);
    r->inproc_cluster = v;
    r->shape = shape;
    r->job_dir = xasprintf("%s/job-%d", v->path, v->jobs);
    v->jobs += !shape->preempt_at;
    engines.n = 0;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->moved, NULL);
    must(jobdir_prepare(&(jobdir_request){.path = r->job_dir, .recover = true, .config = v->config},
                        &r->dir, &done, &err),
         &err);
    must(net_create(&r->net, &err), &err);
    choose_tasks(r);
    run_tasks(r);
    net_destroy(&r->net);
    jobdir_close(&r->dir);
    inproc_cluster_result result = {.steps = -1};
    if (!shape->preempt_at)
        result = read_summary(r->job_dir);
    pthread_cond_destroy(&r->moved);
    pthread_mutex_destroy(&r->lock);
    for (int i = 0; i < r->n_tasks; i++) {
        free(r->tasks[i].address);
        free(r->tasks[i].back_door);
    }
    free(r->job_dir);
    free(r);
    return result;
}

inproc_cluster_result inproc_cluster_train_alone(inproc_cluster *v)
{
    error err = ERROR_INIT;
    cluster *alone = NULL;
    atomic_bool stop = false;
    must(cluster_local(&alone, &err), &err);
    char *job_dir = xasprintf("%s/job-%d", v->path, v->jobs++);
    must(process_run(
             &(process_options){
                 .config = v->config,
                 .cluster = alone,
                 .devices = &(devices){.config = v->config},
                 .lanes = 1,
                 .job_dir = job_dir,
                 .rule = JOBDIR_ALLENNLP,
                 .stop = &stop,
                 .progress = PROGRESS_NONE,
             },
             &err),
         &err);
    cluster_destroy(&alone);
    inproc_cluster_result result = read_summary(job_dir);
    free(job_dir);
    return result;
}
