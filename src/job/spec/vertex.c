#include "job/spec/vertex.h"

#include "job/spec/schema.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { POOLS = 4 };

/* How the fields of a role begin, by the number of its pool. */
static const char *const prefix[POOLS] = {"master", "worker", "parameterServer", "evaluator"};

typedef struct reading {
    arena *memory;
    job *j;
    doc_node *input; /* the TrainingInput that is made */
    error *err;
} reading;

static doc_node *given(const doc_node *map, const char *key)
{
    doc_node *n = document_get(map, key);
    return n && n->kind != DOC_NULL ? n : NULL;
}

static bool has_any(const doc_node *top, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (document_get(top, keys[i]))
            return true;
    return false;
}

static bool is_spec(const doc_node *top)
{
    static const char *const keys[] = {"workerPoolSpecs", "worker_pool_specs"};
    return has_any(top, keys, COUNT_OF(keys));
}

bool vertex_is_job(const doc_node *top)
{
    static const char *const keys[] = {"jobSpec",        "job_spec",  "trialJobSpec",
                                       "trial_job_spec", "studySpec", "study_spec"};
    return is_spec(top) || has_any(top, keys, COUNT_OF(keys));
}

/* --- the tree that is made: values keep their places in the file --- */

static void put(const reading *r, doc_node *map, const char *key, doc_node *value)
{
    if (value)
        document_graft(r->memory, map, key, value);
}

static doc_node *at_place_of(doc_node *made, const doc_node *place)
{
    made->line = place->line;
    made->column = place->column;
    made->path = place->path;
    return made;
}

static doc_node *map_at(const reading *r, const doc_node *place)
{
    return at_place_of(document_empty(r->memory, place->origin, DOC_MAP), place);
}

static doc_node *word_at(const reading *r, const doc_node *place, const char *word)
{
    doc_node *n = at_place_of(document_scalar(r->memory, place->origin, word), place);
    n->is_quoted = false;
    return n;
}

/* --- pools --- */

/* No type, or a count of 0, is no GPU. */
static status vertex_read_gpus(const reading *r, const doc_node *spec, doc_node *config)
{
    doc_node *type = given(spec, "acceleratorType"), *count = given(spec, "acceleratorCount");
    bool has_type = type && strcmp(type->text, "ACCELERATOR_TYPE_UNSPECIFIED") != 0;
    bool has_count = count && schema_whole(count) != 0;
    if (!has_type && !has_count)
        return OK;
    if (!has_type)
        return DOC_FAIL(r->err, count, "acceleratorType is missing beside it: which GPUs");
    if (!has_count)
        return DOC_FAIL(r->err, type, "acceleratorCount is missing beside it: how many GPUs");
    doc_node *gpus = map_at(r, spec);
    put(r, gpus, "type", type);
    put(r, gpus, "count", count);
    put(r, config, "acceleratorConfig", gpus);
    return OK;
}

static status read_machine(const reading *r, const doc_node *pool, int i, doc_node *config)
{
    const doc_node *spec = given(pool, "machineSpec");
    doc_node *type = given(spec, "machineType");
    if (!type)
        return DOC_FAIL(r->err, spec ? spec : pool, "machineSpec.machineType is missing");
    const machine *m = machine_find(type->text);
    if (m && m->is_legacy)
        return DOC_FAIL(
            r->err, type,
            "%s is a type of AI Platform's; Vertex AI has machines of Compute Engine, as "
            "n1-standard-8",
            m->name);
    put(r, r->input, arena_printf(r->memory, "%sType", prefix[i]), type);
    return vertex_read_gpus(r, spec, config);
}

/* The master is one; a warning says where a file leaves out how many of the others there are. */
static status vertex_read_count(const reading *r, const doc_node *pool, int i)
{
    doc_node *count = given(pool, "replicaCount");
    if (i == 0 && count && schema_whole(count) != 1)
        return DOC_FAIL(r->err, count,
                        "must be 1, not %" PRId64
                        ": the first pool is the master alone, the second are the workers",
                        schema_whole(count));
    if (i == 0)
        return OK;
    if (!count)
        job_warn(r->j, r->memory, "%s: no replicaCount is given, so it has 1 task", pool->path);
    put(r, r->input, arena_printf(r->memory, "%sCount", prefix[i]),
        count ? count : word_at(r, pool, "1"));
    return OK;
}

/* --- variables --- */

static bool is_name(const char *text)
{
    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    while (isalnum((unsigned char)*text) || *text == '_')
        text++;
    return !*text;
}

/* What the launcher itself tells, and what must not lie about in files. */
static bool is_reserved(const char *name)
{
    return strcmp(name, "TF_CONFIG") == 0 || strcmp(name, "CLUSTER_SPEC") == 0 ||
           strncmp(name, "TEQUIO_KEY", strlen("TEQUIO_KEY")) == 0;
}

/* All tasks have the same environment, so pools agree about a variable. */
static status vertex_add_variable(const reading *r, const doc_node *variable)
{
    const doc_node *name = given(variable, "name"), *value = given(variable, "value");
    if (!name || !is_name(name->text))
        return DOC_FAIL(r->err, name ? name : variable,
                        "a variable needs a name of letters, digits and _, no digit first");
    if (is_reserved(name->text))
        return DOC_FAIL(r->err, name, "%s is not for a job file: tequio gives it to its tasks",
                        name->text);
    const char *entry = arena_printf(r->memory, "%s=%s", name->text, value ? value->text : "");
    job *j = r->j;
    for (int i = 0; i < j->n_environment; i++) {
        if (strcmp(j->environment[i], entry) == 0)
            return OK;
        if (strncmp(j->environment[i], entry, strlen(name->text) + 1) == 0)
            return DOC_FAIL(
                r->err, variable,
                "%s has another value before; the tasks of all pools have the same environment",
                name->text);
    }
    const char **wider = arena_alloc(r->memory, ((size_t)j->n_environment + 1) * sizeof *wider);
    if (j->n_environment)
        memcpy(wider, j->environment, (size_t)j->n_environment * sizeof *wider);
    wider[j->n_environment++] = entry;
    j->environment = wider;
    return OK;
}

static status read_environment(const reading *r, const doc_node *container)
{
    const doc_node *env = given(container, "env");
    if (env && env->kind == DOC_MAP)
        return vertex_add_variable(r, env);
    for (int i = 0; env && i < env->n; i++)
        TRY(vertex_add_variable(r, env->item[i]));
    return OK;
}

static status read_pool(const reading *r, const doc_node *pool, int i)
{
    const doc_node *container = given(pool, "containerSpec"), *count = given(pool, "replicaCount");
    bool is_empty = pool->kind == DOC_NULL || !pool->n || (i && count && !schema_whole(count));
    if (is_empty && i)
        return OK;
    doc_node *config = map_at(r, pool);
    TRY(vertex_read_count(r, pool, i));
    TRY(read_machine(r, pool, i, config));
    TRY(read_environment(r, container));
    put(r, config, "imageUri", given(container, "imageUri"));
    put(r, config, "containerCommand", given(container, "command"));
    put(r, config, "containerArgs", given(container, "args"));
    put(r, r->input, arena_printf(r->memory, "%sConfig", prefix[i]), config);
    return OK;
}

static status read_pools(const reading *r, const doc_node *spec)
{
    const doc_node *pools = given(spec, "workerPoolSpecs");
    if (!pools || !pools->n)
        return DOC_FAIL(r->err, pools ? pools : spec, "workerPoolSpecs is missing, or has no pool");
    if (pools->kind == DOC_MAP)
        return read_pool(r, pools, 0);
    if (pools->n > POOLS)
        return DOC_FAIL(
            r->err, pools->item[POOLS],
            "a job has at most %d pools: the master, workers, parameter servers, evaluators",
            POOLS);
    for (int i = 0; i < pools->n; i++)
        TRY(read_pool(r, pools->item[i], i));
    return OK;
}

/* --- the rest --- */

static bool is_true(const doc_node *map, const char *key)
{
    const doc_node *n = given(map, key);
    return n && schema_bool(n);
}

static void vertex_read_scheduling(const reading *r, const doc_node *spec)
{
    const doc_node *scheduling = given(spec, "scheduling");
    if (!scheduling)
        return;
    doc_node *made = map_at(r, scheduling);
    put(r, made, "maxRunningTime", given(scheduling, "timeout"));
    put(r, r->input, "scheduling", made);
    r->j->is_tried_once = is_true(scheduling, "disableRetries");
    if (is_true(scheduling, "restartJobOnWorkerRestart"))
        job_warn(
            r->j, r->memory,
            "%s.restartJobOnWorkerRestart: ignored: a worker that starts again joins in where the "
            "job is",
            scheduling->path);
}

static status read_spec(const reading *r, const doc_node *spec)
{
    put(r, r->input, "scaleTier", word_at(r, spec, "CUSTOM"));
    put(r, r->input, "useChiefInTfConfig", word_at(r, spec, "true"));
    TRY(read_pools(r, spec));
    vertex_read_scheduling(r, spec);
    put(r, r->input, "serviceAccount", given(spec, "serviceAccount"));
    put(r, r->input, "jobDir", given(given(spec, "baseOutputDirectory"), "outputUriPrefix"));
    return OK;
}

status vertex_read(doc_node *top, arena *memory, job *j, doc_node **ret, error *err)
{
    bool is_alone = is_spec(top);
    j->is_of_vertex = true;
    TRY(schema_check(top, is_alone ? "CustomJobSpec" : "CustomJob", memory, job_warn_ignored, j,
                     err));
    const doc_node *spec = is_alone ? top : given(top, "jobSpec");
    if (!spec)
        return DOC_FAIL(err, top, "jobSpec is missing");
    reading r = {.memory = memory, .j = j, .err = err};
    doc_node *made = map_at(&r, top);
    r.input = map_at(&r, spec);
    TRY(read_spec(&r, spec));
    put(&r, made, "trainingInput", r.input);
    put(&r, made, "labels", given(top, "labels"));
    *ret = made;
    return OK;
}
