#include "cli/bench/load.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *bench_traffic_name(bench_traffic t)
{
    static const char *const names[] = {"push", "pull", "pushpull"};
    return names[t];
}

static status declare(int64_t elements, flat **ret, error *err)
{
    tensor_decl t = {
        .name = "vector",
        .rank = 1,
        .dim = {elements},
        .kind = TENSOR_TRAINABLE,
        .init = {.kind = INIT_CONSTANT, .a = 1.0f},
    };
    return flat_create(&t, 1, ret, err);
}

/* Nothing of it is trained; it says how the servers update, and what else a role asks for. */
static status settings(config **ret, error *err)
{
    config_source source = {
        .text = "{train_data_path: 'none', model: 'mlp', data_loader: {batch_size: 1},"
                " trainer: {optimizer: {type: 'sgd', lr: 1e-6}}}",
    };
    return config_load(&source, ret, err);
}

status bench_load_make(const bench_request *r, bench_load *ret, error *err)
{
    bool is_small = r->bytes < PART_MIN * (int64_t)sizeof(float);
    int64_t grain = is_small ? FLAT_ALIGN : PART_GRAIN,
            elements = r->bytes / (int64_t)sizeof(float);
    if (r->bytes < BENCH_BYTES_MIN || r->bytes > BENCH_BYTES_MAX ||
        r->bytes % (grain * (int64_t)sizeof(float)))
        return FAIL(err, E_USAGE,
                    "no part has %" PRId64 " bytes: must be a multiple of %" PRId64
                    " from %d to %d",
                    r->bytes, grain * (int64_t)sizeof(float), BENCH_BYTES_MIN, BENCH_BYTES_MAX);
    if (r->copies && (is_small || r->servers < 2 || r->traffic == BENCH_PUSH))
        return FAIL(err, E_USAGE,
                    "standbys need two servers, parts of %d bytes or more, and traffic that waits "
                    "for versions: pull or pushpull",
                    PART_MIN * (int)sizeof(float));
    bench_load l = {
        .request = *r,
        .is_small = is_small,
        .n_clients = is_small ? BENCH_IN_FLIGHT * r->servers : 1,
        .client_servers = is_small ? 1 : r->servers,
        .n_slots = is_small ? BENCH_IN_FLIGHT * r->workers : r->workers,
    };
    status st = settings(&l.config, err);
    if (st == OK)
        st = declare(is_small ? elements : elements * PARTS_WANTED, &l.flat, err);
    if (st != OK) {
        bench_load_fini(&l);
        return st;
    }
    BUG_ON(flat_part_elements(l.flat, 0) != elements);
    *ret = l;
    return OK;
}

void bench_load_fini(bench_load *l)
{
    flat_destroy(&l->flat);
    config_destroy(&l->config);
}

status bench_load_open_net(const bench_load *l, net **ret, error *err)
{
    net *n = NULL;
    TRY(net_create(&n, err));
    net_limit_strangers(n, 0);
    if (l->request.shares)
        net_share_memory(n);
    status st = l->request.key ? net_use_key(n, l->request.key, err) : OK;
    if (st == OK)
        *ret = n;
    else
        net_destroy(&n);
    return st;
}

int bench_load_server(const bench_load *l, int client)
{
    return l->is_small ? client % l->request.servers : 0;
}

uint32_t bench_load_slot(const bench_load *l, int worker, int client)
{
    int of_server = client / l->request.servers;
    return (uint32_t)(l->is_small ? worker * BENCH_IN_FLIGHT + of_server : worker);
}
