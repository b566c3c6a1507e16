/*
 * The evaluator's loop (evaluator.h):
 *
 *     look at the job dir  ->  something to evaluate: pin, evaluate, report, unpin, look again
 *                          ->  nothing, and the job is over: end
 *                          ->  nothing: wait a little
 *
 * Whether the job is done is looked at before the checkpoints are: what was committed before the
 * end is then certainly seen. All it remembers is a convenience; the truth lies on disk.
 */
#include "evaluator/evaluator.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/read_progress.h"
#include "common/base/wait_warning.h"
#include "common/live/counters.h"
#include "common/live/pulse.h"
#include "common/live/recorder.h"
#include "common/store/manifest.h"
#include "evaluator/damages.h"
#include "evaluator/evaluation.h"
#include "metric/figures.h"
#include "evaluator/files.h"
#include "evaluator/heartbeat.h"
#include "evaluator/liveness.h"
#include "evaluator/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { POLL_MS = 100, TRY_MS = 1000, LOOK_US = 500 * 1000, DIFFERS_US = 2000 * 1000, NONE = -1 };

typedef struct evaluator {
    const jobdir *dir;
    const atomic_bool *stop, *stop_reading;
    evaluation_options how;
    evaluation *evaluation; /* NULL until it can be opened */
    heartbeat *life;
    buf files;              /* what it reads (files.h) */
    bool files_checked;     /* that is what the job reads */
    events *events;         /* NULL until the first report */
    int64_t settled;        /* no checkpoint up to this step needs evaluating; NONE: not known */
    int64_t stumbled;       /* the step that could not be read last time; NONE */
    damages damages;        /* those that could not be read twice */
    int64_t whole;          /* the one that was read last; NONE */
    liveness liveness;
    double lost_s, start_s, warn_s; /* start_s: until the first sign of life */
    double disk_s;          /* how long a disk that takes no report is waited for */
    int64_t evaluated_us;   /* when the last evaluation ended, or we began */
    int64_t looked_us;      /* when we last looked for the job's end while evaluating */
    int64_t differs_us;     /* since the job is seen to be of another configuration; 0: it is ours */
    wait_warning checkpoint, master; /* what we wait for */
} evaluator;

/* --- which checkpoint --- */

static status read_manifest(const evaluator *e, int64_t step, manifest *ret, error *err)
{
    char *folder = checkpoint_path(e->dir, step), *path = xasprintf("%s/manifest.json", folder);
    status st = manifest_read(path, ret, err);
    free(path);
    free(folder);
    return st;
}

/* NONE when the checkpoint is gone or cannot be read. */
static int64_t epochs_done(const evaluator *e, int64_t step)
{
    manifest m = {0};
    if (read_manifest(e, step, &m, NULL) != OK)
        return NONE;
    int64_t epochs = m.epochs_done;
    manifest_fini(&m);
    return epochs;
}

/* The first checkpoint after an epoch's end is the one at its end. Where its forerunner is gone
 * this may be one too many, never one too few. */
static bool ends_epoch(const evaluator *e, const int64_t *list, size_t i)
{
    int64_t epochs = epochs_done(e, list[i]);
    return epochs > 0 && (i == 0 || epochs > epochs_done(e, list[i - 1]));
}

/* Where the job's end was moved, the last checkpoint before that is one like others. */
static bool is_final(const evaluator *e, int64_t step)
{
    manifest m = {0};
    char digest[SHA256_HEX];
    config_digest(e->how.config, digest);
    bool final = read_manifest(e, step, &m, NULL) == OK && m.final &&
                 strcmp(m.config_digest, digest) == 0;
    manifest_fini(&m);
    return final;
}

/* The next checkpoint to evaluate, or NONE; then *ret_final tells whether the final one is done. */
static int64_t evaluator_choose(evaluator *e, const int64_t *list, size_t n, bool *ret_final)
{
    *ret_final = false;
    if (n == 0)
        return NONE;
    int64_t newest = list[n - 1];
    if (newest < e->settled || (e->settled != NONE && !report_exists(e->dir, e->settled)))
        e->settled = NONE; /* the job went back, and may be further by now, or began anew */
    if (!report_exists(e->dir, newest))
        return newest;
    for (size_t i = n - 1; i-- > 0 && list[i] > e->settled;)
        if (!report_exists(e->dir, list[i]) && ends_epoch(e, list, i))
            return list[i];
    e->settled = e->damages.n ? e->settled : newest;
    if (!is_final(e, newest))
        return NONE;
    if (!report_is_final(e->dir, newest))
        return newest;
    *ret_final = true;
    return NONE;
}

/* --- evaluating --- */

static bool is_stopped(const evaluator *e)
{
    return e->stop && atomic_load(e->stop);
}

/* Asked to leave meanwhile, it is OK, and there is none. */
static status read_data(evaluator *e, error *err)
{
    read_progress *p = read_progress_create();
    read_progress_stop_by(p, e->stop_reading);
    read_progress_enter(p);
    heartbeat_reads(e->life, p);
    error why = ERROR_INIT;
    status st = evaluation_open(&e->how, &e->evaluation, &why);
    heartbeat_reads(e->life, NULL);
    read_progress_enter(NULL);
    read_progress_destroy(&p);
    bool is_left = st == E_ABORTED; /* by stop_reading alone */
    return st == OK || is_left ? OK : FAIL(err, st, "%s", why.text);
}

/* What the training data teach is known once a worker has read them, and weights that a model
 * brings make a checkpoint before: until then, if it may wait, nothing is opened. Whatever else is
 * wrong is better said at once. */
static status open_evaluation(evaluator *e, bool may_wait, error *err)
{
    char *vocabulary = NULL;
    TRY(jobdir_read_vocabulary(e->dir, &vocabulary, err));
    bool must_wait = may_wait && !vocabulary && evaluation_needs_vocabulary(e->how.config);
    e->how.vocabulary = vocabulary;
    status st = must_wait ? OK : read_data(e, err);
    e->how.vocabulary = NULL;
    free(vocabulary);
    return st == OK && e->evaluation
               ? files_tell(e->how.config, evaluation_data(e->evaluation), &e->files, err)
               : st;
}

static void tell(const report *r)
{
    buf metrics = BUF_INIT;
    figures_say(&r->metrics, &r->figures, &metrics);
    LOG_I("EVALUATED", "step=%lld epochs_done=%lld%s seconds=%.2f final=%d", (long long)r->step,
          (long long)r->epochs_done, metrics.data ? metrics.data : "", r->seconds, r->final);
    buf_fini(&metrics);
}

/* A job that fails does not wait for an evaluation to come to its end. */
static bool has_failed(void *user)
{
    evaluator *e = user;
    int64_t now = clock_us();
    pulse_turn(ROLE_EVALUATOR, now);
    if (now - e->looked_us < LOOK_US)
        return false;
    e->looked_us = now;
    return liveness_check(&e->liveness, NULL) != OK;
}

static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
}

typedef status writing(evaluator *e, void *what, error *err);

/* A disk that takes nothing is waited for, as the master waits for it. */
static status outlast_disk(evaluator *e, writing *writes, void *what, error *err)
{
    int64_t since = clock_us();
    wait_warning spoken = {0};
    for (;;) {
        error why = ERROR_INIT;
        status st = writes(e, what, &why);
        int64_t now = clock_us();
        double waited = (double)(now - since) * 1e-6;
        bool is_late = waited >= e->disk_s;
        if (st != E_DISK || is_late)
            return st == OK ? OK : FAIL(err, st, "%s", why.text);
        if (is_stopped(e) || has_failed(e))
            return FAIL(err, E_LOST, "not written: %s", why.text);
        if (wait_warning_due(&spoken, now, since, 0, &waited))
            LOG_W("WAIT", "for=disk since=%.1fs at_most=%.0fs: %s", waited, e->disk_s, why.text);
        for (int i = 0; i < TRY_MS / POLL_MS && !is_stopped(e); i++)
            rest();
    }
}

static status leave_report(evaluator *e, void *what, error *err)
{
    return report_write(e->dir, what, &e->events, err);
}

static status check_files(evaluator *e, void *what, error *err)
{
    (void)what;
    return files_check(e->how.config, e->dir, e->files.data, err);
}

static status take_pin(evaluator *e, void *what, error *err)
{
    return checkpoint_pin(e->dir, *(const int64_t *)what, err);
}

/* Figures that there cannot be are null, and why is said. */
static status report_on(evaluator *e, report *r, error *err)
{
    error why = ERROR_INIT;
    if (!checkpoint_is_there(e->dir, r->step))
        return FAIL(err, E_LOST, "step %lld was set aside meanwhile", (long long)r->step);
    if (evaluation_check(e->evaluation, &why) != OK)
        LOG_W("NONFINITE", "step=%lld: %s", (long long)r->step, why.text);
    TRYF(outlast_disk(e, leave_report, r, err), err, "report on step %lld", (long long)r->step);
    tell(r);
    return OK;
}

static status evaluate_open(evaluator *e, const checkpoint *c, const char *path, error *err)
{
    const manifest *m = checkpoint_manifest(c);
    int64_t begin = clock_us();
    RECORDER_BEGIN(0, .kind = EVENT_EVALUATE, .lane = -1, .step = m->step, .at_us = begin);
    if (!e->files_checked)
        TRY(outlast_disk(e, check_files, NULL, err));
    e->files_checked = true;
    report r = {.step = m->step,
                .epochs_done = m->epochs_done,
                .final = m->final,
                .examples = evaluation_examples(e->evaluation)};
    weights *w = NULL;
    pulse_rest(ROLE_EVALUATOR);
    TRY(weights_of_checkpoint(c, path, &w, err));
    status st = evaluation_load(e->evaluation, w, err);
    weights_close(&w);
    TRY(st);
    TRY(evaluation_run(e->evaluation, &r.metrics, &r.figures, err));
    r.seconds = (double)(clock_us() - begin) * 1e-6;
    counter_add(COUNTER_EVALUATOR_EVALUATIONS, 1);
    recorder_end(-1, EVENT_EVALUATE, 0, clock_us());
    counter_add(COUNTER_EVALUATOR_EVALUATING, clock_us() - begin);
    counter_set(COUNTER_EVALUATOR_STEP, m->step);
    st = report_on(e, &r, err);
    metric_figures_fini(&r.figures);
    return st;
}

/* The master is told, and sets it aside if it finds so, too; or others follow it. */
static status leave_alone(evaluator *e, int64_t step, const error *why, error *err)
{
    e->stumbled = NONE;
    const damage *one = damages_note(&e->damages, step, why);
    bool is_late = (double)(one->tried_us - one->since_us) * 1e-6 >= e->lost_s;
    return is_late ? FAIL(err, E_DATA, "step %lld: %s", (long long)step, why->text) : OK;
}

static void note_whole(evaluator *e, int64_t step)
{
    e->whole = step;
    damages_forget(&e->damages, step);
}

/* What was evaluated before may be damaged by now, and then the job goes back. */
static status check_whole(evaluator *e, int64_t step, bool *ret_whole, error *err)
{
    char *path = checkpoint_path(e->dir, step);
    checkpoint *c = NULL;
    error why = ERROR_INIT;
    status st = e->whole == step ? OK : checkpoint_open(path, true, &c, &why);
    *ret_whole = st == OK;
    if (st == OK)
        note_whole(e, step);
    checkpoint_close(&c);
    free(path);
    return st == OK ? OK : leave_alone(e, step, &why, err);
}

/* A checkpoint may be pruned or replaced between our look and our grasp: gone is no error, and one
 * that cannot be read gets a second chance. */
static status evaluate_step(evaluator *e, int64_t step, error *err)
{
    char *path = checkpoint_path(e->dir, step);
    checkpoint *c = NULL;
    error why = ERROR_INIT;
    status st = outlast_disk(e, take_pin, &step, &why);
    if (st == OK)
        st = checkpoint_open(path, true, &c, &why);
    if (st == OK) {
        e->stumbled = NONE;
        note_whole(e, step);
        st = evaluate_open(e, c, path, err);
        recorder_drop(-1, EVENT_EVALUATE, 0); /* where it failed */
        if (st == E_LOST) { /* stopped, or what it is of counts no more: the next look tells */
            error_clear(err);
            st = OK;
        }
    } else if (st != E_DISK && (!fs_exists(path) || e->stumbled != step)) {
        e->stumbled = step;
        st = OK;
    } else if (st == E_DATA) {
        st = leave_alone(e, step, &why, err);
    } else if (err) {
        *err = why;
        error_prepend(err, "step %lld", (long long)step);
    }
    checkpoint_close(&c);
    checkpoint_unpin(e->dir, step);
    free(path);
    return st;
}

/* --- waiting --- */

static void warn_of_waits(evaluator *e, int64_t now, int64_t newest)
{
    double waited;
    if (wait_warning_due(&e->master, now, e->liveness.alive_us, wait_warning_of_heartbeat(e->warn_s), &waited))
        LOG_W("WAIT", "for=master newest=%lld since=%.1fs: no sign of life in '%s'",
              (long long)newest, waited, jobdir_path(e->dir));
    if (wait_warning_due(&e->checkpoint, now, e->evaluated_us, e->warn_s, &waited))
        LOG_I("WAIT", "for=checkpoint newest=%lld since=%.1fs", (long long)newest, waited);
}

static status watch_for_life(evaluator *e, int64_t newest, error *err)
{
    int64_t now = clock_us();
    double silent = (double)(now - e->liveness.alive_us) * 1e-6;
    char name[64] = "no checkpoint yet";
    if (newest != NONE)
        snprintf(name, sizeof name, "newest checkpoint step-%09lld", (long long)newest);
    bool is_lost = silent >= (e->liveness.has_lived ? e->lost_s : e->start_s);
    const damage *of_newest = damages_find(&e->damages, newest);
    if (is_lost && of_newest)
        return FAIL(err, E_DATA, "step %lld: %s", (long long)newest, of_newest->why.text);
    if (is_lost)
        return FAIL(err, E_LOST,
                    "no sign of life in '%s' for %.0f s (%s): the master is gone, or distributed.%s "
                    "is too short",
                    jobdir_path(e->dir), silent, name,
                    e->liveness.has_lived ? "lost_timeout" : "start_timeout");
    warn_of_waits(e, now, newest);
    return OK;
}

/* Evaluates the step, ends when nothing is left to do and the job `is_over`, or waits a little. What is wrong with
 * the evaluation is said before there is a checkpoint, once its vocabulary is. */
static status go_on(evaluator *e, int64_t step, int64_t newest, bool is_over, bool *ret_done,
                    error *err)
{
    bool is_due = step != NONE || (e->liveness.has_lived && !is_over);
    if (is_due && !e->evaluation)
        pulse_rest(ROLE_EVALUATOR); /* data are read, an engine is built */
    if (is_due && !e->evaluation)
        TRY(open_evaluation(e, !is_over, err));
    if (is_stopped(e))
        return OK;
    if (step != NONE && e->evaluation) {
        TRY(evaluate_step(e, step, err));
        e->evaluated_us = clock_us();
        if (e->stumbled == step)
            rest();
    } else if (is_over) {
        *ret_done = true;
    } else {
        TRY(watch_for_life(e, newest, err));
        rest();
    }
    return OK;
}

/* A job that is there before its master came may be about to be replaced by ours; what is of another
 * configuration is not evaluated meanwhile. */
static status check_config(evaluator *e, bool *ret_differs, error *err)
{
    error why = ERROR_INIT;
    status st = jobdir_check_config(e->dir, e->how.config, &why);
    int64_t now = clock_us();
    *ret_differs = st == E_CONFIG;
    e->differs_us = !*ret_differs ? 0 : e->differs_us ? e->differs_us : now;
    bool is_due = e->liveness.has_lived ? now - e->differs_us >= DIFFERS_US
                                     : (double)(now - e->liveness.alive_us) * 1e-6 >= e->start_s;
    return *ret_differs && is_due ? FAIL(err, st, "%s", why.text) : OK;
}

/* One look and what follows from it. */
static status evaluator_look(evaluator *e, bool *ret_done, error *err)
{
    bool done = liveness_done(&e->liveness), final, differs;
    pulse_turn(ROLE_EVALUATOR, clock_us());
    pulse_set_ready(ROLE_EVALUATOR, true);
    TRY(liveness_check(&e->liveness, err));
    TRY(check_config(e, &differs, err));
    if (differs) {
        TRY(watch_for_life(e, NONE, err));
        rest();
        return OK;
    }
    int64_t *list = NULL;
    size_t n = 0;
    TRY(checkpoint_list(e->dir, &list, &n, err));
    int64_t newest = n ? list[n - 1] : NONE;
    n = damages_take_out(&e->damages, list, n);
    int64_t step = evaluator_choose(e, list, n, &final);
    free(list);
    if (final && !done)
        TRY(check_whole(e, newest, &final, err));
    return go_on(e, step, newest, final || done, ret_done, err);
}

status evaluator_run(const evaluator_options *options, error *err)
{
    const config *c = options->config;
    evaluator e = {
        .dir = options->dir,
        .stop = options->stop,
        .stop_reading = options->stop_reading ? options->stop_reading : options->stop,
        .damages = {.dir = options->dir},
        .settled = NONE,
        .stumbled = NONE,
        .whole = NONE,
        .liveness = liveness_begin(options->dir, c, config_f64(c, "distributed.start_timeout")),
        .lost_s = options->lost_timeout_s > 0.0 ? options->lost_timeout_s
                                                : config_f64(c, "distributed.lost_timeout"),
        .start_s = options->lost_timeout_s > 0.0 ? options->lost_timeout_s
                                                 : config_f64(c, "distributed.start_timeout"),
        .warn_s = config_f64(c, "distributed.wait_warning"),
        .disk_s = config_f64(c, "trainer.disk_timeout"),
        .evaluated_us = clock_us(),
    };
    e.how = (evaluation_options){.config = options->config,
                                 .data_path = options->data_path,
                                 .device = options->device,
                                 .stop = options->stop,
                                 .is_over = has_failed,
                                 .user = &e};
    status st = heartbeat_begin(jobdir_path(options->dir), &e.life, err);
    if (st == OK)
        st = open_evaluation(&e, true, err);
    e.liveness.alive_us = clock_us(); /* reading data may take long: nobody looked meanwhile */
    bool done = false;
    while (st == OK && !done && !is_stopped(&e))
        st = evaluator_look(&e, &done, err);
    if (done) {
        checkpoint_sweep_pins(e.dir); /* an earlier life's: the master may have left before it died */
        if (liveness_done(&e.liveness)) /* else the master may not have read of them yet, and removes it */
            damages_withdraw(&e.damages);
    }
    pulse_rest(ROLE_EVALUATOR);
    damages_fini(&e.damages);
    evaluation_close(&e.evaluation);
    events_close(&e.events);
    heartbeat_end(&e.life);
    buf_fini(&e.files);
    return st;
}
