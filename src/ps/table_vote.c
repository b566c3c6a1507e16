/*
 * What a table says of a part whose sum waits for the verdict: the norm of the gradient. On the host it is
 * computed at once; an engine is at it until the device gets there, and it is said when it is asked for.
 */
#include "ps/table_entry.h"

#include <string.h>

static status say(table *t, int32_t part, double norm, error *err)
{
    entry *e = &t->entries[part];
    e->norm = norm;
    return t->hooks.voted(t->hooks.user, part, e->version, norm, err);
}

status entry_vote(table *t, int32_t part, const float *grad, error *err)
{
    entry *e = &t->entries[part];
    e->last_norm = e->norm;
    if (!t->o.engine)
        return say(t, part, entry_square_sum(t, part, grad), err);
    e->summing = true;
    t->summing[t->n_summing++] = part;
    return entry_square_sum_begin(t, part, grad, err);
}

bool table_is_summing(const table *t)
{
    return t && t->n_summing;
}

status table_say_summed(table *t, error *err)
{
    for (bool is = table_is_summing(t); is;) {
        int32_t part = t->summing[0];
        double norm;
        TRY(entry_square_sum_end(t, part, &norm, err));
        t->entries[part].summing = false;
        memmove(t->summing, t->summing + 1, (size_t)--t->n_summing * sizeof *t->summing);
        TRY(say(t, part, norm, err));
        is = t->n_summing > 0;
        if (is)
            TRY(t->o.engine->ops->has_terms(t->o.engine, t->summing[0], &is, err));
    }
    return OK;
}

status table_say_vote(table *t, int32_t part, error *err)
{
    const entry *e = &t->entries[part];
    bool waits = e->held && e->root && !e->summing;
    return waits ? t->hooks.voted(t->hooks.user, part, e->version, e->norm, err) : OK;
}

status table_say_votes(table *t, error *err)
{
    for (int32_t p = 0; p < t->o.flat->n_live_parts; p++) {
        const entry *e = &t->entries[p];
        TRY(table_say_vote(t, p, err));
        if (t->o.votes && e->held && e->version > e->norms_from)
            TRY(t->hooks.voted(t->hooks.user, p, e->version - 1, e->root ? e->last_norm : e->norm, err));
    }
    return OK;
}
