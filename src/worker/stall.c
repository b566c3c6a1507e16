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
static int64_t add_untaken(stall *s, int64_t before_us, int64_t to_us, const kv_times *t, const kv_taking *last)
{
    int64_t untaken = t->came_us && last->took_us > 0 ? within(to_us - t->came_us, before_us) : 0;
    int64_t servers = share(untaken, last->server_us, last->took_us);
    s->servers_us += servers;
    s->wire_us += untaken - servers;
    return untaken;
}

void stall_add(stall *s, int64_t before_us, int64_t from_us, int64_t to_us, const kv_times *t, const kv_taking *last)
{
    int64_t untaken = add_untaken(s, before_us, to_us, t, last);
    int64_t unasked = within(t->asked_us - from_us, to_us - from_us);
    int64_t left = before_us + to_us - from_us - untaken - unasked;
    int64_t took = within(to_us - untaken - t->asked_us, INT64_MAX);
    int64_t lanes = within(t->lanes_us, took), servers = within(t->server_us, took - lanes);
    int64_t wire = took - lanes - servers, of_wire = within(left, wire), of_servers = within(left - of_wire, servers);
    int64_t of_lanes = within(left - of_wire - of_servers, lanes), beyond = left - of_wire - of_servers - of_lanes;
    /* gradients that were taken later than that part was asked for: as it was with the part */
    int64_t more = share(beyond, servers, wire + servers);
    s->lanes_us += of_lanes + unasked;
    s->servers_us += of_servers + more;
    s->wire_us += of_wire + beyond - more;
}
