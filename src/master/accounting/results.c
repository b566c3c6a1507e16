#include "master/accounting/results.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/store/facts.h"
#include "master/accounting/final_metrics.h"
#include "master/accounting/standing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct epoch {
    int64_t number, step;           /* counted from 0; the version at its end */
    json_t *metrics;                /* what metrics_epoch_<n>.json holds */
    uint32_t reductions;            /* of the learning rate, once it is judged */
} epoch;

struct results {
    results_options o;
    epoch *epochs;
    size_t n_epochs, cap_epochs, n_judged;
    int64_t n_lost;                 /* that nobody can evaluate any more */
    int64_t begin;                  /* epochs done when we began */
    standing standing;
    json_t *validation;             /* the newest evaluation */
};

static void epoch_name(int64_t number, char ret[64])
{
    snprintf(ret, 64, "metrics_epoch_%lld.json", (long long)number);
}

static char *epoch_file(const results *r, int64_t number)
{
    char name[64];
    epoch_name(number, name);
    return jobdir_file(r->o.dir, "%s", name);
}

static char *evaluation_file(const results *r, int64_t step)
{
    return jobdir_file(r->o.dir, "eval/step-%09lld.json", (long long)step);
}

bool results_has(const results *r, int64_t step)
{
    char *path = evaluation_file(r, step);
    bool has = fs_exists(path);
    free(path);
    return has;
}

static epoch *epoch_add(results *r, int64_t number, int64_t step, json_t *metrics)
{
    GROW(r->epochs, r->cap_epochs, r->n_epochs + 1);
    r->epochs[r->n_epochs] = (epoch){.number = number, .step = step, .metrics = metrics};
    return &r->epochs[r->n_epochs++];
}

/* An epoch nobody evaluated, and whose checkpoint is gone, is waited for in vain. */
static bool can_be_judged(const results *r, int64_t step)
{
    return results_has(r, step) || checkpoint_is_there(r->o.dir, step);
}

/* Evaluations of later steps are of weights that are computed again, and need not be the same. */
static status forget_evaluations(const results *r, int64_t step, error *err)
{
    char *dir = jobdir_file(r->o.dir, "eval"), **names = NULL;
    size_t n = 0;
    status st = fs_exists(dir) ? fs_list(dir, &names, &n, err) : OK;
    for (size_t i = 0; st == OK && i < n; i++) {
        long long of;
        if (sscanf(names[i], "step-%lld.json", &of) != 1 || of <= step)
            continue;
        char *path = xasprintf("%s/%s", dir, names[i]);
        st = fs_remove_tree(path, err);
        free(path);
    }
    fs_list_free(names, n);
    free(dir);
    return st;
}

/* An epoch that nobody can judge any more, where that decides nothing. */
static status lose_epoch(results *r, int64_t number, error *err)
{
    long long step = (number + 1) * steps_per_epoch(&r->o.steps);
    r->n_lost++;
    if (!r->o.plateau.is_used)
        return OK;
    return FAIL(err, E_DATA,
                "epoch %lld (step %lld): its evaluation and its checkpoint are gone, so the learning rate behind it is "
                "not known; expected metrics_epoch_%lld.json and eval/step-%09lld.json",
                (long long)number, step, (long long)number, step);
}

/* Epochs of earlier starts, up to `step`; later ones are undone. An epoch is entered before its
 * checkpoint is committed, so only a file that somebody removed is missing; it is entered again,
 * without training metrics. */
static status read_back(results *r, int64_t step, error *err)
{
    int64_t per_epoch = steps_per_epoch(&r->o.steps);
    for (int64_t n = 0;; n++) {
        char *path = epoch_file(r, n);
        bool is_there = fs_exists(path), is_past = (n + 1) * per_epoch > step;
        json_t *metrics = NULL;
        status st = OK;
        if (is_there && is_past)
            st = fs_remove_tree(path, err);
        else if (is_there)
            st = json_read_file(path, &metrics, err);
        free(path);
        TRY(st);
        if (!is_there && (n + 1) * per_epoch == step && r->o.evaluates)
            TRY(results_epoch(r, step, &(results_training){&(metric_set){.n = 0}, &(metric_figures){.n = 0}}, 0, err));
        if (!is_there)
            return (n + 1) * per_epoch < step && r->o.plateau.is_used ? lose_epoch(r, n, err) : OK;
        if (metrics && can_be_judged(r, (n + 1) * per_epoch)) {
            epoch_add(r, n, (n + 1) * per_epoch, metrics);
        } else {
            st = metrics && r->o.evaluates ? lose_epoch(r, n, err) : OK;
            json_decref(metrics);
            TRY(st);
        }
    }
}

status results_open(const results_options *options, int64_t step, results **ret, error *err)
{
    results *r = xcalloc(1, sizeof *r);
    r->o = *options;
    r->standing = standing_begin(&options->plateau);
    r->begin = step / steps_per_epoch(&options->steps);
    status st = options->taken_back ? forget_evaluations(r, step, err) : OK;
    bool stop = false;
    if (st == OK)
        st = read_back(r, step, err);
    if (st == OK)
        st = results_poll(r, &stop, err);
    if (st != OK)
        results_close(&r);
    else
        *ret = r;
    return st;
}

void results_close(results **r)
{
    if (!r || !*r)
        return;
    for (size_t i = 0; i < (*r)->n_epochs; i++)
        json_decref((*r)->epochs[i].metrics);
    json_decref((*r)->validation);
    free((*r)->epochs);
    free(*r);
    *r = NULL;
}

static json_t *number_or_null(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static status write_epoch(const results *r, const epoch *e, error *err)
{
    char name[64];
    epoch_name(e->number, name);
    return jobdir_write_json(r->o.dir, name, e->metrics, err);
}

status results_epoch(results *r, int64_t step, const results_training *training, double wall_s, error *err)
{
    int64_t number = step / steps_per_epoch(&r->o.steps) - 1;
    json_t *metrics = json_pack("{sI sI}", "epoch", (json_int_t)number, "step", (json_int_t)step);
    final_metrics_put_duration(metrics, wall_s);
    final_metrics_put_training(metrics, training->means, training->figures);
    status st = write_epoch(r, &(epoch){.number = number, .metrics = metrics}, err);
    if (st == OK)
        epoch_add(r, number, step, metrics);
    else
        json_decref(metrics);
    return st;
}

static status load_flat(const results *r, int64_t step, bool verify, float **ret, error *err)
{
    char *dir = checkpoint_path(r->o.dir, step);
    checkpoint *c = NULL;
    void *values = NULL;
    status st = checkpoint_open(dir, verify, &c, err);
    if (st == OK)
        st = mem_alloc((size_t)r->o.flat->n_elements * sizeof(float), "the flat vector", &values, err);
    if (st == OK)
        st = checkpoint_read_flat(c, values, err);
    checkpoint_close(&c);
    free(dir);
    if (st == OK)
        *ret = values;
    else
        mem_free(values);
    return st;
}

/* With `ret_sha256` it is the job's result: then all that is read is verified. */
static status results_export_model(const results *r, int64_t step, const char *file, char *ret_sha256,
                                   error *err)
{
    float *values = NULL;
    TRY(jobdir_check_ours(r->o.dir, err));
    TRY(load_flat(r, step, ret_sha256 != NULL, &values, err));
    char *path = jobdir_file(r->o.dir, "%s", file);
    status st = checkpoint_export(r->o.flat, values, path, err);
    free(path);
    if (st == OK && ret_sha256)
        flat_params_sha256(r->o.flat, values, ret_sha256);
    mem_free(values);
    return st;
}

static status write_best(const results *r, const epoch *e, error *err)
{
    char *dir = jobdir_file(r->o.dir, "best");
    status st = fs_mkdir(dir, 1, err);
    free(dir);
    TRY(st);
    TRY(results_export_model(r, e->step, "best/model.safetensors", NULL, err));
    return jobdir_write_json(r->o.dir, "best/metrics.json", e->metrics, err);
}

/* best/: the weights and what they reached. A checkpoint that was damaged since it was evaluated ends no job:
 * should that go back, the epoch is judged again. */
static status save_best(const results *r, const epoch *e, error *err)
{
    error why = ERROR_INIT;
    status st = write_best(r, e, &why);
    if (st == E_DATA)
        LOG_E("DAMAGED", "checkpoint step=%lld, the best so far: %s; best/ stays as it was", (long long)e->step,
              why.text);
    return st == OK || st == E_DATA ? OK : FAIL(err, st, "%s", why.text);
}

/* Of an epoch that was judged, or is being judged; NULL: there is none. */
static const json_t *metrics_of(const results *r, int64_t number)
{
    for (size_t i = 0; i < r->n_epochs; i++)
        if (r->epochs[i].number == number)
            return r->epochs[i].metrics;
    return NULL;
}

static status read_evaluation(const results *r, const epoch *e, json_t **ret, double *ret_score, error *err)
{
    char *path = evaluation_file(r, e->step);
    json_t *evaluation = NULL;
    status st = json_read_file(path, &evaluation, err);
    free(path);
    TRY(st);
    st = standing_score(&r->o.goal, evaluation, ret_score, err);
    if (st == OK)
        *ret = evaluation;
    else
        json_decref(evaluation);
    return st;
}

/* Epochs are judged in their order. What cannot be written is judged again. */
static status results_judge(results *r, epoch *e, error *err)
{
    json_t *evaluation = NULL;
    double score;
    TRY(read_evaluation(r, e, &evaluation, &score, err));
    standing now = standing_after(&r->standing, &r->o.goal, e->number, e->step, score);
    final_metrics_put_validation(e->metrics, evaluation);
    json_object_set_new(e->metrics, "best_epoch", json_integer(now.best_epoch));
    final_metrics_put_best(e->metrics, metrics_of(r, now.best_epoch));
    status st = write_epoch(r, e, err);
    if (st == OK && now.best_step == e->step && checkpoint_is_there(r->o.dir, e->step))
        st = save_best(r, e, err);
    if (st != OK) {
        json_decref(evaluation);
        return st;
    }
    json_decref(r->validation);
    r->validation = evaluation;
    r->standing = now;
    e->reductions = now.plateau.reductions;
    r->n_judged++;
    return OK;
}

static status results_pass_over(results *r, const epoch *e, error *err)
{
    LOG_W("EVALUATION_LOST", "epoch=%lld step=%lld has no checkpoint", (long long)e->number,
          (long long)e->step);
    r->n_judged++;
    return lose_epoch(r, e->number, err);
}

status results_poll(results *r, bool *ret_stop, error *err)
{
    while (results_waiting(r)) {
        epoch *e = &r->epochs[r->n_judged];
        if (results_has(r, e->step))
            TRY(results_judge(r, e, err));
        else if (can_be_judged(r, e->step))
            break;
        else
            TRY(results_pass_over(r, e, err));
    }
    *ret_stop = r->o.patience > 0 && r->standing.without_improvement >= r->o.patience;
    return OK;
}

bool results_waiting(const results *r)
{
    return r->o.evaluates && r->n_judged < r->n_epochs;
}

bool results_decide(const results *r)
{
    return r->o.evaluates && (r->o.patience > 0 || r->o.plateau.is_used);
}

bool results_needs(const results *r, int64_t step)
{
    return r->o.plateau.is_used && results_waiting(r) && r->epochs[r->n_judged].step == step && !results_has(r, step);
}

uint32_t results_reductions(const results *r, int64_t step)
{
    uint32_t reductions = 0;
    for (size_t i = 0; i < r->n_judged && r->epochs[i].step <= step; i++)
        reductions = r->epochs[i].reductions;
    return reductions;
}

/* So many epochs are judged: the next one may be trained to its end, but not beyond, where that
 * decides how it goes on. */
static int64_t settled(const results *r)
{
    if (results_waiting(r))
        return r->epochs[r->n_judged].number;
    int64_t known = r->n_epochs ? r->epochs[r->n_epochs - 1].number + 1 : 0;
    return known > r->begin ? known : r->begin;
}

int64_t results_next_judged(const results *r)
{
    return r->o.evaluates ? (settled(r) + 1) * steps_per_epoch(&r->o.steps) : -1;
}

int64_t results_judged_step(const results *r)
{
    return r->n_judged ? r->epochs[r->n_judged - 1].step : -1;
}

int64_t results_best_step(const results *r)
{
    return r->standing.best_step;
}

/* The newest evaluation there is, of the final step if it came. */
static void find_validation(results *r, int64_t step)
{
    char *path = evaluation_file(r, step);
    json_t *evaluation = NULL;
    if (json_read_file(path, &evaluation, NULL) == OK) {
        json_decref(r->validation);
        r->validation = evaluation;
    }
    free(path);
}

/* Nothing where the scale is not dynamic. */
static status put_skipped(const results *r, int64_t step, json_t *summary, error *err)
{
    char *dir = checkpoint_path(r->o.dir, step);
    checkpoint *c = NULL;
    status st = checkpoint_open(dir, false, &c, err);
    free(dir);
    TRY(st);
    const manifest *m = checkpoint_manifest(c);
    if (m->scales)
        json_object_set_new(summary, "skipped_steps", json_integer(m->scale.skipped));
    checkpoint_close(&c);
    return OK;
}

double results_training_loss(const accounting_totals *t)
{
    const metric_set *training = t->last_epoch.n ? &t->last_epoch
                                 : t->epoch.n    ? &t->epoch
                                                 : &t->last_step;
    return metric_result(training, "loss");
}

/* NaN is above nothing. A loss may be below 0. */
static bool is_above(double loss, const accounting_totals *t)
{
    double sampled = 1.0 + 2.0 / sqrt((double)(t->first_examples > 0 ? t->first_examples : 1));
    return loss - t->first_loss > (2.0 * sampled - 1.0) * fabs(t->first_loss);
}

bool results_diverged(const accounting_totals *t)
{
    return is_above(results_training_loss(t), t) && is_above(metric_result(&t->last_step, "loss"), t);
}

/* What was trained and evaluated on, as far as that was checked. */
static json_t *files_of(const results *r)
{
    buf facts = BUF_INIT;
    json_t *evaluated = NULL;
    char *path = jobdir_file(r->o.dir, "eval/files.json");
    jobdir_files(r->o.dir, &facts);
    json_t *all = facts_to_json(facts.data);
    if (json_read_file(path, &evaluated, NULL) == OK)
        json_object_update(all, evaluated);
    json_decref(evaluated);
    buf_fini(&facts);
    free(path);
    return all;
}

static json_t *summary_of(const results *r, const results_end *e, const char *digest)
{
    const accounting_totals *t = e->totals;
    int64_t per_epoch = steps_per_epoch(&r->o.steps);
    double speed = t->wall_s > 0 ? (double)t->seen / t->wall_s : 0;
    json_t *s = json_pack("{sI sf sI sf sf}", "steps", (json_int_t)e->steps_done, "epochs",
                          (double)e->steps_done / (double)per_epoch, "examples", (json_int_t)t->examples,
                          "wall_s", t->wall_s, "examples_per_s", speed);
    json_object_set_new(s, "first_loss", number_or_null(t->first_loss));
    json_object_set_new(s, "training_loss", number_or_null(results_training_loss(t)));
    json_object_set_new(s, "diverged", json_boolean(results_diverged(t)));
    json_object_set(s, "validation", r->validation ? r->validation : json_null());
    json_object_set_new(s, "lanes", json_integer(e->lanes));
    json_object_set_new(s, "workers", json_integer(e->workers));
    json_object_set_new(s, "ps", json_integer(e->ps));
    json_object_set_new(s, "restarts", json_integer(e->restarts));
    if (e->lane_time)
        json_object_set(s, "lane_time", e->lane_time);
    json_object_set_new(s, "batches_applied", json_integer(e->batches_applied));
    json_object_set_new(s, "lost_reports", json_integer(t->lost));
    json_object_set_new(s, "lost_evaluations", json_integer(r->n_lost));
    json_object_set_new(s, "params_sha256", json_string(digest));
    json_object_set_new(s, "files", files_of(r));
    json_object_set_new(s, "bits", json_string(r->o.schedule.in_order ? "exact" : "unordered"));
    json_object_set_new(s, "tequio_version", json_string(TEQUIO_VERSION));
    return s;
}

/* Where nobody evaluates, epochs have no files of their own. */
static json_t *last_epoch(const results *r, const results_end *e)
{
    int64_t epochs = e->totals->step / steps_per_epoch(&r->o.steps);
    if (r->n_epochs)
        return json_deep_copy(r->epochs[r->n_epochs - 1].metrics);
    json_t *m = json_object();
    if (!r->o.evaluates && epochs > 0) {
        json_object_set_new(m, "epoch", json_integer(epochs - 1));
        final_metrics_put_training(m, &e->totals->last_epoch, e->figures);
    }
    return m;
}

static status write_metrics(const results *r, const results_end *e, const json_t *summary, error *err)
{
    json_t *m = last_epoch(r, e);
    final_metrics_put_duration(m, json_number_value(json_object_get(summary, "wall_s")));
    final_metrics_put_best(m, metrics_of(r, r->standing.best_epoch));
    if (r->standing.best_step >= 0)
        json_object_set_new(m, "best_epoch", json_integer(r->standing.best_epoch));
    status st = jobdir_write_json(r->o.dir, "metrics.json", m, err);
    json_decref(m);
    return st;
}

status results_finish(results *r, const results_end *end, error *err)
{
    char digest[SHA256_HEX];
    TRY(results_export_model(r, end->steps_done, "model.safetensors", digest, err));
    find_validation(r, end->steps_done);
    json_t *summary = summary_of(r, end, digest);
    status st = put_skipped(r, end->steps_done, summary, err);
    if (st == OK)
        st = write_metrics(r, end, summary, err);
    if (st == OK)
        st = jobdir_write_json(r->o.dir, "summary.json", summary, err);
    json_decref(summary);
    jobdir_tidy(r->o.dir);
    checkpoint_sweep_pins(r->o.dir);
    return st;
}
