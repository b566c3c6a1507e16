/*
 * From the first hello to READY: K and the plan of steps are settled, a checkpoint is found, the
 * accounts are opened, every server gets its parts.
 */
#include "master/state.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/config/training.h"
#include "common/wire/hello.h"
#include "optim/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void master_say_hello(master *m, server *s)
{
    wire_head h = master_head(m, WIRE_HELLO);
    wire_set_hello_server(&h, m->o->first_server + (int32_t)(s - m->servers));
    h.bytes = m->hello.size;
    unsigned char head[NET_HEAD];
    wire_head_encode(&h, head);
    span payload = span_for_call(m->hello.data, m->hello.size);
    if (net_send(s->socket, NULL, head, &payload, NULL) != OK)
        LOG_D("SEND", "type=HELLO");
}

static status settle_k(master *m, error *err)
{
    const config *c = m->o->config;
    int64_t k = jobdir_batches_per_step(m->o->dir);
    if (!k) {
        k = training_batches_per_step(c, members_lanes(&m->members));
        TRY(jobdir_set_batches_per_step(m->o->dir, k, err));
    }
    TRY(jobdir_keep_examples(m->o->dir, m->plan.declaration.examples_per_epoch, err));
    m->plan.batches_per_step = k;
    m->plan.steps = training_steps(c, m->plan.declaration.examples_per_epoch, k);
    m->plan.total = training_total(&m->plan.steps, c);
    uint32_t lanes = members_lanes(&m->members);
    LOG_I("JOB",
          "mode=%s steps=%lld steps_per_epoch=%lld batches_per_step=%lld effective_batch=%lld "
          "lanes=%u",
          config_str(c, "distributed.mode"), (long long)m->plan.total,
          (long long)steps_per_epoch(&m->plan.steps), (long long)k,
          (long long)steps_examples(&m->plan.steps, 0), lanes);
    if (lanes > k && m->plan.schedule.in_order)
        LOG_W("IDLE_LANES",
              "%u lanes for %lld slots: %lld of them only wait; raise trainer.batches_per_step",
              lanes, (long long)k, (long long)(lanes - k));
    return OK;
}

/* The same bits are promised to a job that stays with one kind of device, build and processor. */
static status note_fingerprint(master *m, error *err)
{
    char *before = NULL;
    TRY(jobdir_keep_fingerprint(m->o->dir, m->members.fingerprint, &before, err));
    if (before)
        LOG_W("OTHER_BITS",
              "the job goes on with '%s' and was computed with '%s' until now: its weights will not be, to "
              "the last bit, those of a job that stays with one of them",
              m->members.fingerprint, before);
    free(before);
    return OK;
}

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

static status open_accounting(master *m, int64_t saved, int64_t step, error *err)
{
    const config *c = m->o->config;
    int64_t oldest = saved;
    TRY(master_oldest_checkpoint(m, &oldest, err));
    lr_schedule rates = lr_schedule_settings(c, m->plan.total);
    return accounting_open(
        &(accounting_options){
            .dir = m->o->dir,
            .steps = m->plan.steps,
            .rates = rates,
            .summary_steps = config_int(c, "trainer.save_summary_steps"),
            .total = m->plan.total,
            .behind = saved - oldest,
        },
        saved, step, &m->accounting, err);
}

static status open_results(master *m, int64_t saved, error *err)
{
    const config *c = m->o->config;
    return results_open(
        &(results_options){
            .dir = m->o->dir,
            .flat = m->plan.declaration.flat,
            .steps = m->plan.steps,
            .validation_metric = config_str(c, "trainer.validation_metric"),
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

/* Checkpoints and epochs go on from the newest checkpoint, steps from the version begun with. */
static status open_accounts(master *m, int64_t saved, int64_t step, error *err)
{
    const config *c = m->o->config;
    master_close_accounts(m);
    TRY(open_accounting(m, saved, accounts_end(m, step), err));
    TRY(open_results(m, saved, err));
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

void master_say_setup(master *m, int32_t s)
{
    Wire__Declaration declaration;
    wire_declaration_fill(m->plan.declaration.flat, m->plan.declaration.examples_per_epoch, &declaration);
    Wire__Setup w = WIRE__SETUP__INIT;
    w.declaration = &declaration;
    w.servers = (uint32_t)m->o->n_servers;
    w.server = (uint32_t)s;
    w.step = m->era.start;
    w.restore_dir = m->restore.dir;
    w.dir_token = (char *)(uintptr_t)jobdir_token(m->o->dir);
    w.batch_size = m->plan.steps.batch_size;
    w.batches_per_step = m->plan.steps.per_step;
    w.drop_last = m->plan.steps.drop_last;
    w.total_steps = m->plan.total;
    w.keep = m->era.keeps;
    w.lineage = m->era.lineage;
    w.loss_scale = loss_scale_pack(m->restore.scale);
    master_fill_shards(m, &w);
    master_send(m->servers[s].socket, NULL, master_head(m, WIRE_SETUP), &w.base);
    master_clear_shards(&w);
    wire_declaration_clear(&declaration);
}

status master_begin_setup(master *m, error *err)
{
    TRY(jobdir_check_there(m->o->dir, err)); /* or it would seem to have no checkpoint */
    m->plan.optim = optim_settings(m->o->config);
    for (size_t i = 0; i < optim_slots(&m->plan.optim); i++)
        m->plan.slot_names[i] = optim_slot_name(&m->plan.optim, i);
    TRY(settle_k(m, err));
    TRY(note_fingerprint(m, err));
    TRY(era_turn(&m->era, err));
    int64_t saved = -1;
    if (jobdir_goes_back(m->o->dir))
        master_forget_parts(m);
    m->era.keeps = master_assign(m);
    TRY(m->era.keeps ? checkpoint_newest(m->o->dir, &saved, err) : master_choose_restore(m, &saved, err));
    m->era.start = saved < 0 ? 0 : saved;
    if (m->plan.scheduler->expect)
        m->plan.scheduler->expect(m);
    m->phase = SETUP;
    m->waits.progress_us = clock_us();
    for (int32_t i = 0; i < m->o->n_servers; i++) {
        m->servers[i].ready = !assign_needs(&m->assign, i);
        if (!m->servers[i].ready)
            master_say_setup(m, i);
    }
    return OK;
}

/* Whether all servers are there, or even ready. */
static bool has_all_servers(const master *m, bool ready)
{
    for (int32_t i = 0; i < m->o->n_servers; i++)
        if (!(ready ? m->servers[i].ready : m->servers[i].welcomed))
            return false;
    return true;
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
    if (!has_all_servers(m, true))
        return OK;
    int64_t saved = m->era.start;
    const char *why = NULL;
    TRY(m->plan.scheduler->find_start(m, &why, err));
    if (why)
        return master_give_up(m, why, err);
    m->era.saved = saved;
    return master_try_begin(m, err);
}

static status begin(master *m, error *err)
{
    TRY(open_accounts(m, m->era.saved, m->era.start, err));
    return master_begin_run(m, err);
}

status master_try_begin(master *m, error *err)
{
    if (m->phase != SETUP || !has_all_servers(m, true))
        return OK;
    error why = ERROR_INIT;
    status st = begin(m, &why);
    if (st != OK)
        m->phase = SETUP; /* it is tried again, if the job dir is what failed */
    return master_disk(m, st, &why, err);
}

bool master_all_workers(const master *m)
{
    int32_t wanted = m->o->n_workers > 0 ? m->o->n_workers : 1;
    return (int32_t)members_alive(&m->members) >= wanted;
}

static double waited_s(const master *m)
{
    return (double)(clock_us() - m->waits.begun_us) / SECOND_US;
}

static bool is_in_time(const master *m)
{
    return waited_s(m) < master_option(m, "distributed.start_timeout");
}

/* A first start waits for all, so that K counts them; a resumed job knows its K and waits for one.
 */
bool master_may_begin(const master *m)
{
    bool is_patient = is_in_time(m) && !jobdir_batches_per_step(m->o->dir);
    return master_all_workers(m) || (!is_patient && waited_s(m) >= 5 && members_alive(&m->members));
}

status master_try_setup(master *m, error *err)
{
    bool suffice = has_all_servers(m, false) || master_can_spare(m, waited_s(m));
    TRY(master_settle_files(m, err));
    if (m->phase != GATHER || !m->plan.declaration.flat || !suffice)
        return OK;
    if (is_in_time(m) && !members_all_declared(&m->members))
        return OK; /* one of them may see other data */
    return master_may_begin(m) ? master_begin_setup(m, err) : OK;
}
