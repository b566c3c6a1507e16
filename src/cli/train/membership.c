#include "cli/train/membership.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/cluster/ranks.h"

#include <stdlib.h>

const char *const shape_flags[SHAPE_FLAGS] = {"workers", "ps", "evaluators", "start-port",
                                              "max-restarts"};
static const char *const rank_flags[] = {"nnodes", "node-rank"};

static const char *origin_name(const cluster *c)
{
    switch (c->origin) {
    case CLUSTER_VERTEX:
        return "CLUSTER_SPEC";
    case CLUSTER_SLURM:
        return "the environment of Slurm";
    case CLUSTER_SAGEMAKER:
        return "the environment of SageMaker";
    case CLUSTER_RANKS:
        return c->world.by;
    default:
        return "TF_CONFIG";
    }
}

static status refuse_flags(const args *a, const cluster *c, const char *const *flags, size_t n,
                           const char *purpose, error *err)
{
    char name[TASK_NAME];
    for (size_t i = 0; i < n; i++)
        if (args_has(a, flags[i]))
            return FAIL(err, E_USAGE,
                        "train: --%s is for %s, but %s names a cluster, which wins, and this "
                        "process as its %s: leave out the flag or unset the environment",
                        flags[i], purpose, origin_name(c), task_name(c->task, name));
    return OK;
}

static bool has_nodes(const args *a, const config *c)
{
    return args_has(a, "nnodes") || args_has(a, "node-rank") || config_int(c, "distributed.num_nodes") > 1;
}

/* One process a host, by hand; as in AllenNLP the configuration may say how many there are. */
static status find_nodes(const args *a, const config *c, cluster **ret, error *err)
{
    bool is_counted = !args_has(a, "nnodes") && config_int(c, "distributed.num_nodes") > 1;
    for (size_t i = 0; i < COUNT_OF(rank_flags) && !is_counted; i++)
        if (!args_has(a, rank_flags[i]))
            return FAIL(err, E_USAGE,
                        "train: --%s is missing: give --nnodes N, --node-rank I (from 0) and "
                        "--rendezvous HOST:PORT together",
                        rank_flags[i]);
    int nodes = (int)args_count(a, "nnodes", config_int(c, "distributed.num_nodes"));
    int rank = (int)args_count(a, "node-rank", 0);
    if (rank >= nodes)
        return FAIL(err, E_USAGE, "train: --node-rank %d of %s %d: ranks are 0 to %d", rank,
                    is_counted ? "distributed.num_nodes" : "--nnodes", nodes, nodes - 1);
    char *meeting = NULL;
    TRY(ranks_named_meeting(&meeting, err));
    cluster_destroy(ret);
    cluster_world world = {.by = "--nnodes", .meeting = meeting, .local_rank = -1};
    status st = cluster_from_ranks(&world, rank, nodes, NULL, ret, err);
    free(meeting);
    return st;
}

static status check_rendezvous(const args *a, const cluster *c, error *err)
{
    if (!args_has(a, "rendezvous") || args_has(a, "nnodes") || c->origin == CLUSTER_RANKS)
        return OK;
    if (c->origin == CLUSTER_LOCAL)
        return FAIL(err, E_USAGE,
                    "train: --rendezvous is where ranks meet, and this is none: give --nnodes N "
                    "and --node-rank I too, or set RANK and WORLD_SIZE");
    return FAIL(err, E_USAGE,
                "train: --rendezvous is where ranks meet, but %s names a cluster with addresses: "
                "leave it out",
                origin_name(c));
}

static status find(const args *a, const config *c, cluster **ret, error *err)
{
    TRY(cluster_from_env(ret, err));
    TRY(cluster_check_addresses(*ret, err));
    if ((*ret)->origin != CLUSTER_LOCAL)
        TRY(refuse_flags(a, *ret, rank_flags, COUNT_OF(rank_flags), "one command a host", err));
    else if (has_nodes(a, c))
        TRY(find_nodes(a, c, ret, err));
    if ((*ret)->origin != CLUSTER_LOCAL)
        TRY(refuse_flags(a, *ret, shape_flags, SHAPE_FLAGS, "a cluster on this machine", err));
    return check_rendezvous(a, *ret, err);
}

status membership_find(const args *a, const config *c, cluster **ret, error *err)
{
    TRY(find(a, c, ret, err));
    if ((*ret)->overruled)
        LOG_I("CLUSTER", "%s names this task; what %s says of ranks does not count",
              origin_name(*ret), (*ret)->overruled);
    return OK;
}
