#include "worker/stall.h"

static int64_t within(int64_t us, int64_t most)
{
    return us < 0 ? 0 : us < most ? us : most;
}

static int64_t share(int64_t us, int64_t of, int64_t all)
{
    return all > 0 ? (int64_t)((double)us * (double)within(of, all) / (double)all) : 0;
}

/* The part was there, and gradients were not taken. */
static int64_t add_untaken(stall *s, const stall_wait *w, const kv_times *t, const kv_taking *last)
{
    int64_t untaken = t->came_us && last->took_us > 0 ? within(w->taken_us - t->came_us, w->before_us) : 0;
    int64_t servers = share(untaken, last->server_us, last->took_us);
    s->servers_us += servers;
    s->wire_us += untaken - servers;
    return untaken;
}

/* The part was there, gradients were taken, and the lane did something else than wait. */
static int64_t at_work(const stall_wait *w, const kv_times *t)
{
    int64_t since = t->came_us > w->taken_us ? t->came_us : w->taken_us;
    return t->came_us ? within(w->from_us - since, INT64_MAX) : 0;
}

void stall_add(stall *s, const stall_wait *w, const kv_times *t, const kv_taking *last)
{
    int64_t waited = w->to_us - w->from_us, untaken = add_untaken(s, w, t, last);
    int64_t unasked = within(t->asked_us - w->from_us, waited);
    int64_t left = w->before_us + waited - untaken - unasked;
    int64_t took = within(w->to_us - at_work(w, t) - untaken - t->asked_us, INT64_MAX);
    int64_t lanes = within(t->lanes_us, took), servers = within(t->server_us, took - lanes);
    int64_t wire = took - lanes - servers, of_wire = within(left, wire), of_servers = within(left - of_wire, servers);
    int64_t of_lanes = within(left - of_wire - of_servers, lanes), beyond = left - of_wire - of_servers - of_lanes;
    /* gradients that were taken later than that part was asked for: as it was with the part */
    int64_t more = share(beyond, servers, wire + servers);
    s->lanes_us += of_lanes + unasked;
    s->servers_us += of_servers + more;
    s->wire_us += of_wire + beyond - more;
}
