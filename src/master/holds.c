#include "master/state.h"

static counter cause_of(const master *m)
{
    if (m->disk.pauses)
        return COUNTER_MASTER_FOR_DISK;
    bool decides = m->o->evaluates && results_decide(m->results);
    return decides && m->views.limit == results_next_judged(m->results) ? COUNTER_MASTER_FOR_EVALUATIONS
                                                                         : COUNTER_MASTER_FOR_CHECKPOINTS;
}

/* All steps that may be computed are: those to come wait for the limit. */
static bool holds_all(const master *m)
{
    int64_t step = m->phase == RUN ? accounting_totals_of(m->accounting)->step : 0;
    return m->phase == RUN && m->views.limit < m->plan.total && step >= m->views.limit;
}

void master_count_holds(master *m, int64_t now_us)
{
    if (m->holds.holds)
        counter_add(m->holds.cause, now_us - m->holds.looked_us);
    m->holds = (holds){.looked_us = now_us, .holds = holds_all(m)};
    m->holds.cause = cause_of(m);
}
