/*
 * The master's life: it builds its sockets, turns until the job is finished or has failed, and says how
 * it ended to everybody.
 */
#include "master/state.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/live/counters.h"
#include "common/live/pulse.h"
#include "common/live/recorder_output.h"
#include "common/store/jobstate.h"
#include "common/wire/hello.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- time --- */

static void drop_silent(master *m, int64_t now)
{
    for (size_t i = 0; i < m->members.n; i++) {
        member *one = &m->members.at[i];
        double silent = (double)(now - one->heard_us) / SECOND_US;
        char name[TASK_NAME], why[2 * TASK_NAME];
        if (!one->alive || silent < master_option(m, "distributed.heartbeat_timeout"))
            continue;
        LOG_W("LOST", "task=%s silent=%.1fs: its slots go to the other lanes",
              member_name(one, name), silent);
        master_tell(m, TIMELINE_LOST, name, "is silent for %.1f s: its slots go to the other lanes", silent);
        one->alive = one->whole = false;
        m->views.is_due = m->phase >= RUN;
        snprintf(why, sizeof why, "%s is lost", name);
        recorder_write_wait(RECORDING_WAIT, why);
        master_ask_events(m, now);
    }
}

/* What is on the disk, in a journal that counts, may be forgotten by whoever reported it. */
static status sync_accounts(master *m, error *err)
{
    error why = ERROR_INIT;
    status st = accounting_sync(m->accounting, &why);
    if (st == OK)
        st = jobdir_check_ours(m->o->dir, &why);
    if (st == OK)
        master_say_reported(m);
    return master_disk(m, st, &why, err);
}

/* With it a server hears how far our clock is ahead of its own. */
static void say_heartbeat(const master *m, const server *to)
{
    Wire__Heartbeat h = WIRE__HEARTBEAT__INIT;
    clock_estimate theirs;
    h.clock_us = clock_us();
    if (clock_offset_now(&to->clock, h.clock_us, &theirs)) {
        h.offset_us = -theirs.offset_us;
        h.error_us = theirs.error_us;
    }
    wire_head alive = master_head(m, WIRE_HEARTBEAT);
    wire_set_heartbeat_asked(&alive, m->waits.asked);
    master_send(to->socket, NULL, alive, &h.base);
}

/* A server that is silent is replaced by its standby: that is to be seen soon after its time. */
static status beat(master *m, int64_t now_us, error *err)
{
    if (now_us - m->beat_us < BEAT_MS * 1000)
        return OK;
    m->beat_us = now_us;
    for (int32_t i = 0; i < m->o->n_servers; i++) {
        m->servers[i].unanswered++;
        if (m->servers[i].welcomed)
            say_heartbeat(m, &m->servers[i]);
    }
    return master_watch_servers(m, now_us, err);
}

static void show_life(const master *m, int64_t now)
{
    pulse_turn(ROLE_MASTER, now);
    pulse_set_ready(ROLE_MASTER, m->phase >= RUN);
    counter_set(COUNTER_MASTER_WORKERS, members_alive(&m->members));
    if (m->accounting)
        counter_set(COUNTER_MASTER_STEP, accounting_totals_of(m->accounting)->step);
}

static status master_tick(master *m, error *err)
{
    int64_t now = clock_us();
    if (m->o->stop && atomic_load(m->o->stop))
        master_preempt(m, "the master");
    if (m->phase >= RUN) {
        if (master_disk_is_well(m))
            TRY(master_stop_early(m, err));
        if (m->phase == RUN) {
            master_order_cuts(m);
            if (m->plan.scheduler->watch)
                m->plan.scheduler->watch(m, now);
        }
        master_count_holds(m, now);
    }
    TRY(master_watch_disk(m, now, err));
    if (master_disk_is_well(m))
        master_warn_of_waits(m, now);
    TRY(beat(m, now, err));
    master_trace(m, now);
    if (now - m->tick_us < SECOND_US)
        return OK;
    m->tick_us = now;
    show_life(m, now);
    drop_silent(m, now);
    for (int32_t i = 0; i < m->o->n_servers; i++)
        if (!m->servers[i].welcomed)
            master_say_hello(m, &m->servers[i]);
    master_say_again(m);
    if (m->phase == RUN) {
        if (m->plan.scheduler->settle)
            TRY(m->plan.scheduler->settle(m, err));
        if (master_disk_is_well(m))
            TRY(sync_accounts(m, err));
    }
    TRY(master_scrub(m, now, err));
    master_tell_hung(m, now);
    master_publish(m, now);
    TRY(master_try_setup(m, err));
    return master_check_lost(m, now, err);
}

/* A job dir that cannot be touched is waited for, another master's is not ours. */
static status touch(master *m, error *err)
{
    error why = ERROR_INIT;
    return master_disk(m, jobdir_touch(m->o->dir, &why), &why, err);
}

static status master_loop(master *m, error *err)
{
    size_t n = (size_t)m->o->n_servers;
    net_socket **sockets = xcalloc(n + 1, sizeof *sockets);
    status st = OK;
    while (st == OK && m->ending.failed == OK && !m->ending.finished) {
        for (size_t i = 0; i < n; i++)
            sockets[i] = m->servers[i].socket;
        sockets[n] = m->listener;
        st = net_poll(sockets, n + 1, NULL, TICK_MS, err);
        if (st == OK) /* before anything is heard: we may have been frozen, and followed */
            st = touch(m, err);
        if (st == OK)
            st = master_serve_servers(m, err);
        if (st == OK)
            st = master_serve_workers(m, err);
        if (st == OK && m->views.is_due && m->phase >= RUN)
            master_deal(m);
        if (st == OK && m->plan.scheduler->assign)
            m->plan.scheduler->assign(m);
        if (st == OK && m->ending.failed == OK && m->o->abort && atomic_load(m->o->abort))
            st = FAIL(err, E_ABORTED, "another role of this process failed");
        if (st == OK)
            st = master_tick(m, err);
        if (st == OK && m->ending.failed == OK && master_disk_is_well(m))
            st = master_try_finish(m, err);
    }
    pulse_rest(ROLE_MASTER);
    free(sockets);
    if (st == OK && m->ending.failed != OK)
        st = FAIL(err, m->ending.failed, "%s", m->ending.failure.text);
    return st;
}

/* --- the end --- */

/* A job that failed by bad numbers says from where it can be taken up. */
static void name_last_checkpoint(const master *m, status st, error *err)
{
    int64_t step = -1;
    if (st != E_NONFINITE || !err || checkpoint_newest(m->o->dir, &step, NULL) != OK)
        return;
    size_t used = strlen(err->text);
    if (step >= 0)
        snprintf(err->text + used, sizeof err->text - used,
                 "; the last good checkpoint is step %lld", (long long)step);
    else
        snprintf(err->text + used, sizeof err->text - used, "; there is no checkpoint yet");
}

/* A job that goes on waits for its disk here too; one that begins is told at once. */
static status count_start(master *m, error *err)
{
    bool waits = jobdir_starts(m->o->dir) > 0;
    for (;;) {
        error why = ERROR_INIT;
        status st = jobdir_count_start(m->o->dir, &m->era.starts, &why);
        m->disk.owes_start = false;
        if (st == OK || !waits || !fs_is_cause(st) || (m->o->stop && atomic_load(m->o->stop)))
            return st == OK ? OK : FAIL(err, st, "%s", why.text);
        m->disk.owes_start = true;
        TRY(master_disk(m, st, &why, err));
        TRY(touch(m, err));
        TRY(master_watch_disk(m, clock_us(), err));
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    }
}

static status open_sockets(master *m, error *err)
{
    era_open(&m->era, jobdir_job_id(m->o->dir));
    hello_pack(
        &(hello_facts){
            .config = m->o->config,
            .task = {.role = ROLE_MASTER},
            .life = hello_life(),
            .job_id = m->era.identity.job_id,
            .master_address = m->o->relay_address,
        },
        &m->hello);
    TRY(net_listen(m->o->net, m->o->endpoints, m->o->n_endpoints, m->o->listen_fd, &m->listener,
                   err));
    m->servers = xcalloc((size_t)m->o->n_servers, sizeof *m->servers);
    for (int32_t i = 0; i < m->o->n_servers; i++)
        TRY(master_dial(m, i, err));
    return OK;
}

static status master_build(master *m, error *err)
{
    TRY(count_start(m, err));
    m->timeline = timeline_begin(m->o->dir);
    config_digest(m->o->config, m->plan.digest);
    m->plan.schedule = training_schedule(m->o->config);
    m->plan.scheduler = scheduler_of(&m->plan.schedule);
    TRY(master_open_files(m, err));
    TRY(open_sockets(m, err));
    assign_init(&m->assign, m->o->n_servers, config_int(m->o->config, "distributed.ps_replicas"));
    m->voting.step = -1;
    m->waits.begun_us = m->waits.progress_us = clock_us();
    master_tell(m, TIMELINE_START, NULL, "start %lld begins", (long long)jobdir_starts(m->o->dir));
    return OK;
}

static void master_unbuild(master *m)
{
    for (int32_t i = 0; m->servers && i < m->o->n_servers; i++) {
        net_close(&m->servers[i].socket, 2000);
        free(m->servers[i].holds);
        free(m->servers[i].assignment);
    }
    if (m->listener && net_refused(m->listener))
        LOG_I("STRANGER", "refused=%" PRIu64 " in all", net_refused(m->listener));
    net_close(&m->listener, 2000);
    master_close_accounts(m);
    deal_destroy(&m->views.deal);
    checkpoint_close(&m->restore.checkpoint);
    leases_destroy(&m->leasing.leases);
    batch_set_fini(&m->leasing.applied);
    members_fini(&m->members);
    statuses_fini(&m->statuses);
    reading_workers_fini(&m->reading);
    wire_declaration_fini(&m->plan.declaration);
    buf_fini(&m->files.facts);
    buf_fini(&m->hello);
    free(m->servers);
    assign_fini(&m->assign);
    master_publish_fini(m);
    master_trace_fini(m);
    timeline_end(&m->timeline);
}

/* For whoever knows only the job dir; told before the others are, who may take their time. What
 * ended because another role of this process did is told by who composed them. */
static void tell_state(const master *m, status st, const char *text)
{
    error err = ERROR_INIT;
    if (!m->ending.superseded && st != E_ABORTED &&
        jobstate_end(m->o->dir, st, st == OK ? "" : text, &err) != OK)
        LOG_W("NO_STATE", "%s", err.text);
}

status master_dismiss(const master_options *options, error *err)
{
    master m = {
        .o = options, .ending = {.is_over_before = true}, .era = {.starts = jobdir_starts(options->dir)}};
    status st = open_sockets(&m, err);
    if (st == OK)
        master_shut_down(&m, OK, "it was done before");
    master_unbuild(&m);
    return st;
}

status master_run(const master_options *options, error *err)
{
    error mine = ERROR_INIT;
    error *e = err ? err : &mine;
    master m = {.o = options};
    clock_master_is_here();
    trace_task(ROLE_MASTER, "master.0");
    status st = master_build(&m, e);
    if (st == OK)
        st = master_loop(&m, e);
    name_last_checkpoint(&m, st, e);
    if (!jobdir_is_ours(options->dir)) { /* whatever else failed: we were followed */
        m.ending.superseded = true;
        error_clear(e);
        st = jobdir_check_ours(options->dir, e);
    }
    tell_state(&m, st, e->text);
    if (m.listener && !m.ending.superseded) {
        master_tell_end(&m, st, e->text);
        master_publish_end(&m);
    }
    if (m.listener && !m.ending.superseded)
        master_shut_down(&m, st, e->text);
    master_unbuild(&m);
    return st;
}
