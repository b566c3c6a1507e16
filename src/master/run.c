/*
 * The steady state: limits, reports, votes, cuts and what servers send for them.
 */
#include "master/state.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "optim/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Steps complete as far as we know: servers may be past what was reported. */
static int64_t step_now(const master *m)
{
    int64_t step = ledger_totals_of(m->ledger)->step;
    return step > m->start ? step : m->start;
}

static int64_t limit_now(const master *m)
{
    int64_t limit = saver_limit(m->saver);
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
    master_send(m->servers[s].socket, NULL, master_head(m, WIRE_CUT, order->version), &cut.base);
}

void master_order_cuts(master *m)
{
    cut_order order;
    while (saver_next_order(m->saver, clock_us(), step_now(m), &order))
        for (int32_t s = 0; s < m->o->n_servers; s++)
            say_cut(m, s, &order);
    int64_t limit = limit_now(m);
    if (limit == m->limit)
        return;
    m->limit = limit;
    master_send_workers(m, master_head(m, WIRE_LIMIT, limit), NULL);
}

static void order_histograms(master *m)
{
    int64_t version = summaries_order(m->summaries, step_now(m), m->total);
    if (version < 0)
        return;
    Wire__Histogram h = WIRE__HISTOGRAM__INIT;
    master_send_servers(m, master_head(m, WIRE_HISTOGRAM, version), &h.base);
}

status master_begin_run(master *m, error *err)
{
    m->phase = RUN;
    checkpoint_close(&m->restore);
    if (m->mode.unordered)
        master_lend_begin(m);
    m->limit = 0;
    m->progress_us = clock_us();
    master_order_cuts(m);
    order_histograms(m);
    members_all_whole(&m->members);     /* all begin alike */
    master_deal(m);
    LOG_I("RUN", "step=%lld limit=%lld workers=%u lanes=%u servers=%d era=%u%s",
          (long long)m->start, (long long)m->limit, members_alive(&m->members),
          members_lanes(&m->members), m->o->n_servers, m->identity.era,
          m->keeps ? " (nothing was lost)" : "");
    if (saver_last(m->saver) >= m->total) {
        m->phase = DRAIN;
        m->drain_us = clock_us();
    }
    (void)err;
    return OK;
}

static void say_progress(const master *m)
{
    if (!m->o->progress)
        return;
    const ledger_totals *t = ledger_totals_of(m->ledger);
    int64_t per_epoch = steps_per_epoch(&m->steps);
    double left = (double)(m->total - t->step) * (double)(m->steps.batch_size * m->steps.per_step);
    master_progress p = {
        .step = t->step,
        .total_steps = m->total,
        .epoch = t->step / per_epoch,
        .epochs = (m->total + per_epoch - 1) / per_epoch,
        .loss = metric_result(&t->last_step, "loss"),
        .accuracy = metric_result(&t->last_step, "accuracy"),
        .rate = (double)schedule_rate(&(schedule){.kind = SCHEDULE_CONSTANT}, 0),
        .examples_per_s = t->examples_per_s,
        .eta_s = t->examples_per_s > 0 ? left / t->examples_per_s : NAN,
    };
    schedule rates = schedule_settings(m->o->config, m->total);
    p.rate = (double)schedule_rate(&rates, t->step > 0 ? t->step - 1 : 0);
    m->o->progress(m->o->user, &p);
}

/* Names in messages die with them; metrics live on. */
static const char *metric_name_of(const char *name)
{
    static const char *const known[] = {"loss", "accuracy"};
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strcmp(known[i], name) == 0)
            return known[i];
    return NULL;
}

bool master_has_reports(const master *m)
{
    return ledger_totals_of(m->ledger)->step >= saver_last(m->saver) ||
           (m->phase == DRAIN && clock_us() - m->drain_us > REPORTS_US);
}

status master_book_epochs(master *m, error *err)
{
    const ledger_totals *t = ledger_totals_of(m->ledger);
    int64_t per_epoch = steps_per_epoch(&m->steps), next = m->epoch_booked + per_epoch;
    for (; next <= m->epoch_saved && (next <= t->step || master_has_reports(m)); next += per_epoch) {
        const metric_set *training = ledger_epoch(m->ledger, next / per_epoch - 1);
        TRY(results_epoch(m->results, next, training, t->wall_s, err));
        m->epoch_booked = next;
    }
    return OK;
}

status master_take_report(master *m, const member *from, const wire_head *h, const Wire__Report *r,
                          error *err)
{
    master_count_lane(m, from, h, r);
    metric_set set = {.n = 0};
    for (size_t i = 0; i < r->n_metrics && i < METRIC_COUNT_MAX; i++) {
        const char *name = metric_name_of(r->metrics[i]->name);
        if (name)
            metric_add(&set, name, r->metrics[i]->sum, r->metrics[i]->count);
    }
    int64_t steps_done = 0;
    int64_t before = ledger_totals_of(m->ledger)->step, step = h->step;
    if (m->leases) {
        if (!leases_report(m->leases, h->step))
            return OK;
        step = before;      /* batches are booked in the order in which they end */
    }
    TRY(ledger_report(m->ledger, step, h->node.index, &set, r->examples, &steps_done, err));
    if (!steps_done)
        return OK;
    m->progress_us = clock_us();
    m->warned_us = 0;
    deal_step(m->deal, m->progress_us);
    if (before == 0)
        LOG_I("FIRST_STEP", "after=%.3fs", (double)(clock_us() - m->begun_us) / SECOND_US);
    if (m->phase == RUN) {
        order_histograms(m);
        master_order_cuts(m);
    }
    say_progress(m);
    return master_book_epochs(m, err);
}

status master_take_norm(master *m, int32_t s, const wire_head *h, const Wire__Norm *n, error *err)
{
    bool complete = false;
    Wire__Verdict v = WIRE__VERDICT__INIT;
    if (!m->vote || m->phase != RUN)
        return OK;
    if (h->step == m->verdict_step) {   /* it has not heard */
        v.scale = m->verdict_scale;
        master_send(m->servers[s].socket, NULL, master_head(m, WIRE_VERDICT, h->step), &v.base);
        return OK;
    }
    TRY(vote_add(m->vote, h->step, h->part, n->square_sum, &complete, &v.scale, err));
    if (!complete)
        return OK;
    m->verdict_step = h->step;
    m->verdict_scale = v.scale;
    master_send_servers(m, master_head(m, WIRE_VERDICT, h->step), &v.base);
    return OK;
}

static status checkpoint_done(master *m, int64_t step, error *err)
{
    LOG_I("CHECKPOINT", "step=%lld", (long long)step);
    if (m->o->evaluates && step % steps_per_epoch(&m->steps) == 0)
        m->epoch_saved = step;
    TRY(master_book_epochs(m, err));
    if (step == m->total || (saver_is_hurried(m->saver) && step == saver_limit(m->saver))) {
        m->phase = DRAIN;
        m->drain_us = clock_us();
    }
    master_order_cuts(m);
    return OK;
}

/* The checkpoint before stays, and the next cut tries again; only the last one must be. */
static status cut_failed(master *m, uint32_t id, const char *why, error *err)
{
    int64_t step = saver_fail(m->saver, id);
    if (step < 0)
        return OK;
    fetches_drop(m->fetches, id);
    if (step == m->total)
        return FAIL(err, E_IO, "write the last checkpoint, step %lld: %s", (long long)step, why);
    LOG_W("CHECKPOINT_FAILED", "step=%lld newest=%lld %s", (long long)step,
          (long long)saver_last(m->saver), why);
    if (m->o->evaluates && step % steps_per_epoch(&m->steps) == 0)
        m->epoch_saved = step;          /* an epoch like others, which nobody can evaluate */
    if (saver_is_hurried(m->saver) && step == saver_limit(m->saver)) {
        m->phase = DRAIN;
        m->drain_us = clock_us();
    }
    TRY(master_book_epochs(m, err));
    master_order_cuts(m);
    return OK;
}

/* What the disk did to one cut is not what ends a job. */
static status settle(master *m, uint32_t id, status st, const error *why, error *err)
{
    if (st == E_IO || st == E_DATA)
        return cut_failed(m, id, why->text, err);
    return st == OK ? OK : FAIL(err, st, "%s", why->text);
}

static status shard_done(master *m, const shard_report *r, error *err)
{
    int64_t step = -1;
    error why = ERROR_INIT;
    saver_unevaluated(m->saver, results_next_judged(m->results));
    status st = saver_shard(m->saver, r, results_best_step(m->results), &step, &why);
    if (st != OK)
        return settle(m, r->id, st, &why, err);
    return step >= 0 ? checkpoint_done(m, step, err) : OK;
}

static void ask_piece(master *m, const shard_piece *p)
{
    Wire__Shard ask = WIRE__SHARD__INIT;
    ask.id = p->id;
    ask.shard = (uint32_t)p->shard;
    ask.offset = p->offset;
    master_send(m->servers[p->server].socket, NULL, master_head(m, WIRE_SHARD, 0), &ask.base);
}

status master_take_cut_done(master *m, int32_t s, const wire_head *h, const Wire__CutDone *c,
                            error *err)
{
    if (c->shard >= (uint32_t)m->o->n_servers)
        return OK;
    shard_report r = {
        .id = c->id,
        .version = h->step,
        .shard = (int32_t)c->shard,
        .server = s,
        .file = c->file,
        .sha256 = c->sha256,
        .bytes = c->bytes,
        .batches = c->batches_applied,
    };
    char dir[64], text[ERROR_TEXT];
    error why = ERROR_INIT;
    if (c->failure[0]) {
        snprintf(text, sizeof text, "ps.%d: %s", s, c->failure);
        return cut_failed(m, c->id, text, err);
    }
    if (!c->spooled)
        return shard_done(m, &r, err);
    if (!saver_dir(m->saver, c->id, dir))
        return OK;
    status st = fetches_begin(m->fetches, &r, dir, &why);
    if (st == OK)
        ask_piece(m, &(shard_piece){.server = s, .shard = r.shard, .id = c->id});
    return settle(m, c->id, st, &why, err);
}

status master_take_shard(master *m, int32_t s, const Wire__Shard *piece, error *err)
{
    bool next = false, done = false;
    shard_piece at = {.server = s, .shard = (int32_t)piece->shard, .id = piece->id, .offset = piece->offset};
    shard_report r;
    error why = ERROR_INIT;
    status st = fetches_take(m->fetches, &at, piece->data.data, piece->data.len, &next, &at.offset,
                             &done, &r, &why);
    if (st != OK)
        return settle(m, piece->id, st, &why, err);
    if (next)
        ask_piece(m, &at);
    return done ? shard_done(m, &r, err) : OK;
}

void master_take_cut_late(master *m, const Wire__CutLate *c)
{
    cut_order order;
    if (!saver_late(m->saver, c->id, c->newest, &order))
        return;
    for (int32_t s = 0; s < m->o->n_servers; s++)
        say_cut(m, s, &order);
    master_order_cuts(m);
}

void master_say_again(master *m)
{
    for (int32_t s = 0; m->phase == SETUP && s < m->o->n_servers; s++)
        if (m->servers[s].welcomed && !m->servers[s].ready)
            master_say_setup(m, s);
    for (int32_t s = 0; m->phase == RUN && s < m->assign.n; s++) {
        const holders *h = &m->assign.shards[s];
        cut_order order;
        for (size_t at = 0; saver_open_order(m->saver, s, &at, &order);) {
            say_cut(m, h->acting, &order);
            if (h->standby != HOLDER_NONE)
                say_cut(m, h->standby, &order);
        }
    }
    void *at = NULL;
    shard_piece piece;
    while (m->phase == RUN && fetches_next_idle(m->fetches, &at, &piece))
        ask_piece(m, &piece);
}
