/*
 * What slots measured: said to the master, and to a server in front of the gradients it belongs to;
 * kept until the master has it in its journal.
 */
#include "worker/state.h"

static status say_report(void *user, int64_t step, uint32_t slot, const ProtobufCMessage *m,
                         error *err)
{
    tree_node leaf = {.level = 0, .index = slot};
    return worker_say_proto(user, WIRE_REPORT, step, leaf, m, err);
}

/* Unordered a batch is reported again when its lease is said again. */
status worker_report(void *user, const note *n, error *err)
{
    worker *w = user;
    if (w->unordered)
        return reports_say(&n->measured, say_report, w, err);
    return reports_add(w->reports, &n->measured, w->welcomed ? say_report : NULL, w, err);
}

status worker_on_measured(void *user, kv_beside *b, error *err)
{
    const worker *w = user;
    const wire_head *h = b->push;
    uint32_t first = tree_node_first(h->node), end = tree_node_end(h->node, h->slots);
    return reports_say_of(w->reports, h->step, first, end, kv_say_beside, b, err);
}

status worker_report_all(worker *w, error *err)
{
    return reports_say_all(w->reports, say_report, w, err);
}

/* What a push may still go out with is kept: a version that is held was summed on all parts. */
status worker_take_reported(worker *w, const wire_head *h, error *err)
{
    if (h->era != w->identity.era || !w->has_view || w->unordered)
        return OK;
    int64_t held = sync_driver_step(w->sync_driver), until = h->step < held ? h->step : held;
    return reports_recorded(w->reports, h->step, until, say_report, w, err);
}
