/*
 * The accounts: reports become steps and epochs, and checkpoints are committed when the accounts are
 * complete up to them: whoever goes back to a checkpoint finds in the journal all that was reported
 * before it.
 */
#include "master/state.h"

#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/live/counters.h"
#include "common/live/durations.h"
#include "common/live/recorder.h"
#include "optim/settings.h"

#include <math.h>

/* --- checkpoints --- */

static bool ends_epoch(const master *m, int64_t step)
{
    return m->o->evaluates && step % steps_per_epoch(&m->plan.steps) == 0;
}

/* Those of an epoch of which some slots were not counted, or with other metrics, would be of a part of it. */
static void training_figures(master *m, int64_t epoch, metric_figures *ret)
{
    bool is_whole = accounting_epoch_figures(m->accounting, epoch, ret);
    if (!is_whole && m->plan.declaration.training_metrics.size)
        LOG_W("TRAINING_METRICS",
              "epoch=%lld has none but the loss and the accuracy: not all of its batches were counted by the metrics "
              "that are listed now", (long long)epoch);
}

static status record_epoch(master *m, int64_t step, int64_t epoch, double wall_s, error *err)
{
    metric_figures figures = {.n = 0};
    training_figures(m, epoch, &figures);
    results_training training = {accounting_epoch(m->accounting, epoch), &figures};
    status st = results_epoch(m->results, step, &training, wall_s, err);
    metric_figures_fini(&figures);
    return st;
}

/* An epoch enters the results when its checkpoint is written, before that is committed: one that is
 * not committed after all goes with the epochs behind the newest checkpoint. */
static status record_epochs(master *m, error *err)
{
    const accounting_totals *t = accounting_totals_of(m->accounting);
    int64_t per_epoch = steps_per_epoch(&m->plan.steps), next = m->reporting.epoch_recorded + per_epoch;
    for (; next <= m->reporting.epoch_saved && next <= t->step; next += per_epoch) {
        TRY(record_epoch(m, next, next / per_epoch - 1, t->wall_s, err));
        m->reporting.epoch_recorded = next;
    }
    return OK;
}

/* The last cut there was to be is over. */
static void drain_after(master *m, int64_t step)
{
    if (step < m->plan.total && !(saver_is_hurried(m->saver) && step == saver_limit(m->saver)))
        return;
    m->phase = DRAIN;
    m->waits.drain_us = clock_us();
}

/* One that must be is ordered again, as long as the job waits for its disk. */
static status owe_cut(master *m, uint32_t id, int64_t step, const char *why, error *err)
{
    error lack = ERROR_INIT;
    fetches_drop(m->fetches, id);
    saver_owe(m->saver, id);
    return master_disk(m, FAIL(&lack, E_DISK, "checkpoint step %lld: %s", (long long)step, why), &lack, err);
}

/* The checkpoint before stays, and the next cut tries again. */
status master_cut_lost(master *m, uint32_t id, const char *why, error *err)
{
    int64_t step = saver_version(m->saver, id);
    if (step < 0)
        return OK;
    saver_fail(m->saver, id);
    fetches_drop(m->fetches, id);
    saver_discard(m->saver, step);
    LOG_W("CHECKPOINT_FAILED", "step=%lld newest=%lld %s", (long long)step,
          (long long)saver_last(m->saver), why);
    master_tell(m, TIMELINE_CHECKPOINT_FAILED, NULL, "there is no checkpoint of step %lld: %s", (long long)step, why);
    if (ends_epoch(m, step))
        m->reporting.epoch_saved = step;          /* an epoch like others, which nobody can evaluate */
    drain_after(m, step);
    master_order_cuts(m);
    return master_commit_if_well(m, err);
}

status master_cut_over(master *m, uint32_t id, status st, const error *why, error *err)
{
    if (st == OK)
        return OK;
    if (!fs_is_cause(st) && st != E_DATA)
        return FAIL(err, st, "%s", why->text);
    int64_t step = saver_version(m->saver, id);
    return step >= 0 && saver_must(m->saver, step) ? owe_cut(m, id, step, why->text, err)
                                                   : master_cut_lost(m, id, why->text, err);
}

/* The accounts are on the disk up to there: nothing is lost with whoever goes back to it. */
static status complete_accounts(master *m, int64_t step, error *err)
{
    TRY(accounting_sync(m->accounting, err));
    if (ends_epoch(m, step))
        m->reporting.epoch_saved = step;
    return record_epochs(m, err);
}

static status commit_one(master *m, int64_t step, uint32_t id, error *err)
{
    error why = ERROR_INIT;
    status st = complete_accounts(m, step, &why);
    if (st != OK)
        return master_disk(m, st, &why, err);
    saver_unevaluated(m->saver, results_next_judged(m->results));
    st = saver_commit(m->saver, results_best_step(m->results), &why);
    if (st != OK)
        return master_cut_over(m, id, st, &why, err);
    LOG_I("CHECKPOINT", "step=%lld", (long long)step);
    RECORDER_NOTE(.kind = EVENT_COMMIT, .lane = -1, .step = step, .at_us = clock_us());
    master_tell(m, TIMELINE_CHECKPOINT, NULL, "the checkpoint of step %lld is complete", (long long)step);
    counter_add(COUNTER_MASTER_CHECKPOINTS, 1);
    master_disk_took(m);
    int64_t oldest = step;
    TRY(master_oldest_checkpoint(m, &oldest, err));
    st = accounting_saved(m->accounting, oldest, &why); /* at worst the journal stays longer than it need be */
    if (st != OK && fs_is_cause(st))
        LOG_W("JOURNAL", "what it need not tell any more stays in it: %s", why.text);
    else if (st != OK)
        return FAIL(err, st, "%s", why.text);
    if (ends_epoch(m, step))
        master_say_reported(m);
    drain_after(m, step);
    master_order_cuts(m);
    return OK;
}

status master_commit(master *m, error *err)
{
    uint32_t id = 0;
    error why = ERROR_INIT;
    status st = record_epochs(m, &why);
    if (st != OK)
        return master_disk(m, st, &why, err);
    for (int64_t step; (step = saver_written(m->saver, &id)) >= 0;) {
        if (step > accounting_totals_of(m->accounting)->step)
            return OK;
        TRY(commit_one(m, step, id, err));
        if (saver_written(m->saver, NULL) == step)
            return OK;                  /* its turn comes when the disk is tried again */
    }
    return OK;
}

status master_commit_if_well(master *m, error *err)
{
    return master_disk_is_well(m) || saver_owes(m->saver) ? master_commit(m, err) : OK;
}

status master_take_written(master *m, const shard_report *r, error *err)
{
    TRY(saver_shard(m->saver, r, err));
    return master_commit_if_well(m, err);
}

/* --- reports --- */

int64_t master_applied(const master *m)
{
    int64_t reported = accounting_applied(m->accounting);
    return reported > m->era.start ? reported : m->era.start;
}

static void say_progress(const master *m)
{
    if (!m->o->progress)
        return;
    const accounting_totals *t = accounting_totals_of(m->accounting);
    int64_t per_epoch = steps_per_epoch(&m->plan.steps);
    double left = (double)(m->plan.total - t->step) * (double)steps_mean_examples(&m->plan.steps);
    master_progress p = {
        .step = t->step,
        .total_steps = m->plan.total,
        .epoch = t->step / per_epoch,
        .epochs = (m->plan.total + per_epoch - 1) / per_epoch,
        .loss = metric_result(&t->last_step, "loss"),
        .accuracy = metric_result(&t->last_step, "accuracy"),
        .rate = accounting_rate(m->accounting),
        .examples_per_s = t->examples_per_s,
        .eta_s = t->examples_per_s > 0 ? left / t->examples_per_s : NAN,
    };
    m->o->progress(m->o->user, &p);
}

/* Steps became complete. */
status master_steps_done(master *m, int64_t before, error *err)
{
    int64_t since_us = m->waits.progress_us;
    m->waits.progress_us = clock_us();
    if (before > 0) /* the first one's is a start's */
        duration_note(DURATION_MASTER_STEP, m->waits.progress_us - since_us);
    RECORDER_NOTE(.kind = EVENT_STEP_DONE, .lane = -1, .step = accounting_totals_of(m->accounting)->step,
                  .at_us = m->waits.progress_us);
    if (before == 0)
        LOG_I("FIRST_STEP", "after=%.3fs", (double)(clock_us() - m->waits.begun_us) / SECOND_US);
    if (m->phase == RUN) {
        master_order_histograms(m);
        master_order_cuts(m);
    }
    say_progress(m);
    return master_commit_if_well(m, err);
}

status master_record(master *m, const wire_head *h, const Wire__Report *r, error *err)
{
    slot_report said = reports_read(r, h->step, (uint32_t)wire_report_slot(h));
    int64_t before = accounting_totals_of(m->accounting)->step;
    if (said.step >= m->plan.total) {
        slot_report_fini(&said);
        return OK;
    }
    int64_t done = accounting_report(m->accounting, &said);
    slot_report_fini(&said);
    counter_add(COUNTER_MASTER_REPORTS, 1);
    return done ? master_steps_done(m, before, err) : OK;
}

void master_say_reported(master *m)
{
    int64_t step = accounting_recorded(m->accounting);
    wire_head h = master_head(m, WIRE_REPORTED);
    wire_set_reported_until(&h, step);
    master_send_workers(m, h, NULL);
    master_send_servers(m, h, NULL);
}
