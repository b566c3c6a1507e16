#include "unit/ps/support_cut.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *slot_names[OPTIM_SLOTS];

static status tell_cuts(void *user, int32_t part, int64_t version, const float *grad, error *err)
{
    (void)grad, (void)err;
    server_set *v = user;
    int32_t i = v->servers.placement[part];
    cuts_applied(v->cuts[i], v->servers.tables[i], part, version);
    return OK;
}

static void no_vote(void *user, int32_t part, int64_t step, double square_sum)
{
    (void)user, (void)part, (void)step, (void)square_sum;
    fail_msg("nobody votes here");
}

void server_set_make(server_set *v, shape s, int32_t n, int64_t step, const checkpoint *restore)
{
    *v = (server_set){.shape = s};
    table_hooks hooks = {.applied = tell_cuts, .voted = no_vote, .user = v};
    v->servers = servers_make(&v->shape, n, &hooks, step, restore);
    assert_int_equal(net_waker_create(&v->waker, NULL), OK);
    for (size_t k = 0; k < optim_slots(&s.optim); k++)
        slot_names[k] = optim_slot_name(&s.optim, k);
    for (int32_t i = 0; i < n; i++)
        v->holders[i] = (holders){.acting = i, .standby = HOLDER_NONE};
    for (int32_t i = 0; i < n; i++) {
        cuts_options options = {
            .flat = s.flat,
            .placement = v->servers.placement,
            .shards = v->holders,
            .server = i,
            .n_servers = n,
            .slot_names = slot_names,
            .n_slots = optim_slots(&s.optim),
            .waker = v->waker,
        };
        assert_int_equal(cuts_create(&options, &v->cuts[i], NULL), OK);
    }
}

void server_set_fini(server_set *v)
{
    for (int32_t i = 0; i < v->servers.n; i++)
        cuts_destroy(&v->cuts[i]);
    servers_fini(&v->servers);
    shape_fini(&v->shape);
    net_waker_destroy(&v->waker);
    assert_int_equal(hands_out(), 0);
}

bool replace(server_set *v, int32_t i, uint32_t id, int64_t version, const char *dir,
             uint32_t replaces)
{
    bool late = true;
    cut_call call = {.id = id, .version = version, .dir = dir, .replaces = replaces};
    cuts_announce(v->cuts[i], v->servers.tables[i], &call, &late);
    return late;
}

bool announce(server_set *v, int32_t i, uint32_t id, int64_t version, const char *dir)
{
    return replace(v, i, id, version, dir, 0);
}

cut_result wait_result(server_set *v, int32_t i)
{
    cut_result r;
    while (!cuts_next_result(v->cuts[i], &r))
        assert_int_equal(net_poll(NULL, 0, v->waker, 10000, NULL), OK);
    return r;
}

checkpoint *commit(server_set *v, const char *job, int64_t step, const cut_result *results)
{
    const flat *f = v->shape.flat;
    manifest m = {.step = step,
                  .seed = SEED,
                  .batches_per_step = v->shape.steps.per_step,
                  .flat = v->shape.flat,
                  .n_slots = optim_slots(&v->shape.optim),
                  .n_shards = (size_t)v->servers.n,
                  .part_shard = v->servers.placement};
    manifest_shard shards[SERVERS_MAX];
    memset(m.config_digest, 'c', 64);
    flat_digest(f, m.flat_digest);
    m.shards = shards;
    for (size_t k = 0; k < m.n_slots; k++)
        m.slot_names[k] = (char *)(uintptr_t)slot_names[k];
    for (int32_t i = 0; i < v->servers.n; i++) {
        shards[i] =
            (manifest_shard){.file = (char *)(uintptr_t)results[i].file, .bytes = results[i].bytes};
        memcpy(shards[i].sha256, results[i].sha256, sizeof shards[i].sha256);
    }
    jobdir *d = NULL;
    checkpoint *c = NULL;
    error err = ERROR_INIT;
    assert_int_equal(jobdir_open(job, &d, NULL), OK);
    if (checkpoint_commit(d, 1, &m, &err) != OK)
        fail_msg("%s", err.text);
    char *dir = jobdir_file(d, "checkpoints/step-%09lld", (long long)step);
    if (checkpoint_open(dir, true, &c, &err) != OK)
        fail_msg("%s", err.text);
    free(dir);
    jobdir_close(&d);
    return c;
}

bool holds_live(const server_set *v, int32_t server)
{
    for (int32_t p = 0; p < v->shape.flat->n_live_parts; p++)
        if (v->servers.placement[p] == server)
            return true;
    return false;
}
