/*
 * Slurm: a step's tasks by SLURM_PROCID, on sorted hosts, each host's tasks on consecutive ports.
 *
 * Hosts are sorted with numbers by value (n2 before n10), which is the order in which Slurm itself
 * names and fills them. A rank that would get another host's address is refused: it could not
 * listen there.
 */
#include "common/cluster/slurm.h"

#include "common/base/alloc.h"
#include "common/base/natural.h"
#include "common/cluster/spec.h"

#include <stdlib.h>
#include <string.h>

enum { PORT_BASE = 8888, TASK_LIMIT = 65536, SLURM_ROLES = 5 };

static status add_name(json_t *hosts, const char *name, error *err)
{
    if (json_array_size(hosts) >= TASK_LIMIT)
        return FAIL(err, E_CONFIG, "SLURM_STEP_NODELIST: more than %d hosts", TASK_LIMIT);
    if (json_array_append_new(hosts, json_string(name)))
        return FAIL(err, E_CONFIG, "SLURM_STEP_NODELIST: a name is not valid UTF-8");
    return OK;
}

/* A run of digits as a number; 9 digits at most, so that it fits. */
static bool slurm_take_number(const char **cursor, long *ret, int *ret_digits)
{
    size_t n = strspn(*cursor, "0123456789");
    if (n == 0 || n > 9)
        return false;
    *ret = strtol(*cursor, NULL, 10);
    *ret_digits = (int)n;
    *cursor += n;
    return true;
}

static status fail_hosts(const char *text, const char *at, error *err)
{
    return FAIL(err, E_CONFIG,
                "SLURM_STEP_NODELIST: '%s': column %zu: expected host names as n[1-3,7],m5", text,
                (size_t)(at - text) + 1);
}

/* "[01-03,7]" behind `prefix`; *cursor stands at the bracket and ends behind the closing one. */
static status add_ranges(json_t *hosts, const char *text, const char **cursor, const char *prefix,
                         error *err)
{
    do {
        ++*cursor;
        long first = 0, last = 0;
        int width = 0, ignored = 0;
        if (!slurm_take_number(cursor, &first, &width))
            return fail_hosts(text, *cursor, err);
        last = first;
        if (**cursor == '-') {
            ++*cursor;
            if (!slurm_take_number(cursor, &last, &ignored) || last < first)
                return fail_hosts(text, *cursor, err);
        }
        for (long i = first; i <= last; i++) {
            char *name = xasprintf("%s%0*ld", prefix, width, i);
            status st = add_name(hosts, name, err);
            free(name);
            TRY(st);
        }
    } while (**cursor == ',');
    if (**cursor != ']')
        return fail_hosts(text, *cursor, err);
    ++*cursor;
    return OK;
}

static status add_hosts(json_t *hosts, const char *text, error *err)
{
    const char *cursor = text;
    for (;;) {
        size_t n = strcspn(cursor, ",[] \t");
        if (n == 0)
            return fail_hosts(text, cursor, err);
        char *name = xstrndup(cursor, n);
        cursor += n;
        status st = *cursor == '[' ? add_ranges(hosts, text, &cursor, name, err)
                                   : add_name(hosts, name, err);
        free(name);
        TRY(st);
        if (!*cursor)
            return OK;
        if (*cursor != ',')
            return fail_hosts(text, cursor, err);
        cursor++;
    }
}

status slurm_hosts(const char *text, json_t **ret, error *err)
{
    json_t *hosts = json_array();
    status st = add_hosts(hosts, text, err);
    if (st == OK)
        *ret = hosts;
    else
        json_decref(hosts);
    return st;
}

static status slurm_add_counts(json_t *counts, const char *text, error *err)
{
    for (const char *cursor = text;; cursor++) {
        long count = 0, times = 1;
        int ignored = 0;
        bool is_good = slurm_take_number(&cursor, &count, &ignored);
        if (is_good && strncmp(cursor, "(x", 2) == 0) {
            cursor += 2;
            is_good = slurm_take_number(&cursor, &times, &ignored) && *cursor++ == ')';
        }
        is_good = is_good && (*cursor == ',' || !*cursor) && count <= TASK_LIMIT &&
                  times <= TASK_LIMIT - (long)json_array_size(counts);
        if (!is_good)
            return FAIL(err, E_CONFIG,
                        "SLURM_STEP_TASKS_PER_NODE: '%s': expected counts as 3(x2),2,1", text);
        for (long i = 0; i < times; i++)
            json_array_append_new(counts, json_integer(count));
        if (!*cursor)
            return OK;
    }
}

status slurm_counts(const char *text, json_t **ret, error *err)
{
    json_t *counts = json_array();
    status st = slurm_add_counts(counts, text, err);
    if (st == OK)
        *ret = counts;
    else
        json_decref(counts);
    return st;
}

/* --- the step --- */

typedef struct node {
    const char *host;
    long tasks;
} node;

typedef struct step {
    long rank, tasks;
    json_t *hosts, *counts;
    node *nodes; /* [n_nodes], sorted by host */
    size_t n_nodes;
    long jobs[SLURM_ROLES]; /* tasks of each name below */
} step;

/* In the alphabetical order in which tasks are dealt. */
static const char *const job_names[SLURM_ROLES] = {"chief", "evaluator", "master", "ps", "worker"};

static int compare_nodes(const void *a, const void *b)
{
    const node *x = a, *y = b;
    int order = natural_compare(x->host, y->host);
    return order ? order : strcmp(x->host, y->host);
}

static status need_variable(const char *name, const char **ret, error *err)
{
    *ret = getenv(name);
    if (*ret && **ret)
        return OK;
    return FAIL(err, E_CONFIG, "%s is not set, though SLURM_STEP_NUM_TASKS is", name);
}

static status need_number(const char *name, long *ret, error *err)
{
    const char *text = NULL;
    TRY(need_variable(name, &text, err));
    const char *cursor = text;
    int ignored = 0;
    if (!slurm_take_number(&cursor, ret, &ignored) || *cursor)
        return FAIL(err, E_CONFIG, "%s: expected a number, got '%s'", name, text);
    return OK;
}

static status read_nodes(step *s, error *err)
{
    const char *hosts = NULL, *counts = NULL;
    TRY(need_variable("SLURM_STEP_NODELIST", &hosts, err));
    TRY(need_variable("SLURM_STEP_TASKS_PER_NODE", &counts, err));
    TRY(slurm_hosts(hosts, &s->hosts, err));
    TRY(slurm_counts(counts, &s->counts, err));
    s->n_nodes = json_array_size(s->hosts);
    if (s->n_nodes != json_array_size(s->counts))
        return FAIL(err, E_CONFIG,
                    "SLURM_STEP_TASKS_PER_NODE: '%s' names %zu hosts; SLURM_STEP_NODELIST '%s' %zu",
                    counts, json_array_size(s->counts), hosts, s->n_nodes);
    s->nodes = xcalloc(s->n_nodes, sizeof *s->nodes);
    for (size_t i = 0; i < s->n_nodes; i++)
        s->nodes[i] = (node){
            .host = json_string_value(json_array_get(s->hosts, i)),
            .tasks = (long)json_integer_value(json_array_get(s->counts, i)),
        };
    qsort(s->nodes, s->n_nodes, sizeof *s->nodes, compare_nodes);
    return OK;
}

/* "master:1,ps:2,worker:5" */
static status slurm_read_jobs(step *s, const char *text, error *err)
{
    for (const char *cursor = text;; cursor++) {
        size_t n = strcspn(cursor, ":,");
        int found = -1;
        for (int i = 0; i < SLURM_ROLES; i++)
            if (strlen(job_names[i]) == n && strncmp(cursor, job_names[i], n) == 0)
                found = i;
        long count = 1;
        int ignored = 0;
        bool is_good = found >= 0;
        cursor += n;
        if (is_good && *cursor == ':') {
            cursor++;
            is_good = slurm_take_number(&cursor, &count, &ignored) && count <= TASK_LIMIT;
        }
        if (!is_good || (*cursor && *cursor != ','))
            return FAIL(err, E_CONFIG,
                        "TEQUIO_SLURM_JOBS: '%s': column %zu: expected role:tasks with commas "
                        "between, as master:1,ps:2,worker:5; roles: chief evaluator master ps "
                        "worker",
                        text, (size_t)(cursor - text) + 1);
        s->jobs[found] += count;
        if (!*cursor)
            return OK;
    }
}

static status deal_jobs(step *s, error *err)
{
    const char *text = getenv("TEQUIO_SLURM_JOBS");
    if (text && *text)
        TRY(slurm_read_jobs(s, text, err));
    else
        s->jobs[SLURM_ROLES - 1] = s->tasks;
    long requested = 0;
    for (int i = 0; i < SLURM_ROLES; i++)
        requested += s->jobs[i];
    if (requested != s->tasks)
        return FAIL(err, E_CONFIG, "Requested %ld tasks but only %ld were assigned.", requested,
                    s->tasks);
    return OK;
}

static status check_host(const step *s, const char *host, error *err)
{
    const char *here = getenv("SLURMD_NODENAME");
    if (!here || !*here || strcmp(here, host) == 0)
        return OK;
    return FAIL(err, E_CONFIG,
                "SLURM_PROCID %ld runs on '%s', but among the sorted hosts it belongs to '%s'; "
                "start the step with --distribution=block, or set TF_CONFIG",
                s->rank, here, host);
}

/* Of the first task on each host; the others follow. */
static status first_port(const step *s, long *ret, error *err)
{
    const char *text = getenv("TEQUIO_SLURM_PORT");
    long most = 0;
    for (size_t i = 0; i < s->n_nodes; i++)
        most = s->nodes[i].tasks > most ? s->nodes[i].tasks : most;
    *ret = PORT_BASE;
    if (text && *text)
        TRY(need_number("TEQUIO_SLURM_PORT", ret, err));
    if (*ret < 1 || *ret > PORT_MOST)
        return FAIL(err, E_CONFIG, "TEQUIO_SLURM_PORT: %ld is no port; they are 1 to %d", *ret,
                    PORT_MOST);
    if (*ret + most - 1 > PORT_MOST)
        return FAIL(err, E_CONFIG,
                    "TEQUIO_SLURM_PORT: %ld tasks of a host from port %ld on: ports end at %d", most,
                    *ret, PORT_MOST);
    return OK;
}

/* Walks ranks over hosts and over jobs at once. */
static status make_spec(const step *s, json_t **ret, error *err)
{
    long port = 0;
    TRY(first_port(s, &port, err));
    json_t *spec = NULL, *jobs = json_object(), *list = NULL;
    long rank = 0, index = 0;
    int job = -1;
    status st = OK;
    for (size_t i = 0; i < s->n_nodes && st == OK; i++) {
        for (long slot = 0; slot < s->nodes[i].tasks && rank < s->tasks; slot++, rank++, index++) {
            while (job < 0 || index == s->jobs[job]) {
                job++;
                index = 0;
                list = json_array();
                if (s->jobs[job])
                    json_object_set(jobs, job_names[job], list);
                json_decref(list);
            }
            char *address = xasprintf("%s:%ld", s->nodes[i].host, port + slot);
            json_array_append_new(list, json_string(address));
            free(address);
            if (rank == s->rank) {
                st = check_host(s, s->nodes[i].host, err);
                spec = spec_create(job_names[job], (int)index);
            }
        }
    }
    if (st == OK && (rank != s->tasks || !spec))
        st = FAIL(err, E_CONFIG,
                  "SLURM_PROCID %ld, SLURM_STEP_NUM_TASKS %ld: the hosts hold %ld tasks", s->rank,
                  s->tasks, rank);
    if (st == OK) {
        json_object_set(spec, "cluster", jobs);
        *ret = spec;
    } else {
        json_decref(spec);
    }
    json_decref(jobs);
    return st;
}

status slurm_spec(json_t **ret, error *err)
{
    step s = {.tasks = 0};
    *ret = NULL;
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
    if (!tasks || !*tasks)
        return OK;
    TRY(need_number("SLURM_STEP_NUM_TASKS", &s.tasks, err));
    if (s.tasks <= 1)
        return OK;
    if (s.tasks > TASK_LIMIT)
        return FAIL(err, E_CONFIG, "SLURM_STEP_NUM_TASKS: %ld is more than %d", s.tasks,
                    TASK_LIMIT);
    TRY(need_number("SLURM_PROCID", &s.rank, err));
    status st = read_nodes(&s, err);
    if (st == OK)
        st = deal_jobs(&s, err);
    if (st == OK)
        st = make_spec(&s, ret, err);
    json_decref(s.hosts);
    json_decref(s.counts);
    free(s.nodes);
    return st;
}
