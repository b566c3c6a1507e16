/*
 * An era is set up: K and the plan of steps are settled, a checkpoint is found, every server gets its parts.
 */
#include "master/state.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/config/training.h"
#include "optim/settings.h"

#include <stdlib.h>

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
    TRY(jobdir_keep_batch_kinds(m->o->dir, &m->plan.declaration.kinds, err));
    m->plan.steps = training_steps(c, m->plan.declaration.examples_per_epoch, &m->plan.declaration.kinds, k);
    m->plan.total = training_total(&m->plan.steps, c);
    TRY(master_trace_settle(m, err));
    uint32_t lanes = members_lanes(&m->members);
    LOG_I("JOB",
          "mode=%s steps=%lld steps_per_epoch=%lld batches_per_step=%lld effective_batch=%lld "
          "lanes=%u",
          config_str(c, "distributed.mode"), (long long)m->plan.total,
          (long long)steps_per_epoch(&m->plan.steps), (long long)k,
          (long long)steps_mean_examples(&m->plan.steps), lanes);
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

void master_say_setup(master *m, int32_t s)
{
    Wire__Declaration declaration;
    wire_declaration_fill(m->plan.declaration.flat, m->plan.declaration.examples_per_epoch,
                          &m->plan.declaration.kinds, &declaration);
    Wire__Setup w = WIRE__SETUP__INIT;
    w.declaration = &declaration;
    w.servers = (uint32_t)m->o->n_servers;
    w.server = (uint32_t)s;
    w.step = m->era.start;
    w.saved = m->era.saved;
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
    m->era.saved = saved;
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
