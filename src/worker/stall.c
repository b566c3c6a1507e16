#include "worker/stall.h"

static int64_t within(int64_t us, int64_t most)
{
    return us < 0 ? 0 : us < most ? us : most;
}

void stall_add(stall *s, int64_t before_us, int64_t from_us, int64_t to_us, const kv_times *t)
{
    int64_t unasked = within(t->asked_us - from_us, to_us - from_us);
    int64_t left = before_us + to_us - from_us - unasked, took = within(to_us - t->asked_us, INT64_MAX);
    int64_t lanes = within(t->lanes_us, took), servers = within(t->server_us, took - lanes);
    int64_t wire = took - lanes - servers, of_wire = within(left, wire), of_servers = within(left - of_wire, servers);
    int64_t of_lanes = within(left - of_wire - of_servers, lanes), beyond = left - of_wire - of_servers - of_lanes;
    /* gradients that were taken later than that part was asked for: as it was with the part */
    int64_t more = wire + servers > 0 ? (int64_t)((double)beyond * (double)servers / (double)(wire + servers)) : 0;
    s->lanes_us += of_lanes + unasked;
    s->servers_us += of_servers + more;
    s->wire_us += of_wire + beyond - more;
}
