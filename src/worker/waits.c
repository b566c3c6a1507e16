/*
 * A wait always speaks: who is awaited, for what, and how much has arrived.
 */
#include "worker/state.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/store/jobend.h"

/* Why there is no word from the master, as far as we know; NULL: we do not. */
static const char *master_trouble(const worker *w)
{
    if (w->master.socket)
        return w->master.refused;
    for (int32_t s = 0; s < w->o->n_servers; s++)
        if (kv_server_refused(w->mode->kv(w), s))
            return kv_server_refused(w->mode->kv(w), s);
    return "no server knows its address yet";
}

char *worker_describe_server(const worker *w, int32_t part)
{
    const kv *servers = w->mode->kv(w);
    int32_t s = kv_server_of(servers, part);
    const char *refused = kv_server_refused(servers, s);
    return xasprintf("%s server=%d %s%s%s", kv_server_name(servers, s), s,
                     kv_server_is_up(servers, s) ? "up" : "not connected", refused ? ": " : "",
                     refused ? refused : "");
}

const char *worker_name_server(const worker *w, int32_t part, char ret[TASK_NAME])
{
    kv_link link;
    const kv *servers = w->mode->kv(w);
    kv_describe(servers, kv_server_of(servers, part), &link);
    return task_name((task){ROLE_PS, link.index}, ret);
}

const char *worker_unless_silent(const worker *w, const char *doing)
{
    double limit_s = config_f64(w->o->config, "distributed.wait_warning");
    bool is_silent = master_link_silence_s(&w->master) > wait_warning_of_heartbeat(limit_s);
    return is_silent ? "there is no word from it" : doing;
}

static void list_master_wait(const worker *w, double waited, wait_list *ret)
{
    const char *trouble = master_trouble(w);
    wait_list_add(ret, LOG_WARN, "for=master endpoint=%s since=%.1fs%s%s",
                  w->master.endpoint ? w->master.endpoint : "?", waited, trouble ? ": " : "", trouble ? trouble : "");
    wait_list_words(ret, waited, "master.0", "the master");
}

static void list_master_silence(const worker *w, double silent, wait_list *ret)
{
    const char *trouble = master_trouble(w);
    wait_list_add(ret, LOG_WARN, "for=master endpoint=%s since=%.1fs: %s",
                  w->master.endpoint ? w->master.endpoint : "?", silent, trouble ? trouble : "no word from it");
    wait_list_words(ret, silent, "master.0", "a word from the master");
}

/* No step was completed for so long, and none is computed. */
static void list_progress_waits(const worker *w, double waited, wait_list *ret)
{
    if (w->master.identity.job_id && !w->master.welcomed)
        return; /* it is the master's silence that is spoken of */
    if (!w->master.socket || !w->master.welcomed) {
        list_master_wait(w, waited, ret);
        return;
    }
    if (!w->has_view) {
        wait_list_add(ret, LOG_WARN, "for=view since=%.1fs: %s", waited,
                      worker_unless_silent(w, "the master waits for other tasks"));
        wait_list_words(ret, waited, "master.0", "the master to begin, which waits for other tasks");
        return;
    }
    w->mode->list_waits(w, waited, ret);
}

static void note_progress(worker *w, int64_t now)
{
    int64_t step = -1;
    bool computing = false;
    if (w->has_view)
        step = w->mode->progress(w, &computing);
    if (step != w->waits.seen_step || computing) {
        w->waits.seen_step = step;
        w->waits.progress_us = now;
    }
}

void worker_warn_of_waits(worker *w, int64_t now)
{
    double waited, limit_s = config_f64(w->o->config, "distributed.wait_warning");
    wait_list waits = WAIT_LIST_INIT;
    if (w->master.identity.job_id &&
        wait_warning_due(&w->waits.master, now, w->master.heard_us, wait_warning_of_heartbeat(limit_s), &waited))
        list_master_silence(w, waited, &waits);
    note_progress(w, now);
    if (wait_warning_due(&w->waits.progress, now, w->waits.progress_us, limit_s, &waited))
        list_progress_waits(w, waited, &waits);
    wait_list_log(&waits);
    recorder_write_waits(&waits);
}

void worker_list_waits(const worker *w, int64_t now, wait_list *ret)
{
    double silent = (double)(now - w->master.heard_us) / SECOND_US;
    double waited = (double)(now - w->waits.progress_us) / SECOND_US;
    if (w->master.identity.job_id && silent >= wait_warning_of_heartbeat(WAIT_LISTED_S))
        list_master_silence(w, silent, ret);
    if (waited >= WAIT_LISTED_S)
        list_progress_waits(w, waited, ret);
}

/* --- a master that does not answer --- */

bool worker_master_is_silent(const worker *w)
{
    return master_link_silence_s(&w->master) > config_f64(w->o->config, "distributed.heartbeat_timeout");
}

/* How long it may be silent before we give up. */
static double master_timeout_s(const worker *w)
{
    bool has_begun = w->master.identity.job_id != 0; /* it was welcomed once, on whatever connection */
    return config_f64(w->o->config,
                      has_begun ? "distributed.lost_timeout" : "distributed.start_timeout");
}

/* Whoever started the master reads it (job/process/supervise.h), as of others what the master says. Where
 * something takes connections and does not greet it may be another program: that is said last of all. */
void worker_tell_hung(worker *w)
{
    double silent = master_link_silence_s(&w->master);
    bool is_mute = w->master.socket && !w->master.is_up && w->master.refused;
    double limit = is_mute ? master_timeout_s(w)
                           : config_f64(w->o->config, "distributed.hang_timeout");
    if ((!w->master.is_up && !is_mute) || w->master.hangs || silent < limit)
        return;
    w->master.hangs = true;
    LOG_W("HUNG",
          "task=master.0 silent=%.1fs: no word from it. It hangs and has to be started again or, "
          "if others hear it, our link is down",
          silent);
}

/* Where no master answers any more, or none was met in the time in which one shows life, the job may be
 * over. */
status worker_look_for_end(worker *w, error *err)
{
    bool is_over = false;
    if (w->master.is_up && !worker_master_is_silent(w))
        return OK;
    if (!w->master.identity.job_id && !worker_master_is_silent(w))
        return OK;
    jobend_seeker who = {.job_dir = w->o->job_dir,
                         .config = w->o->config,
                         .job_id = w->master.identity.job_id,
                         .start = w->master.identity.era >> 16};
    TRY(jobend_look(&who, &is_over, err));
    w->ending.stopped |= is_over;
    return OK;
}

status worker_check_lost(const worker *w, error *err)
{
    double silent = master_link_silence_s(&w->master);
    if (silent <= master_timeout_s(w))
        return OK;
    const char *trouble = master_trouble(w);
    return FAIL(err, E_LOST, "no word from the master%s%s for %.0f s%s%s",
                w->master.endpoint ? " at " : "", w->master.endpoint ? w->master.endpoint : "",
                silent, trouble ? ": " : "", trouble ? trouble : "");
}
