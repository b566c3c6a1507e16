/*
 * The steady state: what servers bring of votes and cuts, and what they have to be asked again.
 */
#include "master/state.h"

#include "common/base/log.h"
#include "optim/settings.h"

/* To one server, or to all (-1). */
static void say_verdict(master *m, int32_t s)
{
    Wire__Verdict v = WIRE__VERDICT__INIT;
    wire_head h = master_head(m, WIRE_VERDICT);
    h.step = m->voting.step;
    v.scale = m->voting.verdict.scale;
    v.skip = m->voting.verdict.skip;
    v.reductions = m->voting.verdict.reductions;
    if (s < 0)
        master_send_servers(m, h, &v.base);
    else
        master_send(m->servers[s].socket, NULL, h, &v.base);
}

static void note_skipped(const master *m, int64_t step, loss_scale before)
{
    loss_scale_rule rule = loss_scale_settings(m->o->config);
    loss_scale now = loss_scale_next(&rule, before, true);
    LOG_I("SKIPPED", "step=%lld loss_scale=%g skipped_steps=%u: its gradient was not finite",
          (long long)step, (double)loss_scale_factor(now), now.skipped);
}

status master_take_norm(master *m, int32_t s, const wire_head *h, const Wire__Norm *n, error *err)
{
    bool complete = false;
    verdict v;
    vote_part p = {.part = h->part, .square_sum = n->square_sum};
    if (!m->voting.vote || m->phase != RUN || !loss_scale_unpack(n->loss_scale, &p.scale))
        return OK;
    if (h->step == m->voting.step) {   /* it has not heard */
        say_verdict(m, s);
        return OK;
    }
    TRY(vote_add(m->voting.vote, h->step, &p, &complete, &v, err));
    if (!complete)
        return OK;
    v.reductions = results_reductions(m->results, h->step);
    m->voting.step = h->step;
    m->voting.verdict = v;
    say_verdict(m, -1);
    if (v.skip)
        note_skipped(m, h->step, p.scale);
    return OK;
}

static void ask_piece(master *m, const shard_piece *p)
{
    Wire__Shard ask = WIRE__SHARD__INIT;
    ask.id = p->id;
    ask.shard = (uint32_t)p->shard;
    ask.offset = p->offset;
    master_send(m->servers[p->server].socket, NULL, master_head(m, WIRE_SHARD), &ask.base);
}

status master_take_cut_done(master *m, int32_t s, const wire_head *h, const Wire__CutDone *c,
                            error *err)
{
    if (c->shard >= (uint32_t)m->o->n_servers)
        return OK;
    shard_report r = {
        .id = c->id,
        .version = wire_cut_done_version(h),
        .shard = (int32_t)c->shard,
        .server = s,
        .file = c->file,
        .sha256 = c->sha256,
        .bytes = c->bytes,
        .batches = c->batches_applied,
    };
    if (!loss_scale_unpack(c->loss_scale, &r.scale))
        return OK;
    char dir[64];
    error why = ERROR_INIT;
    if (c->failure[0])
        return master_cut_over(m, c->id, FAIL(&why, E_IO, "ps.%d: %s", m->o->first_server + s, c->failure), &why, err);
    if (!saver_dir(m->saver, c->id, dir)) {
        if (!saver_is_to_come(m->saver, r.version))
            saver_discard(m->saver, r.version); /* of a cut that has failed meanwhile */
        return OK;
    }
    if (!c->spooled)
        return master_take_written(m, &r, err);
    if (saver_has_shard(m->saver, c->id, r.shard))
        return OK;                  /* it was asked once too often */
    status st = fetches_begin(m->fetches, &r, dir, &why);
    if (st == OK)
        ask_piece(m, &(shard_piece){.server = s, .shard = r.shard, .id = c->id});
    return master_cut_over(m, c->id, st, &why, err);
}

status master_take_shard(master *m, int32_t s, const Wire__Shard *piece, error *err)
{
    bool next = false, done = false;
    shard_piece at = {
        .server = s, .shard = (int32_t)piece->shard, .id = piece->id, .offset = piece->offset};
    shard_report r;
    error why = ERROR_INIT;
    status st = fetches_take(m->fetches, &at, piece->data.data, piece->data.len, &next, &at.offset,
                             &done, &r, &why);
    if (st != OK)
        return master_cut_over(m, piece->id, st, &why, err);
    if (next)
        ask_piece(m, &at);
    return done ? master_take_written(m, &r, err) : OK;
}

status master_take_cut_late(master *m, const Wire__CutLate *c, error *err)
{
    /* a server that lost the word of it, or was sent its parts after it, has come to act */
    if (saver_is_planned(m->saver, c->id))
        return master_cut_lost(m, c->id, "a server is past it already", err);
    master_delay_cut(m, c->id, c->newest);
    return master_commit_if_well(m, err); /* what is written may have waited for this one, which came first */
}

void master_say_again(master *m)
{
    for (int32_t s = 0; m->phase == SETUP && s < m->o->n_servers; s++)
        if (m->servers[s].welcomed && !m->servers[s].ready)
            master_say_setup(m, s);
    master_say_cuts(m);
    void *at = NULL;
    shard_piece piece;
    while (m->phase == RUN && fetches_next_idle(m->fetches, &at, &piece))
        ask_piece(m, &piece);
}
