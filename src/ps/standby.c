/*
 * Servers among themselves: who acts for which part and who stands by, what an acting server says
 * to a standby through its replicator, and what a standby hears.
 */
#include "ps/state.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/wire/hello.h"
#include "common/wire/shards.h"

#include <stdlib.h>
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

static bool stands_by_for(const ps *s, int32_t part)
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

static void on_backed(void *user, int32_t shard);
static void on_stuck(void *user, int32_t shard);

status ps_begin_replicator(ps *s, const Wire__Setup *m, error *err)
{
    if (!m->n_shards) {
        replicator_destroy(&s->standbys.replicator);
        return OK;
    }
    replicator_hooks hooks = {
        .visible = ps_on_visible, .sending = ps_on_sum_sent, .backed = on_backed, .stuck = on_stuck,
        .user = s};
    double limit_s = config_f64(s->o->config, "distributed.heartbeat_timeout");
    if (!s->standbys.replicator) {
        hello_pack(
            &(hello_facts){
                .config = s->o->config,
                .task = {ROLE_PS, s->o->self.index},
                .life = s->life,
                .job_id = s->era.identity.job_id,
            },
            &s->standbys.hello);
        s->standbys.replicator = replicator_create(s->o->net, &s->standbys.hello, &hooks);
    }
    return replicator_begin(s->standbys.replicator,
                            &(replicator_era){
                            .identity = s->era.identity,
                            .table = s->table,
                            .flat = s->plan.declaration.flat,
                            .placement = s->assignment.placement,
                            .shards = s->assignment.shards,
                            .addresses = (const char *const *)m->addresses,
                            .n = s->assignment.n_servers,
                            .self = s->assignment.server,
                            .limit_us = (int64_t)(limit_s * 1e6),
                            .keeps = m->keep,
                            },
                            err);
}

/* --- acting --- */

void ps_on_summed(void *user, int32_t part, int64_t step, uint32_t n_slots, span *root)
{
    ps *s = user;
    if (s->standbys.replicator && ps_acts_for(s, part))
        replicator_summed(s->standbys.replicator, part, step, n_slots, root);
}

static void say_backed(ps *s, int32_t shard, bool is_unanswered)
{
    wire_head h = {.type = WIRE_BACKED};
    wire_set_backed_shard(&h, shard);
    wire_set_backed_unanswered(&h, is_unanswered);
    ps_reply(s, &s->chief.peer, h, NULL);
}

static void on_backed(void *user, int32_t shard)
{
    ps *s = user;
    LOG_I("BACKED", "shard=%d standby=%d era=%u", shard,
          s->assignment.shards[shard].standby, s->era.identity.era);
    say_backed(s, shard, false);
}

static void on_stuck(void *user, int32_t shard)
{
    ps *s = user;
    LOG_W("STANDBY", "ps.%d has not answered for heartbeat_timeout: the master may go on without it",
          s->assignment.shards[shard].standby);
    say_backed(s, shard, true);
}

int64_t ps_visible(const ps *s, int32_t part)
{
    int64_t newest = table_version(s->table, part);
    return s->standbys.replicator ? replicator_visible(s->standbys.replicator, part, newest) : newest;
}

/* --- standing by --- */

uint32_t *ps_list_shards(const ps *s, size_t *ret_n)
{
    const assignment *a = &s->assignment;
    uint32_t *list = xcalloc((size_t)a->n_servers + 1, sizeof *list);
    *ret_n = 0;
    for (int32_t i = 0; s->era.begun && i < a->n_servers; i++) {
        bool is_ours = a->shards[i].acting == a->server || a->shards[i].standby == a->server;
        bool is_held = is_ours && ps_is_reported(s, i);
        for (int32_t p = 0; is_held && p < s->plan.declaration.flat->n_parts; p++)
            is_held = a->placement[p] != i || table_is_complete(s->table, p);
        if (is_held)
            list[(*ret_n)++] = (uint32_t)i;
    }
    return list;
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

static status ps_take_row(ps *s, const net_message *m, const wire_head *h, bool *ret_complete,
                          error *err)
{
    table_row row = {.at = (uint32_t)wire_state_row(h),
                     .n = (uint32_t)wire_state_rows(h),
                     .data = span_data(m->payload),
                     .n_floats = span_n(m->payload)};
    if (!stands_by_for(s, h->part))
        return FAIL(err, E_PROTOCOL, "part %d has no standby here", h->part);
    if (!wire_state_scale(h, &row.scale))
        return FAIL(err, E_PROTOCOL, "part %d: its loss scale is out of range", h->part);
    return table_take_copy(s->table, h->part, wire_state_version(h), &row, ret_complete, err);
}

status ps_take_state(ps *s, const net_message *m, const wire_head *h, error *err)
{
    bool is_complete = false;
    error wrong = ERROR_INIT;
    status st = ps_take_row(s, m, h, &is_complete, &wrong);
    if (st == E_PROTOCOL) {
        ps_refuse(s, &m->from, h, st, wrong.text);
        return OK;
    }
    if (st != OK)
        return FAIL(err, st, "%s", wrong.text);
    if (is_complete) {
        ps_note_copied(s, h->part, wire_state_version(h));
        cuts_applied(s->cuts, s->table, h->part, wire_state_version(h));
    }
    wire_head pushed = {.type = WIRE_PUSHED, .part = h->part, .step = wire_state_version(h)};
    wire_set_pushed_row(&pushed, wire_state_row(h));
    ps_reply(s, &m->from, pushed, NULL);
    return OK;
}

const char *ps_push_refusal(const ps *s, const net_message *m, const wire_head *h)
{
    bool stands_by = stands_by_for(s, h->part);
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
