#include "master/cuts/saver.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/parts/placement.h"
#include "master/cuts/sweeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CUTS_OPEN = 4, CUTS_AHEAD = 2, FIRST_MARGIN = 4 };

typedef struct open_cut {
    bool used, planned;
    bool owed, waits;               /* the disk did not take it; and it was not tried since */
    uint32_t id;
    int64_t version, batches;
    loss_scale scale;
    int64_t margin;
    int32_t n_shards;
    manifest_shard *shards;         /* [n_servers], file NULL until written */
} open_cut;

struct saver {
    saver_options o;
    sweeper *sweeper;
    int32_t *placement;
    open_cut open[CUTS_OPEN];
    int64_t announced;              /* the furthest planned cut announced */
    int64_t last, batches;          /* newest committed */
    int64_t last_us;                /* when that was, or when we began */
    bool soon;                      /* one that nobody planned is asked for */
    bool hurry, hurried;            /* asked for, and nothing after it; announced */
    int64_t hurried_version;
    int64_t unevaluated;            /* the first epoch end that waits for its evaluation; -1: none */
};

saver *saver_create(const saver_options *options)
{
    saver *s = xcalloc(1, sizeof *s);
    s->o = *options;
    s->announced = s->last = options->begin;
    s->batches = steps_batches_until(&options->steps, options->begin);
    s->last_us = clock_us();
    s->sweeper = sweeper_create(options->dir);
    s->placement = xcalloc((size_t)options->flat->n_parts, sizeof *s->placement);
    placement_deal(options->flat, options->n_servers, s->placement);
    return s;
}

static void cut_close(const saver *s, open_cut *c)
{
    for (int32_t i = 0; c->used && i < s->o.n_servers; i++)
        free(c->shards[i].file);
    free(c->shards);
    *c = (open_cut){.used = false};
}

void saver_destroy(saver **s)
{
    if (!s || !*s)
        return;
    for (int i = 0; i < CUTS_OPEN; i++)
        cut_close(*s, &(*s)->open[i]);
    sweeper_destroy(&(*s)->sweeper);
    free((*s)->placement);
    free(*s);
    *s = NULL;
}

/* The first planned version after `v`. */
static int64_t next_planned(const saver *s, int64_t v)
{
    int64_t next = s->o.total;
    int64_t per_epoch = steps_per_epoch(&s->o.steps);
    if (s->o.epoch_ends && (v / per_epoch + 1) * per_epoch < next)
        next = (v / per_epoch + 1) * per_epoch;
    if (s->o.every_steps && (v / s->o.every_steps + 1) * s->o.every_steps < next)
        next = (v / s->o.every_steps + 1) * s->o.every_steps;
    return next;
}

static open_cut *free_cut(saver *s)
{
    for (int i = 0; i < CUTS_OPEN; i++)
        if (!s->open[i].used)
            return &s->open[i];
    return NULL;
}

static int planned_open(const saver *s)
{
    int n = 0;
    for (int i = 0; i < CUTS_OPEN; i++)
        n += s->open[i].used && s->open[i].planned;
    return n;
}

static void order_of(const saver *s, const open_cut *c, cut_order *ret)
{
    *ret = (cut_order){.id = c->id, .version = c->version, .must = saver_must(s, c->version)};
    snprintf(ret->dir, sizeof ret->dir, "checkpoints/step-%09lld.tmp.%u", (long long)c->version,
             s->o.lineage);
}

/* What a server wrote of a checkpoint that was set aside since is no answer to the order to write it again. */
static uint32_t id_of(const saver *s, int64_t version)
{
    enum { VERSIONS = 1 << 28, TIMES = 15 };
    uint32_t times = checkpoint_times_aside(s->o.dir, version);
    return (uint32_t)(version % (VERSIONS - 1)) + 1 + VERSIONS * (times < TIMES ? times : TIMES);
}

static void cut_begin(saver *s, open_cut *c, int64_t version, bool planned, cut_order *ret)
{
    *c = (open_cut){.used = true, .planned = planned, .id = id_of(s, version), .version = version,
                    .batches = -1, .margin = FIRST_MARGIN};
    c->shards = xcalloc((size_t)s->o.n_servers, sizeof *c->shards);
    order_of(s, c, ret);
}

/* Two cuts of one version would write the same files: they become one. */
static open_cut *open_at(saver *s, int64_t version)
{
    for (int i = 0; i < CUTS_OPEN; i++)
        if (s->open[i].used && s->open[i].version == version)
            return &s->open[i];
    return NULL;
}

/* A cut nobody planned: by the clock, or in a hurry. */
static bool unplanned(saver *s, open_cut *c, int64_t reported, cut_order *ret)
{
    if (reported < s->last) /* reports lag behind servers; what is committed is not cut again */
        reported = s->last;
    int64_t version = reported + FIRST_MARGIN;
    if (version > s->announced && s->announced > reported)
        version = s->announced;
    if (version > s->o.total)
        version = s->o.total;
    if (s->hurry) {
        s->hurry = false;
        s->hurried = true;
        s->hurried_version = version;
    }
    if (open_at(s, version))
        return false;
    cut_begin(s, c, version, false, ret);
    return true;
}

bool saver_next_order(saver *s, int64_t now_us, int64_t reported, cut_order *ret)
{
    open_cut *c = free_cut(s);
    if (!c)
        return false;
    if (s->hurry)
        return unplanned(s, c, reported, ret);
    if (s->hurried)
        return false;
    while (s->announced < s->o.total && planned_open(s) < CUTS_AHEAD) {
        s->announced = next_planned(s, s->announced);
        open_cut *same = open_at(s, s->announced);
        if (!same) {
            cut_begin(s, c, s->announced, true, ret);
            return true;
        }
        same->planned = true;
    }
    bool timed = s->o.every_s > 0 && (double)(now_us - s->last_us) * 1e-6 >= s->o.every_s;
    bool due = (s->soon || timed) && !saver_owes(s);
    if (!due || reported + FIRST_MARGIN >= s->o.total || reported <= s->last)
        return false;
    s->soon = false;
    s->last_us = now_us;
    return unplanned(s, c, reported, ret);
}

int64_t saver_limit(const saver *s)
{
    return s->hurried ? s->hurried_version : s->announced;
}

void saver_soon(saver *s)
{
    s->soon = true;
}

void saver_hurry(saver *s)
{
    if (!s->hurried)
        s->hurry = true;
}

bool saver_is_hurried(const saver *s)
{
    return s->hurry || s->hurried;
}

static open_cut *saver_find(saver *s, uint32_t id)
{
    for (int i = 0; i < CUTS_OPEN; i++)
        if (s->open[i].used && s->open[i].id == id)
            return &s->open[i];
    return NULL;
}

bool saver_dir(const saver *s, uint32_t id, char ret[64])
{
    cut_order order;
    const open_cut *c = saver_find((saver *)(uintptr_t)s, id);
    if (!c)
        return false;
    order_of(s, c, &order);
    memcpy(ret, order.dir, sizeof order.dir);
    return true;
}

bool saver_late(saver *s, uint32_t id, int64_t newest, cut_order *ret)
{
    open_cut *c = saver_find(s, id);
    if (!c || newest <= c->version)
        return false;
    bool was_hurried = s->hurried && s->hurried_version == c->version;
    c->margin *= 2;
    int64_t version = newest + c->margin < s->o.total ? newest + c->margin : s->o.total;
    if (was_hurried)
        s->hurried_version = version;
    const open_cut *other = open_at(s, version);
    if (other) {
        cut_close(s, c);
        order_of(s, other, ret);
        ret->replaces = id;
        return true;
    }
    c->version = version;
    c->id = id_of(s, version);
    for (int32_t i = 0; i < s->o.n_servers; i++) {
        free(c->shards[i].file);
        c->shards[i] = (manifest_shard){.file = NULL};
    }
    c->n_shards = 0;
    c->batches = -1;
    order_of(s, c, ret);
    ret->replaces = id;
    return true;
}

bool saver_is_planned(const saver *s, uint32_t id)
{
    const open_cut *c = saver_find((saver *)(uintptr_t)s, id);
    return c && c->planned && !(s->hurried && s->hurried_version == c->version);
}

bool saver_is_cutting(const saver *s, int64_t applied)
{
    for (int i = 0; i < CUTS_OPEN; i++)
        if (s->open[i].used && s->open[i].version <= applied)
            return true;
    return false;
}

bool saver_open_order(const saver *s, int32_t shard, size_t *at, cut_order *ret)
{
    while (*at < CUTS_OPEN) {
        const open_cut *c = &s->open[(*at)++];
        if (!c->used || c->waits || c->shards[shard].file)
            continue;
        order_of(s, c, ret);
        return true;
    }
    return false;
}

status saver_prune(const saver *s, int64_t best_step, error *err)
{
    int64_t per_epoch = steps_per_epoch(&s->o.steps);
    int64_t *spare = xcalloc((size_t)(s->o.total / per_epoch) + 2, sizeof *spare);
    size_t n = 0;
    spare[n++] = best_step;
    for (int64_t step = s->unevaluated; step > 0 && step <= s->o.total; step += per_epoch)
        spare[n++] = step;
    checkpoint_pruning p = {
        .keep = s->o.keep,
        .spare = spare,
        .n_spare = n,
        .era = s->o.lineage,
        .committed = s->last,
    };
    status st = checkpoint_prune(s->o.dir, &p, err);
    sweeper_go(s->sweeper);
    free(spare);
    return st;
}

static status saver_write_manifest(const saver *s, const open_cut *c, error *err)
{
    manifest m = {
        .step = c->version,
        .final = c->version == s->o.total,
        .seed = s->o.seed,
        .batches_per_step = s->o.steps.per_step,
        .epochs_done = c->version / steps_per_epoch(&s->o.steps),
        .lists_units = s->o.lists_units,
        .scales = s->o.scales,
        .scale = c->scale,
        .flat = (flat *)(uintptr_t)s->o.flat,
        .n_slots = s->o.n_slots,
        .n_shards = (size_t)s->o.n_servers,
        .shards = c->shards,
        .part_shard = s->placement,
    };
    snprintf(m.config_digest, sizeof m.config_digest, "%s", s->o.config_digest);
    flat_digest(s->o.flat, m.flat_digest);
    for (size_t i = 0; i < s->o.n_slots; i++)
        m.slot_names[i] = (char *)(uintptr_t)s->o.slot_names[i];
    return checkpoint_commit(s->o.dir, s->o.lineage, &m, err);
}

/* What need not stay takes room and does no other harm: a disk that errs here is no reason to
 * end. */
static void tidy(const saver *s, int64_t best_step)
{
    error why = ERROR_INIT;
    if (saver_prune(s, best_step, &why) != OK)
        LOG_W("CHECKPOINTS", "old ones stay: %s", why.text);
}

void saver_unevaluated(saver *s, int64_t step)
{
    s->unevaluated = step;
}

status saver_shard(saver *s, const shard_report *r, error *err)
{
    open_cut *c = saver_find(s, r->id);
    if (!c || c->version != r->version || c->shards[r->shard].file)
        return OK;
    if (c->batches >= 0 && r->batches >= 0 && c->batches != r->batches)
        return FAIL(err, E_FAIL, "checkpoint step %lld: servers applied %lld and %lld batches",
                    (long long)c->version, (long long)c->batches, (long long)r->batches);
    if (c->batches >= 0 && r->batches >= 0 && !loss_scale_equal(c->scale, r->scale))
        return FAIL(err, E_FAIL, "checkpoint step %lld: servers have different loss scales",
                    (long long)c->version);
    if (r->batches >= 0) {
        c->batches = r->batches;
        c->scale = r->scale;
    }
    manifest_shard *shard = &c->shards[r->shard];
    shard->file = xstrdup(r->file);
    shard->bytes = r->bytes;
    snprintf(shard->sha256, sizeof shard->sha256, "%s", r->sha256);
    c->n_shards++;
    return OK;
}

bool saver_has_shard(const saver *s, uint32_t id, int32_t shard)
{
    const open_cut *c = saver_find((saver *)(uintptr_t)s, id);
    return c && c->shards[shard].file;
}

/* Checkpoints are committed in their order. */
static open_cut *first_written(const saver *s)
{
    const open_cut *first = NULL;
    for (int i = 0; i < CUTS_OPEN; i++)
        if (s->open[i].used && (!first || s->open[i].version < first->version))
            first = &s->open[i];
    return first && first->n_shards == s->o.n_servers ? (open_cut *)(uintptr_t)first : NULL;
}

int64_t saver_written(const saver *s, uint32_t *ret_id)
{
    const open_cut *c = first_written(s);
    if (c && ret_id)
        *ret_id = c->id;
    return c ? c->version : -1;
}

status saver_commit(saver *s, int64_t best_step, error *err)
{
    open_cut *c = first_written(s);
    BUG_ON(!c);
    TRYF(saver_write_manifest(s, c, err), err, "checkpoint step %lld", (long long)c->version);
    if (c->version > s->last) {
        s->last = c->version;
        s->batches = c->batches;
    }
    s->last_us = clock_us();
    cut_close(s, c);
    tidy(s, best_step);
    return OK;
}

int64_t saver_version(const saver *s, uint32_t id)
{
    const open_cut *c = saver_find((saver *)(uintptr_t)s, id);
    return c ? c->version : -1;
}

bool saver_must(const saver *s, int64_t version)
{
    return version == s->o.total ||
           (s->o.epoch_ends && version % steps_per_epoch(&s->o.steps) == 0);
}

void saver_owe(saver *s, uint32_t id)
{
    open_cut *c = saver_find(s, id);
    if (c)
        c->owed = c->waits = true;
}

void saver_try_again(saver *s)
{
    for (int i = 0; i < CUTS_OPEN; i++)
        s->open[i].waits = false;
}

bool saver_owes(const saver *s)
{
    for (int i = 0; i < CUTS_OPEN; i++)
        if (s->open[i].used && s->open[i].owed)
            return true;
    return false;
}

void saver_fail(saver *s, uint32_t id)
{
    open_cut *c = saver_find(s, id);
    s->last_us = clock_us();
    if (c)
        cut_close(s, c);
}

void saver_discard(const saver *s, int64_t version)
{
    if (open_at((saver *)(uintptr_t)s, version))
        return;
    checkpoint_discard(s->o.dir, version, s->o.lineage);
    sweeper_go(s->sweeper);
}

bool saver_is_to_come(const saver *s, int64_t version)
{
    return version > s->announced;
}

int64_t saver_last(const saver *s)
{
    return s->last;
}

int64_t saver_batches(const saver *s)
{
    return s->batches;
}
