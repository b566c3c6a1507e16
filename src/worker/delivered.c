/*
 * What of a step is on the servers, for the master, who counts that and not what is computed.
 */
#include "worker/state.h"

#include "common/base/clock.h"

status worker_say_delivered(worker *w, bool again, error *err)
{
    if (!w->has_view || !w->welcomed || w->unordered)
        return OK;
    delivered *last = &w->delivered;
    int64_t step = sync_driver_delivered(w->sync_driver), held = sync_driver_step(w->sync_driver);
    bool is_new = step >= 0 && step != last->step;
    if (is_new) {
        last->step = step;
        last->turn_s = (double)(clock_us() - last->held_us) / SECOND_US;
        last->push_s = (double)(kv_pushing_us(w->kv) - last->pushing_us) / SECOND_US;
    }
    if (held != last->held_step) { /* maybe before all was acknowledged that made it */
        last->held_step = held;
        last->held_us = clock_us();
        last->pushing_us = kv_pushing_us(w->kv);
    }
    if (step < 0 || (!is_new && last->view_id == w->view_id && !again))
        return OK;
    last->view_id = w->view_id;
    Wire__Delivered m = WIRE__DELIVERED__INIT;
    m.view = (uint32_t)w->view_id;
    m.seconds = last->turn_s;
    m.push_seconds = last->push_s;
    return worker_say_proto(w, WIRE_DELIVERED, step, (tree_node){.level = 0}, &m.base, err);
}
