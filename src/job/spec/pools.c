#include "job/spec/pools.h"

#include "common/base/enum_name.h"
#include "common/config/config.h"
#include "job/spec/schema.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a role's fields are called. */
static const char *const prefix[ROLE_COUNT] = {
    [ROLE_MASTER] = "master",
    [ROLE_WORKER] = "worker",
    [ROLE_PS] = "parameterServer",
    [ROLE_EVALUATOR] = "evaluator",
};

/* NULL if absent or null. */
static const doc_node *given(const doc_node *map, const char *key)
{
    const doc_node *n = document_get(map, key);
    return n && n->kind != DOC_NULL ? n : NULL;
}

static const doc_node *field_of(const doc_node *input, role r, const char *suffix)
{
    char key[64];
    snprintf(key, sizeof key, "%s%s", prefix[r], suffix);
    return given(input, key);
}

/* --- tiers --- */

static status check_no_machines(const doc_node *input, const char *name, error *err)
{
    for (role r = 0; r < ROLE_COUNT; r++) {
        const doc_node *type = field_of(input, r, "Type"), *count = field_of(input, r, "Count");
        if (type)
            return DOC_FAIL(err, type,
                            "the scale tier %s stands for its own machines; with CUSTOM they are named",
                            name);
        if (count && schema_whole(count))
            return DOC_FAIL(err, count,
                            "the scale tier %s has its own number of tasks; with CUSTOM it is given",
                            name);
    }
    return OK;
}

static void read_tier(job *j, const tier *t)
{
    const struct {
        role role;
        int count;
        const char *type;
    } rows[] = {
        {ROLE_MASTER, 1, t->master_type},
        {ROLE_WORKER, t->workers, t->worker_type},
        {ROLE_PS, t->ps, t->ps_type},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        job_pool *p = &j->pools[rows[i].role];
        p->count = rows[i].count;
        p->machine_type = rows[i].type;
        p->machine = machine_find(rows[i].type);
    }
    j->pools[ROLE_MASTER].gpu_type = t->gpu_type;
    j->pools[ROLE_MASTER].gpus = t->gpus;
}

/* --- types and counts --- */

/* One evaluates all checkpoints. Scaled down, a job runs on what one has. */
static status take_evaluators(job *j, job_pool *p, const doc_node *count, arena *memory, error *err)
{
    if (!j->is_scaled)
        return DOC_FAIL(err, count, "must be at most 1, not %" PRId64 ": one evaluator evaluates all checkpoints",
                        p->count);
    char at[512];
    document_where(count, at, sizeof at);
    job_warn(j, memory, "%s: of %" PRId64 " evaluators one may stay: it evaluates all checkpoints", at, p->count);
    p->count = 1;
    return OK;
}

static status read_count(job *j, const doc_node *input, role r, arena *memory, error *err)
{
    const doc_node *type = field_of(input, r, "Type"), *count = field_of(input, r, "Count");
    job_pool *p = &j->pools[r];
    p->count = count ? schema_whole(count) : 0;
    if (p->count < 0)
        return DOC_FAIL(err, count, "must be at least 0, not %" PRId64, p->count);
    if (p->count > JOB_TASKS_MOST)
        return DOC_FAIL(err, count, "must be at most %d, not %" PRId64, JOB_TASKS_MOST, p->count);
    if (p->count && !type)
        return DOC_FAIL(err, count, "a count without %sType; say which machines", prefix[r]);
    if (!p->count && type)
        return DOC_FAIL(err, type, "a type without %sCount; say how many", prefix[r]);
    return r == ROLE_EVALUATOR && p->count > 1 ? take_evaluators(j, p, count, memory, err) : OK;
}

static bool is_among(const char *const *words, size_t n, const char *text, size_t bytes)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(words[i]) == bytes && memcmp(words[i], text, bytes) == 0)
            return true;
    return false;
}

/* "c3-standard-8": a machine of Compute Engine that is no part of our tables; of the families that
 * are, all sizes are but the smallest of N1. */
static bool is_other_machine(const char *type)
{
    static const char *const families[] = {"c2d", "c3",  "c3d", "c4", "c4a", "c4d", "h3",
                                           "m2",  "m3",  "m4",  "n1", "n2d", "n4d", "t2d"};
    static const char *const shapes[] = {"standard", "highmem",  "highcpu",
                                         "megamem",  "ultramem", "hypermem"};
    size_t family = strcspn(type, "-");
    const char *shape = type + family + (type[family] == '-');
    size_t bytes = strcspn(shape, "-");
    const char *size = shape + bytes + (shape[bytes] == '-');
    return is_among(families, COUNT_OF(families), type, family) &&
           is_among(shapes, COUNT_OF(shapes), shape, bytes) && *size &&
           !size[strspn(size, "0123456789")];
}

/* "cloud_tpu", "ct5lp-hightpu-4t", "tpu7x-standard-4t" */
static bool is_tpu(const char *type)
{
    return enum_name_is(type, "cloud_tpu") || strncmp(type, "tpu", 3) == 0 ||
           (strncmp(type, "ct", 2) == 0 && isdigit((unsigned char)type[2]));
}

/* Scaled down, a job runs on what one has, and tells what it would have had. */
static status take_tpu(job *j, const doc_node *where, const char *instead, arena *memory, error *err)
{
    if (!j->is_scaled)
        return DOC_FAIL(err, where, "there is no backend for TPUs; %s", instead);
    char at[512];
    document_where(where, at, sizeof at);
    job_warn(j, memory, "%s: %s: ignored: there is no backend for TPUs; scaled down, its tasks compute on what is here",
             at, where->text);
    return OK;
}

static status fail_type(const doc_node *type, error *err)
{
    const machines *all = machines_all();
    const char *names[MACHINES_MOST];
    for (int i = 0; i < all->n_machines; i++)
        names[i] = all->machine[i].name;
    const char *near = config_did_you_mean(type->text, names, (size_t)all->n_machines);
    if (near)
        return DOC_FAIL(err, type, "there is no machine '%s'; did you mean '%s'?", type->text, near);
    return DOC_FAIL(err, type, "there is no machine '%s'; `tequio tables machines` shows them",
                    type->text);
}

static status read_type(job *j, role r, const doc_node *type, arena *memory, error *err)
{
    job_pool *p = &j->pools[r];
    p->machine = machine_find(type->text);
    p->machine_type = p->machine ? p->machine->name : type->text;
    p->blame = type;
    if (is_tpu(type->text))
        return take_tpu(j, type, "name a machine with GPUs or none", memory, err);
    if (p->machine) {
        p->gpu_type = p->machine->built_in_type;
        p->gpus = p->machine->built_in;
        return OK;
    }
    if (!is_other_machine(type->text))
        return fail_type(type, err);
    job_warn(j, memory, "%s: the machine %s is not in our tables; its size is not checked",
             type->path, type->text);
    return OK;
}

/* --- GPUs --- */

static status check_gpus(const job_pool *p, const doc_node *where, int type, int64_t count,
                         error *err)
{
    if (!p->count)
        return DOC_FAIL(err, where, "GPUs of a role that has no tasks");
    if (!p->machine)
        return DOC_FAIL(err, where,
                        "%s is not in our tables, so nothing is known of GPUs on it; `tequio tables "
                        "machines` shows the machines that take some",
                        p->machine_type);
    error why = ERROR_INIT;
    if (machine_check(p->machine, type, count, &why) != OK)
        return DOC_FAIL(err, where, "%s", why.text);
    return OK;
}

static status pools_read_gpus(job *j, job_pool *p, const doc_node *replica, arena *memory, error *err)
{
    const doc_node *accelerator = given(replica, "acceleratorConfig");
    if (!accelerator)
        return OK;
    const doc_node *type = given(accelerator, "type"), *count = given(accelerator, "count");
    if (!type || !count)
        return DOC_FAIL(err, accelerator, "both count and type must be given");
    int64_t n = schema_whole(count);
    if (n < 1)
        return DOC_FAIL(err, count, "must be at least 1, not %" PRId64, n);
    if (strncmp(type->text, "TPU_", 4) == 0)
        return take_tpu(j, type, "name a GPU", memory, err);
    int t = gpu_type_find(type->text);
    if (t < 0)
        return DOC_FAIL(err, type, "must name a GPU, not %s", type->text);
    TRY(check_gpus(p, accelerator, t, n, err));
    p->gpu_type = t;
    p->gpus = n;
    p->blame = accelerator;
    return OK;
}

/* --- roles --- */

/* "/usr/bin/tequio", or none: then the image's entry point is */
static status check_program(const doc_node *command, error *err)
{
    if (!command || !command->n)
        return OK;
    const char *word = command->item[0]->text, *slash = strrchr(word, '/');
    if (strcmp(slash ? slash + 1 : word, "tequio") == 0)
        return OK;
    return DOC_FAIL(err, command,
                    "'%s' is not tequio, which is the program of a task; give its arguments behind --",
                    word);
}

/* The words of `tequio [train] ...` behind `train`, NULL at their end. */
static const char *const *arguments_of(const doc_node *command, const doc_node *args, arena *memory)
{
    int n_command = command ? command->n : 0, n_args = args ? args->n : 0, n = 0;
    size_t most = (size_t)n_command + (size_t)n_args + 1;
    const char **texts = arena_alloc(memory, most * sizeof *texts);
    for (int i = 1; i < n_command; i++)
        texts[n++] = command->item[i]->text;
    for (int i = 0; i < n_args; i++)
        texts[n++] = args->item[i]->text;
    return texts[0] && strcmp(texts[0], "train") == 0 ? texts + 1 : texts;
}

static status read_replica(job *j, const doc_node *input, role r, arena *memory, error *err)
{
    job_pool *p = &j->pools[r];
    const doc_node *replica = field_of(input, r, "Config"), *args = given(input, "args");
    const doc_node *own = given(replica, "containerArgs"), *image = given(replica, "imageUri");
    const doc_node *command = given(replica, "containerCommand");
    if (!image)
        image = given(field_of(input, ROLE_MASTER, "Config"), "imageUri");
    if (own && args)
        return DOC_FAIL(err, own, "args are given too; either all roles have the same or each its own");
    TRY(check_program(command, err));
    p->args = arguments_of(command, own ? own : args, memory);
    p->image = image ? image->text : NULL;
    return pools_read_gpus(j, p, replica, memory, err);
}

static status check_one_family(const job *j, error *err)
{
    const job_pool *first = NULL;
    for (role r = 0; r < ROLE_COUNT; r++) {
        const job_pool *p = &j->pools[r];
        if (!p->count || is_tpu(p->machine_type))
            continue;
        bool is_legacy = p->machine && p->machine->is_legacy;
        if (first && is_legacy != (first->machine && first->machine->is_legacy))
            return DOC_FAIL(err, p->blame,
                            "%s is %s and %s is %s; the machines of a job are all of one kind",
                            p->machine_type, is_legacy ? "a legacy type" : "of Compute Engine",
                            first->machine_type,
                            is_legacy ? "of Compute Engine" : "a legacy type");
        if (!first)
            first = p;
    }
    return OK;
}

static status read_custom(job *j, const doc_node *input, arena *memory, error *err)
{
    const doc_node *master = field_of(input, ROLE_MASTER, "Type");
    if (!master)
        return DOC_FAIL(err, given(input, "scaleTier"),
                        "the scale tier CUSTOM needs masterType: the machine of the master");
    j->pools[ROLE_MASTER].count = 1;
    for (role r = 0; r < ROLE_COUNT; r++) {
        if (r != ROLE_MASTER)
            TRY(read_count(j, input, r, memory, err));
        if (j->pools[r].count)
            TRY(read_type(j, r, field_of(input, r, "Type"), memory, err));
    }
    return OK;
}

/* The first role's type that is named; NULL: none is. */
static const doc_node *any_type(const doc_node *input)
{
    for (role r = 0; r < ROLE_COUNT; r++)
        if (field_of(input, r, "Type"))
            return field_of(input, r, "Type");
    return NULL;
}

static status pools_read_machines(job *j, const doc_node *input, arena *memory, error *err)
{
    const doc_node *said = given(input, "scaleTier");
    bool is_said = said && strcmp(said->text, "SCALE_TIER_UNSPECIFIED") != 0;
    if (!is_said && any_type(input))
        return DOC_FAIL(err, any_type(input),
                        "machines are named only with the scale tier CUSTOM; add scaleTier: CUSTOM");
    j->tier = is_said ? said->text : "BASIC";
    if (strcmp(j->tier, "CUSTOM") == 0)
        return read_custom(j, input, memory, err);
    if (strcmp(j->tier, "BASIC_TPU") == 0) {
        TRY(take_tpu(j, said, "BASIC_GPU has a GPU", memory, err));
        j->tier = "BASIC";
    }
    TRY(check_no_machines(input, j->tier, err));
    read_tier(j, tier_find(j->tier));
    return OK;
}

status pools_read(job *j, const doc_node *input, arena *memory, error *err)
{
    for (role r = 0; r < ROLE_COUNT; r++)
        j->pools[r] = (job_pool){.machine_type = "", .gpu_type = -1};
    TRY(pools_read_machines(j, input, memory, err));
    for (role r = 0; r < ROLE_COUNT; r++)
        TRY(read_replica(j, input, r, memory, err));
    TRY(check_one_family(j, err));
    if (job_tasks(j) > JOB_TASKS_MOST)
        return DOC_FAIL(err, input, "%" PRId64 " tasks; a job has at most %d", job_tasks(j),
                        JOB_TASKS_MOST);
    return OK;
}

/* --- regions --- */

static uint32_t types_used(const job *j)
{
    uint32_t used = 0;
    for (role r = 0; r < ROLE_COUNT; r++)
        if (j->pools[r].count && j->pools[r].gpus)
            used |= UINT32_C(1) << j->pools[r].gpu_type;
    return used;
}

static status fail_region(const doc_node *where, const region *g, int type, error *err)
{
    const machines *all = machines_all();
    buf text = BUF_INIT;
    buf_addf(&text, "%s is not offered in %s; it is in", all->gpu[type], g->name);
    for (int i = 0; i < all->n_regions; i++)
        if (all->region[i].gpus[type] == OFFER_YES)
            buf_addf(&text, " %s", all->region[i].name);
    status st = DOC_FAIL(err, where, "%s", text.data);
    buf_fini(&text);
    return st;
}

/* "us-central1-a": in it is the region `g`. */
static bool is_zone_of(const char *text, const region *g)
{
    size_t n = strlen(g->name);
    return strncmp(text, g->name, n) == 0 && text[n] == '-' &&
           islower((unsigned char)text[n + 1]) && !text[n + 2];
}

static status fail_no_region(const doc_node *where, error *err)
{
    const machines *all = machines_all();
    const char *names[REGIONS_MOST];
    for (int i = 0; i < all->n_regions; i++) {
        names[i] = all->region[i].name;
        if (is_zone_of(where->text, &all->region[i]))
            return DOC_FAIL(err, where, "'%s' is a zone; its region is %s", where->text, names[i]);
    }
    const char *near = config_did_you_mean(where->text, names, (size_t)all->n_regions);
    if (near)
        return DOC_FAIL(err, where, "there is no region '%s'; did you mean '%s'?", where->text, near);
    return DOC_FAIL(err, where,
                    "there is no region '%s'; it is one as us-central1, europe-west4 or asia-east1, and "
                    "`tequio tables regions` shows all",
                    where->text);
}

/* What the table says is not offered was not by AI Platform. */
static status check_offers(job *j, const region *g, const doc_node *where, arena *memory,
                           error *err)
{
    uint32_t used = types_used(j);
    for (int t = 0; t < GPU_TYPES; t++) {
        if (!(used >> t & 1))
            continue;
        if (g->gpus[t] == OFFER_NO && !j->is_of_vertex)
            return fail_region(where, g, t, err);
        if (g->gpus[t] != OFFER_YES)
            job_warn(j, memory, "region %s: whether it offers %s is not known here", g->name,
                     machines_all()->gpu[t]);
    }
    return OK;
}

/* GPUs of several types must be offered by one zone. */
static status check_zone(job *j, const doc_node *where, arena *memory, error *err)
{
    uint32_t used = types_used(j);
    if (!(used & (used - 1)))
        return OK;
    const uint32_t *never = machines_no_zone(j->region);
    for (; never && *never; never++)
        if ((used & *never) == *never)
            return DOC_FAIL(err, where,
                            "no zone of %s offers all the types of GPU of this job; a job's GPUs are in "
                            "one zone, so use fewer types",
                            j->region);
    job_warn(j, memory, "GPUs of several types: one zone must offer all of them");
    return OK;
}

status pools_check_region(job *j, const doc_node *input, arena *memory, error *err)
{
    const doc_node *where = given(input, "region");
    uint32_t used = types_used(j);
    int k80 = gpu_type_find("NVIDIA_TESLA_K80");
    if (used >> k80 & 1)
        job_warn(j, memory, "NVIDIA_TESLA_K80: Google has withdrawn it; here it is a GPU like any");
    if (!where)
        return OK;
    const region *g = region_find(j->region);
    if (!g)
        return fail_no_region(where, err);
    TRY(check_offers(j, g, where, memory, err));
    return check_zone(j, where, memory, err);
}
