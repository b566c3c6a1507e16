/*
 * The rules of a cluster's description. They are the Estimator's, in its order and with its words,
 * but for two: a cluster without a chief takes worker 0 for it, and an evaluator may stand beside a
 * `master`.
 */
#include "common/cluster/spec.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/json.h"

#include <stdlib.h>
#include <string.h>

/* Above any cluster; keeps a mistyped index from becoming a huge list. */
enum { TASK_LIMIT = 65536 };

/* What is read before it is judged. */
typedef struct reading {
    const spec_dialect *d;
    const json_t *cluster; /* NULL when absent or {} */
    const json_t *task;    /* NULL when absent */
    const char *primary;   /* name of the job that is there for the master; NULL: none */
    const char *type;      /* task.type; NULL or "" when absent */
    bool has_index;
    int64_t index;
    cluster *c;
    arena *memory;
    error *err;
} reading;

static status fail_value(const reading *r, const char *path, const char *expected,
                         const json_t *got)
{
    return FAIL(r->err, E_CONFIG, "%s: %s: expected %s, got %s", r->d->variable, path, expected,
                json_kind(got));
}

/* NULL for absent, null and {}: nothing is said. */
static status read_object(const reading *r, const json_t *spec, const char *key, const json_t **ret)
{
    const json_t *value = json_object_get(spec, key);
    *ret = NULL;
    if (!value || json_is_null(value))
        return OK;
    if (!json_is_object(value))
        return fail_value(r, key, "an object", value);
    if (json_object_size(value))
        *ret = value;
    return OK;
}

static status read_string(const reading *r, const json_t *spec, const char *key, const char **ret)
{
    const json_t *value = json_object_get(spec, key);
    if (!value || json_is_null(value))
        return OK;
    if (!json_is_string(value))
        return fail_value(r, key, "a string", value);
    *ret = arena_strdup(r->memory, json_string_value(value));
    return OK;
}

/* --- jobs --- */

/* "host:99999". What is no number may stand for a port in a cluster that nobody dials. */
static bool names_no_port(const char *address)
{
    const char *colon = strrchr(address, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    if (!digits || colon[1 + digits])
        return false;
    long port = digits <= 5 ? strtol(colon + 1, NULL, 10) : 0;
    return port < 1 || port > PORT_MOST;
}

static status spec_add_address(const reading *r, cluster_job *job, int64_t index, const char *path,
                               const json_t *value)
{
    const char *text = json_string_value(value);
    if (json_is_null(value) && r->d->null_is_later)
        return OK;
    if (!text)
        return fail_value(r, path, "a \"host:port\" string", value);
    if (!text[0])
        return FAIL(r->err, E_CONFIG, "%s: %s: expected a \"host:port\" string, got \"\"",
                    r->d->variable, path);
    if (names_no_port(text))
        return FAIL(r->err, E_CONFIG, "%s: %s: '%s': ports are from 1 to %d", r->d->variable, path,
                    text, PORT_MOST);
    job->address[index] = arena_strdup(r->memory, text);
    return OK;
}

static void spec_make_room(const reading *r, cluster_job *job, int64_t n)
{
    const char **wider = arena_alloc(r->memory, (size_t)n * sizeof *wider);
    if (job->n)
        memcpy(wider, job->address, (size_t)job->n * sizeof *wider);
    job->address = wider;
    job->n = (int32_t)n;
}

static status spec_read_list(const reading *r, cluster_job *job, const char *path, const json_t *list)
{
    size_t n = json_array_size(list);
    if (n > TASK_LIMIT)
        return FAIL(r->err, E_CONFIG, "%s: %s: expected at most %d tasks, got %zu", r->d->variable,
                    path, TASK_LIMIT, n);
    spec_make_room(r, job, (int64_t)n);
    for (size_t i = 0; i < n; i++)
        TRY(spec_add_address(r, job, (int64_t)i, arena_printf(r->memory, "%s[%zu]", path, i),
                             json_array_get(list, i)));
    return OK;
}

/* A whole number, also as text, as Python's int() takes it. */
static bool as_index(const char *text, int64_t *ret)
{
    if (!text)
        return false;
    char *end = NULL;
    *ret = strtoll(text, &end, 10);
    return end != text && end[strspn(end, " \t\n")] == '\0';
}

/* {"3": "host:port"}: the task of index 3; there may be others. */
static status read_sparse(const reading *r, cluster_job *job, const char *path,
                          const json_t *object)
{
    const char *key;
    json_t *value;
    int64_t index = 0, n = 0;
    json_object_foreach((json_t *)object, key, value)
    {
        if (!as_index(key, &index) || index < 0 || index >= TASK_LIMIT)
            return FAIL(r->err, E_CONFIG,
                        "%s: %s[\"%s\"]: expected an index from 0 to %d as the key", r->d->variable,
                        path, key, TASK_LIMIT - 1);
        n = index < n ? n : index + 1;
    }
    job->sparse = true;
    spec_make_room(r, job, n);
    json_object_foreach((json_t *)object, key, value)
    {
        as_index(key, &index);
        TRY(spec_add_address(r, job, index, arena_printf(r->memory, "%s[\"%s\"]", path, key), value));
    }
    return OK;
}

/* The position of a job's name among the dialect's, or -1. */
static int job_of(const spec_dialect *d, const char *name)
{
    for (int i = 0; i < SPEC_JOBS && d->job[i]; i++)
        if (strcmp(d->job[i], name) == 0)
            return i;
    return -1;
}

static status fail_job(const reading *r, const char *name)
{
    buf known = BUF_INIT;
    for (int i = 0; i < SPEC_JOBS && r->d->job[i]; i++)
        buf_addf(&known, " %s", r->d->job[i]);
    status st = FAIL(r->err, E_CONFIG, "%s: cluster.%s: unknown job; known:%s", r->d->variable,
                     name, known.data);
    buf_fini(&known);
    return st;
}

static status spec_read_job(reading *r, const char *name, const json_t *value)
{
    int i = job_of(r->d, name);
    if (i < 0)
        return fail_job(r, name);
    cluster_job job = {.n = 0};
    const char *path = arena_printf(r->memory, "cluster.%s", name);
    bool is_none = json_is_null(value) ||
                   (r->d->empty_is_none && json_is_object(value) && !json_object_size(value));
    if (is_none)
        return OK;
    if (json_is_array(value))
        TRY(spec_read_list(r, &job, path, value));
    else if (json_is_object(value))
        TRY(read_sparse(r, &job, path, value));
    else
        return fail_value(r, path,
                          "a list of \"host:port\" strings or an object {\"index\": \"host:port\"}",
                          value);
    role which = r->d->roles[i];
    if (which == ROLE_MASTER && !job.n)
        return OK;
    if (which == ROLE_MASTER)
        r->primary = r->d->job[i];
    r->c->jobs[which] = job;
    return OK;
}

static bool has_job(const reading *r, const char *name)
{
    const json_t *job = json_object_get(r->cluster, name);
    return json_array_size(job) || json_object_size(job);
}

static status spec_read_jobs(reading *r)
{
    if (has_job(r, "master") && has_job(r, "chief"))
        return FAIL(r->err, E_CONFIG,
                    "If `master` node exists in `cluster`, job `chief` is not supported.");
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)r->cluster, name, value) TRY(spec_read_job(r, name, value));
    return OK;
}

/* --- the task --- */

static status read_index(reading *r)
{
    const json_t *value = json_object_get(r->task, "index");
    if (!value || json_is_null(value))
        return OK;
    if (json_is_integer(value))
        r->index = json_integer_value(value);
    else if (!as_index(json_string_value(value), &r->index))
        return fail_value(r, "task.index", "an integer", value);
    r->has_index = true;
    return OK;
}

static status spec_read_task(reading *r)
{
    const json_t *type = json_object_get(r->task, "type");
    if (type && !json_is_null(type)) {
        if (!json_is_string(type))
            return fail_value(r, "task.type", "a string", type);
        r->type = arena_strdup(r->memory, json_string_value(type));
    }
    TRY(read_index(r));
    const json_t *trial = json_object_get(r->task, "trial");
    if (json_is_string(trial))
        r->c->trial = arena_strdup(r->memory, json_string_value(trial));
    else if (json_is_integer(trial))
        r->c->trial = arena_printf(r->memory, "%lld", (long long)json_integer_value(trial));
    else if (trial && !json_is_null(trial))
        return fail_value(r, "task.trial", "a string or an integer", trial);
    return OK;
}

static status read_rest(reading *r, const json_t *spec)
{
    const json_t *service = NULL;
    const char *ignored = NULL;
    TRY(read_object(r, spec, "service", &service));
    TRY(read_string(r, spec, "environment", &r->c->environment));
    TRY(read_string(r, spec, "session_master", &ignored));
    TRY(read_string(r, spec, "eval_session_master", &ignored));
    TRY(read_string(r, spec, "rpc_layer", &ignored));
    TRY(read_string(r, spec, "model_dir", &r->c->model_dir));
    if (r->c->model_dir && !r->c->model_dir[0])
        return FAIL(r->err, E_CONFIG, "%s: model_dir: expected a path, got \"\"", r->d->variable);
    const json_t *job = json_object_get(spec, "job");
    if (json_is_string(job)) {
        r->c->job_json = arena_strdup(r->memory, json_string_value(job));
    } else if (job && !json_is_null(job)) {
        char *text = json_text(job);
        r->c->job_json = arena_strdup(r->memory, text);
        free(text);
    }
    return OK;
}

/* --- judging --- */

static status judge_local(reading *r)
{
    bool is_worker = !r->type || strcmp(r->type, "worker") == 0 ||
                     (r->d->origin == CLUSTER_VERTEX && strcmp(r->type, r->d->primary) == 0);
    if (!is_worker)
        return FAIL(r->err, E_CONFIG, "If \"cluster\" is not set in %s, task type must be WORKER.",
                    r->d->variable);
    if (r->index != 0)
        return FAIL(r->err, E_CONFIG, "If \"cluster\" is not set in %s, task index must be 0.",
                    r->d->variable);
    r->c->origin = CLUSTER_LOCAL;
    r->c->task = (task){.role = ROLE_WORKER, .index = 0};
    spec_make_room(r, &r->c->jobs[ROLE_WORKER], 1);
    r->c->is_chief = true;
    r->c->master_is_worker = true;
    return OK;
}

/* "; it has chief (1), ps (2)" */
static const char *jobs_text(const reading *r)
{
    buf text = BUF_INIT;
    for (int i = 0; i < SPEC_JOBS && r->d->job[i]; i++) {
        const json_t *job = json_object_get(r->cluster, r->d->job[i]);
        if (job)
            buf_addf(&text, "%s%s (%zu)", text.size ? ", " : "", r->d->job[i],
                     json_is_array(job) ? json_array_size(job) : json_object_size(job));
    }
    const char *copy = arena_strdup(r->memory, text.data ? text.data : "");
    buf_fini(&text);
    return copy;
}

/* In a cluster whose workers come and go, a server is told no address but its own, whatever its
 * index. */
static bool is_lone_server(const reading *r, role which)
{
    const cluster_job *ps = &r->c->jobs[ROLE_PS];
    return which == ROLE_PS && ps->n == 1 && !ps->sparse && r->c->jobs[ROLE_WORKER].sparse;
}

static void place_lone_server(reading *r)
{
    cluster_job *ps = &r->c->jobs[ROLE_PS];
    const char *address = ps->address[0];
    spec_make_room(r, ps, r->index + 1);
    ps->address[0] = NULL;
    ps->address[r->index] = address;
    ps->sparse = true;
}

static status judge_primary(const reading *r)
{
    const cluster *c = r->c;
    bool is_evaluator = r->type && job_of(r->d, r->type) >= 0 &&
                        r->d->roles[job_of(r->d, r->type)] == ROLE_EVALUATOR;
    bool has_workers = c->jobs[ROLE_WORKER].n || c->jobs[ROLE_WORKER].sparse;
    if (!r->primary && !has_workers && !is_evaluator)
        return FAIL(r->err, E_CONFIG, "If \"cluster\" is set in %s, it must have one \"%s\" node.",
                    r->d->variable, r->d->primary);
    if (c->jobs[ROLE_MASTER].n > 1)
        return FAIL(r->err, E_CONFIG, "The \"cluster\" in %s must have only one \"%s\" node.",
                    r->d->variable, r->primary);
    return OK;
}

static const char *evaluator_job(const reading *r)
{
    int i = 0;
    while (r->d->roles[i] != ROLE_EVALUATOR)
        i++;
    return r->d->job[i];
}

/* It evaluates all checkpoints: a second one would do the same once more, and both had one sign of life. */
static status judge_evaluators(const reading *r)
{
    const cluster *c = r->c;
    if (c->jobs[ROLE_EVALUATOR].n > 1)
        return FAIL(r->err, E_CONFIG,
                    "The \"cluster\" in %s must have only one \"%s\" node: it evaluates all checkpoints.",
                    r->d->variable, evaluator_job(r));
    if (c->task.role == ROLE_EVALUATOR && c->task.index > 0)
        return FAIL(r->err, E_CONFIG,
                    "%s: task %s %d: a job has one evaluator, of index 0, which evaluates all checkpoints",
                    r->d->variable, r->type, (int)c->task.index);
    return OK;
}

static status judge_task(reading *r)
{
    if (!r->type || !r->type[0])
        return FAIL(r->err, E_CONFIG, "If \"cluster\" is set in %s, task type must be set.",
                    r->d->variable);
    if (!r->has_index)
        return FAIL(r->err, E_CONFIG, "If \"cluster\" is set in %s, task index must be set.",
                    r->d->variable);
    if (r->index < 0)
        return FAIL(r->err, E_CONFIG, "Task index must be non-negative number.");
    int job = job_of(r->d, r->type);
    role which = job < 0 ? ROLE_COUNT : r->d->roles[job];
    if (which != ROLE_EVALUATOR && (job < 0 || !json_object_get(r->cluster, r->type)))
        return FAIL(r->err, E_CONFIG, "%s is not a valid task_type in the cluster_spec: %s",
                    r->type, jobs_text(r));
    bool in_bounds = r->index < TASK_LIMIT;
    if (which != ROLE_EVALUATOR && !is_lone_server(r, which))
        in_bounds = r->index < r->c->jobs[which].n;
    if (!in_bounds)
        return FAIL(r->err, E_CONFIG,
                    "%lld is not a valid task_id for task_type %s in the cluster_spec: %s",
                    (long long)r->index, r->type, jobs_text(r));
    if (is_lone_server(r, which))
        place_lone_server(r);
    r->c->task = (task){.role = which, .index = (int32_t)r->index};
    return OK;
}

/* Chief, then the others by their names, servers last. Worker 0 as chief goes first. */
static int32_t global_id(const cluster *c)
{
    static const role with_chief[] = {ROLE_MASTER, ROLE_EVALUATOR, ROLE_WORKER, ROLE_PS};
    static const role without[] = {ROLE_WORKER, ROLE_EVALUATOR, ROLE_PS};
    const role *order = c->master_is_worker ? without : with_chief;
    int32_t before = 0;
    for (; *order != c->task.role; order++)
        before += c->jobs[*order].n;
    return before + c->task.index;
}

/* An evaluator must not dial the training cluster: it gets no addresses. */
static void settle_evaluator(cluster *c)
{
    memset(c->jobs, 0, sizeof c->jobs);
    c->global_id = -1;
}

static void settle_member(reading *r)
{
    cluster *c = r->c;
    const cluster_job *workers = &c->jobs[ROLE_WORKER], *ps = &c->jobs[ROLE_PS];
    c->master_is_worker = !r->primary;
    c->is_chief = c->task.role == ROLE_MASTER ||
                  (c->master_is_worker && c->task.role == ROLE_WORKER && c->task.index == 0);
    bool is_alone = c->jobs[ROLE_MASTER].n + workers->n <= 1 && !workers->sparse;
    c->hosted_servers = !ps->n && !ps->sparse && workers->n && !is_alone;
    c->global_id = global_id(c);
}

static status spec_judge(reading *r)
{
    if (!r->cluster)
        return judge_local(r);
    TRY(judge_primary(r));
    TRY(judge_task(r));
    TRY(judge_evaluators(r));
    r->c->origin = r->d->origin;
    r->c->primary_called_master = r->primary && strcmp(r->primary, "master") == 0;
    if (r->c->task.role == ROLE_EVALUATOR)
        settle_evaluator(r->c);
    else
        settle_member(r);
    return OK;
}

static status spec_read_spec(reading *r, const json_t *spec)
{
    if (!json_is_object(spec))
        return FAIL(r->err, E_CONFIG, "%s: expected an object, got %s", r->d->variable,
                    json_kind(spec));
    TRY(read_object(r, spec, "cluster", &r->cluster));
    TRY(read_object(r, spec, "task", &r->task));
    if (r->cluster)
        TRY(spec_read_jobs(r));
    TRY(spec_read_task(r));
    return read_rest(r, spec);
}

status spec_cluster(const spec_dialect *d, const json_t *spec, cluster **ret, error *err)
{
    reading r = {.d = d, .err = err};
    r.c = cluster_create(&r.memory);
    status st = spec_read_spec(&r, spec);
    if (st == OK)
        st = spec_judge(&r);
    if (st == OK)
        *ret = r.c;
    else
        cluster_destroy(&r.c);
    return st;
}

json_t *spec_create(const char *type, int index)
{
    return json_pack("{s:{}, s:{s:s, s:i}}", "cluster", "task", "type", type, "index", index);
}
