/*
 * When a job is done, before its time too, and what it leaves then.
 */
#include "master/state.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/store/eval_damage.h"

status master_stop_early(master *m, error *err)
{
    bool stop = false;
    error why = ERROR_INIT;
    int64_t judged = results_judged_step(m->results);
    status st = results_poll(m->results, &stop, &why);
    master_tell_judged(m, judged);
    if (st != OK)
        return master_disk(m, st, &why, err);
    if (!stop || m->phase != RUN || saver_is_hurried(m->saver))
        return OK;
    m->plan.total = saver_last(m->saver);
    LOG_I("EARLY_STOP",
          "step=%lld: no improvement in %lld epochs; with more trainer.patience it can go on",
          (long long)m->plan.total, (long long)config_int(m->o->config, "trainer.patience"));
    master_tell(m, TIMELINE_EARLY_STOP, NULL, "no improvement in %lld epochs: step %lld is the last",
                (long long)config_int(m->o->config, "trainer.patience"), (long long)m->plan.total);
    m->phase = DRAIN;
    m->waits.drain_us = clock_us();
    return OK;
}

/* A checkpoint takes every part: there is none while a server is gone that alone has some. A
 * connection that only broke is back by then. */
static bool is_server_gone(const master *m)
{
    int64_t now = clock_us();
    for (int32_t i = 0; i < m->o->n_servers; i++) {
        const server *s = &m->servers[i];
        if (!s->welcomed && now - s->left_us > SECOND_US && !assign_bears(&m->assign, i))
            return true;
    }
    return false;
}

bool master_waited_to_leave(const master *m, int64_t now_us)
{
    double asked_s = (double)(now_us - m->ending.preempt_us) / SECOND_US;
    return m->ending.preempted && asked_s > master_option(m, "distributed.preempt_grace");
}

/* Asked to leave, and no checkpoint that is still to come is worth the wait. */
static bool may_leave(const master *m)
{
    return m->ending.preempted && (m->phase == GATHER || (m->phase < DRAIN && is_server_gone(m)) ||
                                   master_waited_to_leave(m, clock_us()));
}

/* The last checkpoint is there, and so is all that is to be evaluated. */
static bool has_all_results(const master *m)
{
    return saver_last(m->saver) >= m->plan.total &&
           (!m->o->evaluates ||
            (!results_waiting(m->results) && results_has(m->results, m->plan.total)));
}

static void warn_of_evaluation(const evaluator_life *e)
{
    double silent_s = (double)(clock_us() - e->seen_us) / SECOND_US;
    if (e->reads)
        LOG_W("NO_EVALUATION", "the evaluator has not got on for final_eval_timeout as it reads its data: %s",
              e->state.text);
    else if (e->says)
        LOG_W("NO_EVALUATION", "the evaluator has shown no sign of life for %.0f s, when it was reading its data: %s",
              silent_s, e->state.text);
    else
        LOG_W("NO_EVALUATION", "the last checkpoint was not evaluated within final_eval_timeout");
}

/* Nothing is left to wait for but the last evaluation; a task that is asked to leave waits for it no
 * longer than for a checkpoint. */
static bool is_drained(const master *m)
{
    if (may_leave(m))
        return true;
    if (m->phase != DRAIN)
        return false;
    bool is_cut_short = m->ending.preempted && saver_last(m->saver) < m->plan.total;
    if (has_all_results(m) || is_cut_short)
        return true;
    const evaluator_life *e = &m->evaluator;
    int64_t since = e->moved_us > m->waits.drain_us ? e->moved_us : m->waits.drain_us;
    bool waited = (double)(clock_us() - since) / SECOND_US > master_option(m, "trainer.final_eval_timeout");
    if (waited)
        warn_of_evaluation(e);
    return waited;
}

static status tell_preempted(const master *m, error *err)
{
    int64_t step = -1;
    TRY(checkpoint_newest(m->o->dir, &step, err));
    if (step < 0)
        return FAIL(err, E_PREEMPTED, "preempted before there was a checkpoint");
    return FAIL(err, E_PREEMPTED, "preempted: checkpoint step %lld is complete; start again to resume",
                (long long)step);
}

static status master_finish(master *m, error *err)
{
    if (!m->saver)
        return FAIL(err, E_PREEMPTED, "preempted before the first step");
    if (m->ending.preempted && !has_all_results(m))
        return tell_preempted(m, err);
    TRY(accounting_sync(m->accounting, err));
    saver_unevaluated(m->saver, results_next_judged(m->results));
    TRY(saver_prune(m->saver, results_best_step(m->results), err));
    metric_figures figures = {.n = 0};
    results_end end = {
        .totals = accounting_totals_of(m->accounting),
        .figures = &figures,
        .steps_done = m->plan.total,
        .batches_applied = saver_batches(m->saver),
        .lanes = members_lanes(&m->members),
        .workers = members_alive(&m->members),
        .ps = m->o->n_servers,
        .restarts = m->era.starts,
        .lane_time = master_lane_time(m),
    };
    if (results_diverged(end.totals))
        LOG_W("DIVERGED", "first_loss=%g training_loss=%g: the weights are worse than untrained ones; a lower "
              "trainer.optimizer.lr may help",
              end.totals->first_loss, results_training_loss(end.totals));
    int64_t epochs = end.totals->step / steps_per_epoch(&m->plan.steps);
    if (epochs)
        (void)accounting_epoch_figures(m->accounting, epochs - 1, &figures);
    status st = results_finish(m->results, &end, err);
    metric_figures_fini(&figures);
    json_decref(end.lane_time);
    TRY(st);
    eval_damage_tell(m->o->dir, NULL, 0);
    return OK;
}

status master_try_finish(master *m, error *err)
{
    if (!is_drained(m) || !master_trace_is_over(m))
        return OK;
    error why = ERROR_INIT;
    status st = master_finish(m, &why);
    m->ending.finished = st == OK;
    return master_disk(m, st, &why, err);
}
