#include "common/base/alloc.h"
#include "ps/table_entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a part begins with. */
static status read_first(const table *t, int32_t part, float *weights, float *const *slots, error *err)
{
    const entry *e = &t->entries[part];
    if (t->o.restore)
        return checkpoint_read_part(t->o.restore, part, weights, e->live ? slots : NULL, err);
    flat_part_init(t->o.flat, part, t->o.seed, weights);
    for (size_t i = 0; e->live && i < t->n_slots; i++) {
        float initial = optim_slot_initial(&t->groups[0].optim, i);
        bool is_average = optim_slot_is_average(&t->groups[0].optim, i);
        for (size_t k = 0; k < e->pool.n; k++)
            slots[i][k] = is_average ? weights[k] : initial;
    }
    return OK;
}

/* The same of its vectors, by way of the host's memory where they lie elsewhere. */
static status write_first(const table *t, int32_t part, error *err)
{
    const entry *e = &t->entries[part];
    part_store *store = t->o.store;
    size_t n_rows = 1 + (e->live ? t->n_slots : 0);
    void *memory = NULL;
    float *to[1 + OPTIM_SLOTS], *row[1 + OPTIM_SLOTS];
    if (!store->is_host)
        TRY(mem_alloc(n_rows * e->pool.n * sizeof(float), "a part on the host", &memory, err));
    for (size_t i = 0; i < n_rows; i++) {
        to[i] = (i ? e->slots[i - 1] : e->weights[e->version & 1])->floats;
        row[i] = memory ? (float *)memory + i * e->pool.n : to[i];
    }
    status st = read_first(t, part, row[0], row + 1, err);
    for (size_t i = 0; memory && st == OK && i < n_rows; i++)
        st = store->memory->write(store, to[i], row[i], e->pool.n, err);
    mem_free(memory);
    return st;
}

/* Where the weights lie: in place, where the lane reads them, or in a block. */
static status take_home(table *t, int32_t part, span **ret, error *err)
{
    entry *e = &t->entries[part];
    part_store *store = t->o.store;
    if (!store->weights)
        return block_pool_take(&e->pool, ret, err);
    *ret = block_over(store, store->weights + t->o.flat->parts[part].begin, e->pool.n);
    return OK;
}

static status entry_create(table *t, int32_t part, error *err)
{
    entry *e = &t->entries[part];
    TRY(entry_open(t, part, err));
    if (t->o.parts[part] == PART_AWAITED)
        return OK;
    e->version = e->norms_from = t->o.step;
    batch_set_fill(&e->applied, t->o.step);
    e->scales[e->version & 1] = t->o.scale;
    e->batches = steps_batches_until(&t->o.steps, t->o.step);
    e->awaited = 0;
    TRY(take_home(t, part, &e->weights[e->version & 1], err));
    for (size_t i = 0; e->live && i < t->n_slots; i++)
        TRY(block_pool_take(&e->pool, &e->slots[i], err));
    if (t->o.loads)
        return OK;
    if (t->o.restore && e->live && schedule_lists_units(&t->o.schedule))
        TRY(checkpoint_read_applied(t->o.restore, part, &e->applied, err));
    return write_first(t, part, err);
}

static size_t most_segments(const flat *f)
{
    size_t most = 0;
    for (int32_t p = 0; p < f->n_live_parts; p++) {
        size_t n;
        (void)flat_part_segments(f, p, &n);
        most = n > most ? n : most;
    }
    return most;
}

/* The store's, or one of the host's for the largest part. */
static status optimizer_create(table *t, size_t n_terms, error *err)
{
    const flat *f = t->o.flat;
    whole_step *whole = NULL; /* the optimizer is element-wise */
    t->optimizer = t->o.store->optimizer;
    BUG_ON(t->optimizer && t->whole_rules);
    if (t->optimizer)
        return OK;
    if (t->whole_rules)
        TRY(whole_create(most_segments(f), (size_t)flat_largest_part(f), whole_room(f, t->groups), &whole, err));
    t->optimizer = t->own = host_optimizer_create(t->o.thread_pool, n_terms, whole);
    return OK;
}

status table_create(const table_options *options, const table_hooks *hooks, table **ret, error *err)
{
    table *t = xcalloc(1, sizeof *t);
    t->o = *options;
    t->o.store = part_store_or_host(options->store);
    t->hooks = *hooks;
    t->verdict_step = -1;
    t->groups = xcalloc(options->n_groups, sizeof *t->groups);
    memcpy(t->groups, options->groups, options->n_groups * sizeof *t->groups);
    t->o.groups = NULL; /* the caller's */
    t->rules = xcalloc(2 * options->n_groups, sizeof *t->rules);
    if (optim_is_whole(&t->groups[0].optim))
        t->whole_rules = xcalloc(2 * options->n_groups, sizeof *t->whole_rules);
    if (t->whole_rules)
        t->shapes = xcalloc(most_segments(options->flat) + 1, sizeof *t->shapes);
    t->is_made = xcalloc(2 * options->n_groups, sizeof *t->is_made);
    t->n_slots = optim_slots(&t->groups[0].optim);
    t->entries = xcalloc((size_t)options->flat->n_parts, sizeof *t->entries);
    size_t n_terms = 0;
    for (int32_t p = 0; options->votes && p < options->flat->n_live_parts; p++) {
        size_t n = entry_terms(options->flat, p, NULL);
        n_terms = n > n_terms ? n : n_terms;
    }
    t->terms = xcalloc(n_terms + 1, sizeof *t->terms);
    t->tensors = xcalloc(n_terms + 1, sizeof *t->tensors);
    t->spans = xcalloc(most_segments(options->flat) + 1, sizeof *t->spans);
    t->summing = xcalloc((size_t)options->flat->n_live_parts + 1, sizeof *t->summing);
    status st = optimizer_create(t, n_terms, err);
    for (int32_t p = 0; st == OK && p < options->flat->n_parts; p++)
        if (options->parts[p] != PART_ELSEWHERE)
            st = entry_create(t, p, err);
    t->o.parts = NULL; /* the caller's */
    if (st != OK)
        table_destroy(&t);
    else
        *ret = t;
    return st;
}

void table_destroy(table **t)
{
    if (!t || !*t)
        return;
    for (int32_t p = 0; p < (*t)->o.flat->n_parts; p++)
        entry_close(&(*t)->entries[p]);
    free((*t)->entries);
    host_optimizer_destroy(&(*t)->own);
    free((*t)->terms);
    free((*t)->tensors);
    free((*t)->groups);
    free((*t)->rules);
    free((*t)->whole_rules);
    free((*t)->shapes);
    free((*t)->is_made);
    free((*t)->spans);
    free((*t)->summing);
    free(*t);
    *t = NULL;
}

uint64_t table_rows(const table *t, int32_t part)
{
    if (!table_is_complete(t, part))
        return 0;
    return t->entries[part].live ? 1 + t->n_slots + schedule_lists_units(&t->o.schedule) : 1;
}

status table_load(table *t, int32_t part, uint64_t row, const void *data, size_t bytes, error *err)
{
    bool is_set = row == 1 + t->n_slots;
    if (row >= table_rows(t, part) ||
        (!is_set && bytes != t->entries[part].pool.n * sizeof(float)))
        return FAIL(err, E_PROTOCOL, "part %d has no vector %llu of %zu bytes here", part,
                    (unsigned long long)row, bytes);
    entry *e = &t->entries[part];
    if (is_set)
        return batch_set_unpack(data, bytes, &e->applied, err);
    const span *to = row ? e->slots[row - 1] : e->weights[e->version & 1];
    return t->o.store->memory->write(t->o.store, to->floats, data, e->pool.n, err);
}

size_t table_bytes(const table *t)
{
    size_t bytes = 0;
    for (int32_t p = 0; p < t->o.flat->n_parts; p++)
        if (t->entries[p].held)
            bytes += t->entries[p].pool.n * sizeof(float);
    return bytes;
}

int64_t table_version(const table *t, int32_t part)
{
    return t->entries[part].version;
}

int64_t table_newest(const table *t)
{
    int64_t newest = t->o.step;
    for (int32_t p = 0; p < t->o.flat->n_live_parts; p++)
        if (t->entries[p].held && t->entries[p].version > newest)
            newest = t->entries[p].version;
    return newest;
}

uint32_t table_slots(const table *t, int64_t step)
{
    return steps_slots(&t->o.steps, step);
}

int64_t table_batches(const table *t, int32_t part)
{
    return t->entries[part].batches;
}

loss_scale table_scale(const table *t, int32_t part, int64_t version)
{
    return t->entries[part].scales[version & 1];
}

const batch_set *table_applied(const table *t, int32_t part)
{
    return &t->entries[part].applied;
}

int64_t table_last_unit(const table *t, int32_t part)
{
    return t->entries[part].unit;
}

bool table_has_floor(const table *t, int32_t part, int64_t floor)
{
    const entry *e = &t->entries[part];
    return !e->live || e->applied.floor >= floor;
}

void table_applied_by_all(const table *t, batch_set *ret)
{
    batch_set_fill(ret, t->o.total);
    for (int32_t p = 0; p < t->o.flat->n_live_parts; p++)
        if (t->entries[p].held)
            batch_set_intersect(ret, &t->entries[p].applied);
}

span *table_weights(table *t, int32_t part, int64_t version)
{
    entry *e = &t->entries[part];
    if (e->awaited)
        return NULL;
    if (!e->live)
        return span_hold(e->weights[e->version & 1]);
    if (version > e->version || version < e->version - 1 || version < 0)
        return NULL;
    span *b = e->weights[version & 1];
    return b ? span_hold(b) : NULL;
}

status table_read(const table *t, const float *from, size_t n, float *room, const float **ret,
                  error *err)
{
    return t->o.store->memory->read(t->o.store, from, n, room, ret, err);
}

void table_missing(const table *t, int32_t part, char *ret, size_t bytes)
{
    const entry *e = &t->entries[part];
    if (!t->o.schedule.in_order) {
        snprintf(ret, bytes, "%lld", (long long)e->applied.floor);
        return;
    }
    uint64_t arrived[64] = {0};
    uint32_t n = steps_slots(&t->o.steps, e->version);
    if (e->step_slots && n <= 64 * 64)
        tree_reducer_arrived(e->reducer, arrived);
    size_t used = 0;
    ret[0] = '\0';
    for (uint32_t s = 0; s < n && s < 64 * 64 && used + 12 < bytes; s++)
        if (!(arrived[s / 64] >> s % 64 & 1))
            used += (size_t)snprintf(ret + used, bytes - used, "%s%u", used ? "," : "", s);
}
