/*
 * A row a launcher: the variables by which it numbers its processes.
 *
 * The innermost launcher counts: torchrun may be started by Slurm or by mpirun, and mpirun by
 * Slurm, whose variables all its processes have then as well. What nobody can put in order is
 * refused.
 */
#include "common/cluster/ranks.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/cluster/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANK_LIMIT = 65536, EPHEMERAL = 32768 };

typedef struct launcher {
    const char *by;
    const char *rank, *size, *local_rank, *local_size;
    const char *job[3]; /* what tells its jobs on one host apart; NULL-filled at the end */
} launcher;

enum { TORCHRUN, OPEN_MPI, MPICH, LAUNCHERS };

static const launcher launchers[LAUNCHERS] = {
    [TORCHRUN] = {"torchrun",
                  "RANK",
                  "WORLD_SIZE",
                  "LOCAL_RANK",
                  "LOCAL_WORLD_SIZE",
                  {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"}},
    [OPEN_MPI] = {"Open MPI",
                  "OMPI_COMM_WORLD_RANK",
                  "OMPI_COMM_WORLD_SIZE",
                  "OMPI_COMM_WORLD_LOCAL_RANK",
                  "OMPI_COMM_WORLD_LOCAL_SIZE",
                  {"PMIX_NAMESPACE"}},
    [MPICH] = {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", {NULL}},
};

static const launcher slurm_step = {
    .by = "Slurm", .rank = "SLURM_PROCID", .size = "SLURM_STEP_NUM_TASKS"};

/* A variable that is empty counts as absent. */
static const char *value_of(const char *variable)
{
    const char *text = variable ? getenv(variable) : NULL;
    return text && *text ? text : NULL;
}

/* *ret stays as it is where the variable is absent. */
static status ranks_read_number(const char *variable, int32_t *ret, error *err)
{
    const char *text = value_of(variable);
    if (!text)
        return OK;
    size_t n = strspn(text, "0123456789");
    if (text[n] || n > 9)
        return FAIL(err, E_CONFIG, "%s: expected a number, got '%s'", variable, text);
    *ret = (int32_t)strtol(text, NULL, 10);
    if (*ret > RANK_LIMIT)
        return FAIL(err, E_CONFIG, "%s: %d is more than %d", variable, (int)*ret, RANK_LIMIT);
    return OK;
}

/* One of its variables that is there; NULL: none is. */
static const char *sign_of(const launcher *l)
{
    const char *const all[] = {l->rank, l->size, l->local_rank, l->local_size};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (value_of(all[i]))
            return all[i];
    return NULL;
}

/* --- one launcher's word --- */

static status check_numbers(const launcher *l, const ranks *r, error *err)
{
    int32_t rank = r->rank, size = r->size, local = r->world.local_rank, here = r->world.local_size;
    if (size == 0)
        return FAIL(err, E_CONFIG, "%s is 0; there is at least this process", l->size);
    if (rank >= size)
        return FAIL(err, E_CONFIG, "%s is %d, but %s is %d: ranks are 0 to %d", l->rank, (int)rank,
                    l->size, (int)size, (int)size - 1);
    if (here > size)
        return FAIL(err, E_CONFIG, "%s is %d, but %s is %d: a host cannot have more than all",
                    l->local_size, (int)here, l->size, (int)size);
    if (here && local >= here)
        return FAIL(err, E_CONFIG, "%s is %d, but %s is %d: local ranks are 0 to %d", l->local_rank,
                    (int)local, l->local_size, (int)here, (int)here - 1);
    return OK;
}

static status read_launcher(const launcher *l, ranks *r, error *err)
{
    const char *sign = sign_of(l);
    *r = (ranks){.world = {.by = l->by, .local_rank = -1}};
    if (!sign)
        return OK;
    TRY(ranks_read_number(l->size, &r->size, err));
    const char *missing = !value_of(l->size) ? l->size : !value_of(l->rank) ? l->rank : NULL;
    if (missing && r->size != 1)
        return FAIL(err, E_CONFIG,
                    "%s is set, but %s is not: a launcher sets both; set it, or unset the other",
                    missing == l->rank ? l->size : sign, missing);
    TRY(ranks_read_number(l->rank, &r->rank, err));
    TRY(ranks_read_number(l->local_rank, &r->world.local_rank, err));
    TRY(ranks_read_number(l->local_size, &r->world.local_size, err));
    return check_numbers(l, r, err);
}

/* --- several --- */

static bool is_torchrun(void)
{
    return value_of("TORCHELASTIC_RUN_ID");
}

static bool is_slurm_step(void)
{
    return value_of(slurm_step.size);
}

/* srun --mpi=pmi2 speaks MPICH's words too, but says nothing of what is local. */
static bool is_srun(const launcher *l)
{
    return l == &launchers[MPICH] && is_slurm_step() && !value_of(l->local_rank);
}

/* The same as a Slurm step's, in whatever of it is set. */
static status repeats_slurm(const launcher *l, bool *ret, error *err)
{
    int32_t rank = -1, size = -1, procid = -1, tasks = -1;
    TRY(ranks_read_number(l->rank, &rank, err));
    TRY(ranks_read_number(l->size, &size, err));
    TRY(ranks_read_number(slurm_step.rank, &procid, err));
    TRY(ranks_read_number(slurm_step.size, &tasks, err));
    *ret = (rank < 0 || rank == procid) && (size < 0 || size == tasks);
    return OK;
}

static status fail_disagree(const launcher *a, const launcher *b, error *err)
{
    const char *rank = value_of(a->rank), *size = value_of(a->size);
    const char *other_rank = value_of(b->rank), *other_size = value_of(b->size);
    return FAIL(err, E_CONFIG,
                "%s is %s and %s is %s, but %s is %s and %s is %s: unset those that do not number "
                "this job's processes",
                a->rank, rank ? rank : "not set", a->size, size ? size : "not set", b->rank,
                other_rank ? other_rank : "not set", b->size, other_size ? other_size : "not set");
}

/* Whose word counts, NULL: nobody's. */
static status ranks_choose(const launcher **ret, error *err)
{
    *ret = NULL;
    for (size_t i = 0; i < COUNT_OF(launchers); i++) {
        const launcher *l = &launchers[i];
        if (!sign_of(l) || is_srun(l))
            continue;
        if (l == &launchers[TORCHRUN] && !is_torchrun() && is_slurm_step()) {
            bool is_same;
            TRY(repeats_slurm(l, &is_same, err));
            if (!is_same)
                return fail_disagree(l, &slurm_step, err);
            continue;
        }
        if (!*ret)
            *ret = l;
        else if (!is_torchrun()) {
            ranks first, other;
            TRY(read_launcher(*ret, &first, err));
            TRY(read_launcher(l, &other, err));
            if (first.rank != other.rank || first.size != other.size)
                return fail_disagree(*ret, l, err);
        }
    }
    if (!*ret && value_of("PMIX_RANK") && !is_slurm_step())
        return FAIL(err, E_CONFIG,
                    "PMIX_RANK is %s, but nothing says how many processes there are: set RANK, "
                    "WORLD_SIZE, MASTER_ADDR and MASTER_PORT, or unset it",
                    value_of("PMIX_RANK"));
    return OK;
}

/* --- where they meet --- */

/* A name for sockets on this host, the same for all processes of a launch and for no others. */
static char *local_meeting(const launcher *l)
{
    sha256 h;
    char digest[SHA256_HEX];
    sha256_begin(&h);
    for (size_t i = 0; i < COUNT_OF(l->job) && l->job[i]; i++) {
        const char *text = value_of(l->job[i]);
        sha256_add(&h, text ? text : "", (text ? strlen(text) : 0) + 1);
    }
    sha256_end(&h, digest);
    return xasprintf("@tequio-%ld-%.16s", (long)getuid(), digest);
}

/* torchrun itself listens at MASTER_PORT, unless it leaves that to rank 0. The next ports are what
 * people give to further jobs; those that kernels hand out themselves may be in use at any time. */
static int port_beside(int port)
{
    const char *is_agents = value_of("TORCHELASTIC_USE_AGENT_STORE");
    if (!is_agents || strcmp(is_agents, "True") != 0)
        return port;
    return port < EPHEMERAL ? port + 1000 : port - 30000;
}

status ranks_named_meeting(char **ret, error *err)
{
    const char *host = value_of("MASTER_ADDR");
    int32_t port = 0;
    if (!host)
        return OK;
    if (!value_of("MASTER_PORT"))
        return FAIL(err, E_CONFIG, "MASTER_ADDR is set, but MASTER_PORT is not: set both");
    TRY(ranks_read_number("MASTER_PORT", &port, err));
    if (port < 1 || port > PORT_MOST)
        return FAIL(err, E_CONFIG, "MASTER_PORT: %d is no port; they are 1 to %d", (int)port,
                    PORT_MOST);
    bool is_six = strchr(host, ':') && host[0] != '[';
    *ret = xasprintf(is_six ? "[%s]:%d" : "%s:%d", host, port_beside(port));
    return OK;
}

static status find_meeting(const launcher *l, ranks *r, error *err)
{
    bool is_launched = l->job[0] && value_of(l->job[0]);
    if (is_launched && r->world.local_size == r->size)
        r->meeting = local_meeting(l);
    else
        TRY(ranks_named_meeting(&r->meeting, err));
    r->world.meeting = r->meeting;
    return OK;
}

status ranks_read(ranks *ret, error *err)
{
    const launcher *l = NULL;
    *ret = (ranks){.size = 0};
    TRY(ranks_choose(&l, err));
    if (!l)
        return OK;
    TRY(read_launcher(l, ret, err));
    if (l == &launchers[TORCHRUN] && !is_torchrun())
        ret->world.by = "RANK and WORLD_SIZE";
    return ret->size > 1 ? find_meeting(l, ret, err) : OK;
}

void ranks_fini(ranks *r)
{
    free(r->meeting);
    *r = (ranks){.size = 0};
}
