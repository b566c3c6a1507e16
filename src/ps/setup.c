/*
 * From hello to READY: what the master's Setup makes of a server.
 */
#include "ps/state.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/live/pulse.h"
#include "common/parts/placement.h"
#include "common/live/recorder.h"
#include "common/wire/hello.h"
#include "common/wire/shards.h"
#include "optim/settings.h"
#include "optim/whole.h"

#include <stdlib.h>
#include <string.h>

static void setup_welcome(ps *s, const net_peer *to)
{
    Wire__Welcome m = WIRE__WELCOME__INIT;
    m.life = s->life;
    m.ready = s->set_up;
    m.lineage = s->set_up ? s->era.lineage : 0;
    m.era = s->set_up ? s->era.begun : 0;
    m.shards = ps_list_shards(s, &m.n_shards);
    if (s->standbys.replicator && m.era) {
        m.assignment = wire_shards_fill(s->assignment.shards, s->assignment.n_servers);
        m.n_assignment = (size_t)s->assignment.n_servers;
    }
    if (s->chief.address)
        m.master_address = s->chief.address;
    ps_reply_proto(s, to, (wire_head){.type = WIRE_WELCOME}, &m.base);
    wire_shards_clear(m.assignment);
    free(m.shards);
}

bool ps_is_over(const ps *s, const wire_head *h)
{
    return h->job_id == s->era.identity.job_id && h->era < s->era.identity.era;
}

/* The one that our own cluster names, before there was any other master: then the job is not ours. */
static void note_chief(ps *s, const Wire__Hello *hello, status st, const error *why)
{
    bool is_chief = s->o->chief && strcmp(hello->role, role_name(ROLE_MASTER)) == 0 &&
                    strcmp(hello->master_address, s->o->chief) == 0;
    if (!is_chief || s->chief.is_known || s->chief.differs_us || (st != E_CONFIG && st != E_PROTOCOL))
        return;
    s->chief.differs_us = clock_us();
    s->chief.differs = *why;
}

void ps_take_hello(ps *s, const net_message *m, const wire_head *h, const Wire__Hello *hello)
{
    error why = ERROR_INIT;
    task who;
    status st = hello_check(hello, s->o->config, s->o->self, &who, &why);
    if (st == OK)
        st = hello_check_server(hello, h, s->o->self, &why);
    if (st == OK && who.role == ROLE_MASTER && ps_is_over(s, h))
        st = FAIL(&why, E_LOST, "a newer master leads the job, in era %u", s->era.identity.era);
    if (st != OK) {
        char name[TASK_NAME];
        unsigned others = 0;
        bool speaks = log_pace_allows(&s->refused_pace, clock_us(), &others);
        if (others)
            LOG_W("REFUSED", "%u others since", others);
        if (speaks)
            LOG_W("REFUSED", "%s: %s", task_name((task){ROLE_PS, s->o->self.index}, name), why.text);
        ps_refuse(s, &m->from, h, st, why.text);
        note_chief(s, hello, st, &why);
        return;
    }
    net_admit(s->socket, m->connection);
    recorder_peer(net_peer_number(s->socket, &m->from), hello_process(hello, who));
    if (who.role == ROLE_MASTER) {
        s->chief.differs_us = 0;
        s->chief.peer = m->from;
        s->chief.is_known = true;
        if (hello->master_address[0]) {
            free(s->chief.address);
            s->chief.address = xstrdup(hello->master_address);
        }
    }
    if (who.role == ROLE_PS)
        ps_meet_peer(s, &m->from);
    setup_welcome(s, &m->from);
    if (who.role == ROLE_MASTER && s->standbys.replicator)
        replicator_say_backed(s->standbys.replicator);
}

void ps_setup_clear(ps *s)
{
    replicator_destroy(&s->standbys.replicator);
    buf_fini(&s->standbys.hello);
    cuts_destroy(&s->cuts);
    s->settling.freezes = 0;
    s->settling.below = 0;
    preallocator_destroy(&s->preallocator);
    histograms_destroy(&s->histograms);
    table_destroy(&s->table);
    ps_drop_reports(s);
    for (int32_t p = 0; s->pulls && p < s->plan.declaration.flat->n_parts; p++)
        free(s->pulls[p].at);
    free(s->pulls);
    s->pulls = NULL;
    part_times_end(&s->times);
    free(s->assignment.placement);
    s->assignment.placement = NULL;
    free(s->assignment.shards);
    s->assignment.shards = NULL;
    s->era.begun = 0;
    wire_declaration_fini(&s->plan.declaration);
    s->set_up = false;
}

/* The job dir here is the master's if its job.json has the master's token. */
static status find_dir(ps *s, const Wire__Setup *m, error *err)
{
    if (s->dir || s->spool)
        return OK;
    TRY(jobdir_open(s->o->job_dir, &s->dir, err));
    const char *token = jobdir_token(s->dir);
    if (token && strcmp(token, m->dir_token) == 0)
        return OK;
    jobdir_close(&s->dir);
    LOG_I("NO_JOB_DIR", "'%s' is not the master's here: shards go through the master",
          s->o->job_dir);
    return spool_create(&s->spool, err);
}

/* A file server may show this host later what others have named there. */
static bool is_in_sight(const ps *s, const Wire__Setup *m)
{
    char *path = jobdir_file(s->dir, "%s/manifest.json", m->restore_dir);
    bool is = fs_exists(path);
    free(path);
    if (!is)
        LOG_W("NO_JOB_DIR", "'%s/%s' is not there yet: shards go through the master", jobdir_path(s->dir),
              m->restore_dir);
    return is;
}

static status go_without_dir(ps *s, error *err)
{
    jobdir_close(&s->dir);
    return spool_create(&s->spool, err);
}

/* A checkpoint of another layout must not be read into our parts. */
static status ps_open_restore(ps *s, const Wire__Setup *m, checkpoint **ret, error *err)
{
    char *path = jobdir_file(s->dir, "%s", m->restore_dir);
    status st = checkpoint_open(path, true, ret, err);
    free(path);
    s->loading.is_damaged = st == E_DATA;
    TRYF(st, err, "restore step %lld", (long long)m->step);
    const manifest *found = checkpoint_manifest(*ret);
    if (found->step == m->step && strcmp(found->flat_digest, m->declaration->digest) == 0 &&
        found->n_slots == optim_slots(&s->plan.optim) &&
        found->lists_units == schedule_lists_units(&s->plan.schedule))
        return OK;
    checkpoint_close(ret);
    return FAIL(
        err, E_DATA,
        "restore step %lld: '%s' is of another step, model, optimizer or mode than what is trained",
        (long long)m->step, m->restore_dir);
}

static status check_groups(const flat *f, const config *c, error *err)
{
    size_t groups = config_count(c, "trainer.optimizer.parameter_groups");
    bool has_layers = config_has(c, "trainer.optimizer.layer_decay");
    size_t most = has_layers ? (groups + 1) * (size_t)f->n_tensors - 1 : groups;
    for (int32_t i = 0; i < f->n_tensors; i++)
        if ((size_t)f->tensors[i].group > most)
            return FAIL(err, E_PROTOCOL, "SETUP: '%s' is of group %d, and the configuration has %zu",
                        f->tensors[i].name, f->tensors[i].group, most);
    return OK;
}

/* Norms are made of what a part has. */
static status check_whole(const flat *f, const optim *o, error *err)
{
    for (int32_t p = 0; optim_is_whole(o) && p < f->n_live_parts; p++) {
        size_t n;
        const part_segment *s = flat_part_segments(f, p, &n);
        for (size_t i = 0; i < n; i++)
            if (f->tensors[s[i].tensor].kind == TENSOR_TRAINABLE && s[i].n != f->count[s[i].tensor])
                return FAIL(err, E_PROTOCOL, "SETUP: '%s' lies in several parts, and its optimizer needs it whole",
                            f->tensors[s[i].tensor].name);
    }
    return OK;
}

static status ps_read_groups(const ps *s, const steps *paced, int64_t total, optim_group **ret, size_t *ret_n,
                             error *err)
{
    const training_span planned = {.steps = total, .epoch_steps = steps_per_epoch(paced)};
    TRY(check_groups(s->plan.declaration.flat, s->o->config, err));
    TRY(check_whole(s->plan.declaration.flat, &s->plan.optim, err));
    return optim_groups_settings(s->o->config, s->plan.declaration.flat, planned, ret, ret_n, err);
}

static status build_table(ps *s, const Wire__Setup *m, error *err)
{
    const config *c = s->o->config;
    checkpoint *restore = NULL;
    loss_scale scale;
    status st;
    bool restores = m->restore_dir[0] && !m->keep;
    optim_group *groups;
    size_t n_groups;
    const steps paced = {.examples = s->plan.declaration.examples_per_epoch,
                         .batch_size = m->batch_size,
                         .per_step = m->batches_per_step,
                         .drop_last = m->drop_last,
                         .kinds = s->plan.declaration.kinds};
    if (!loss_scale_unpack(m->loss_scale, &scale))
        return FAIL(err, E_PROTOCOL, "SETUP: the loss scale is out of range");
    if (restores && s->dir && !is_in_sight(s, m))
        TRY(go_without_dir(s, err));
    if (restores && s->dir)
        TRY(ps_open_restore(s, m, &restore, err));
    TRY_OUT(st, ps_read_groups(s, &paced, m->total_steps, &groups, &n_groups, err));
    part_hold *parts = xcalloc((size_t)s->plan.declaration.flat->n_parts + 1, sizeof *parts);
    ps_list_parts(s, parts);
    table_options options = {
        .flat = s->plan.declaration.flat,
        .parts = parts,
        .steps = paced,
        .groups = groups,
        .n_groups = n_groups,
        .clip_value = config_has(c, "trainer.grad_clipping")
                          ? (float)config_f64(c, "trainer.grad_clipping")
                          : 0,
        .votes = vote_settings(c),
        .scaling = loss_scale_settings(c),
        .scale = scale,
        .schedule = s->plan.schedule,
        .total = m->total_steps,
        .step = m->step,
        .seed = (uint64_t)config_int(c, "random_seed"),
        .restore = restore,
        .loads = restores && s->spool,
        .thread_pool = s->thread_pool,
        .store = s->o->store,
    };
    table_hooks hooks = {
        .summed = ps_on_summed, .applied = ps_on_applied, .voted = ps_on_voted, .user = s};
    st = table_create(&options, &hooks, &s->table, err);
    free(parts);
    free(groups);
out:
    checkpoint_close(&restore);
    return st;
}

static status ps_set_up(ps *s, const Wire__Setup *m, error *err)
{
    s->plan.schedule = training_schedule(s->o->config);
    if (!m->declaration || !m->servers || m->servers > INT32_MAX || m->server >= m->servers ||
        m->step < 0 || m->batch_size <= 0 || m->batches_per_step <= 0 ||
        m->batches_per_step > UINT32_MAX ||
        m->batches_per_step != schedule_unit_batches(&s->plan.schedule, m->batches_per_step))
        return FAIL(err, E_PROTOCOL, "SETUP: a field is out of range");
    TRY(find_dir(s, m, err));
    ps_setup_clear(s);
    TRY(wire_declaration_read(m->declaration, &s->plan.declaration, err));
    const flat *f = s->plan.declaration.flat;
    s->assignment.server = (int32_t)m->server;
    s->assignment.n_servers = (int32_t)m->servers;
    s->assignment.placement = xcalloc((size_t)f->n_parts, sizeof *s->assignment.placement);
    placement_deal(f, s->assignment.n_servers, s->assignment.placement);
    TRY(ps_read_holders(s, m, err));
    s->pulls = xcalloc((size_t)f->n_parts, sizeof *s->pulls);
    part_times_begin(&s->times, f->n_parts, vote_settings(s->o->config));
    s->plan.optim = optim_settings(s->o->config);
    TRY(build_table(s, m, err));
    for (size_t i = 0; i < optim_slots(&s->plan.optim); i++)
        s->plan.slot_names[i] = optim_slot_name(&s->plan.optim, i);
    TRY(cuts_create(
        &(cuts_options){
            .flat = f,
            .placement = s->assignment.placement,
            .shards = s->assignment.shards,
            .server = s->assignment.server,
            .n_servers = s->assignment.n_servers,
            .slot_names = s->plan.slot_names,
            .n_slots = optim_slots(&s->plan.optim),
            .lists_units = schedule_lists_units(&s->plan.schedule),
            .dir = s->dir,
            .waker = s->waker,
        },
        &s->cuts, err));
    s->preallocator = preallocator_create(s->waker);
    s->histograms = histograms_create(f, s->assignment.placement, s->assignment.shards, s->assignment.server);
    return OK;
}

static void pack_applied(const ps *s, buf *ret)
{
    batch_set all = BATCH_SET_INIT;
    table_applied_by_all(s->table, &all);
    batch_set_pack(&all, ret);
    batch_set_fini(&all);
}

/* Of the parts we act for. */
static void find_versions(const ps *s, int64_t *ret_lowest, int64_t *ret_newest)
{
    *ret_lowest = *ret_newest = -1;
    for (int32_t p = 0; p < s->plan.declaration.flat->n_live_parts; p++) {
        int64_t version = ps_acts_for(s, p) ? table_version(s->table, p) : -1;
        if (version < 0)
            continue;
        *ret_lowest = *ret_lowest < 0 || version < *ret_lowest ? version : *ret_lowest;
        *ret_newest = version > *ret_newest ? version : *ret_newest;
    }
}

static void say_ready(ps *s)
{
    s->set_up = true;
    Wire__Ready ready = WIRE__READY__INIT;
    find_versions(s, &ready.step, &ready.newest);
    ready.bytes = table_bytes(s->table);
    ready.sees_job_dir = s->dir != NULL;
    buf applied = BUF_INIT;
    if (schedule_lists_units(&s->plan.schedule))
        pack_applied(s, &applied);
    ready.applied.data = (uint8_t *)applied.data;
    ready.applied.len = applied.size;
    LOG_I("READY", "server=%d/%d step=%lld newest=%lld bytes=%zu era=%u", s->assignment.server,
          s->assignment.n_servers, (long long)ready.step, (long long)ready.newest, table_bytes(s->table),
          s->era.identity.era);
    ps_reply_proto(s, &s->chief.peer, (wire_head){.type = WIRE_READY}, &ready.base);
    buf_fini(&applied);
    for (size_t i = 0; i < s->standbys.n_peers; i++)
        setup_welcome(s, &s->standbys.peers[i]); /* it waits for us to be in this era */
}

static void say_lost(ps *s)
{
    Wire__Ready ready = WIRE__READY__INIT;
    ready.lost = true;
    ps_reply_proto(s, &s->chief.peer, (wire_head){.type = WIRE_READY}, &ready.base);
}

/* The master looks for another one. */
static void say_damaged(ps *s, const char *why)
{
    Wire__Ready ready = WIRE__READY__INIT;
    ready.damaged = (char *)(uintptr_t)why;
    LOG_E("DAMAGED", "%s", why);
    ps_setup_clear(s);
    ps_reply_proto(s, &s->chief.peer, (wire_head){.type = WIRE_READY}, &ready.base);
}

/* What is loaded or drawn, and not held. */
static status ps_load(ps *s, const Wire__Setup *setup, error *err)
{
    error why = ERROR_INIT;
    pulse_rest(ROLE_PS); /* a shard may be large, and its disk slow */
    s->loading.is_damaged = false;
    status st = ps_set_up(s, setup, &why);
    if (st != OK && !s->loading.is_damaged)
        return FAIL(err, st, "%s", why.text);
    if (st != OK) {
        say_damaged(s, why.text);
        return OK;
    }
    TRY(ps_begin_replicator(s, setup, err));
    s->era.lineage = setup->lineage;
    s->era.begun = s->era.identity.era;
    s->loading.by_master = s->spool && setup->restore_dir[0];
    s->loading.part = 0;
    s->loading.row = 0;
    return OK;
}

static bool awaits_all(const Wire__Setup *m)
{
    for (size_t i = 0; i < m->n_shards; i++)
        if (m->shards[i]->acting == m->server ||
            (m->shards[i]->has_standby && m->shards[i]->standby == m->server &&
             m->shards[i]->is_backed))
            return false;
    return m->n_shards > 0;
}

/* What is held goes on, what is new is awaited. *ret_lost: something is not here. */
static status hold_on(ps *s, const Wire__Setup *m, bool *ret_lost, error *err)
{
    bool holds = s->set_up && s->era.lineage == m->lineage && s->assignment.server == (int32_t)m->server &&
                 s->assignment.n_servers == (int32_t)m->servers;
    *ret_lost = !holds && !awaits_all(m);
    if (*ret_lost)
        return OK;
    if (!holds) {
        TRY(ps_set_up(s, m, err));
        s->era.lineage = m->lineage;
        return ps_begin_replicator(s, m, err);
    }
    TRY(ps_read_holders(s, m, err));
    part_hold *parts = xcalloc((size_t)s->plan.declaration.flat->n_parts + 1, sizeof *parts);
    ps_list_parts(s, parts);
    status st = table_hold(s->table, parts, err);
    free(parts);
    *ret_lost = st == E_PROTOCOL;
    if (*ret_lost)
        error_clear(err);
    if (st != OK)
        return *ret_lost ? OK : st;
    cuts_hold(s->cuts, s->assignment.shards, m->saved);
    histograms_destroy(&s->histograms);
    s->histograms = histograms_create(s->plan.declaration.flat, s->assignment.placement,
                                      s->assignment.shards, s->assignment.server);
    return ps_begin_replicator(s, m, err);
}

/* The parts held go on in a new era: what the last one has not finished is said again to the new
 * master, and workers ask anew. */
static status ps_keep(ps *s, const Wire__Setup *m, error *err)
{
    bool is_lost = false;
    if (s->era.begun == s->era.identity.era) {
        say_ready(s); /* the master has not heard */
        return OK;
    }
    TRY(hold_on(s, m, &is_lost, err));
    if (is_lost) {
        say_lost(s);
        return OK;
    }
    s->era.begun = s->era.identity.era;
    ps_keep_reports(s);
    for (int32_t p = 0; p < s->plan.declaration.flat->n_parts; p++)
        s->pulls[p].n = 0;
    say_ready(s);
    table_say_votes(s->table);
    return OK;
}

/* Asks the master for the next vector of a part of ours; ready when there is none left. */
static void load_next(ps *s)
{
    while (s->loading.part < s->plan.declaration.flat->n_parts &&
           s->loading.row >= table_rows(s->table, s->loading.part)) {
        s->loading.part++;
        s->loading.row = 0;
    }
    if (s->loading.part == s->plan.declaration.flat->n_parts) {
        say_ready(s);
        return;
    }
    wire_head h = {.type = WIRE_LOAD, .part = s->loading.part};
    wire_set_load_row(&h, (int64_t)s->loading.row);
    ps_reply(s, &s->chief.peer, h, NULL);
}

status ps_take_loaded(ps *s, const net_message *m, const wire_head *h, error *err)
{
    if (s->set_up || h->part != s->loading.part || (uint64_t)wire_loaded_row(h) != s->loading.row)
        return OK;
    TRY(table_load(s->table, h->part, s->loading.row, span_data(m->payload), span_bytes(m->payload), err));
    s->loading.row++;
    load_next(s);
    return OK;
}

status ps_take_setup(ps *s, const net_message *m, const wire_head *h, const Wire__Setup *setup,
                     error *err)
{
    bool again = s->table && h->job_id == s->era.identity.job_id && h->era == s->era.identity.era;
    if (ps_is_over(s, h)) {
        ps_refuse(s, &m->from, h, E_LOST, "that era is over");
        return OK;
    }
    s->chief.peer = m->from;
    s->chief.is_known = true;
    s->era.identity.job_id = h->job_id;
    s->era.identity.era = h->era;
    if (setup->keep)
        return ps_keep(s, setup, err);
    if (!again)
        TRY(ps_load(s, setup, err));
    if (s->loading.is_damaged)
        return OK;
    if (s->loading.by_master && !s->set_up)
        load_next(s);
    else
        say_ready(s);
    return OK;
}
