#include "worker/async_lanes.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct async_lanes {
    async_lane **lanes;
    int32_t n;
    size_t n_servers;
    net_socket **sockets; /* [n * n_servers] */
};

status async_lanes_create(const async_lanes_options *options, async_lanes **ret, error *err)
{
    async_lanes *c = xcalloc(1, sizeof *c);
    c->n_servers = (size_t)options->kv.n_servers;
    c->lanes = xcalloc((size_t)options->n_lanes, sizeof(async_lane *));
    c->sockets = xcalloc((size_t)options->n_lanes * c->n_servers, sizeof(net_socket *));
    status st = OK;
    for (int32_t i = 0; st == OK && i < options->n_lanes; i++) {
        async_lane_options one = {.flat = options->flat,
                              .kv = options->kv,
                              .shared = options->shared[i],
                              .lane = options->lanes[i],
                              .done = options->done,
                              .user = options->user};
        st = async_lane_create(&one, &c->lanes[i], err);
        c->n += st == OK;
    }
    if (st != OK)
        async_lanes_destroy(&c);
    else
        *ret = c;
    return st;
}

void async_lanes_destroy(async_lanes **c)
{
    if (!c || !*c)
        return;
    for (int32_t i = 0; i < (*c)->n; i++)
        async_lane_destroy(&(*c)->lanes[i]);
    free((*c)->lanes);
    free((*c)->sockets);
    free(*c);
    *c = NULL;
}

status async_lanes_begin(async_lanes *c, const wire_head *identity, const steps *s, error *err)
{
    for (int32_t i = 0; i < c->n; i++)
        TRY(async_lane_begin(c->lanes[i], identity->job_id, identity->era, identity->incarnation, s,
                             err));
    return OK;
}

status async_lanes_lease(async_lanes *c, uint32_t index, int64_t batch, int64_t floor, error *err)
{
    return (int64_t)index < c->n ? async_lane_lease(c->lanes[index], batch, floor, err) : OK;
}

status async_lanes_serve(async_lanes *c, error *err)
{
    for (int32_t i = 0; i < c->n; i++)
        TRY(async_lane_serve(c->lanes[i], err));
    return OK;
}

status async_lanes_tick(async_lanes *c, error *err)
{
    for (int32_t i = 0; i < c->n; i++)
        TRY(async_lane_tick(c->lanes[i], err));
    return OK;
}

net_socket *const *async_lanes_sockets(async_lanes *c)
{
    for (int32_t i = 0; i < c->n; i++)
        memcpy(c->sockets + (size_t)i * c->n_servers, kv_sockets(async_lane_kv(c->lanes[i])),
               c->n_servers * sizeof(net_socket *));
    return c->sockets;
}

int64_t async_lanes_reported(const async_lanes *c)
{
    int64_t n = 0;
    for (int32_t i = 0; i < c->n; i++)
        n += async_lane_reported(c->lanes[i]);
    return n;
}

bool async_lanes_is_computing(const async_lanes *c)
{
    for (int32_t i = 0; i < c->n; i++)
        if (async_lane_is_computing(c->lanes[i]))
            return true;
    return false;
}

kv *async_lanes_kv(const async_lanes *c)
{
    return async_lane_kv(c->lanes[0]);
}

static size_t plus(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

void async_lanes_describe(const async_lanes *c, int32_t server, kv_link *ret)
{
    kv_describe(async_lane_kv(c->lanes[0]), server, ret);
    for (int32_t i = 1; i < c->n; i++) {
        kv_link one;
        kv_describe(async_lane_kv(c->lanes[i]), server, &one);
        ret->is_up &= one.is_up;
        ret->in_flight += one.in_flight;
        ret->credit = plus(ret->credit, one.credit);
        ret->pushes += one.pushes;
        ret->pulls += one.pulls;
    }
}

bool async_lanes_is_waiting(const async_lanes *c, int64_t *ret_batch, int32_t *ret_part)
{
    bool any = false;
    for (int32_t i = 0; i < c->n; i++) {
        int64_t batch;
        int32_t part;
        if (!async_lane_is_waiting(c->lanes[i], &batch, &part) || (any && batch >= *ret_batch))
            continue;
        any = true;
        *ret_batch = batch;
        *ret_part = part;
    }
    return any;
}
