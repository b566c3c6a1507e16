/*
 * STATUS: how this worker stands, for whoever looks at the job.
 */
#include "worker/state.h"

#include "common/base/alloc.h"
#include "common/wire/status.h"

#include <stdlib.h>

enum { SOON_US = 20 * 1000 };

/* To all servers; `room` has a place for each. */
static void fill_links(const worker *w, Wire__Status__Link *room, Wire__Status *m)
{
    for (int32_t s = 0; s < w->o->n_servers; s++) {
        kv_link link;
        w->mode->describe(w, s, &link);
        wire__status__link__init(&room[s]);
        room[s].server = (uint32_t)s;
        room[s].up = link.is_up;
        room[s].in_flight = link.in_flight;
        room[s].credit = link.credit == SIZE_MAX ? 0 : link.credit;
        room[s].pushes = (uint32_t)link.pushes;
        room[s].pulls = (uint32_t)link.pulls;
        m->links[m->n_links++] = &room[s];
    }
}

/* Now and then; and when the limit is reached, which may be the job's end. */
static bool is_due(const worker *w, int64_t now)
{
    bool rests = w->has_view && w->mode->rests && w->mode->rests(w);
    bool is_news = rests && w->mode->held(w) != w->said_status_held;
    return now - w->said_status_us >= (is_news ? SOON_US : WIRE_STATUS_US);
}

status worker_say_status(worker *w, int64_t now, error *err)
{
    if (!w->master.socket || !w->master.welcomed || !is_due(w, now))
        return OK;
    w->said_status_us = now;
    w->said_status_held = w->has_view ? w->mode->held(w) : -1;
    wait_list waits = WAIT_LIST_INIT;
    worker_list_waits(w, now, &waits);
    Wire__Status m;
    wire_status_fill(ROLE_WORKER, &waits, &m);
    Wire__Status__Link *room = xcalloc((size_t)w->o->n_servers + 1, sizeof *room);
    m.links = xcalloc((size_t)w->o->n_servers + 1, sizeof *m.links);
    fill_links(w, room, &m);
    status st = master_link_say(&w->master, (wire_head){.type = WIRE_STATUS}, &m.base, err);
    free(m.links);
    free(room);
    wire_status_clear(&m);
    return st;
}
