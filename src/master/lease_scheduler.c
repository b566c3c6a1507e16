/*
 * The scheduler of jobs whose batches are applied in any order: they are leased to lanes, which follow the
 * lanes' pace by themselves. What is applied on every part, as the servers say when an era begins, is never
 * leased again; a batch ends with its report, and one whose report is missing is leased again.
 */
#include "master/state.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"

#include <stdlib.h>

static void expect(master *m)
{
    batch_set_fill(&m->leasing.applied, m->plan.total);
}

static status lease_take_ready(master *m, int32_t s, const Wire__Ready *r, error *err)
{
    batch_set its = BATCH_SET_INIT;
    status st = batch_set_unpack(r->applied.data, r->applied.len, &its, err);
    if (st == OK)
        batch_set_intersect(&m->leasing.applied, &its);
    else
        error_prepend(err, "ps.%d", m->o->first_server + s);
    batch_set_fini(&its);
    return st;
}

/* Parts may have different batches, so that fewer than the checkpoint's version are on all of them. */
static status lease_find_start(master *m, const char **ret_why, error *err)
{
    (void)ret_why, (void)err; /* whatever they hold fits together */
    int64_t on_all = batch_set_count(&m->leasing.applied);
    if (on_all > m->era.start)
        m->era.start = on_all;
    return OK;
}

/* The batch enters the accounts as of the version it made, which a server tells. */
static status lease_scheduler_take_report(master *m, const member *from, const wire_head *h,
                                          const Wire__Report *r, error *err)
{
    (void)from, (void)r, (void)err;
    if (leases_report(m->leasing.leases, h->step, clock_us()))
        m->waits.progress_us = clock_us();
    return OK;
}

static void lease_scheduler_begin(master *m)
{
    if (!m->leasing.leases)
        m->leasing.leases = leases_create(
            &(leases_options){.schedule = m->plan.schedule, .batches_per_step = m->plan.batches_per_step});
    leases_begin(m->leasing.leases, &m->leasing.applied);
}

static void set_lanes(master *m, const hedge_lane *lanes, size_t n)
{
    if (!m->leasing.leases)
        return;
    view_lane *names = xcalloc(n + 1, sizeof *names);
    size_t n_sure = 0;
    for (size_t i = 0; i < n; i++)
        if (!lanes[i].suspect)
            names[n_sure++] = lanes[i].lane;
    leases_lanes(m->leasing.leases, names, n_sure);
    free(names);
}

static void suspect(master *m)
{
    m->views.is_due |= m->leasing.leases && m->phase >= RUN;
}

static void lease_take_hello(master *m, member *one, bool is_new)
{
    if (!m->leasing.leases)
        return;
    one->whole = true;          /* it needs no version to begin with */
    m->views.is_due |= m->phase >= RUN;
    if (is_new)
        leases_lost(m->leasing.leases, one->trainer, one->index);
    else
        leases_repeat(m->leasing.leases, one->trainer, one->index);
}

static const member *holder_of(const master *m, const lease *l)
{
    for (size_t i = 0; i < m->members.n; i++) {
        const member *one = &m->members.at[i];
        if (one->alive && one->trainer == l->lane.trainer && one->index == l->lane.worker)
            return one;
    }
    return NULL;
}

/* The limit of all lanes, and the end of an epoch that is to be judged: its checkpoint holds all of
 * it and nothing else. */
static int64_t limit_of(const master *m)
{
    int64_t per_epoch = steps_per_epoch(&m->plan.steps);
    int64_t edge = (leases_floor(m->leasing.leases) / per_epoch + 1) * per_epoch;
    return m->o->evaluates && edge < m->views.limit ? edge : m->views.limit;
}

static void send_leases(master *m)
{
    lease l;
    if (!m->leasing.leases || m->phase != RUN)
        return;
    int64_t timeout_us = (int64_t)(master_option(m, "distributed.heartbeat_timeout") * SECOND_US);
    leases_hedge(m->leasing.leases, clock_us(), timeout_us);
    while (leases_next(m->leasing.leases, limit_of(m), clock_us(), &l)) {
        wire_head h = master_head(m, WIRE_LEASE);
        wire_set_lease_batch(&h, l.batch);
        wire_set_lease_lane(&h, l.lane.lane);
        wire_set_lease_floor(&h, l.floor);
        const member *to = holder_of(m, &l);
        if (to)
            master_send(m->listener, &to->peer, h, NULL);
    }
}

static void lease_list_waits(const master *m, double seconds, wait_list *ret)
{
    lease l;
    if (!leases_lowest(m->leasing.leases, &l)) {
        const char *what = members_alive(&m->members) ? "checkpoints" : "workers";
        wait_list_add(ret, LOG_WARN, "for=%s floor=%lld since=%.1fs", what,
                      (long long)leases_floor(m->leasing.leases), seconds);
        wait_list_words(ret, seconds, NULL, "%s", what);
        return;
    }
    const member *one = holder_of(m, &l);
    char name[TASK_NAME] = "?";
    if (one)
        member_name(one, name);
    wait_list_add(ret, LOG_WARN, "for=reports batch=%lld task=%s lane=%u floor=%lld since=%.1fs", (long long)l.batch,
                  name, l.lane.lane, (long long)leases_floor(m->leasing.leases), seconds);
    wait_list_words(ret, seconds, one ? name : NULL, "lane %u of %s to report batch %lld", l.lane.lane, name,
                    (long long)l.batch);
}

const scheduler lease_scheduler = {
    .expect = expect,
    .ready = lease_take_ready,
    .find_start = lease_find_start,
    .begin = lease_scheduler_begin,
    .hello = lease_take_hello,
    .suspect = suspect,
    .lanes = set_lanes,
    .assign = send_leases,
    .report = lease_scheduler_take_report,
    .list_waits = lease_list_waits,
};
