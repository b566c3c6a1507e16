/*
 * What slots measured, at the part that it travels with (flat_reporting_part).
 *
 * A worker says REPORT of each slot in front of the gradient, an acting server in front of the sum for
 * its standby, and neither is taken without: so whoever holds a version of that part holds the reports
 * of all that made it, until the master has said that its accounts are complete up to there. The acting
 * server says those to the master that it goes without. In the modes ssp and async, where batches come
 * in any order, the accounts have the order of this part, so it is from here alone that they are kept.
 */
#include "ps/state.h"

static int32_t part_of(const ps *s)
{
    return flat_reporting_part(s->plan.declaration.flat);
}

static bool is_here(const ps *s)
{
    return table_is_complete(s->table, part_of(s));
}

static bool is_applied(const ps *s, int64_t step)
{
    return batch_set_has(table_applied(s->table, part_of(s)), step);
}

/* The verdict on the step before may come behind the reports. */
static bool is_awaited(const ps *s, const wire_head *h)
{
    return wire_report_slot(h) < table_slots(s->table, h->step) &&
           schedule_may_follow(&s->plan.schedule, table_applied(s->table, part_of(s)), h->step);
}

status ps_take_report(ps *s, const wire_head *h, const Wire__Report *m, error *err)
{
    if (!is_here(s) || !is_awaited(s, h))
        return OK;
    slot_report r = reports_read(m, h->step, (uint32_t)wire_report_slot(h));
    status st = reports_add(s->reports.beside, &r, NULL, NULL, err);
    slot_report_fini(&r);
    return st;
}

/* What does not fit is refused, and what is known already acknowledged, without. */
bool ps_lacks_reports(const ps *s, const wire_head *h)
{
    if (h->part != part_of(s) || !is_here(s))
        return false;
    bool fits = h->slots == table_slots(s->table, h->step) && tree_node_is_valid(h->node, h->slots);
    return fits && schedule_may_apply(&s->plan.schedule, table_applied(s->table, h->part), h->step) &&
           !reports_have(s->reports.beside, h->step, tree_node_first(h->node),
                         tree_node_end(h->node, h->slots));
}

static wire_head report_head(int64_t step, uint32_t slot, uint32_t n_slots)
{
    wire_head h = {.type = WIRE_REPORT, .step = step, .slots = n_slots};
    wire_set_report_slot(&h, slot);
    return h;
}

static status say_to_master(void *user, int64_t step, uint32_t slot, const ProtobufCMessage *m,
                            error *err)
{
    (void)err;
    ps *s = user;
    if (ps_acts_for(s, part_of(s)))
        ps_reply_proto(s, &s->chief.peer, report_head(step, slot, 0), m);
    return OK;
}

status ps_note_applied(ps *s, int32_t part, int64_t version, error *err)
{
    if (part != part_of(s))
        return OK;
    reports_move(s->reports.beside, table_last_unit(s->table, part), s->reports.applied, version - 1);
    if (s->plan.schedule.in_order)
        return OK; /* the worker says them to the master */
    return reports_say_of(s->reports.applied, version - 1, 0, 1, say_to_master, s, err);
}

/* What the standby may still be sent is kept. */
status ps_take_reported(ps *s, const wire_head *h, error *err)
{
    if (!is_here(s))
        return OK;
    int64_t step = wire_reported_until(h), visible = ps_visible(s, part_of(s));
    if (step >= s->reports.copied)
        s->reports.copied = 0;
    TRY(reports_recorded(s->reports.applied, step, step < visible ? step : visible, say_to_master, s, err));
    if (s->standbys.replicator)
        replicator_recorded(s->standbys.replicator, step);
    return OK;
}

typedef struct beside_sum {
    const standby_link *to;
    uint32_t n_slots;
} beside_sum;

static status say_to_standby(void *user, int64_t step, uint32_t slot, const ProtobufCMessage *m,
                             error *err)
{
    (void)err;
    const beside_sum *b = user;
    standby_link_say_proto(b->to, report_head(step, slot, b->n_slots), m);
    return OK;
}

/* The sum is applied already when it is sent again. */
void ps_on_sum_sent(void *user, int64_t step, uint32_t n_slots, const standby_link *to)
{
    const ps *s = user;
    const reports *from = is_applied(s, step) ? s->reports.applied : s->reports.beside;
    beside_sum b = {.to = to, .n_slots = n_slots};
    status st = reports_say_of(from, step, 0, n_slots, say_to_standby, &b, NULL);
    BUG_ON(st != OK);
}

void ps_keep_reports(ps *s)
{
    if (!is_here(s)) {
        ps_drop_reports(s);
        return;
    }
    s->reports.copied = 0; /* the master relies on it */
    reports_renew(s->reports.applied);
}

void ps_note_copied(ps *s, int32_t part, int64_t version)
{
    if (part == part_of(s))
        s->reports.copied = version;
}

bool ps_is_reported(const ps *s, int32_t shard)
{
    return !s->reports.copied || s->assignment.placement[part_of(s)] != shard;
}

void ps_drop_reports(ps *s)
{
    s->reports.copied = 0;
    reports_clear(s->reports.beside);
    reports_clear(s->reports.applied);
}
