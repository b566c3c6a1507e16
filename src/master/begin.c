/*
 * From READY to RUN: servers say that they hold their parts, the accounts are opened, and all begin.
 */
#include "master/state.h"

#include "common/base/clock.h"
#include "common/base/log.h"

static bool master_all_ready(const master *m)
{
    for (int32_t i = 0; i < m->o->n_servers; i++)
        if (!m->servers[i].ready)
            return false;
    return true;
}

static status begin_run(master *m, error *err)
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
    uint32_t workers = members_alive(&m->members);
    int servers = (int)m->o->n_servers;
    master_tell(m, TIMELINE_RUN, NULL, "training goes on from step %lld with %u worker%s and %d server%s",
                (long long)m->era.start, workers, workers == 1 ? "" : "s", servers, servers == 1 ? "" : "s");
    if (saver_last(m->saver) >= m->plan.total) {
        m->phase = DRAIN;
        m->waits.drain_us = clock_us();
    }
    return OK;
}

static status begin(master *m, error *err)
{
    TRY(master_open_accounts(m, err));
    return begin_run(m, err);
}

status master_try_begin(master *m, error *err)
{
    if (m->phase != SETUP || !master_all_ready(m))
        return OK;
    error why = ERROR_INIT;
    status st = begin(m, &why);
    if (st != OK)
        m->phase = SETUP; /* it is tried again, if the job dir is what failed */
    return master_disk(m, st, &why, err);
}

status master_take_ready(master *m, int32_t s, const Wire__Ready *r, error *err)
{
    server *one = &m->servers[s];
    if (m->phase != SETUP)
        return OK;
    if (r->damaged[0])
        return master_doubt_restore(m, s, r->damaged, err);
    if (r->lost) {
        one->lineage = 0;
        return master_turn(m, s, "no longer holds its parts", err);
    }
    if (m->plan.scheduler->ready && !one->ready)
        TRY(m->plan.scheduler->ready(m, s, r, err));
    one->ready = true;
    one->sees_dir = r->sees_job_dir;
    one->lineage = m->era.lineage;
    one->lowest = r->step;
    one->newest = r->newest;
    if (!master_all_ready(m))
        return OK;
    const char *why = NULL;
    TRY(m->plan.scheduler->find_start(m, &why, err));
    if (why)
        return master_give_up(m, why, err);
    return master_try_begin(m, err);
}
