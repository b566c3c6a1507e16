#include "worker/crew.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct crew {
    runner **runners;
    int32_t n;
    size_t n_servers;
    net_socket **sockets; /* [n * n_servers] */
};

status crew_create(const crew_options *options, crew **ret, error *err)
{
    crew *c = xcalloc(1, sizeof *c);
    c->n_servers = (size_t)options->kv.n_servers;
    c->runners = xcalloc((size_t)options->n_lanes, sizeof(runner *));
    c->sockets = xcalloc((size_t)options->n_lanes * c->n_servers, sizeof(net_socket *));
    status st = OK;
    for (int32_t i = 0; st == OK && i < options->n_lanes; i++) {
        runner_options one = {.flat = options->flat,
                              .kv = options->kv,
                              .board = options->boards[i],
                              .lane = options->lanes[i],
                              .done = options->done,
                              .user = options->user};
        st = runner_create(&one, &c->runners[i], err);
        c->n += st == OK;
    }
    if (st != OK)
        crew_destroy(&c);
    else
        *ret = c;
    return st;
}

void crew_destroy(crew **c)
{
    if (!c || !*c)
        return;
    for (int32_t i = 0; i < (*c)->n; i++)
        runner_destroy(&(*c)->runners[i]);
    free((*c)->runners);
    free((*c)->sockets);
    free(*c);
    *c = NULL;
}

status crew_begin(crew *c, const wire_head *identity, const steps *s, error *err)
{
    for (int32_t i = 0; i < c->n; i++)
        TRY(runner_begin(c->runners[i], identity->job_id, identity->era, identity->incarnation, s,
                         err));
    return OK;
}

status crew_lease(crew *c, uint32_t index, int64_t batch, int64_t floor, error *err)
{
    return (int64_t)index < c->n ? runner_lease(c->runners[index], batch, floor, err) : OK;
}

status crew_serve(crew *c, error *err)
{
    for (int32_t i = 0; i < c->n; i++)
        TRY(runner_serve(c->runners[i], err));
    return OK;
}

status crew_tick(crew *c, error *err)
{
    for (int32_t i = 0; i < c->n; i++)
        TRY(runner_tick(c->runners[i], err));
    return OK;
}

net_socket *const *crew_sockets(crew *c)
{
    for (int32_t i = 0; i < c->n; i++)
        memcpy(c->sockets + (size_t)i * c->n_servers, kv_sockets(runner_kv(c->runners[i])),
               c->n_servers * sizeof(net_socket *));
    return c->sockets;
}

int64_t crew_reported(const crew *c)
{
    int64_t n = 0;
    for (int32_t i = 0; i < c->n; i++)
        n += runner_reported(c->runners[i]);
    return n;
}

bool crew_is_computing(const crew *c)
{
    for (int32_t i = 0; i < c->n; i++)
        if (runner_is_computing(c->runners[i]))
            return true;
    return false;
}

kv *crew_kv(const crew *c)
{
    return runner_kv(c->runners[0]);
}

bool crew_is_waiting(const crew *c, int64_t *ret_batch, int32_t *ret_part)
{
    bool any = false;
    for (int32_t i = 0; i < c->n; i++) {
        int64_t batch;
        int32_t part;
        if (!runner_is_waiting(c->runners[i], &batch, &part) || (any && batch >= *ret_batch))
            continue;
        any = true;
        *ret_batch = batch;
        *ret_part = part;
    }
    return any;
}
