/*
 * What is ordered: cuts and histograms of servers, and how far workers may go.
 */
#include "master/state.h"

#include "common/base/clock.h"

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
    if (m->o->evaluates && results_decide(m->results)) {
        /* by the evaluation of the epoch's checkpoint */
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

void master_delay_cut(master *m, uint32_t id, int64_t newest)
{
    cut_order order;
    if (!saver_late(m->saver, id, newest, &order))
        return;
    for (int32_t s = 0; s < m->o->n_servers; s++)
        say_cut(m, s, &order);
    master_order_cuts(m);
}
