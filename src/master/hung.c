/*
 * Tasks that hang: they keep their connection and are silent, or are waited for and show no life in the
 * job dir. That is said once, by name, with what is known; whoever started that task reads it
 * (job/process/supervise.h).
 */
#include "master/state.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/live/recorder_output.h"
#include "common/store/eval_heartbeat.h"

#include <stdio.h>

static void say(master *m, const char *name, double silent_s, const char *what)
{
    char why[2 * TASK_NAME];
    LOG_W("HUNG", "task=%s silent=%.1fs: %s", name, silent_s, what);
    master_tell(m, TIMELINE_HUNG, name, "is silent for %.1f s: %s", silent_s, what);
    snprintf(why, sizeof why, "%s hangs", name);
    recorder_write_wait(RECORDING_WAIT, why);
    master_ask_events(m, clock_us());
}

static const char unheard[] =
    "no word from it. It hangs and has to be started again, or its link is down";
static const char lifeless[] =
    "an evaluation is awaited, and no sign of life of it is in the job dir. It hangs and has to be "
    "started again, or works on another folder";

/* For how long a silent task is not said to hang; a server that loads has as long as a start has. */
static double timeout_s(const master *m)
{
    double running_s = master_option(m, "distributed.hang_timeout");
    double loading_s = master_option(m, "distributed.start_timeout");
    return master_hears_servers(m) || loading_s < running_s ? running_s : loading_s;
}

static void tell_servers(master *m, int64_t now_us, double limit_s)
{
    char name[TASK_NAME];
    for (int32_t i = 0; i < m->o->n_servers; i++) {
        server *s = &m->servers[i];
        double silent_s = master_silence_s(s, now_us);
        if (s->hangs || !s->heard_us || silent_s < limit_s || s->refused)
            continue;
        s->hangs = true;
        say(m, master_server_name(m, i, name), silent_s, unheard);
    }
}

static void tell_members(master *m, int64_t now_us, double limit_s)
{
    char name[TASK_NAME];
    for (size_t i = 0; i < m->members.n; i++) {
        member *one = &m->members.at[i];
        double silent_s = (double)(now_us - one->heard_us) / SECOND_US;
        if (one->hangs || one->suspect || one->connection < 0 || silent_s < limit_s)
            continue;
        one->hangs = true;
        say(m, member_name(one, name), silent_s, unheard);
    }
}

/* Data that are read for the first time may take an hour: who waits counts from when that last went on. */
static void look_at_evaluator(master *m, int64_t now_us)
{
    const char *dir = jobdir_path(m->o->dir);
    read_state line = {.moves = 0};
    bool reads = eval_heartbeat_reads(dir, &line);
    evaluator_life_look(&m->evaluator, eval_heartbeat_trace(dir), reads ? &line : NULL, now_us);
}

/* While an evaluation is all that is waited for. */
static void tell_evaluator(master *m, int64_t now_us)
{
    char name[TASK_NAME];
    evaluator_life *e = &m->evaluator;
    bool is_awaited = m->o->evaluates && (m->phase == DRAIN || results_waiting(m->results));
    if (is_awaited)
        look_at_evaluator(m, now_us);
    else
        evaluator_life_rest(e);
    double silent_s = (double)(now_us - e->seen_us) / SECOND_US;
    if (!is_awaited || e->hangs || silent_s < master_option(m, "distributed.hang_timeout"))
        return;
    e->hangs = true;
    say(m, task_name((task){ROLE_EVALUATOR, 0}, name), silent_s, lifeless);
}

void master_tell_hung(master *m, int64_t now_us)
{
    if (m->phase == SETUP || m->phase == RUN) {
        tell_servers(m, now_us, timeout_s(m));
        tell_members(m, now_us, timeout_s(m));
    }
    if (m->phase == RUN || m->phase == DRAIN)
        tell_evaluator(m, now_us);
}
