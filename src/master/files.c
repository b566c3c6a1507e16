/*
 * Whose files are the job's: all workers must read the same data and model files, as far as they tell
 * (common/store/facts.h).
 *
 * What the job began with is kept in job.json, and every start is held to it. At a first start nobody
 * knows, so nobody is refused before all are there: the chief's own count, where it trains, else those
 * that most workers have, of as many the worker's of the lowest index. One wrong worker is then the one
 * that is refused, even if it came first.
 */
#include "master/state.h"

#include "common/base/alloc.h"
#include "common/store/facts.h"

#include <stdlib.h>

static const char *remedy(const master *m)
{
    return m->files.recorded ? "give every task the files that the job began with or, if these are to be "
                               "replaced, go on with data_check: \"off\""
                             : "give every task the same files, wherever they lie";
}

static const char *whose(const master *m)
{
    return m->files.recorded ? "this job began with" : "the others";
}

/* `who` reads other files than those that count. */
static status master_check(const master *m, const char *who, const char *host, const char *files, error *err)
{
    buf what = BUF_INIT;
    status st = OK;
    if (facts_differ(m->files.facts.data, files, &what))
        st = FAIL(err, E_DATA, "%s on host %s reads other files than %s: %s; %s", who, host, whose(m),
                  what.data, remedy(m));
    buf_fini(&what);
    return st;
}

/* --- which they are --- */

/* Workers that read the same. */
typedef struct group {
    const member *first; /* of the lowest index */
    size_t n;
} group;

static void count_in(group *groups, size_t *n, const member *one)
{
    size_t i = 0;
    while (i < *n && facts_differ(groups[i].first->files, one->files, NULL))
        i++;
    if (i == *n)
        groups[(*n)++] = (group){.first = one};
    groups[i].n++;
    if (one->index < groups[i].first->index)
        groups[i].first = one;
}

static bool is_before(const group *a, const group *b)
{
    return a->n != b->n ? a->n > b->n : a->first->index < b->first->index;
}

/* Whose files count; NULL: nobody tells. */
static const member *master_choose(const members *all)
{
    const member *chief = NULL;
    group *groups = xcalloc(all->n + 1, sizeof *groups), *most = groups;
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        const member *one = &all->at[i];
        if (!one->alive || !one->files)
            continue;
        chief = one->trainer ? one : chief;
        count_in(groups, &n, one);
    }
    for (size_t i = 1; i < n; i++)
        most = is_before(&groups[i], most) ? &groups[i] : most;
    const member *first = chief ? chief : most->first;
    free(groups);
    return first;
}

/* --- for the others of this folder --- */

status master_open_files(master *m, error *err)
{
    m->files.checks = facts_check_of(m->o->config) != FACTS_OFF;
    if (!m->files.checks) {
        m->files.settled = true;
        return jobdir_keep_files(m->o->dir, NULL, err);
    }
    jobdir_files(m->o->dir, &m->files.facts);
    m->files.settled = m->files.recorded = m->files.facts.size > 0;
    TRY(master_check(m, "the master", "this one", m->o->files, err));
    facts_merge(&m->files.facts, m->o->files);
    return OK;
}

status master_check_files(const master *m, const Wire__Hello *hello, error *err)
{
    char name[TASK_NAME];
    member one = {.trainer = hello->trainer, .index = hello->index};
    return m->files.checks ? master_check(m, member_name(&one, name), hello->host, hello->files, err) : OK;
}

status master_check_member(const master *m, const member *one, error *err)
{
    char name[TASK_NAME];
    return master_check(m, member_name(one, name), one->host, one->files, err);
}

status master_settle_files(master *m, error *err)
{
    m->files.settled = true;
    const member *first = master_choose(&m->members);
    return first && facts_merge(&m->files.facts, first->files)
               ? jobdir_keep_files(m->o->dir, m->files.facts.data, err)
               : OK;
}
