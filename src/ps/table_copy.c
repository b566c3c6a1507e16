/*
 * Copies of parts: what goes to another server so that it can stand by, and what comes from one.
 */
#include "ps/table_entry.h"

enum { VECTORS_MAX = 2 + OPTIM_SLOTS };

static void entry_await(entry *e)
{
    e->awaited = UINT64_MAX;
    e->version = e->copied = e->unit = -1;
}

status entry_open(table *t, int32_t part, error *err)
{
    entry *e = &t->entries[part];
    e->held = true;
    e->live = !t->o.flat->parts[part].frozen;
    block_pool_init(&e->pool, (size_t)flat_part_elements(t->o.flat, part), t->o.store);
    block_pool_init(&e->copies, e->pool.n, part_store_host());
    entry_await(e);
    if (!e->live || !t->o.schedule.in_order)
        return OK;
    return tree_reducer_create((uint32_t)t->o.steps.per_step, &e->reducer, err);
}

void entry_close(entry *e)
{
    if (!e->held)
        return;
    tree_reducer_destroy(&e->reducer);
    batch_set_fini(&e->applied);
    span_drop(e->root);
    span_drop(e->weights[0]);
    span_drop(e->weights[1]);
    for (size_t i = 0; i < OPTIM_SLOTS; i++)
        span_drop(e->slots[i]);
    block_pool_fini(&e->pool);
    block_pool_fini(&e->copies);
    *e = (entry){.held = false};
}

status table_hold(table *t, const part_hold *parts, error *err)
{
    for (int32_t p = 0; p < t->o.flat->n_parts; p++)
        if (parts[p] == PART_HELD && !table_is_complete(t, p))
            return FAIL(err, E_PROTOCOL, "part %d is not here", p);
    for (int32_t p = 0; p < t->o.flat->n_parts; p++) {
        if (parts[p] == PART_HELD)
            continue;
        entry_close(&t->entries[p]);
        if (parts[p] == PART_AWAITED)
            TRY(entry_open(t, p, err));
    }
    return OK;
}

bool table_is_complete(const table *t, int32_t part)
{
    return table_holds(t, part) && !t->entries[part].awaited;
}

bool table_is_voting(const table *t, int32_t part)
{
    return t->entries[part].root != NULL;
}

bool table_last_verdict(const table *t, int64_t step, verdict *ret)
{
    *ret = t->verdict;
    return t->o.votes && step >= 0 && t->verdict_step == step;
}

uint32_t table_vectors(const table *t, int32_t part)
{
    const entry *e = &t->entries[part];
    if (!e->live)
        return 1;
    return (uint32_t)(1 + t->n_slots + (e->weights[(e->version + 1) & 1] != NULL));
}

/* Where in an entry's pairs that vector of a copy of `version` belongs. */
static size_t place_of(const table *t, int64_t version, uint32_t row)
{
    return (size_t)(version + (row > t->n_slots)) & 1;
}

span *table_vector(const table *t, int32_t part, uint32_t row, loss_scale *ret_scale)
{
    const entry *e = &t->entries[part];
    size_t at = place_of(t, e->version, row);
    *ret_scale = e->scales[at];
    return span_hold(row && row <= t->n_slots ? e->slots[row - 1] : e->weights[at]);
}

/* Blocks of the version before may be read still: a copy comes into others. */
static status put_vector(table *t, entry *e, const table_row *row, error *err)
{
    size_t at = place_of(t, e->copied, row->at);
    span **to = row->at && row->at <= t->n_slots ? &e->slots[row->at - 1] : &e->weights[at];
    span *fresh = NULL;
    TRY(block_pool_take(&e->pool, &fresh, err));
    status st = t->o.store->memory->write(t->o.store, fresh->floats, row->data, e->pool.n, err);
    if (st != OK) {
        span_drop(fresh);
        return st;
    }
    span_drop(*to);
    *to = fresh;
    e->scales[at] = row->scale;
    return OK;
}

/* A copy of another version begins: what came of the last one does not count. */
static void table_copy_copy_begin(table *t, entry *e, int64_t version, uint32_t n_vectors)
{
    span_drop(span_move(&e->root));
    e->step_slots = 0;
    entry_await(e);
    e->copied = version;
    e->awaited = ((uint64_t)1 << n_vectors) - 1;
    if (n_vectors == 1 + t->n_slots) {
        span **before = &e->weights[(version + 1) & 1];
        span_drop(*before);
        *before = NULL;
    }
}

status table_take_copy(table *t, int32_t part, int64_t version, const table_row *row,
                       bool *ret_complete, error *err)
{
    *ret_complete = false;
    entry *e = table_holds(t, part) ? &t->entries[part] : NULL;
    uint32_t least = e && e->live ? (uint32_t)(1 + t->n_slots) : 1,
             most = e && e->live ? least + 1 : 1;
    if (!e || row->n < least || row->n > most || row->at >= row->n || row->n_floats != e->pool.n)
        return FAIL(err, E_PROTOCOL, "part %d: vector %u of %u and %zu elements does not fit", part,
                    row->at, row->n, row->n_floats);
    if (!e->awaited && version <= e->version)
        return OK; /* it is here */
    if (e->awaited && version < e->copied)
        return OK; /* a broken connection's last words: the copy has begun anew since */
    if (!e->awaited || version != e->copied)
        table_copy_copy_begin(t, e, version, row->n);
    if (!(e->awaited >> row->at & 1))
        return OK;
    TRY(put_vector(t, e, row, err));
    e->awaited &= ~((uint64_t)1 << row->at);
    if (e->awaited)
        return OK;
    e->version = e->norms_from = version;
    batch_set_fill(&e->applied, version);
    e->batches = steps_batches_until(&t->o.steps, version);
    *ret_complete = true;
    return OK;
}

bool table_holds(const table *t, int32_t part)
{
    return part >= 0 && part < t->o.flat->n_parts && t->entries[part].held;
}
