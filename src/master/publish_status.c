#include "master/publish_status.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "master/state.h"

#include <stdlib.h>

enum { AWAITS_MOST = 128, PARTS_MOST = 1024 };

/* What a task said longer ago does not tell how it stands. */
enum { OLD_US = 10 * SECOND_US };

/* --- figures --- */

static json_t *figures_of(const task_status *t)
{
    json_t *o = json_object();
    for (int c = 0; c < COUNTER_COUNT; c++)
        if (t->has[c])
            json_object_set_new(o, counter_rows[c].name, json_real(task_status_figure(t, (counter)c)));
    return o;
}

json_t *master_publish_self(void)
{
    char name[TASK_NAME];
    json_t *o = json_object(), *figures = json_object();
    counters_take_process();
    for (int c = 0; c < COUNTER_COUNT; c++)
        if (counter_rows[c].of == ROLE_MASTER || counter_rows[c].of == COUNTER_OF_ANY)
            json_object_set_new(figures, counter_rows[c].name,
                                json_real((double)counter_get((counter)c) * counter_rows[c].unit));
    json_object_set_new(o, "task", json_string(task_name((task){ROLE_MASTER, 0}, name)));
    json_object_set_new(o, "figures", figures);
    return o;
}

/* --- a worker's connections --- */

static json_t *tell_links(const master *m, const Wire__Status *said)
{
    char name[TASK_NAME];
    json_t *list = json_array();
    for (size_t i = 0; i < said->n_links; i++) {
        const Wire__Status__Link *l = said->links[i];
        if (l->server >= (uint32_t)m->o->n_servers || json_array_size(list) == (size_t)m->o->n_servers)
            continue;
        json_t *o = json_object();
        json_object_set_new(o, "server", json_string(master_server_name(m, (int32_t)l->server, name)));
        json_object_set_new(o, "up", json_boolean(l->up));
        json_object_set_new(o, "in_flight", json_integer((json_int_t)l->in_flight));
        json_object_set_new(o, "credit", json_integer((json_int_t)l->credit));
        json_object_set_new(o, "pushes", json_integer(l->pushes));
        json_object_set_new(o, "pulls", json_integer(l->pulls));
        json_array_append_new(list, o);
    }
    return list;
}

/* --- a server's parts --- */

/* It sums and answers it, and holds no copy of another's. */
static bool acts_for(const master *m, int32_t who, uint32_t part)
{
    const int32_t *shard_of = m->publishing.shard_of;
    return shard_of && shard_of[part] < m->assign.n && m->assign.shards[shard_of[part]].acting == who;
}

static void tell_parts(const master *m, int32_t who, const Wire__Status *said, json_t *o)
{
    const flat *f = m->plan.declaration.flat;
    int64_t left_out = said->parts_left_out;
    json_t *list = json_array();
    for (size_t i = 0; f && i < said->n_parts; i++) {
        uint32_t part = said->parts[i];
        if (part >= (uint32_t)f->n_live_parts)
            continue;
        if (json_array_size(list) == PARTS_MOST) {
            left_out++;
            continue;
        }
        json_int_t bytes = (json_int_t)flat_part_elements(f, (int32_t)part) * (json_int_t)sizeof(float);
        json_array_append_new(list, json_pack("[I, I, I, I, b]", (json_int_t)part, (json_int_t)said->versions[i], bytes,
                                              (json_int_t)said->pulls[i], acts_for(m, who, part)));
    }
    json_object_set_new(o, "parts", list);
    json_object_set_new(o, "parts_left_out", json_integer(left_out));
}

void master_publish_status(const master *m, task of, int64_t now_us, json_t *o)
{
    const task_status *t = statuses_of(&m->statuses, of);
    if (!t)
        return;
    json_object_set_new(o, "told_s", json_real((double)(now_us - t->told_us) / SECOND_US));
    json_object_set_new(o, "figures", figures_of(t));
    if (of.role == ROLE_PS)
        tell_parts(m, of.index - m->o->first_server, t->said, o);
    else
        json_object_set_new(o, "credits", tell_links(m, t->said));
}

/* --- waits --- */

typedef struct await {
    task of;
    const char *words, *whom;
    double since_s;
    bool usual;
} await;

typedef struct awaits {
    await *at;
    size_t n, cap;
    int64_t left_out;
} awaits;

static void add_await(awaits *a, await one)
{
    if (!*one.words)
        return;
    GROW(a->at, a->cap, a->n + 1);
    a->at[a->n++] = one;
}

static void add_own(awaits *a, const wait_list *own)
{
    for (size_t i = 0; i < own->n; i++) {
        const wait_said *w = &own->at[i];
        add_await(a, (await){{ROLE_MASTER, 0}, w->words, w->whom, w->since_s, w->level > LOG_WARN});
    }
    a->left_out += (int64_t)own->left_out;
}

/* Of a task that is there. */
static void add_said(awaits *a, const master *m, task of, int64_t now_us)
{
    const task_status *t = statuses_of(&m->statuses, of);
    if (!t || now_us - t->told_us > OLD_US)
        return;
    double age = (double)(now_us - t->told_us) / SECOND_US;
    for (size_t i = 0; i < t->said->n_waits; i++) {
        const Wire__Status__Wait *w = t->said->waits[i];
        add_await(a, (await){of, w->words, w->whom, w->seconds + age, w->usual});
    }
    a->left_out += t->said->waits_left_out;
}

static int by_length(const void *a, const void *b)
{
    double one = ((const await *)a)->since_s, other = ((const await *)b)->since_s;
    return (one < other) - (one > other);
}

static json_t *tell_await(const await *one)
{
    char name[TASK_NAME];
    json_t *o = json_object();
    json_object_set_new(o, "task", json_string(task_name(one->of, name)));
    json_object_set_new(o, "words", json_words(one->words));
    if (*one->whom)
        json_object_set_new(o, "whom", json_words(one->whom));
    json_object_set_new(o, "since_s", json_real(one->since_s));
    json_object_set_new(o, "usual", json_boolean(one->usual));
    return o;
}

void master_publish_awaits(const master *m, const wait_list *own, int64_t now_us, json_t *o)
{
    awaits all = {0};
    json_t *list = json_array();
    add_own(&all, own);
    for (size_t i = 0; i < m->members.n; i++)
        if (m->members.at[i].alive)
            add_said(&all, m, member_task(&m->members.at[i]), now_us);
    for (int32_t s = 0; s < m->o->n_servers; s++)
        if (m->servers[s].welcomed)
            add_said(&all, m, (task){ROLE_PS, m->o->first_server + s}, now_us);
    if (all.n)
        qsort(all.at, all.n, sizeof *all.at, by_length);
    for (size_t i = 0; i < all.n && i < AWAITS_MOST; i++)
        json_array_append_new(list, tell_await(&all.at[i]));
    int64_t over = all.n > AWAITS_MOST ? (int64_t)all.n - AWAITS_MOST : 0;
    json_object_set_new(o, "awaits", list);
    json_object_set_new(o, "awaits_left_out", json_integer(all.left_out + over));
    free(all.at);
}
