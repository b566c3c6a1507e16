/*
 * All that an era keeps accounts of: opened when it begins, closed with it.
 */
#include "master/state.h"

#include "optim/settings.h"

#include <math.h>

void master_close_accounts(master *m)
{
    accounting_close(&m->accounting);
    results_close(&m->results);
    saver_destroy(&m->saver);
    scrubber_destroy(&m->scrub.scrubber);
    fetches_destroy(&m->fetches);
    vote_destroy(&m->voting.vote);
    summaries_destroy(&m->summaries);
}

static uint32_t reductions_at(const void *of, int64_t step)
{
    return results_reductions(of, step);
}

static status open_accounting(master *m, int64_t saved, int64_t step, error *err)
{
    const config *c = m->o->config;
    int64_t oldest = saved;
    TRY(master_oldest_checkpoint(m, &oldest, err));
    return accounting_open(
        &(accounting_options){
            .dir = m->o->dir,
            .steps = m->plan.steps,
            .rates = lr_settings(c, master_span(m, m->plan.total)),
            .reductions = reductions_at,
            .reductions_of = m->results,
            .summary_steps = config_int(c, "trainer.save_summary_steps"),
            .total = m->plan.total,
            .recipe = m->plan.declaration.training_metrics.data,
            .recipe_bytes = m->plan.declaration.training_metrics.size,
            .behind = saved - oldest,
        },
        saved, step, &m->accounting, err);
}

static status open_results(master *m, int64_t saved, error *err)
{
    const config *c = m->o->config;
    metric_goal goal;
    plateau_rule rule;
    TRY(metric_goal_settings(c, &goal, err));
    plateau_settings(c, &rule);
    return results_open(
        &(results_options){
            .dir = m->o->dir,
            .flat = m->plan.declaration.flat,
            .steps = m->plan.steps,
            .goal = goal,
            .plateau = rule,
            .patience = config_has(c, "trainer.patience") ? config_int(c, "trainer.patience") : 0,
            .evaluates = m->o->evaluates,
            .schedule = m->plan.schedule,
            .taken_back = m->era.taken_back,
        },
        saved, &m->results, err);
}

static saver *open_saver(const master *m, int64_t saved)
{
    const config *c = m->o->config;
    return saver_create(&(saver_options){
        .dir = m->o->dir,
        .flat = m->plan.declaration.flat,
        .steps = m->plan.steps,
        .begin = saved,
        .total = m->plan.total,
        .epoch_ends = m->o->evaluates,
        .every_steps = config_has(c, "trainer.save_checkpoints_steps")
                           ? config_int(c, "trainer.save_checkpoints_steps")
                           : 0,
        .every_s = config_has(c, "trainer.save_checkpoints_secs")
                       ? config_f64(c, "trainer.save_checkpoints_secs")
                       : 0,
        .keep = config_int(c, "trainer.keep_checkpoint_max"),
        .n_servers = m->o->n_servers,
        .lineage = m->era.lineage,
        .seed = (uint64_t)config_int(c, "random_seed"),
        .config_digest = m->plan.digest,
        .slot_names = m->plan.slot_names,
        .n_slots = optim_slots(&m->plan.optim),
        .lists_units = schedule_lists_units(&m->plan.schedule),
        .scales = loss_scale_settings(c).dynamic,
    });
}

static void open_vote(master *m, int64_t step)
{
    bool clips = config_has(m->o->config, "trainer.grad_norm");
    loss_scale_rule scaling = loss_scale_settings(m->o->config);
    m->voting.vote = vote_create(m->plan.declaration.flat->n_live_parts,
                          clips ? master_option(m, "trainer.grad_norm") : (double)INFINITY,
                          &scaling);
    if (!m->era.keeps)
        m->voting.step = -1;
    /* a server that has not heard the last verdict asks for it by voting again */
    vote_begin(m->voting.vote, step + (m->voting.step == step));
}

/* What the accounts may hold of parts that are kept: all that any of them has. Its server may have been
 * told REPORTED, though a part that is behind makes all begin earlier. */
static int64_t accounts_end(const master *m, int64_t step)
{
    for (int32_t i = 0; m->era.keeps && i < m->o->n_servers; i++)
        if (assign_acts(&m->assign, i) && m->servers[i].newest > step)
            step = m->servers[i].newest;
    return step;
}

status master_open_accounts(master *m, error *err)
{
    const config *c = m->o->config;
    int64_t saved = m->era.saved < 0 ? 0 : m->era.saved, step = m->era.start;
    master_close_accounts(m);
    TRY(open_results(m, saved, err));
    TRY(open_accounting(m, saved, accounts_end(m, step), err));
    m->era.taken_back = false;
    m->reporting.epoch_saved = m->reporting.epoch_recorded = saved - saved % steps_per_epoch(&m->plan.steps);
    m->saver = open_saver(m, saved);
    m->scrub.scrubber = scrubber_create();
    m->fetches = fetches_create(m->o->dir);
    if (m->views.deal)
        deal_restart(m->views.deal, step);
    else
        m->views.deal = deal_create(&m->plan.steps, step, config_bool(c, "distributed.rebalance"));
    if (vote_settings(c))
        open_vote(m, step);
    m->summaries = summaries_create(m->plan.declaration.flat, &m->assign,
                                    config_has(c, "trainer.save_histogram_steps")
                                        ? config_int(c, "trainer.save_histogram_steps")
                                        : steps_per_epoch(&m->plan.steps));
    return OK;
}
