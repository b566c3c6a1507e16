/*
 * Copies between servers: what an acting server says to its standby through its replicator, and what a
 * standby takes.
 */
#include "ps/state.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/wire/hello.h"

/* --- acting --- */

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
                            .first_index = s->o->self.index - s->assignment.server,
                            .limit_us = (int64_t)(limit_s * 1e6),
                            .keeps = m->keep,
                            },
                            err);
}

void ps_on_summed(void *user, int32_t part, int64_t step, uint32_t n_slots, span *root)
{
    ps *s = user;
    part_times_summed(&s->times, part, clock_us());
    if (s->standbys.replicator && ps_acts_for(s, part))
        replicator_summed(s->standbys.replicator, part, step, n_slots, root);
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

static status ps_take_row(ps *s, const net_message *m, const wire_head *h, bool *ret_complete,
                          error *err)
{
    table_row row = {.at = (uint32_t)wire_state_row(h),
                     .n = (uint32_t)wire_state_rows(h),
                     .data = span_data(m->payload),
                     .n_floats = span_n(m->payload)};
    if (!ps_stands_by_for(s, h->part))
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
