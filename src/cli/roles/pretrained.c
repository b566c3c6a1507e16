#include "cli/roles/pretrained.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/config/training.h"
#include "common/store/checkpoint.h"
#include "model/initial.h"
#include "optim/settings.h"
#include "worker/variants.h"

#include <stdlib.h>

/* A part as a server would hold it before the first step. The slots' values are one buffer each, as
 * long as the longest part. */
typedef struct start {
    const flat *flat;
    float *values;
    optim optim;
    float *slots[CHECKPOINT_SLOTS];
    const char *slot_names[CHECKPOINT_SLOTS];
    batch_set applied;
    schedule schedule;
} start;

static status pretrained_fill(const config *c, const flat *f, start *s, buf *report, error *err)
{
    void *memory = NULL;
    *s = (start){.flat = f, .optim = optim_settings(c), .applied = BATCH_SET_INIT};
    const size_t most = (size_t)flat_largest_part(f);
    s->schedule = training_schedule(c);
    TRY(mem_alloc((size_t)f->n_elements * sizeof(float), "initial weights", &memory, err));
    s->values = memory;
    for (size_t i = 0; i < optim_slots(&s->optim); i++) {
        s->slot_names[i] = optim_slot_name(&s->optim, i);
        TRY(mem_alloc(most * sizeof(float), "initial optimizer state", &memory, err));
        s->slots[i] = memory;
        for (size_t k = 0; k < most; k++)
            s->slots[i][k] = optim_slot_initial(&s->optim, i);
    }
    return model_initial(config_section(c, "model"), f, (uint64_t)config_int(c, "random_seed"),
                         s->values, report, err);
}

static void start_fini(start *s)
{
    mem_free(s->values);
    for (size_t i = 0; i < CHECKPOINT_SLOTS; i++)
        mem_free(s->slots[i]);
    batch_set_fini(&s->applied);
}

static status write_shard(const start *s, const jobdir *dir, manifest_shard *ret, error *err)
{
    const flat *f = s->flat;
    char *path = jobdir_file(dir, "checkpoints/step-%09d.tmp.0/%s", 0, ret->file);
    shard_part *parts = xcalloc((size_t)f->n_parts + 1, sizeof *parts);
    for (int32_t p = 0; p < f->n_parts; p++) {
        parts[p] = (shard_part){.part = p, .weights = s->values + f->parts[p].begin};
        for (size_t i = 0; i < optim_slots(&s->optim); i++)
            parts[p].slots[i] = optim_slot_is_average(&s->optim, i) ? parts[p].weights : s->slots[i];
        if (schedule_lists_units(&s->schedule) && !f->parts[p].frozen)
            parts[p].applied = &s->applied;
    }
    status st = shard_write(
        &(shard_request){
            .path = path,
            .flat = f,
            .parts = parts,
            .n_parts = (size_t)f->n_parts,
            .slot_names = s->slot_names,
            .n_slots = optim_slots(&s->optim),
        },
        ret->sha256, &ret->bytes, err);
    free(parts);
    free(path);
    return st;
}

static status commit(const config *c, start *s, const jobdir *dir, error *err)
{
    manifest_shard shard = {.file = (char[]){"ps-0-of-1.safetensors"}};
    manifest m = {
        .seed = (uint64_t)config_int(c, "random_seed"),
        .batches_per_step = jobdir_batches_per_step(dir),
        .lists_units = schedule_lists_units(&s->schedule),
        .flat = (flat *)(uintptr_t)s->flat,
        .n_slots = optim_slots(&s->optim),
        .n_shards = 1,
        .shards = &shard,
        .part_shard = xcalloc((size_t)s->flat->n_parts + 1, sizeof *m.part_shard),
    };
    config_digest(c, m.config_digest);
    flat_digest(s->flat, m.flat_digest);
    for (size_t i = 0; i < m.n_slots; i++)
        m.slot_names[i] = (char *)(uintptr_t)s->slot_names[i];
    status st = write_shard(s, dir, &shard, err);
    if (st == OK)
        st = checkpoint_commit(dir, 0, &m, err);
    free(m.part_shard);
    return st;
}

static status tell_moving(const config *c, const variants *v, error *err)
{
    trainable m;
    buf line = BUF_INIT;
    TRY(variants_moving(c, v, &m, err));
    for (size_t i = 0; i < m.n; i++) {
        buf_addf(&line, "%s%s ", i ? "; " : "", m.rows[i].what);
        trainable_row_text(&m.rows[i], &line);
    }
    LOG_I("MOVES", "%s", line.data ? line.data : "nothing");
    buf_fini(&line);
    trainable_fini(&m);
    return OK;
}

static void tell(const config *c, const buf *report)
{
    LOG_I("WEIGHTS", "%s", report->data);
    char *advice = model_advice(config_section(c, "model"));
    if (advice)
        LOG_W("EXPORT", "%s", advice);
    free(advice);
}

static status begin(const config *c, const jobdir *dir, error *err)
{
    variants v = {.data = NULL};
    start s = {.flat = NULL};
    buf report = BUF_INIT;
    TRY(variants_build(c, &v, err));
    status st = pretrained_fill(c, v.flat, &s, &report, err);
    if (st == OK)
        st = commit(c, &s, dir, err);
    if (st == OK)
        st = tell_moving(c, &v, err);
    if (st == OK)
        tell(c, &report);
    buf_fini(&report);
    start_fini(&s);
    variants_fini(&v);
    return st;
}

status pretrained_begin(const config *c, const jobdir *dir, error *err)
{
    int64_t saved = -1;
    if (!model_brings_weights(config_section(c, "model")))
        return OK;
    TRY(checkpoint_newest(dir, &saved, err));
    if (saved >= 0)
        return OK;
    TRY(checkpoint_check_lost(dir, err));
    return begin(c, dir, err);
}
