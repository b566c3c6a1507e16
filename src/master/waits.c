/*
 * A wait always speaks, and always ends: who is awaited, for what, and how much has arrived; and
 * a task that was awaited for too long.
 */
#include "master/state.h"

#include "common/live/recorder_output.h"

#include <stdio.h>

/* ": and why", or nothing */
static const char *trouble_of(const server *s, char *text, size_t bytes)
{
    const char *why = s->refuses_us ? "what is there does not fit the job" : s->refused;
    snprintf(text, bytes, "%s%s", why ? ": " : "", why ? why : "");
    return text;
}

static void list_gather_waits(const master *m, double waited, wait_list *ret)
{
    char trouble[256], name[TASK_NAME];
    for (int32_t i = 0; i < m->o->n_servers; i++) {
        if (m->servers[i].welcomed)
            continue;
        wait_list_add(ret, LOG_WARN, "for=ps.%d endpoint=%s since=%.1fs%s", m->o->first_server + i, m->o->servers[i],
                      waited, trouble_of(&m->servers[i], trouble, sizeof trouble));
        wait_list_words(ret, waited, master_server_name(m, i, name), "%s to come%s", name, trouble);
    }
    if (!master_all_workers(m)) {
        wait_list_add(ret, LOG_WARN, "for=workers here=%u of=%d since=%.1fs", members_alive(&m->members),
                      m->o->n_workers, waited);
        wait_list_words(ret, waited, NULL, "workers, of whom %u of %d are here", members_alive(&m->members),
                        m->o->n_workers);
    }
    for (size_t i = 0; i < m->members.n; i++) {
        const member *one = &m->members.at[i];
        if (!one->alive || one->declared)
            continue;
        wait_list_add(ret, LOG_WARN, "for=%s to declare what it trains since=%.1fs", member_name(one, name), waited);
        wait_list_words(ret, waited, name, "%s to declare what it trains", name);
    }
}

static void list_setup_waits(const master *m, double waited, wait_list *ret)
{
    char name[TASK_NAME];
    for (int32_t i = 0; i < m->o->n_servers; i++) {
        if (m->servers[i].ready)
            continue;
        wait_list_add(ret, LOG_WARN, "for=ps.%d to be ready %s since=%.1fs", m->o->first_server + i,
                      m->servers[i].welcomed ? "up" : "not connected", waited);
        wait_list_words(ret, waited, master_server_name(m, i, name), "%s to be ready", name);
    }
}

/* The shards without which a cut that was reached is no checkpoint. False: there are none. */
static bool list_cut_waits(const master *m, int64_t step, double waited, wait_list *ret)
{
    bool any = false;
    char name[TASK_NAME];
    for (int32_t shard = 0; shard < m->o->n_servers; shard++) {
        cut_order order;
        int32_t acting = m->assign.shards[shard].acting;
        for (size_t at = 0; saver_open_order(m->saver, shard, &at, &order);) {
            if (order.version > step)
                continue;
            wait_list_add(ret, LOG_WARN, "for=ps.%d shard=%d of checkpoint step=%lld since=%.1fs",
                          m->o->first_server + acting, shard, (long long)order.version, waited);
            wait_list_words(ret, waited, master_server_name(m, acting, name), "%s to write shard %d of checkpoint %lld",
                            name, shard, (long long)order.version);
            any = true;
        }
    }
    return any;
}

/* What the evaluator reads meanwhile, and how far it is. */
static void list_evaluator_reading(const master *m, double waited, wait_list *ret)
{
    if (!m->evaluator.reads)
        return;
    wait_list_add(ret, LOG_INFO, "for=evaluator.0 since=%.1fs: %s", waited, m->evaluator.state.text);
    wait_list_words(ret, waited, "evaluator.0", "evaluator.0 to read its data");
}

void master_list_step_waits(const master *m, double waited, wait_list *ret)
{
    int64_t step = accounting_totals_of(m->accounting)->step;
    if (step >= m->views.limit && (list_cut_waits(m, step, waited, ret) || results_waiting(m->results))) {
        if (results_waiting(m->results)) {
            wait_list_add(ret, LOG_INFO, "for=evaluation of the epoch before step=%lld since=%.1fs",
                          (long long)step, waited);
            wait_list_words(ret, waited, "evaluator.0", "the evaluation of the epoch before step %lld",
                            (long long)step);
            list_evaluator_reading(m, waited, ret);
        }
        return;
    }
    char missing[128];
    accounting_missing(m->accounting, missing, sizeof missing);
    wait_list_add(ret, LOG_WARN, "for=reports step=%lld slots=%s workers=%u since=%.1fs", (long long)step, missing,
                  members_alive(&m->members), waited);
    wait_list_words(ret, waited, NULL, "reports of slots %s of step %lld", missing, (long long)step);
}

static void list_drain_waits(const master *m, double waited, wait_list *ret)
{
    const char *limit = m->ending.preempted ? "distributed.preempt_grace" : "trainer.final_eval_timeout";
    if (!m->o->evaluates)
        return;
    wait_list_add(ret, LOG_INFO, "for=evaluation of step=%lld since=%.1fs, at most %.0fs", (long long)m->plan.total,
                  waited, master_option(m, limit));
    wait_list_words(ret, waited, "evaluator.0", "the evaluation of step %lld", (long long)m->plan.total);
    list_evaluator_reading(m, waited, ret);
}

static int64_t wait_began(const master *m)
{
    if (m->phase == GATHER)
        return m->waits.begun_us;
    return m->phase == DRAIN ? m->waits.drain_us : m->waits.progress_us;
}

/* What they read, and how far it is. */
static void list_reading(const master *m, double waited, wait_list *ret)
{
    char name[TASK_NAME];
    for (size_t i = 0; i < m->reading.n; i++) {
        const reading_worker *one = &m->reading.at[i];
        wait_list_add(ret, LOG_INFO, "for=%s on host %s since=%.1fs: %s", reading_worker_name(one, name),
                      one->host, waited, one->state.text);
        wait_list_words(ret, waited, name, "%s to read its data", name);
    }
}

static void list_waits(const master *m, double waited, wait_list *ret)
{
    if (m->phase == GATHER || (m->phase == RUN && !members_alive(&m->members)))
        list_reading(m, waited, ret);
    if (m->phase == GATHER)
        list_gather_waits(m, waited, ret);
    else if (m->phase == SETUP)
        list_setup_waits(m, waited, ret);
    else if (m->phase == RUN)
        m->plan.scheduler->list_waits(m, waited, ret);
    else if (m->phase == DRAIN)
        list_drain_waits(m, waited, ret);
}

void master_list_waits(const master *m, int64_t now_us, wait_list *ret)
{
    double waited = (double)(now_us - wait_began(m)) / SECOND_US;
    if (waited >= WAIT_LISTED_S)
        list_waits(m, waited, ret);
}

void master_ask_events(master *m, int64_t now_us)
{
    enum { PAUSE_US = 10 * SECOND_US };
    if (m->waits.asked_us && now_us - m->waits.asked_us < PAUSE_US)
        return;
    m->waits.asked_us = now_us;
    m->waits.asked++;
    RECORDER_NOTE(.kind = EVENT_ASKED, .lane = -1, .step = -1, .a = (int32_t)m->waits.asked, .at_us = now_us);
}

void master_warn_of_waits(master *m, int64_t now_us)
{
    double waited;
    wait_list waits = WAIT_LIST_INIT;
    if (m->waits.spoken_of != m->phase)
        m->waits.warning = (wait_warning){0};
    m->waits.spoken_of = m->phase;
    if (!wait_warning_due(&m->waits.warning, now_us, wait_began(m),
                          master_option(m, "distributed.wait_warning"), &waited))
        return;
    list_waits(m, waited, &waits);
    wait_list_log(&waits);
    if (recorder_write_waits(&waits))
        master_ask_events(m, now_us);
}

/* Servers that all refuse us, and nobody who is of our mind: then it is us who are wrong. One wrong
 * server among others leaves, and may be followed by a right one. */
static status check_agreement(const master *m, int64_t now_us, error *err)
{
    for (int32_t i = 0; i < m->o->n_servers; i++)
        if (!m->servers[i].refuses_us || now_us - m->servers[i].refuses_us < DIFFERS_US)
            return OK;
    if (!m->o->n_servers || members_of_others(&m->members))
        return OK;
    return FAIL(err, m->disagreement.code, "%s", m->disagreement.text);
}

/* Servers read nothing; those whose shards others bear are not needed. */
static status check_start(master *m, double waited, int64_t now_us, error *err)
{
    double limit = master_option(m, "distributed.start_timeout");
    double absent = reading_workers_absence_s(&m->reading, m->waits.begun_us, now_us);
    bool awaits_servers = waited > limit && !master_can_spare(m, waited);
    for (int32_t i = 0; i < m->o->n_servers && awaits_servers; i++)
        if (!m->servers[i].welcomed)
            return FAIL(err, E_LOST, "after %.0f s parameter server ps.%d (%s) has not come",
                        waited, m->o->first_server + i, m->o->servers[i]);
    if (absent <= limit)
        return OK;
    if (m->reading.n == 0)
        return FAIL(err, E_LOST, "after %.0f s no worker has come", waited);
    const reading_worker *one = &m->reading.at[0];
    char name[TASK_NAME];
    return FAIL(err, E_LOST, "%s on host %s has not got on for %.0f s as it reads its data: %s",
                reading_worker_name(one, name), one->host, (double)(now_us - one->moved_us) / SECOND_US,
                one->state.text);
}

/* A server whose shards others bear is not needed. */
static status check_servers(const master *m, int64_t now_us, error *err)
{
    for (int32_t i = 0; i < m->o->n_servers; i++) {
        int64_t heard_us = m->servers[i].heard_us;
        double silent = (double)(now_us - (heard_us ? heard_us : m->waits.begun_us)) / SECOND_US;
        if (assign_needs(&m->assign, i) && silent > master_option(m, "distributed.lost_timeout"))
            return FAIL(err, E_LOST, "no word from parameter server ps.%d (%s) for %.0f s",
                        m->o->first_server + i, m->o->servers[i], silent);
    }
    return OK;
}

status master_check_lost(master *m, int64_t now_us, error *err)
{
    double waited = (double)(now_us - wait_began(m)) / SECOND_US;
    if (m->phase == GATHER) {
        TRY(check_agreement(m, now_us, err));
        return check_start(m, waited, now_us, err);
    }
    if (m->phase == RUN && !members_alive(&m->members) &&
        reading_workers_absence_s(&m->reading, wait_began(m), now_us) > master_option(m, "distributed.lost_timeout"))
        return FAIL(err, E_LOST, "no worker for %.0f s", waited);
    /* once all is drained the job dir has everything */
    return m->phase < DRAIN ? check_servers(m, now_us, err) : OK;
}
