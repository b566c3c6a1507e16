#include "cli/tune/search_run.h"

#include "cli/tune/best_trial.h"
#include "cli/tune/hparams.h"
#include "cli/tune/previous_search.h"
#include "cli/tune/trial_result.h"
#include "cli/tune/trial_values.h"
#include "cli/tune/trials_plot.h"
#include "cli/tune/tune_report.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/store/lockfile.h"
#include "tune/trial_journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 200, FAR_LOOK_MS = 5000 }; /* how often trials that run are looked at: here, and elsewhere */

typedef struct searching {
    const search_request *request;
    study study;
    trial_journal journal;
    trial_processes processes;
    int looked_through; /* trials up to this number, for those that an earlier search left running */
    bool is_ending;     /* nothing is begun any more */
} searching;

static char *file_of(const searching *s, const char *name)
{
    return xasprintf("%s/%s", s->request->dir, name);
}

static char *job_dir_of(const searching *s, int number)
{
    return xasprintf("%s/trials/%d", s->request->dir, number);
}

/* --- beginning trials --- */

static status search_start_trial(searching *s, const trial *t, error *err)
{
    char *job_dir = job_dir_of(s, t->number);
    char *log = xasprintf("%s/log/trial-%d.log", s->request->dir, t->number);
    char **values = trial_values(s->request->space, t->point, s->request->metric, s->request->better);
    char **argv = s->request->command_line(s->request->user, job_dir, values);
    status st = trial_processes_start(&s->processes, t->number, argv, log, err);
    for (char **word = argv; *word; word++)
        free(*word);
    free(argv);
    trial_values_free(values);
    free(log);
    free(job_dir);
    return st;
}

static status note(searching *s, json_t *record, error *err)
{
    status st = trial_journal_add(&s->journal, &s->study, record, err);
    json_decref(record);
    return st;
}

/* What early stopping says of a trial after its last evaluation. */
static status decide(searching *s, const trial *t, error *err)
{
    if (t->state != TRIAL_RUNNING || !t->n_evaluations)
        return OK;
    const stopping *how = &s->request->stopping;
    stopping_verdict verdict = how->rule->judge(how, &s->study, t);
    if (verdict == TRIAL_GOES_ON)
        return OK;
    return note(s, verdict == TRIAL_STOPS ? study_record_stopped(t->number) : study_record_paused(t->number), err);
}

/* The next one that a search before this one left running, and had not decided to stop; NULL: none. */
static status next_left(searching *s, const trial **ret, error *err)
{
    *ret = NULL;
    while (s->looked_through < s->study.n && !*ret) {
        const trial *t = &s->study.trials[s->looked_through++];
        TRY(decide(s, t, err));
        if (t->state == TRIAL_RUNNING)
            *ret = t;
    }
    return OK;
}

static status next_promoted(searching *s, bool is_end, const trial **ret, error *err)
{
    const stopping *how = &s->request->stopping;
    *ret = how->rule->promote ? how->rule->promote(how, &s->study, is_end) : NULL;
    if (!*ret || trial_processes_find(&s->processes, (*ret)->number)) /* it goes on once it has left */
        return OK;
    return note(s, study_record_resumed((*ret)->number), err);
}

static status next_proposed(searching *s, const trial **ret, error *err)
{
    const search_request *r = s->request;
    double point[SPACE_PARAMETERS_MOST];
    *ret = NULL;
    if (s->study.n >= r->trials || !r->sampler->propose(&s->study, r->seed, point))
        return OK;
    TRY(note(s, study_record_running(&s->study, s->study.n + 1, point), err));
    s->looked_through = s->study.n;
    *ret = &s->study.trials[s->study.n - 1];
    return OK;
}

/* NULL: nothing can begin or go on. */
static status next_trial(searching *s, const trial **ret, error *err)
{
    TRY(next_left(s, ret, err));
    if (!*ret)
        TRY(next_promoted(s, false, ret, err));
    if (!*ret)
        TRY(next_proposed(s, ret, err));
    if (!*ret && !s->processes.running)
        TRY(next_promoted(s, true, ret, err));
    return OK;
}

static status fill(searching *s, error *err)
{
    while (!s->is_ending && s->processes.running < s->processes.places) {
        const trial *t = NULL;
        TRY(next_trial(s, &t, err));
        if (!t || trial_processes_find(&s->processes, t->number))
            return OK;
        TRY(search_start_trial(s, t, err));
    }
    return OK;
}

/* --- evaluations of trials that run, and their ends --- */

static double seconds_of(const trial_process *p)
{
    int64_t ended_us = p->ended_us ? p->ended_us : clock_us();
    return (double)(ended_us - p->began_us) * 1e-6;
}

/* Of a trial that does not run any more. */
static status tell(const searching *s, const trial *t, double seconds, const char *why, error *err)
{
    tune_report_trial(&s->study, t, seconds, why);
    return hparams_write_trial(&s->study, t, s->request->dir, s->request->metric, err);
}

/* In their order, each with what follows from it: it does not matter how many are there already. *ret_why is filled
 * where the next one cannot be looked for now. */
static status take_evaluations(searching *s, trial_process *p, error *ret_why, error *err)
{
    const trial *t = &s->study.trials[p->number - 1];
    char *job_dir = job_dir_of(s, p->number);
    trial_evaluation next;
    status st = OK, reached = OK;
    while (st == OK && t->state == TRIAL_RUNNING) {
        int64_t last = t->n_evaluations ? t->evaluations[t->n_evaluations - 1].epoch : 0;
        reached = trial_evaluation_read(&s->request->files, job_dir, s->request->metric, last, &next, ret_why);
        if (reached != OK)
            break;
        st = note(s, study_record_evaluated(t->number, &next), err);
        if (st == OK)
            st = decide(s, t, err);
        if (st == OK && t->state != TRIAL_RUNNING) {
            trial_process_stop(p);
            st = tell(s, t, seconds_of(p), NULL, err);
        }
    }
    if (reached == E_DATA) /* there is none */
        error_clear(ret_why);
    free(job_dir);
    return st;
}

static status take_all_evaluations(searching *s, error *err)
{
    for (int i = 0; i < s->processes.places; i++) {
        error why = ERROR_INIT; /* it is looked at again */
        if (s->processes.at[i].number && !s->processes.at[i].child.has_ended)
            TRY(take_evaluations(s, &s->processes.at[i], &why, err));
    }
    return OK;
}

/* Of a trial that left with success, or as it was not asked to. *ret_failure, for the caller to free, says how it
 * failed; *ret_why is filled where that cannot be known now. */
static status judge(searching *s, const trial_process *p, char **ret_failure, error *ret_why, error *err)
{
    trial_result result;
    char *job_dir = job_dir_of(s, p->number);
    status st = OK;
    if (child_exit_code(&p->child) != 0) {
        *ret_failure = child_describe_failure(&p->child);
    } else {
        st = trial_result_read(&s->request->files, job_dir, s->request->metric, &result, ret_why);
        if (st == E_DATA) {
            *ret_failure = xstrdup(ret_why->text);
            error_clear(ret_why);
        }
    }
    free(job_dir);
    if (ret_why->code != OK)
        return OK;
    const trial *t = &s->study.trials[p->number - 1];
    json_t *record = *ret_failure ? study_record_failed(p->number, *ret_failure)
                                  : study_record_complete(p->number, result.objective, result.steps);
    TRY(note(s, record, err));
    return tell(s, t, seconds_of(p), *ret_failure, err);
}

/* All that follows from its end; *ret_failure and *ret_why are as judge has them. It may be asked again. */
static status take_result(searching *s, trial_process *p, char **ret_failure, error *ret_why, error *err)
{
    const trial *t = &s->study.trials[p->number - 1];
    TRY(take_evaluations(s, p, ret_why, err));
    if (ret_why->code == OK && t->state == TRIAL_RUNNING && (!p->is_leaving || child_exit_code(&p->child) == 0))
        TRY(judge(s, p, ret_failure, ret_why, err));
    if (ret_why->code != OK || t->state != TRIAL_COMPLETE)
        return OK;
    status st = best_trial_keep(&s->study, &s->request->files, s->request->dir, ret_why);
    return st == E_DATA ? FAIL(err, st, "%s", ret_why->text) : OK;
}

/* Those that go on have done nothing wrong: they end, and are running in the journal. */
static status check_failures(searching *s, int number, const char *why, error *err)
{
    int failed = study_count(&s->study, TRIAL_FAILED);
    if (!why || failed < s->request->failed_most)
        return OK;
    s->is_ending = true;
    trial_processes_stop(&s->processes);
    return FAIL(err, E_FAIL, "%d trials have failed, the last one, %d, with %s; %s/log/trial-%d.log says more", failed,
                number, why, s->request->dir, number);
}

/* The end of a trial whose host or files are out of reach is put off; after long enough the search ends, and the trial
 * is what it is in the journal, running or complete. */
static status put_off(searching *s, trial_process *p, const error *why, bool *ret_is_put_off, error *err)
{
    bool is_first = !p->ended_us;
    *ret_is_put_off = !p->is_leaving && trial_process_put_off(p);
    if (*ret_is_put_off && is_first)
        fprintf(stderr, "tequio: trial %d has ended and its files cannot be read now; they are tried again: %s\n",
                p->number, why->text);
    if (*ret_is_put_off || p->is_leaving)
        return OK;
    s->is_ending = true;
    trial_processes_stop(&s->processes);
    return FAIL(err, why->code, "trial %d has ended and its files cannot be read; --recover goes on when they can: %s",
                p->number, why->text);
}

/* A trial that was asked to leave goes on when the search does, or when it is its turn again. */
static status search_take_end(searching *s, trial_process *p, error *err)
{
    char *failure = NULL;
    error why = ERROR_INIT;
    bool was_asked = p->is_leaving, is_put_off = false;
    status st = take_result(s, p, &failure, &why, err);
    if (st == OK && why.code != OK)
        st = put_off(s, p, &why, &is_put_off, err);
    int number = p->number;
    if (!is_put_off)
        trial_process_free(&s->processes, p);
    if (st == OK && !was_asked)
        st = check_failures(s, number, failure, err);
    free(failure);
    return st;
}

/* --- the whole --- */

static status turn_until_end(searching *s, error *err)
{
    const int look_ms = s->request->files.fetch ? FAR_LOOK_MS : LOOK_MS;
    status st = fill(s, err);
    while (st == OK && s->processes.running) {
        trial_process *p = NULL;
        TRY(trial_processes_wait(&s->processes, look_ms, &p, err));
        s->is_ending = s->is_ending || s->processes.is_stopping;
        st = p ? search_take_end(s, p, err) : take_all_evaluations(s, err);
        if (st == OK)
            st = fill(s, err);
    }
    while (st != OK && s->processes.running) { /* those that were asked to leave */
        trial_process *p = NULL;
        if (trial_processes_wait(&s->processes, LOOK_MS, &p, NULL) != OK)
            break;
        if (p && search_take_end(s, p, NULL) != OK)
            break;
    }
    return st;
}

static status verdict(const searching *s, error *err)
{
    if (s->processes.is_stopping)
        return FAIL(err, E_PREEMPTED, "the search was asked to stop after %d of %d trials; --recover goes on",
                    s->study.n - study_count(&s->study, TRIAL_RUNNING) - study_count(&s->study, TRIAL_PAUSED),
                    s->request->trials);
    if (!s->study.n)
        return FAIL(err, E_FAIL, "nothing is left to try: the search before, '%s', has tried all of the space",
                    s->request->previous ? s->request->previous : "");
    if (!study_best(&s->study))
        return FAIL(err, E_FAIL, "no trial has come to an end; '%s/log' says why", s->request->dir);
    tune_report_end(&s->study, s->request->dir, s->request->metric);
    return OK;
}

static json_t *head_of(const search_request *r)
{
    json_t *head = json_pack("{s:s, s:I, s:s, s:i, s:s}", "algorithm", r->sampler->name, "seed", (json_int_t)r->seed,
                             "metric", r->metric, "better", r->better, "config", r->config_digest);
    json_object_set_new(head, "parameters", space_describe(r->space));
    json_object_set_new(head, "early_stopping", stopping_describe(&r->stopping));
    if (r->previous)
        json_object_set_new(head, "previous", json_string(r->previous));
    return head;
}

static void tell_what_is_there(const searching *s)
{
    study then = s->study;
    if (s->request->previous)
        tune_report_priors(&s->study, s->request->previous, s->request->metric);
    tune_report_head(&s->study, s->request->metric);
    for (then.n = 1; then.n <= s->study.n; then.n++)
        if (then.trials[then.n - 1].state != TRIAL_RUNNING)
            tune_report_trial(&then, &then.trials[then.n - 1], -1, NULL);
}

static status plot_trials(const searching *s, error *err)
{
    char *path = file_of(s, "trials.png");
    status st = trials_plot_write(path, &s->study, s->request->metric, err);
    free(path);
    return st;
}

static status open_journal(searching *s, error *err)
{
    const search_request *r = s->request;
    char *path = file_of(s, "trials.jsonl");
    json_t *head = head_of(r), *priors = NULL;
    status st = OK;
    if (r->previous && !trial_journal_has_begun(path))
        st = previous_search_read(r->previous, r->dir, head, r->space, &priors, err);
    if (st == OK)
        st = trial_journal_open(&s->journal, path, head, priors, &s->study, err);
    json_decref(priors);
    json_decref(head);
    free(path);
    return st;
}

static status search_all(searching *s, error *err)
{
    TRY(open_journal(s, err));
    tell_what_is_there(s);
    TRY(best_trial_keep(&s->study, &s->request->files, s->request->dir, err));
    TRY(hparams_write(&s->study, s->request->dir, s->request->metric, err));
    TRY(trial_processes_open(s->request->parallel, s->request->environment, &s->processes, err));
    status st = turn_until_end(s, err);
    status plotted = plot_trials(s, st == OK ? err : NULL);
    TRY(st != OK ? st : plotted);
    return verdict(s, err);
}

static const char lock_name[] = "tune.lock";

static status clear_dir(const char *dir, char *const *names, size_t n, error *err)
{
    for (size_t i = 0; i < n; i++) {
        char *path = xasprintf("%s/%s", dir, names[i]);
        status st = strcmp(names[i], lock_name) == 0 ? OK : fs_remove_tree(path, err);
        free(path);
        TRY(st);
    }
    return OK;
}

/* As `train`: what is there is neither written over nor gone on with unless that is asked for. */
static status prepare_dir(const search_request *r, error *err)
{
    char **names = NULL, *logs = xasprintf("%s/log", r->dir);
    size_t n = 0;
    status st = fs_list(r->dir, &names, &n, err);
    bool is_empty = n == 1; /* but for the lock */
    if (st == OK && r->forces)
        st = clear_dir(r->dir, names, n, err);
    else if (st == OK && !is_empty && !r->recovers)
        st = FAIL(err, E_CONFIG, "'%s' already exists and is not empty: give another folder, --recover to go on with "
                  "the search in it, or --force to remove it", r->dir);
    fs_list_free(names, n);
    if (st == OK)
        st = fs_mkdirs(logs, err);
    free(logs);
    return st;
}

int search_run(const search_request *r, error *err)
{
    searching s = {.request = r, .journal = TRIAL_JOURNAL_INIT, .processes = {.signals = SIGNALS_INIT}};
    int lock = -1;
    char *lock_path = file_of(&s, lock_name);
    study_init(&s.study, r->space, r->better);
    status st = fs_mkdirs(r->dir, err);
    if (st == OK)
        st = lockfile_take(lock_path, &(lockfile_takeover){.us = 0}, &lock, err);
    if (st == OK)
        st = prepare_dir(r, err);
    if (st == OK)
        st = search_all(&s, err);
    trial_processes_close(&s.processes);
    trial_journal_close(&s.journal);
    study_fini(&s.study);
    lockfile_release(&lock, lock_path);
    free(lock_path);
    return status_exit_code(st);
}
