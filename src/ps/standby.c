/*
 * Servers among themselves: who acts for which part, who stands by, and what may therefore be answered and
 * pushed.
 */
#include "ps/state.h"

#include "common/base/alloc.h"
#include "common/wire/shards.h"

#include <string.h>

/* Who has it; NULL: there is no such part. */
static const holders *holders_of(const ps *s, int32_t part)
{
    bool is_one = part >= 0 && part < s->plan.declaration.flat->n_parts;
    return is_one ? &s->assignment.shards[s->assignment.placement[part]] : NULL;
}

bool ps_acts_for(const ps *s, int32_t part)
{
    const holders *h = holders_of(s, part);
    return h && h->acting == s->assignment.server;
}

bool ps_stands_by_for(const ps *s, int32_t part)
{
    const holders *h = holders_of(s, part);
    return h && h->standby == s->assignment.server;
}

/* --- the assignment --- */

status ps_read_holders(ps *s, const Wire__Setup *m, error *err)
{
    assignment *a = &s->assignment;
    a->shards = xrealloc(a->shards, (size_t)a->n_servers * sizeof *a->shards);
    for (int32_t i = 0; i < a->n_servers; i++)
        a->shards[i] = (holders){.acting = i, .standby = HOLDER_NONE};
    if (!m->n_shards)
        return OK;
    if (m->n_addresses != (size_t)a->n_servers)
        return FAIL(err, E_PROTOCOL, "SETUP: %zu addresses of %d servers", m->n_addresses, a->n_servers);
    TRYF(wire_shards_read(m->shards, m->n_shards, a->n_servers, a->shards, err), err, "SETUP");
    return OK;
}

void ps_list_parts(const ps *s, part_hold *ret)
{
    for (int32_t p = 0; p < s->plan.declaration.flat->n_parts; p++) {
        const holders *h = holders_of(s, p);
        ret[p] = h->acting == s->assignment.server ? PART_HELD : PART_ELSEWHERE;
        if (h->standby == s->assignment.server)
            ret[p] = h->is_backed ? PART_HELD : PART_AWAITED;
    }
}

/* --- what may be answered, and pushed --- */

int64_t ps_visible(const ps *s, int32_t part)
{
    int64_t newest = table_version(s->table, part);
    return s->standbys.replicator ? replicator_visible(s->standbys.replicator, part, newest) : newest;
}

bool ps_is_peer(const ps *s, const net_peer *from)
{
    for (size_t i = 0; i < s->standbys.n_peers; i++)
        if (net_peer_equal(&s->standbys.peers[i], from))
            return true;
    return false;
}

/* Of each server the newest connection is enough; those that are gone make room. */
void ps_meet_peer(ps *s, const net_peer *from)
{
    if (ps_is_peer(s, from))
        return;
    if (s->standbys.n_peers == PEERS_MAX) {
        memmove(s->standbys.peers, s->standbys.peers + 1, (PEERS_MAX - 1) * sizeof *s->standbys.peers);
        s->standbys.n_peers--;
    }
    s->standbys.peers[s->standbys.n_peers++] = *from;
}

const char *ps_push_refusal(const ps *s, const net_message *m, const wire_head *h)
{
    bool stands_by = ps_stands_by_for(s, h->part);
    if (ps_is_peer(s, &m->from)) {
        bool is_whole =
            h->slots && h->node.index == 0 && h->node.level == tree_root_level(h->slots);
        return !stands_by ? "that part has no standby here"
               : is_whole ? NULL
                          : "a standby takes whole sums";
    }
    if (stands_by)
        return "another server acts for that part";
    if (s->standbys.replicator && ps_acts_for(s, h->part) && h->step > ps_visible(s, h->part))
        return "nobody can have computed that step";
    return NULL;
}
