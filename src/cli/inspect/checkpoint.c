/* Checkpoints: what the manifest says, after everything it says was checked. */
#include "cli/inspect/kinds.h"
#include "cli/inspect/text.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/store/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>

static json_t *tell_shards(const manifest *m)
{
    json_t *shards = json_array();
    for (size_t i = 0; i < m->n_shards; i++) {
        json_int_t parts = 0;
        for (int32_t p = 0; p < m->flat->n_parts; p++)
            parts += m->part_shard[p] == (int32_t)i;
        json_array_append_new(shards, json_pack("{s:s, s:I, s:I, s:s}", "file", m->shards[i].file,
                                                "bytes", (json_int_t)m->shards[i].bytes, "parts",
                                                parts, "sha256", m->shards[i].sha256));
    }
    return shards;
}

static json_t *tell_slots(const manifest *m)
{
    json_t *slots = json_array();
    for (size_t i = 0; i < m->n_slots; i++)
        json_array_append_new(slots, json_string(m->slot_names[i]));
    return slots;
}

/* In the modes ssp and async: which batches every part has. NULL in mode sync. */
static status tell_batches(const checkpoint *c, json_t **ret, error *err)
{
    batch_set applied = BATCH_SET_INIT;
    *ret = NULL;
    if (!checkpoint_manifest(c)->lists_units)
        return OK;
    status st = checkpoint_read_applied_by_all(c, &applied, err);
    if (st == OK)
        *ret = json_pack("{s:I, s:I}", "floor", (json_int_t)applied.floor, "beyond",
                         (json_int_t)applied.beyond);
    batch_set_fini(&applied);
    return st;
}

status inspect_look_checkpoint(const char *dir, bool verify, json_t **ret, error *err)
{
    checkpoint *c = NULL;
    TRY(checkpoint_open(dir, verify, &c, err));
    const manifest *m = checkpoint_manifest(c);
    json_t *batches = NULL;
    status st = tell_batches(c, &batches, err);
    if (st != OK) {
        checkpoint_close(&c);
        return st;
    }
    json_int_t elements = 0;
    for (int32_t i = 0; i < m->flat->n_tensors; i++)
        elements += m->flat->count[i];
    char seed[32];
    snprintf(seed, sizeof seed, "%" PRIu64, m->seed);
    *ret = json_pack("{s:s, s:o, s:I, s:b, s:I, s:I, s:s, s:I, s:I, s:I, s:o, s:o, s:s, s:s, s:b}",
                     "kind", "checkpoint", "dir", json_words(dir), "step", (json_int_t)m->step, "final",
                     (int)m->final, "epochs_done", (json_int_t)m->epochs_done, "batches_per_step",
                     (json_int_t)m->batches_per_step, "seed", seed, "tensors",
                     (json_int_t)m->flat->n_tensors, "elements", elements, "parts",
                     (json_int_t)m->flat->n_parts, "slots", tell_slots(m), "shards", tell_shards(m),
                     "config_digest", m->config_digest, "flat_digest", m->flat_digest, "verified",
                     (int)verify);
    BUG_ON(!*ret);
    if (batches)
        json_object_set_new(*ret, "batches_of_all_parts", batches);
    if (m->scales)
        json_object_set_new(
            *ret, "loss_scale",
            json_pack("{s:f, s:I, s:I}", "scale", (double)loss_scale_factor(m->scale), "good_steps",
                      (json_int_t)m->scale.good, "skipped_steps", (json_int_t)m->scale.skipped));
    checkpoint_close(&c);
    return OK;
}

void inspect_print_checkpoint(const json_t *report, buf *ret)
{
    const json_t *slots = json_object_get(report, "slots");
    const json_t *shards = json_object_get(report, "shards");
    const char *end = inspect_true(report, "final") ? ", where training was to end" : "";
    buf_addf(ret, "%s: checkpoint of step %lld%s\n", inspect_str(report, "dir"),
             inspect_int(report, "step"), end);
    buf_addf(ret, "  epochs done       %lld\n", inspect_int(report, "epochs_done"));
    buf_addf(ret, "  batches per step  %lld\n", inspect_int(report, "batches_per_step"));
    const json_t *batches = json_object_get(report, "batches_of_all_parts");
    if (batches)
        buf_addf(ret, "  batches           every part has all below %lld, and %lld beyond\n",
                 inspect_int(batches, "floor"), inspect_int(batches, "beyond"));
    const json_t *scale = json_object_get(report, "loss_scale");
    if (scale)
        buf_addf(ret, "  loss scale        %g since %lld steps, %lld steps were skipped\n",
                 json_number_value(json_object_get(scale, "scale")),
                 inspect_int(scale, "good_steps"), inspect_int(scale, "skipped_steps"));
    buf_addf(ret, "  seed              %s\n", inspect_str(report, "seed"));
    buf_addf(ret, "  parameters        %lld elements in %lld tensors, %lld parts\n",
             inspect_int(report, "elements"), inspect_int(report, "tensors"),
             inspect_int(report, "parts"));
    buf_adds(ret, "  optimizer state   ");
    for (size_t i = 0; i < json_array_size(slots); i++)
        buf_addf(ret, "%s%s", i ? ", " : "", json_string_value(json_array_get(slots, i)));
    buf_addf(ret, "%s\n", json_array_size(slots) ? "" : "none");
    buf_addf(ret, "  config digest     %.16s\n", inspect_str(report, "config_digest"));
    buf_addf(ret, "  health            %s\n",
             inspect_true(report, "verified") ? "whole: every part once, every SHA-256 as stated"
                                              : "every part once; SHA-256 not checked");
    inspect_table t = {.columns = 4};
    for (size_t i = 0; i < json_array_size(shards); i++) {
        const json_t *shard = json_array_get(shards, i);
        buf bytes = BUF_INIT;
        inspect_add_bytes(&bytes, (double)inspect_int(shard, "bytes"));
        inspect_table_cell(&t, "%s", inspect_str(shard, "file"));
        inspect_table_cell(&t, "%lld parts", inspect_int(shard, "parts"));
        inspect_table_cell(&t, "%s", bytes.data);
        inspect_table_cell(&t, "sha256 %.16s", inspect_str(shard, "sha256"));
        buf_fini(&bytes);
    }
    inspect_table_flush(&t, ret);
}
