/*
 * The steady state: limits, reports, votes, cuts and what servers send for them.
 */
#include "master/state.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "optim/settings.h"

/* Steps complete as far as we know: servers may be past what was reported. */
static int64_t step_now(const master *m)
{
    int64_t step = accounting_totals_of(m->accounting)->step;
    return step > m->era.start ? step : m->era.start;
}

static int64_t limit_now(const master *m)
{
    int64_t limit = saver_limit(m->saver);
    if (m->disk.pauses)
        return step_now(m) < limit ? step_now(m) : limit;
    bool decides = config_has(m->o->config, "trainer.patience") && m->o->evaluates;
    if (decides) {
        /* early stopping is decided at the epoch's end, from that epoch's checkpoint */
        int64_t edge = results_next_judged(m->results);
        limit = edge < limit ? edge : limit;
    }
    return limit;
}

static void say_cut(master *m, int32_t s, cut_order *order)
{
    Wire__Cut cut = WIRE__CUT__INIT;
    cut.id = order->id;
    cut.dir = order->dir;
    cut.replaces = order->replaces;
    cut.saved = saver_last(m->saver);
    cut.must = order->must;
    wire_head h = master_head(m, WIRE_CUT);
    wire_set_cut_version(&h, order->version);
    master_send(m->servers[s].socket, NULL, h, &cut.base);
}

void master_order_cuts(master *m)
{
    cut_order order;
    while (saver_next_order(m->saver, clock_us(), step_now(m), &order))
        for (int32_t s = 0; s < m->o->n_servers; s++)
            say_cut(m, s, &order);
    int64_t limit = limit_now(m);
    if (limit == m->views.limit)
        return;
    m->views.limit = limit;
    wire_head h = master_head(m, WIRE_LIMIT);
    wire_set_limit(&h, limit);
    master_send_workers(m, h, NULL);
}

void master_order_histograms(master *m)
{
    int64_t version = summaries_order(m->summaries, step_now(m), m->plan.total);
    if (version < 0)
        return;
    Wire__Histogram ask = WIRE__HISTOGRAM__INIT;
    wire_head h = master_head(m, WIRE_HISTOGRAM);
    wire_set_histogram_version(&h, version);
    master_send_servers(m, h, &ask.base);
}

status master_stop_early(master *m, error *err)
{
    bool stop = false;
    error why = ERROR_INIT;
    status st = results_poll(m->results, &stop, &why);
    if (st != OK)
        return master_disk(m, st, &why, err);
    if (!stop || m->phase != RUN || saver_is_hurried(m->saver))
        return OK;
    m->plan.total = saver_last(m->saver);
    LOG_I("EARLY_STOP",
          "step=%lld: no improvement in %lld epochs; with more trainer.patience it can go on",
          (long long)m->plan.total, (long long)config_int(m->o->config, "trainer.patience"));
    m->phase = DRAIN;
    m->waits.drain_us = clock_us();
    return OK;
}

status master_begin_run(master *m, error *err)
{
    TRY(jobdir_begin(m->o->dir, err));
    TRY(master_tell_moves(m, err));
    m->phase = RUN;
    checkpoint_close(&m->restore.checkpoint);
    if (m->plan.scheduler->begin)
        m->plan.scheduler->begin(m);
    m->reporting.open_step = -1;
    m->waits.progress_us = clock_us();
    if (m->ending.preempted)
        saver_hurry(m->saver);
    TRY(master_stop_early(m, err));     /* what was judged before may be enough */
    m->views.limit = m->phase == RUN ? 0 : m->plan.total;
    if (m->phase == RUN) {
        master_order_cuts(m);
        master_order_histograms(m);
    }
    members_all_whole(&m->members);     /* all begin alike */
    master_deal(m);
    master_say_reported(m);             /* servers say what the last master had not written yet */
    LOG_I("RUN", "step=%lld limit=%lld workers=%u lanes=%u servers=%d era=%u%s",
          (long long)m->era.start, (long long)m->views.limit, members_alive(&m->members),
          members_lanes(&m->members), m->o->n_servers, m->era.identity.era,
          m->era.keeps ? " (nothing was lost)" : "");
    if (saver_last(m->saver) >= m->plan.total) {
        m->phase = DRAIN;
        m->waits.drain_us = clock_us();
    }
    return OK;
}

/* To one server, or to all (-1). */
static void say_verdict(master *m, int32_t s)
{
    Wire__Verdict v = WIRE__VERDICT__INIT;
    wire_head h = master_head(m, WIRE_VERDICT);
    h.step = m->voting.step;
    v.scale = m->voting.verdict.scale;
    v.skip = m->voting.verdict.skip;
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
        return master_cut_over(m, c->id, FAIL(&why, E_IO, "ps.%d: %s", s, c->failure), &why, err);
    if (!saver_dir(m->saver, c->id, dir)) {
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
    cut_order order;
    if (!saver_late(m->saver, c->id, c->newest, &order))
        return OK;
    for (int32_t s = 0; s < m->o->n_servers; s++)
        say_cut(m, s, &order);
    master_order_cuts(m);
    return OK;
}

void master_say_cuts(master *m)
{
    for (int32_t s = 0; m->phase == RUN && s < m->assign.n; s++) {
        const holders *h = &m->assign.shards[s];
        cut_order order;
        for (size_t at = 0; saver_open_order(m->saver, s, &at, &order);) {
            say_cut(m, h->acting, &order);
            if (h->standby != HOLDER_NONE)
                say_cut(m, h->standby, &order);
        }
    }
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
