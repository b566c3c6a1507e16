#include "cli/run/shape.h"

#include "cli/run/meeting_place.h"
#include "common/base/descriptors.h"
#include "common/config/training.h"

#include <string.h>

bool shape_master_trains(const config *c)
{
    const json_t *value = config_json(c, "distributed.master_trains");
    return json_is_boolean(value) ? json_is_true(value) : true;
}

/* A cluster's tasks are where they are, whatever the configuration says of one on this machine. */
static void count_tasks(const config *c, const cluster *k, shape *s)
{
    int workers = cluster_count(k, ROLE_WORKER), chiefs = cluster_count(k, ROLE_MASTER);
    s->workers = workers + (chiefs && shape_master_trains(c));
    s->ps = k->hosted_servers ? workers - k->master_is_worker : cluster_count(k, ROLE_PS);
    s->evaluators = cluster_count(k, ROLE_EVALUATOR);
}

static status choose_tasks(const config *c, shape *s, error *err)
{
    int devices = (int)config_count(c, "distributed.cuda_devices");
    if (s->workers == 0 && devices > 1 && !config_has(c, "distributed.lanes"))
        s->workers = devices;
    if (s->workers == 0 && s->ps > 0)
        return FAIL(err, E_USAGE,
                    "%d parameter servers without workers: add --workers N, or leave out --ps to "
                    "train in one process",
                    s->ps);
    if (s->workers == 0 && s->evaluators > 0)
        return FAIL(err, E_USAGE,
                    "an evaluator without workers: add --workers N, or leave out --evaluators: one "
                    "process evaluates by itself");
    bool copies = config_int(c, "distributed.ps_replicas");
    if (s->workers > 0 && s->ps == 0)
        s->ps = copies ? 2 : 1;
    if (s->ps == 1 && copies)
        return FAIL(err, E_USAGE,
                    "distributed.ps_replicas: 1 needs a second parameter server to hold the copies: use "
                    "--ps 2 or more");
    return OK;
}

/* As everywhere with such launchers, LOCAL_RANK is the number of the GPU. */
static bool has_local_rank(const cluster *k)
{
    return k && k->origin == CLUSTER_RANKS && k->world.local_rank >= 0;
}

/* Of each of `here` processes that compute on this machine. */
static int shape_lanes_of(const config *c, const shape_host *host, const shape *s, int here)
{
    if (config_has(c, "distributed.lanes"))
        return (int)config_int(c, "distributed.lanes");
    int named = (int)config_count(c, "distributed.cuda_devices");
    bool is_alone = !host->cluster && s->workers == 0;
    int lanes = host->cpus / (s->threads * here);
    if ((named || host->gpus) && has_local_rank(host->cluster))
        return 1;
    if (named)
        lanes = host->cluster ? named : named / here;
    else if (host->gpus)
        lanes = is_alone ? 1 : host->gpus_are_own ? host->gpus : host->gpus / here;
    return lanes > 0 ? lanes : 1;
}

enum { READERS_MOST = 8 }; /* that nobody asked for */

/* A lane on a GPU takes a processor, one of the CPU its threads. */
static int shape_readers_of(const config *c, const shape_host *host, const shape *s)
{
    if (config_has(c, "data_loader.workers"))
        return (int)config_int(c, "data_loader.workers");
    bool on_gpus = host->gpus || config_count(c, "distributed.cuda_devices");
    int left = host->cpus / s->here - s->lanes * (on_gpus ? 1 : s->threads), each = left / s->lanes;
    return each < 1 ? 1 : each > READERS_MOST ? READERS_MOST : each;
}

static bool is_on(const char *address, const char *host)
{
    char other[256];
    int port;
    return address && address_split(address, other, sizeof other, &port, NULL) == OK &&
           strcmp(other, host) == 0;
}

/* Ranks have no addresses yet. */
static int ranks_here(const config *c, const cluster *k)
{
    const char *place = meeting_place(c, k);
    if (k->world.local_size)
        return k->world.local_size;
    return place && address_is_loopback(place) ? k->jobs[ROLE_WORKER].n : 1;
}

/* How many tasks of that role are on the machine of this one. */
static int count_here(const cluster *k, role r)
{
    char host[256];
    int port, n = 0;
    const char *address = cluster_address(k, k->task);
    if (!address || address_split(address, host, sizeof host, &port, NULL) != OK)
        return 0;
    for (int32_t i = 0; i < cluster_count(k, r); i++)
        n += is_on(cluster_address(k, (task){r, i}), host);
    return n;
}

static int computing_here(const config *c, const cluster *k)
{
    if (k->origin == CLUSTER_RANKS)
        return ranks_here(c, k);
    int n = count_here(k, ROLE_WORKER) + (shape_master_trains(c) ? count_here(k, ROLE_MASTER) : 0);
    return n > 0 ? n : 1;
}

/* A worker that hosts a server has that one alone. */
static double servers_here(const cluster *k, const shape *s)
{
    if (k && k->hosted_servers && s->ps)
        return 1.0 / s->ps;
    double share = k && s->ps ? (double)count_here(k, ROLE_PS) / s->ps : 1.0;
    return share / s->here;
}

status shape_of(const config *c, const shape_host *host, shape *ret, error *err)
{
    shape s = {
        .workers = (int)config_int(c, "distributed.workers"),
        .ps = (int)config_int(c, "distributed.ps"),
        .evaluators = (int)config_int(c, "distributed.evaluators"),
        .threads = (int)config_int(c, "trainer.threads"),
    };
    if (host->cluster)
        count_tasks(c, host->cluster, &s);
    else
        TRY(choose_tasks(c, &s, err));
    int computing = s.workers > 0 ? s.workers : 1;
    s.here = host->cluster ? computing_here(c, host->cluster) : computing;
    s.servers_here = servers_here(host->cluster, &s);
    s.lanes = shape_lanes_of(c, host, &s, s.here);
    s.readers = shape_readers_of(c, host, &s);
    s.batches_per_step = training_batches_per_step(c, (int64_t)computing * s.lanes);
    *ret = s;
    return OK;
}

/* As counted: of a launcher two pipes, a log and a port a task; of a task those of its connections. */
status shape_check_descriptors(const shape *s, const cluster *k, error *err)
{
    int64_t workers = k ? cluster_count(k, ROLE_WORKER) : s->workers;
    int64_t servers = k ? cluster_count(k, ROLE_PS) : s->ps;
    servers += !servers;
    int64_t tasks = k ? 0 : 1 + workers + servers + s->evaluators;
    int64_t of_launcher = workers ? 6 + 4 * tasks : 0, of_task = 35 + 6 * servers + 3 * workers;
    descriptors_take(); /* also for the tasks that it starts */
    return descriptors_check(16 + of_launcher / 2, of_launcher > of_task ? of_launcher : of_task,
                             err);
}
