/* Who has got how far in which group. What is done about it on the devices: exchange.c. */
#include "common/base/alloc.h"
#include "exec/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

peers *peers_create(int32_t n, const flat *f)
{
    peers *p = xcalloc(1, sizeof *p);
    *p = (peers){.n = n, .flat = f, .engines = xcalloc((size_t)n, sizeof(exec *))};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    p->groups = xcalloc((size_t)n, sizeof *p->groups);
    for (int32_t i = 0; i < n; i++) {
        reduce_group *u = &p->groups[i];
        u->peers = p;
        u->member = xcalloc((size_t)n, sizeof *u->member);
        u->node = xcalloc((size_t)n, sizeof *u->node);
        u->landed = xcalloc((size_t)n, sizeof *u->landed);
        u->made_by = xcalloc((size_t)f->n_live_parts + 1, sizeof *u->made_by);
        u->log = xcalloc((size_t)f->n_live_parts + 1, sizeof *u->log);
    }
    return p;
}

void peers_destroy(peers **p)
{
    if (!p || !*p)
        return;
    for (int32_t i = 0; i < (*p)->n; i++) {
        reduce_group *u = &(*p)->groups[i];
        free(u->member);
        free(u->node);
        free(u->landed);
        free(u->made_by);
        free(u->log);
    }
    if ((*p)->group)
        (*p)->ops->destroy(&(*p)->group);
    pthread_cond_destroy(&(*p)->changed);
    pthread_mutex_destroy(&(*p)->lock);
    free((*p)->groups);
    free((*p)->engines);
    free(*p);
    *p = NULL;
}

/* Copies, unless the backend knows better. */
static void find_way(peers *p)
{
    p->ops = p->engines[0]->ops->group;
    backend **devices = xcalloc((size_t)p->n, sizeof *devices);
    error why = ERROR_INIT;
    for (int32_t i = 0; i < p->n; i++)
        devices[i] = p->engines[i]->device;
    if (p->ops->create(devices, p->n, &p->group, &why) == OK)
        snprintf(p->way, sizeof p->way, "by NCCL");
    else
        snprintf(p->way, sizeof p->way, "by copies: %.*s",
                 (int)(sizeof p->way - sizeof "by copies: "), why.text);
    for (int32_t i = 0; !p->group && i < p->n; i++)
        for (int32_t k = 0; k < p->n; k++)
            if (k != i)
                p->ops->approach(devices[i], devices[k]);
    free(devices);
}

status peers_connect(peers *p, error *err)
{
    for (int32_t i = 0; i < p->n; i++)
        if (!p->engines[i])
            return FAIL(err, E_UNSUPPORTED, "lane %d has no memory for what others send it", i);
    find_way(p);
    p->connected = true;
    return OK;
}

const char *peers_way(const peers *p)
{
    return p->way;
}

reduce_group *reduce_group_form(peers *p, uint32_t n_slots, tree_node sum, const int32_t *members,
                                const tree_node *nodes, int32_t n)
{
    pthread_mutex_lock(&p->lock);
    reduce_group *u = p->groups, *end = u + (p->connected ? p->n : 0);
    while (u < end && u->n_inside)
        u++;
    if (u < end) {
        u->n = u->n_inside = n;
        u->n_slots = n_slots;
        u->sum = sum;
        u->n_log = 0;
        u->closed = false;
        memcpy(u->member, members, (size_t)n * sizeof *members);
        memcpy(u->node, nodes, (size_t)n * sizeof *nodes);
        memset(u->landed, 0, (size_t)n * sizeof *u->landed);
        memset(u->made_by, 0, (size_t)p->flat->n_live_parts * sizeof *u->made_by);
    }
    pthread_mutex_unlock(&p->lock);
    return u < end ? u : NULL;
}

/* Under the lock. */
static void tell(reduce_group *u)
{
    u->changes++;
    pthread_cond_broadcast(&u->peers->changed);
}

void reduce_group_leave(reduce_group *u)
{
    pthread_mutex_lock(&u->peers->lock);
    u->closed = true;
    u->n_inside--;
    tell(u);
    pthread_mutex_unlock(&u->peers->lock);
}

void peers_reset(peers *p)
{
    pthread_mutex_lock(&p->lock);
    for (int32_t i = 0; i < p->n; i++)
        p->groups[i].n_inside = 0;
    pthread_mutex_unlock(&p->lock);
}

void peers_wake(peers *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

/* --- for exchange.c --- */

void reduce_group_close(reduce_group *u)
{
    pthread_mutex_lock(&u->peers->lock);
    u->closed = true;
    tell(u);
    pthread_mutex_unlock(&u->peers->lock);
}

void reduce_group_break(reduce_group *u, error *err)
{
    peers *p = u->peers;
    pthread_mutex_lock(&p->lock);
    bool is_first = p->connected;
    p->connected = false;
    if (err && is_first)
        p->why = *err;
    else if (err && p->why.code != OK)
        *err = p->why;
    pthread_mutex_unlock(&p->lock);
    if (is_first && p->group)
        p->ops->abort(p->group);
}

void reduce_group_made(reduce_group *u, int32_t part)
{
    pthread_mutex_lock(&u->peers->lock);
    if (!u->closed && ++u->made_by[part] == u->n) {
        u->log[u->n_log++] = part;
        tell(u);
    }
    pthread_mutex_unlock(&u->peers->lock);
}

void reduce_group_landed(reduce_group *u, int32_t rank)
{
    pthread_mutex_lock(&u->peers->lock);
    u->landed[rank]++;
    tell(u);
    pthread_mutex_unlock(&u->peers->lock);
}

reduce_group_state reduce_group_look(reduce_group *u)
{
    pthread_mutex_lock(&u->peers->lock);
    reduce_group_state now = {.n_log = u->n_log, .n_whole = u->n_log, .closed = u->closed,
                       .changes = u->changes};
    for (int32_t r = 0; r < u->n; r++)
        now.n_whole = u->landed[r] < now.n_whole ? u->landed[r] : now.n_whole;
    pthread_mutex_unlock(&u->peers->lock);
    return now;
}

status reduce_group_wait(reduce_group *u, uint64_t changes, const exec_hooks *hooks, error *err)
{
    pthread_mutex_lock(&u->peers->lock);
    while (u->changes == changes && !hooks_cancelled(hooks))
        pthread_cond_wait(&u->peers->changed, &u->peers->lock);
    pthread_mutex_unlock(&u->peers->lock);
    return hooks_cancelled(hooks) ? FAIL(err, E_LOST, "cancelled") : OK;
}
