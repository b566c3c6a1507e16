/*
 * What a cut takes of a table: the newest weights and state, held as they are, or copied to the host; and the
 * blocks that are needed for it.
 */
#include "ps/table_entry.h"

/* `from` itself where it is on the host, else a copy. */
static status freeze(table *t, entry *e, span *from, span **ret, error *err)
{
    const float *copied = NULL;
    if (t->o.store->is_host) {
        *ret = span_hold(from);
        return OK;
    }
    TRY(block_pool_take(&e->copies, ret, err));
    return t->o.store->memory->read(t->o.store, from->floats, e->pool.n, (*ret)->floats, &copied, err);
}

status table_freeze(table *t, int32_t part, span **ret_weights, span *ret_slots[OPTIM_SLOTS],
                    error *err)
{
    entry *e = &t->entries[part];
    *ret_weights = NULL;
    for (size_t i = 0; i < OPTIM_SLOTS; i++)
        ret_slots[i] = NULL;
    TRY(freeze(t, e, e->weights[e->version & 1], ret_weights, err));
    for (size_t i = 0; i < OPTIM_SLOTS; i++)
        if (e->slots[i])
            TRY(freeze(t, e, e->slots[i], &ret_slots[i], err));
    return OK;
}

/* Where a cut takes blocks from, or makes updates take them from. */
static block_pool *cut_pool(const table *t, entry *e)
{
    return t->o.store->is_host ? &e->pool : &e->copies;
}

size_t table_lacks(const table *t, int32_t part, size_t *ret_floats)
{
    entry *e = &t->entries[part];
    if (!table_is_complete(t, part) || !e->live)
        return 0;
    size_t needed = 1 + t->n_slots, free_ones = block_pool_free(cut_pool(t, e));
    *ret_floats = e->pool.n;
    return needed > free_ones ? needed - free_ones : 0;
}

void table_add_block(table *t, int32_t part, span **b)
{
    entry *e = &t->entries[part];
    if (e->held && e->pool.n == span_n(*b)) {
        block_pool_add(cut_pool(t, e), b);
        return;
    }
    span_drop(*b);
    *b = NULL;
}

void table_settle(table *t, int32_t part)
{
    entry *e = &t->entries[part];
    for (size_t i = 0; table_is_complete(t, part) && e->live && i < t->n_slots; i++) {
        span *own = NULL;
        if (!span_is_shared(e->slots[i]) || !block_pool_free(&e->pool) ||
            block_pool_take(&e->pool, &own, NULL) != OK)
            continue;
        t->o.store->memory->copy(t->o.store, own->floats, e->slots[i]->floats, e->pool.n);
        span_drop(e->slots[i]);
        e->slots[i] = own;
    }
}
