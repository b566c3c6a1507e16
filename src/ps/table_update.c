/*
 * A step of a part: what is pushed is summed, and at the root of the tree weights and state go one further,
 * at once or when the vote has been heard. What computes is the optimizer of the store (part_store.h).
 */
#include "ps/table_entry.h"

#include "common/base/clock.h"
#include "common/live/recorder.h"

#include <string.h>

/* Where nobody votes. */
static const verdict as_it_is = {.scale = 1};

/* --- the update --- */

/* What becomes of a tensor's elements at a version; `inverse` of the loss scale. A group has two rules: with decay
 * and without. */
static void rule_of(const table *t, const tensor_decl *d, int64_t version, float inverse, update_span *ret)
{
    bool is_frozen = version < t->groups[d->group].frozen_steps;
    ret->how = d->kind == TENSOR_STATE ? UPDATE_AVERAGE : is_frozen ? UPDATE_NOT : 2 * d->group + d->decay;
    ret->keep = d->momentum;
    ret->take = (1.0f - d->momentum) * inverse;
}

static update_shape shape_of(const tensor_decl *d)
{
    const int64_t *dim = d->dim;
    const int32_t rank = d->rank;
    return (update_shape){.rank = rank,
                          .first = rank ? dim[0] : 1,
                          .before_last = rank > 1 ? dim[rank - 2] : 1,
                          .last = rank ? dim[rank - 1] : 1};
}

/* The part's, in the table's memory for them; neighbours that go by one rule are one, unless tensors count. */
static size_t spans_of(const table *t, int32_t part, int64_t version, float inverse)
{
    const flat *f = t->o.flat;
    size_t n_segments, n = 0;
    const part_segment *s = flat_part_segments(f, part, &n_segments);
    for (size_t i = 0; i < n_segments; i++) {
        update_span one = entry_span(f, part, &s[i]), *last = n ? &t->spans[n - 1] : NULL;
        rule_of(t, &f->tensors[s[i].tensor], version, inverse, &one);
        if (t->shapes)
            t->shapes[n] = shape_of(&f->tensors[s[i].tensor]);
        if (last && last->how == one.how && one.how != UPDATE_AVERAGE && !t->whole_rules &&
            last->first + last->n == one.first)
            last->n += one.n;
        else
            t->spans[n++] = one;
    }
    return n;
}

/* Those that the part's spans ask for, at a version, for the step that counts as `step`. */
static void make_rules(const table *t, const update_part *u, int64_t version, int64_t step, float scale,
                       uint32_t reductions)
{
    memset(t->is_made, 0, 2 * t->o.n_groups * sizeof *t->is_made);
    for (size_t i = 0; i < u->n_spans; i++) {
        int32_t how = u->spans[i].how;
        if (how < 0 || t->is_made[how])
            continue;
        const optim_group *group = &t->groups[how / 2];
        t->is_made[how] = true;
        const int64_t counted = step - group->frozen_steps;
        const double rate = (double)lr_sequence_rate(&group->rates, version, reductions);
        optim moved_by = group->optim;
        moved_by.momentum *= momentum_schedule_share(&group->momentum, version);
        const optim_call call = {.step = counted > 1 ? counted : 1,
                                 .rate = (float)(group->share * rate),
                                 .scale = scale,
                                 .clip_value = t->o.clip_value,
                                 .decay = how % 2};
        if (t->whole_rules)
            t->whole_rules[how] = whole_rule_make(&moved_by, &call);
        if (!t->whole_rules || optim_has_elements(&moved_by))
            t->rules[how] = update_make(&moved_by, &call);
    }
}

/* The newest weights and state, a step further. What goes out may be the entry's own. */
static status update_entry(const table *t, int32_t part, verdict v, const float *grad, span *out,
                           span *const *slots_out, error *err)
{
    const entry *e = &t->entries[part];
    loss_scale now = entry_scale(e);
    float *in[OPTIM_SLOTS] = {NULL}, *to[OPTIM_SLOTS] = {NULL};
    update_part u = {.rules = t->rules,
                     .whole = t->whole_rules,
                     .shapes = t->shapes,
                     .slots = t->n_slots,
                     .spans = t->spans,
                     .n_spans = spans_of(t, part, e->version, loss_scale_inverse(now))};
    update_average(&t->groups[0].optim, e->version + 1 - now.skipped, &u);
    make_rules(t, &u, e->version, e->version + 1 - now.skipped, v.scale * loss_scale_inverse(now), v.reductions);
    for (size_t i = 0; i < t->n_slots; i++) {
        in[i] = e->slots[i]->floats;
        to[i] = slots_out[i]->floats;
    }
    return t->optimizer->ops->update(t->optimizer, &u, grad, e->weights[e->version & 1]->floats,
                                     out->floats, in, to, err);
}

/* State nobody else holds is updated in place; state a cut holds moves to a fresh block. */
static status slots_writable(table *t, entry *e, span *ret_out[OPTIM_SLOTS], error *err)
{
    for (size_t i = 0; i < t->n_slots; i++) {
        ret_out[i] = e->slots[i];
        if (span_is_shared(e->slots[i]))
            TRY(block_pool_take(&e->pool, &ret_out[i], err));
    }
    return OK;
}

/* *ret: the weights of the next version; in the place of the last one, or in a block of their own. */
static status table_update_move(table *t, int32_t part, verdict v, const float *grad, span **ret, error *err)
{
    entry *e = &t->entries[part];
    span *slots[OPTIM_SLOTS] = {NULL}, **before = &e->weights[e->version & 1];
    part_store *store = t->o.store;
    if (store->weights)
        *ret = span_hold(*before);
    else
        TRY(block_pool_take(&e->pool, ret, err));
    TRY(slots_writable(t, e, slots, err));
    TRY(update_entry(t, part, v, grad, *ret, slots, err));
    for (size_t i = 0; i < t->n_slots; i++) {
        if (slots[i] != e->slots[i])
            span_drop(e->slots[i]);
        e->slots[i] = slots[i];
    }
    if (store->weights)
        span_drop(span_move(before));
    return store->memory->give(store, part, err);
}

/* Version t becomes t+1. The block of version t-1 goes first, so that its memory can serve. */
static status table_update_apply(table *t, int32_t part, span *root, verdict v, error *err)
{
    entry *e = &t->entries[part];
    int64_t next = e->version + 1;
    span **out = &e->weights[next & 1];
    span_drop(*out);
    *out = v.skip ? span_hold(e->weights[e->version & 1]) : NULL;
    RECORDER_BEGIN(0, .kind = EVENT_UPDATE, .lane = -1, .step = next, .a = part, .at_us = clock_us());
    status st = v.skip ? OK : table_update_move(t, part, v, root->floats, out, err);
    if (st == OK) {
        recorder_end(-1, EVENT_UPDATE, 0, clock_us());
        e->scales[next & 1] = loss_scale_next(&t->o.scaling, entry_scale(e), v.skip);
        e->version = next;
        (void)batch_set_add(&e->applied, e->unit);
        e->batches += e->step_slots;
        e->step_slots = 0;
        st = t->hooks.applied(t->hooks.user, part, next, root->floats, err);
    }
    span_drop(root);
    return st;
}

static status apply_root(table *t, int32_t part, verdict v, error *err)
{
    span *root = t->entries[part].root;
    t->entries[part].root = NULL;
    return table_update_apply(t, part, root, v, err);
}

static status root_reached(table *t, int32_t part, span *root, error *err)
{
    entry *e = &t->entries[part];
    if (t->hooks.summed)
        t->hooks.summed(t->hooks.user, part, e->version, e->step_slots, root);
    if (!t->o.votes)
        return table_update_apply(t, part, root, as_it_is, err);
    e->root = root;
    TRY(entry_vote(t, part, root->floats, err));
    /* a standby hears the verdict from the master and the sum from another server, in any order */
    return e->version == t->verdict_step ? apply_root(t, part, t->verdict, err) : OK;
}

/* --- what is pushed --- */

/* The gradient of a batch, in whatever order batches come. */
static status push_batch(table *t, int32_t part, int64_t batch, span *sum, push_result *ret,
                         error *err)
{
    entry *e = table_holds(t, part) ? &t->entries[part] : NULL;
    *ret = PUSH_WRONG;
    if (!e || !e->live)
        error_set(err, E_PROTOCOL, "part %d is not trained on this server", part);
    else if (batch < 0 || batch >= t->o.total || !batch_set_fits(&e->applied, batch))
        error_set(err, E_PROTOCOL, "part %d: batch %lld of %lld was pushed when all below %lld are in",
                  part, (long long)batch, (long long)t->o.total, (long long)e->applied.floor);
    else if (span_n(sum) != e->pool.n)
        error_set(err, E_PROTOCOL, "part %d: %zu elements were pushed, it has %zu", part,
                  span_n(sum), e->pool.n);
    else
        *ret = schedule_may_apply(&t->o.schedule, &e->applied, batch) ? PUSH_TAKEN : PUSH_STALE;
    if (*ret == PUSH_TAKEN) {
        e->unit = batch;
        e->step_slots = 1;
        return table_update_apply(t, part, sum, as_it_is, err);
    }
    span_drop(sum);
    return OK;
}

status table_push(table *t, int32_t part, int64_t step, uint32_t n_slots, tree_node node, span *sum,
                  push_result *ret, error *err)
{
    if (!t->o.schedule.in_order)
        return push_batch(t, part, step, sum, ret, err);
    part_store *store = t->o.store;
    entry *e = table_holds(t, part) ? &t->entries[part] : NULL;
    *ret = PUSH_WRONG;
    if (!e || !e->live)
        error_set(err, E_PROTOCOL, "part %d is not trained on this server", part);
    else if (e->awaited)
        error_set(err, E_PROTOCOL, "part %d is not complete on this server", part);
    else if (step > e->version || step < 0)
        error_set(err, E_PROTOCOL, "part %d: step %lld was pushed at version %lld", part,
                  (long long)step, (long long)e->version);
    else if (step == e->version && (n_slots != steps_slots(&t->o.steps, step) ||
                                    !tree_node_is_valid(node, n_slots) || span_n(sum) != e->pool.n))
        error_set(err, E_PROTOCOL,
                  "part %d: node (%u,%u) of %u slots and %zu elements does not fit", part,
                  node.level, node.index, n_slots, span_n(sum));
    else
        *ret = step < e->version || e->root ? PUSH_STALE : PUSH_TAKEN;
    if (*ret != PUSH_TAKEN) {
        span_drop(sum);
        return OK;
    }
    if (!e->step_slots) {
        e->unit = step;
        e->step_slots = n_slots;
        tree_reducer_begin(e->reducer, n_slots);
    }
    tree_node root = {.level = tree_root_level(n_slots)};
    tree_reducer_pool pool = block_pool_for_reducer(&e->pool);
    tree_reduced result;
    bool computes = tree_reducer_held(e->reducer) > 0;
    status st = store->memory->take(store, part, err);
    if (st == OK)
        st = tree_reducer_add(e->reducer, node, sum, root, &pool, &result, err);
    if (st != OK) {
        span_drop(sum);
        return st;
    }
    if (computes)
        TRY(store->memory->give(store, part, err));
    return result == TREE_COMPLETE ? root_reached(t, part, tree_reducer_take(e->reducer, root), err) : OK;
}

status table_verdict_on(table *t, int32_t part, int64_t step, verdict v, error *err)
{
    const entry *e = &t->entries[part];
    return e->held && e->version == step && e->root ? apply_root(t, part, v, err) : OK;
}

status table_verdict(table *t, int64_t step, verdict v, error *err)
{
    t->verdict_step = step;
    t->verdict = v;
    for (int32_t p = 0; p < t->o.flat->n_live_parts; p++)
        TRY(table_verdict_on(t, p, step, v, err));
    return OK;
}
