#include "master/statuses.h"

#include "common/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void statuses_fini(statuses *s)
{
    for (size_t i = 0; i < s->n; i++)
        wire_free(&s->at[i].said->base);
    free(s->at);
    *s = (statuses){0};
}

static task_status *find(const statuses *s, task of)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].of.role == of.role && s->at[i].of.index == of.index)
            return &s->at[i];
    return NULL;
}

static bool is_counter(counter c)
{
    return strcmp(counter_rows[c].type, "counter") == 0;
}

/* Whoever has the configuration may say anything: what is kept has an end, and makes sense. */
static status check(const Wire__Status *m, error *err)
{
    if (m->n_waits > STATUS_WAITS_MOST || m->n_figures > STATUS_FIGURES_MOST || m->n_links > STATUS_LINKS_MOST)
        return FAIL(err, E_PROTOCOL, "STATUS: %zu waits, %zu figures, %zu links", m->n_waits, m->n_figures, m->n_links);
    if (m->n_versions != m->n_parts || m->n_pulls != m->n_parts)
        return FAIL(err, E_PROTOCOL, "STATUS: %zu parts, %zu versions, %zu pulls", m->n_parts, m->n_versions,
                    m->n_pulls);
    for (size_t i = 0; i < m->n_waits; i++)
        if (!isfinite(m->waits[i]->seconds) || m->waits[i]->seconds < 0)
            return FAIL(err, E_PROTOCOL, "STATUS: a wait of %g s", m->waits[i]->seconds);
    for (size_t i = 0; i < m->n_links; i++)
        if (m->links[i]->in_flight > INT64_MAX || m->links[i]->credit > INT64_MAX)
            return FAIL(err, E_PROTOCOL, "STATUS: a credit out of range");
    return OK;
}

/* A figure that this program does not know is another version's. */
static int find_counter(const char *name)
{
    for (int c = 0; c < COUNTER_COUNT; c++)
        if (strcmp(counter_rows[c].name, name) == 0)
            return c;
    return -1;
}

static int64_t sum(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b; /* of counters, which are not below 0 */
}

static void begin_life(task_status *t, uint64_t life)
{
    for (int c = 0; c < COUNTER_COUNT; c++) {
        if (is_counter((counter)c))
            t->before[c] = sum(t->before[c], t->last[c]);
        t->last[c] = 0;
    }
    t->life = life;
}

static void take_figures(task_status *t, const Wire__Status *m)
{
    for (size_t i = 0; i < m->n_figures; i++) {
        int c = find_counter(m->figures[i]->name);
        if (c < 0 || (is_counter((counter)c) && m->figures[i]->value < 0))
            continue;
        t->has[c] = true;
        t->last[c] = m->figures[i]->value;
    }
}

status statuses_take(statuses *s, task of, uint64_t life, int64_t now_us, Wire__Status **said, error *err)
{
    TRY(check(*said, err));
    task_status *t = find(s, of);
    if (!t) {
        GROW(s->at, s->cap, s->n + 1);
        t = &s->at[s->n++];
        *t = (task_status){.of = of, .life = life};
    }
    if (t->life != life)
        begin_life(t, life);
    take_figures(t, *said);
    if (t->said)
        wire_free(&t->said->base);
    t->said = *said;
    *said = NULL;
    t->told_us = now_us;
    return OK;
}

const task_status *statuses_of(const statuses *s, task of)
{
    return find(s, of);
}

double task_status_figure(const task_status *t, counter c)
{
    return ((double)t->before[c] + (double)t->last[c]) * counter_rows[c].unit;
}
