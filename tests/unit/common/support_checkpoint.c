#include "unit/common/support_checkpoint.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"

#include <stdlib.h>
#include <string.h>

const char *const trained_slot_names[CHECKPOINT_SLOTS] = {"m", "v", "momentum", "more"};

trained trained_make(int64_t live, uint64_t seed)
{
    const tensor_decl tensors[] = {
        {.name = "conv.weight", .rank = 2, .dim = {3, 5}, .decay = true},
        {.name = "frozen.table", .rank = 2, .dim = {10, 7}, .kind = TENSOR_FROZEN},
        {.name = "norm.mean", .rank = 1, .dim = {9}, .kind = TENSOR_STATE, .momentum = 0.9f},
        {.name = "dense.weight",
         .rank = 1,
         .dim = {live},
         .init = {.kind = INIT_UNIFORM, .a = -0.1f, .b = 0.1f}},
        {.name = "scale", .rank = 0, .init = {.kind = INIT_PUSHED}},
        {.name = "empty", .rank = 1, .dim = {0}},
    };
    trained t = {.flat = NULL};
    if (flat_create(tensors, COUNT_OF(tensors), &t.flat, NULL) != OK)
        abort();
    size_t n = (size_t)t.flat->n_elements;
    rng r = rng_make(seed, RNG_TEST, 77);
    t.weights = xcalloc(n, sizeof(float));
    for (size_t s = 0; s < CHECKPOINT_SLOTS; s++)
        t.slots[s] = xcalloc(n, sizeof(float));
    for (size_t i = 0; i < n; i++) {
        t.weights[i] = rng_uniform(&r, 4 * i);
        for (size_t s = 0; s < CHECKPOINT_SLOTS; s++)
            t.slots[s][i] = rng_uniform(&r, 4 * i + 1 + s);
    }
    return t;
}

void trained_fini(trained *t)
{
    flat_destroy(&t->flat);
    free(t->weights);
    for (size_t s = 0; s < CHECKPOINT_SLOTS; s++)
        free(t->slots[s]);
}

/* The parts of one server, and its row in the manifest. */
static status write_shard(const trained *t, const jobdir *d, trained_save save, size_t server,
                          manifest *m, error *err)
{
    manifest_shard *listed = &m->shards[server];
    shard_part *parts = xcalloc((size_t)t->flat->n_parts + 1, sizeof *parts);
    size_t n = 0;
    for (int32_t p = 0; p < t->flat->n_parts; p++) {
        if ((size_t)p % save.n_servers != server)
            continue;
        int64_t begin = t->flat->parts[p].begin;
        m->part_shard[p] = (int32_t)server;
        parts[n] = (shard_part){.part = p, .weights = t->weights + begin};
        for (size_t s = 0; s < save.n_slots && !t->flat->parts[p].frozen; s++)
            parts[n].slots[s] = t->slots[s] + begin;
        if (t->applied && !t->flat->parts[p].frozen)
            parts[n].applied = &t->applied[p];
        n++;
    }
    listed->file = xasprintf("ps-%zu-of-%zu.safetensors", server, save.n_servers);
    char *path = jobdir_file(d, "checkpoints/step-%09lld.tmp.%u/%s", (long long)save.step, save.era,
                             listed->file);
    status st = shard_write(&(shard_request){.path = path,
                                             .flat = t->flat,
                                             .parts = parts,
                                             .n_parts = n,
                                             .slot_names = trained_slot_names,
                                             .n_slots = save.n_slots,
                                             .step = save.step},
                            listed->sha256, &listed->bytes, err);
    free(path);
    free(parts);
    return st;
}

status trained_write_shards(const trained *t, const jobdir *d, trained_save save, manifest *ret,
                            error *err)
{
    manifest m = {.step = save.step,
                  .final = save.step == 40,
                  .seed = UINT64_MAX - 1,
                  .batches_per_step = 4,
                  .epochs_done = 2,
                  .lists_units = t->applied != NULL,
                  .n_slots = save.n_slots,
                  .n_shards = save.n_servers};
    memset(m.config_digest, 'c', 64);
    flat_digest(t->flat, m.flat_digest);
    if (flat_create(t->flat->tensors, (size_t)t->flat->n_tensors, &m.flat, NULL) != OK)
        abort();
    for (size_t s = 0; s < save.n_slots; s++)
        m.slot_names[s] = xstrdup(trained_slot_names[s]);
    m.shards = xcalloc(save.n_servers, sizeof *m.shards);
    m.part_shard = xcalloc((size_t)t->flat->n_parts, sizeof *m.part_shard);
    status st = OK;
    for (size_t server = 0; st == OK && server < save.n_servers; server++)
        st = write_shard(t, d, save, server, &m, err);
    if (st == OK)
        *ret = m;
    else
        manifest_fini(&m);
    return st;
}

status trained_commit(const trained *t, const jobdir *d, trained_save save, error *err)
{
    manifest m;
    TRY(trained_write_shards(t, d, save, &m, err));
    status st = checkpoint_commit(d, save.era, &m, err);
    manifest_fini(&m);
    return st;
}
