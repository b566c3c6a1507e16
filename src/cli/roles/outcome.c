#include "cli/roles/outcome.h"

#include "cli/roles/board.h"
#include "cli/run/devices.h"
#include "cli/run/model_archive.h"
#include "cli/run/onnx_file.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/base/read_progress.h"
#include "common/store/jobend.h"
#include "common/store/jobstate.h"
#include "evaluator/confusion_picture.h"
#include "evaluator/evaluator.h"
#include "metric/figures.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

void outcome_note(const jobdir *d, status st, const char *text)
{
    jobstate now;
    if (st == OK || !jobdir_is_ours(d) || jobstate_read(d, &now, NULL) != OK)
        return;
    bool is_told =
        now.kind != JOBSTATE_RUNNING && now.kind != JOBSTATE_NONE && now.start == jobdir_starts(d);
    jobstate_fini(&now);
    error err = ERROR_INIT;
    if (!is_told && jobstate_end(d, st, text, &err) != OK)
        LOG_W("NO_STATE", "%s", err.text);
}

static void write_onnx(const config *c, const jobdir *d, const char *vocabulary)
{
    error err = ERROR_INIT;
    char *model = jobdir_file(d, "model.safetensors"), *path = jobdir_file(d, "model.onnx");
    onnx_file_request request = {.config = c, .model = model, .vocabulary = vocabulary, .path = path,
                                 .built = board_network, .user = (void *)(uintptr_t)d};
    if (onnx_file_write(&request, &err) != OK)
        LOG_W("NO_ONNX", "model.onnx is not written: %s", err.text);
    free(path);
    free(model);
}

/* Those that did best on validation data, else the last ones. */
static char *best_weights(const jobdir *d)
{
    char *best = jobdir_file(d, "best/model.safetensors");
    if (fs_exists(best))
        return best;
    free(best);
    return jobdir_file(d, "model.safetensors");
}

static void write_archive(const config *c, const jobdir *d, const char *model, const char *vocabulary)
{
    error err = ERROR_INIT;
    char *path = jobdir_file(d, "model.tar.gz");
    if (model_archive_write(path, c, model, vocabulary, &err) != OK)
        LOG_W("NO_ARCHIVE", "model.tar.gz is not written: %s", err.text);
    free(path);
}

/* --- metrics.json --- */

static void put_test(json_t *metrics, const json_t *found)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)found, name, value)
    {
        char *key = xasprintf("test_%s", name);
        json_object_set(metrics, key, value);
        free(key);
    }
}

/* As AllenNLP counts it: MB of 2^20 bytes that were resident at once. */
static void put_memory(json_t *metrics)
{
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used) == 0)
        json_object_set_new(metrics, "peak_worker_0_memory_MB", json_real((double)used.ru_maxrss / 1024.0));
}

static status evaluate_test(const config *c, const char *model, const char *vocabulary, json_t *into,
                            error *err)
{
    const dataset_part whole = {.to = 1.0};
    evaluator_request request = {
        .config = c,
        .model = model,
        .data_path = config_str(c, "test_data_path"),
        .part = &whole,
        .vocabulary = vocabulary,
        .device = devices_one((int)config_int(c, "trainer.threads")),
    };
    metric_set means;
    metric_figures figures;
    TRYF(evaluator_evaluate(&request, 1, NULL, NULL, &means, &figures, NULL, err), err, "test_data_path");
    buf said = BUF_INIT;
    figures_say(&means, &figures, &said);
    LOG_I("TESTED", "data=%s%s", request.data_path, said.data ? said.data : "");
    figures_put(into, &means, &figures);
    buf_fini(&said);
    metric_figures_fini(&figures);
    return OK;
}

/* Once: what is in metrics.json already stays. */
static status test(const config *c, const char *model, const char *vocabulary, json_t *metrics, error *err)
{
    if (!config_bool(c, "evaluate_on_test") || json_object_get(metrics, "test_loss"))
        return OK;
    json_t *found = json_object();
    status st = evaluate_test(c, model, vocabulary, found, err);
    if (st == OK)
        put_test(metrics, found);
    json_decref(found);
    return st;
}

/* --- pictures of confusion matrices --- */

/* A list of lists of counts, all of one length; else its values are NULL. */
static metric_figure table_of(const json_t *rows)
{
    size_t n = json_array_size(rows), k = 0;
    metric_figure f = {.rows = (int64_t)n, .columns = (int64_t)n, .values = xcalloc(n * n + 1, sizeof *f.values)};
    f.are_counts = n > 0;
    for (size_t i = 0; i < n && f.are_counts; i++)
        f.are_counts = json_array_size(json_array_get(rows, i)) == n;
    for (; f.are_counts && k < n * n; k++) {
        const json_t *count = json_array_get(json_array_get(rows, k / n), k % n);
        f.are_counts = json_is_integer(count);
        f.values[k] = json_number_value(count);
    }
    return f;
}

static status write_picture(const metric_figure *f, const char *path, error *err)
{
    confusion_picture p;
    TRY(confusion_picture_draw(f, &p, err));
    status st = fs_write_atomic(path, p.png.data, p.png.size, err);
    confusion_picture_fini(&p);
    return st;
}

/* NAME.png of each table NAME in metrics.json. */
static void write_pictures(const jobdir *d, const json_t *metrics)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)metrics, name, value)
    {
        error err = ERROR_INIT;
        metric_figure f = table_of(value);
        char *path = jobdir_file(d, "%s.png", name);
        if (confusion_picture_fits(&f) && write_picture(&f, path, &err) != OK)
            LOG_W("NO_PICTURE", "%s.png is not written: %s", name, err.text);
        free(path);
        free(f.values);
    }
}

/* --- all of it --- */

/* Whose results these are, and who ends it before its time. */
typedef struct leaving {
    const config *config;
    const jobdir *dir;
    const atomic_bool *stop;    /* NULL: never */
} leaving;

static void rest(const atomic_bool *stop)
{
    for (int i = 0; i < 10 && !(stop && atomic_load(stop)); i++)
        nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
}

/* A disk that takes nothing is waited for, as the master waits for it before. */
static status write_metrics(const leaving *l, const json_t *metrics, error *err)
{
    int64_t until_us = clock_us() + (int64_t)(config_f64(l->config, "trainer.disk_timeout") * 1e6);
    for (bool is_told = false;; is_told = true) {
        error why = ERROR_INIT;
        status st = jobdir_write_json(l->dir, "metrics.json", metrics, &why);
        if (st == OK || !fs_is_cause(st) || clock_us() >= until_us)
            return st == OK ? OK : FAIL(err, st, "%s", why.text);
        if (l->stop && atomic_load(l->stop))
            return FAIL(err, E_PREEMPTED, "asked to leave before the results were complete, which a start of the "
                                          "same job makes up for: %s", why.text);
        if (!is_told)
            LOG_W("DISK", "%s; it is tried again", why.text);
        rest(l->stop);
    }
}

static status complete_metrics(const leaving *l, const char *model, const char *vocabulary, bool is_alone, error *err)
{
    json_t *metrics = NULL;
    char *path = jobdir_file(l->dir, "metrics.json");
    status st = json_read_file(path, &metrics, err);
    free(path);
    TRY(st);
    if (is_alone)
        put_memory(metrics);
    st = test(l->config, model, vocabulary, metrics, err);
    if (st == OK)
        st = write_metrics(l, metrics, err);
    if (st == OK)
        write_pictures(l->dir, metrics);
    json_decref(metrics);
    return st;
}

static bool has_file(const jobdir *d, const char *name)
{
    char *path = jobdir_file(d, "%s", name);
    bool is_there = fs_exists(path);
    free(path);
    return is_there;
}

/* `is_new`: what is there is of an earlier end. */
static status leave_files(const leaving *l, bool is_new, bool is_alone, error *err)
{
    const config *c = l->config;
    const jobdir *d = l->dir;
    char *vocabulary = NULL;
    TRY(jobdir_read_vocabulary(d, &vocabulary, err));
    char *model = best_weights(d);
    if (is_new || !has_file(d, "model.onnx"))
        write_onnx(c, d, vocabulary);
    status st = complete_metrics(l, model, vocabulary, is_alone, err);
    if (st != E_PREEMPTED && (is_new || !has_file(d, "model.tar.gz")))
        write_archive(c, d, model, vocabulary);
    free(model);
    free(vocabulary);
    return st;
}

/* Data are read as long as nobody asks to leave: another process may make what is kept of them, and take long. */
static status leave(const leaving *l, bool is_new, bool is_alone, error *err)
{
    error why = ERROR_INIT;
    read_progress *p = read_progress_create();
    read_progress_stop_by(p, l->stop);
    read_progress_enter(p);
    status st = leave_files(l, is_new, is_alone, &why);
    read_progress_enter(NULL);
    read_progress_destroy(&p);
    if (st == E_ABORTED)
        return FAIL(err, E_PREEMPTED, "asked to leave before the results were complete, which a start of the same job "
                                      "makes up for: %s", why.text);
    return st == OK ? OK : FAIL(err, st, "%s", why.text);
}

status outcome_leave(const config *c, const jobdir *d, bool is_alone, const atomic_bool *stop, error *err)
{
    return jobdir_is_ours(d) ? leave(&(leaving){c, d, stop}, true, is_alone, err) : OK;
}

void outcome_complete(const config *c, jobdir *d, const atomic_bool *stop)
{
    error err = ERROR_INIT;
    if (!jobend_complete(d))
        return;
    if (leave(&(leaving){c, d, stop}, false, false, &err) != OK)
        LOG_W("NO_TEST", "metrics.json is not completed: %s", err.text);
    jobdir_let_go(d);
}
