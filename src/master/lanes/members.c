#include "master/lanes/members.h"

#include "common/base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void members_fini(members *m)
{
    for (size_t i = 0; i < m->n; i++)
        free(m->at[i].files);
    free(m->at);
    free(m->guests);
    *m = (members){.at = NULL};
}

task member_task(const member *m)
{
    return (task){.role = m->trainer ? ROLE_MASTER : ROLE_WORKER, .index = (int32_t)m->index};
}

const char *member_name(const member *m, char buffer[TASK_NAME])
{
    return task_name(member_task(m), buffer);
}

static member *members_find(members *m, bool trainer, uint32_t index)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->at[i].trainer == trainer && m->at[i].index == index)
            return &m->at[i];
    return NULL;
}

bool members_has_read(members *m, const Wire__Hello *hello)
{
    const member *one = members_find(m, hello->trainer, hello->index);
    return one && one->alive && one->life == hello->life;
}

static member *add(members *m, bool trainer, uint32_t index)
{
    GROW(m->at, m->cap, m->n + 1);
    m->at[m->n] = (member){.trainer = trainer, .index = index, .connection = -1, .held = -1};
    return &m->at[m->n++];
}

/* Whoever knows the configuration may call itself any worker; what it makes us keep has an end. */
static status check_room(const members *m, const member *known, const Wire__Hello *hello, error *err)
{
    uint32_t lanes = members_lanes(m) - (known && known->alive ? known->lanes : 0);
    if (!known && m->n >= MEMBERS_MAX)
        return FAIL(err, E_PROTOCOL, "worker.%u: %d workers have come, more are not taken",
                    hello->index, MEMBERS_MAX);
    if (lanes + hello->lanes > MEMBERS_LANES_MAX)
        return FAIL(err, E_PROTOCOL, "worker.%u has %u lanes, the others %u: more than %d are not taken",
                    hello->index, hello->lanes, lanes, MEMBERS_LANES_MAX);
    return OK;
}

/* The bits depend on it: everybody's must be the first one's. */
static status check_fingerprint(members *m, const Wire__Hello *hello, error *err)
{
    if (!m->fingerprint[0])
        snprintf(m->fingerprint, sizeof m->fingerprint, "%s", hello->fingerprint);
    if (strcmp(m->fingerprint, hello->fingerprint) != 0)
        return FAIL(err, E_CONFIG,
                    "worker.%u on host %s computes other bits: '%s' there, '%s' on the first worker; "
                    "use one build, one processor type and one trainer.threads",
                    hello->index, hello->host, hello->fingerprint, m->fingerprint);
    return OK;
}

static bool is_at_work(const member *one, int64_t now_us, int64_t timeout_us)
{
    return one->alive && !one->suspect && now_us - one->heard_us < timeout_us;
}

status members_check_rival(members *m, const Wire__Hello *hello, const net_message *message,
                           int64_t now_us, int64_t timeout_us, bool *ret_waits, error *err)
{
    member *one = members_find(m, hello->trainer, hello->index);
    *ret_waits = one && one->life != hello->life && one->connection != message->connection &&
                 is_at_work(one, now_us, timeout_us);
    if (!*ret_waits)
        return OK;
    if (one->rival != hello->life) {
        one->rival = hello->life;
        one->rival_us = now_us;
    }
    if (now_us - one->rival_us < timeout_us)
        return OK;
    char name[TASK_NAME];
    return FAIL(err, E_CONFIG,
                "%s on host %s (process %" PRIu64 ") says that it is %s, which is at work on host %s "
                "(process %" PRIu64 "): give each task an index of its own",
                role_name(ROLE_WORKER), hello->host, hello->pid, member_name(one, name), one->host,
                one->pid);
}

status members_hello(members *m, const Wire__Hello *hello, const net_message *message, int64_t now_us,
                     member **ret, bool *ret_changed, error *err)
{
    if (!hello->lanes || hello->lanes > 4096)
        return FAIL(err, E_PROTOCOL, "worker.%u has %u lanes", hello->index, hello->lanes);
    TRY(check_fingerprint(m, hello, err));
    member *one = members_find(m, hello->trainer, hello->index);
    TRY(check_room(m, one, hello, err));
    if (!one)
        one = add(m, hello->trainer, hello->index);
    bool new_life = one->life != hello->life;
    *ret_changed = new_life || !one->alive;
    if (new_life) {
        one->incarnation = ++m->incarnations;
        one->whole = one->declared = one->told = false;
        free(one->files);
        one->files = hello->files[0] ? xstrdup(hello->files) : NULL;
    }
    one->alive = true;
    one->suspect = one->refused = false;
    one->life = hello->life;
    one->rival = 0;
    one->pid = hello->pid;
    one->lanes = hello->lanes;
    one->peer = message->from;
    one->connection = message->connection;
    one->heard_us = now_us;
    snprintf(one->host, sizeof one->host, "%s", hello->host);
    *ret = one;
    return OK;
}

member *members_by_peer(members *m, const net_peer *peer)
{
    for (size_t i = 0; i < m->n; i++)
        if (net_peer_equal(&m->at[i].peer, peer))
            return &m->at[i];
    return NULL;
}

member *members_by_connection(members *m, int connection)
{
    for (size_t i = 0; connection >= 0 && i < m->n; i++)
        if (m->at[i].connection == connection)
            return &m->at[i];
    return NULL;
}

void members_met(members *m, bool trainer, uint32_t index, int connection)
{
    if (members_find(m, trainer, index))
        return;
    size_t i = 0;
    while (i < m->n_guests && (m->guests[i].trainer != trainer || m->guests[i].index != index))
        i++;
    if (i == MEMBERS_MAX)
        return;
    if (i == m->n_guests) {
        GROW(m->guests, m->cap_guests, m->n_guests + 1);
        m->n_guests++;
    }
    m->guests[i] = (guest){.trainer = trainer, .index = index, .connection = connection};
}

void members_lost(members *m, int connection)
{
    for (size_t i = 0; i < m->n_guests; i++)
        if (m->guests[i].connection == connection)
            m->guests[i].connection = -1;
}

bool members_return(members *m, bool trainer, uint32_t index, const net_message *by)
{
    member *one = members_find(m, trainer, index);
    if (!one)
        return false;
    one->peer = by->from;
    one->connection = by->connection;
    one->alive = one->told = true;
    one->suspect = false;
    return true;
}

bool members_have_guests(const members *m)
{
    for (size_t i = 0; i < m->n_guests; i++)
        if (m->guests[i].connection >= 0)
            return true;
    return false;
}

size_t members_came(const members *m)
{
    return m->n + m->n_guests;
}

uint32_t members_alive(const members *m)
{
    uint32_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        n += m->at[i].alive;
    return n;
}

uint32_t members_of_others(const members *m)
{
    uint32_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        n += m->at[i].alive && !m->at[i].trainer;
    return n;
}

bool members_all_declared(const members *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->at[i].alive && !m->at[i].declared)
            return false;
    return true;
}

uint32_t members_lanes(const members *m)
{
    uint32_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        n += m->at[i].alive ? m->at[i].lanes : 0;
    return n;
}

void members_all_whole(members *m)
{
    for (size_t i = 0; i < m->n; i++)
        m->at[i].whole |= m->at[i].alive;
}

static int by_order(const void *a, const void *b)
{
    const view_lane *x = &((const hedge_lane *)a)->lane, *y = &((const hedge_lane *)b)->lane;
    if (x->trainer != y->trainer)
        return x->trainer ? -1 : 1;
    if (x->worker != y->worker)
        return x->worker < y->worker ? -1 : 1;
    return x->lane < y->lane ? -1 : x->lane > y->lane;
}

hedge_lane *members_lane_list(const members *m, size_t *ret_n)
{
    hedge_lane *lanes = xcalloc(members_lanes(m) + 1, sizeof *lanes);
    bool any_whole = false;
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        any_whole |= m->at[i].alive && m->at[i].whole;
    for (size_t i = 0; i < m->n; i++) {
        const member *one = &m->at[i];
        bool may = one->alive && (one->whole || !any_whole);
        for (uint32_t k = 0; may && k < one->lanes; k++)
            lanes[n++] = (hedge_lane){
                .lane = {.trainer = one->trainer, .worker = one->index, .lane = k},
                .suspect = one->suspect,
            };
    }
    qsort(lanes, n, sizeof *lanes, by_order);
    *ret_n = n;
    return lanes;
}
