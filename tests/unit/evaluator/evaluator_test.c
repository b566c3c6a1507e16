/*
 * The evaluator over jobs made by hand: its figures against plain loops, which checkpoints it
 * takes, and that it ends, always.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/base/thread.h"
#include "common/store/checkpoint.h"
#include "common/store/events.h"
#include "evaluator/evaluator.h"
#include "unit/evaluator/support_job.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static status run(const job *j, const atomic_bool *stop, double lost_s, error *err)
{
    return evaluator_run(&(evaluator_options){.config = j->config,
                                              .dir = j->dir,
                                              .device = backend_numbered(-1, 1),
                                              .stop = stop,
                                              .lost_timeout_s = lost_s},
                         err);
}

static void runs(const job *j)
{
    error err = ERROR_INIT;
    if (run(j, NULL, 30.0, &err) != OK)
        fail_msg("%s", err.text);
}

static json_t *report_of(const job *j, int64_t step)
{
    char *path = jobdir_file(j->dir, "eval/step-%09lld.json", (long long)step);
    json_t *o = NULL;
    error err = ERROR_INIT;
    if (json_read_file(path, &o, &err) != OK)
        fail_msg("%s", err.text);
    free(path);
    return o;
}

static double number_of(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static size_t lines_of(const job *j, const char *name)
{
    char *text = job_text(j, name);
    size_t n = 0;
    for (const char *p = text; *p; p++)
        n += *p == '\n';
    free(text);
    return n;
}

static void put(const job *j, const char *name, const char *text)
{
    char *path = jobdir_file(j->dir, "%s", name);
    assert_int_equal(fs_write_atomic(path, text, strlen(text), NULL), OK);
    free(path);
}

static void test_figures_are_right(void **state)
{
    (void)state;
    job j = job_make("");
    for (uint64_t seed = 1; seed <= 3; seed++) {
        double loss, accuracy;
        job_commit(&j, (job_save){.step = (int64_t)seed, .seed = seed});
        job_reference(&j, &loss, &accuracy);
        char *folder = jobdir_file(j.dir, "checkpoints/step-%09lld", (long long)seed);
        char *file = jobdir_file(j.dir, "model.safetensors");
        assert_int_equal(checkpoint_export(j.flat, j.weights, file, NULL), OK);
        const char *models[] = {folder, file};
        for (size_t i = 0; i < COUNT_OF(models); i++) {
            metric_set m = {0};
            metric_figures figures;
            error err = ERROR_INIT;
            evaluator_request r = {.config = j.config, .model = models[i], .device = backend_numbered(-1, 1)};
            if (evaluator_evaluate(&r, 1, NULL, NULL, &m, &figures, NULL, &err) != OK)
                fail_msg("%s", err.text);
            assert_true(fabs(metric_result(&m, "loss") - loss) < 1e-5);
            assert_true(fabs(metric_result(&m, "accuracy") - accuracy) < 1e-9);
            assert_int_equal(figures.n, 0);
            metric_figures_fini(&figures);
        }
        free(folder);
        free(file);
    }
    job_fini(&j);
}

static status count_tags(void *user, const event_record *r, error *err)
{
    (void)err;
    int *counts = user;
    if (r->tag && r->step == 9)
        counts[strcmp(r->tag, "validation/loss") == 0 ? 0 : 1]++;
    return OK;
}

static void test_what_a_killed_evaluator_left_goes(void **state)
{
    (void)state;
    static const char *const left[] = {"eval/step-000000009.json.tmp.0123456789abcdef",
                                       "eval/files.json.tmp.0123456789abcdef",
                                       "eval/metrics.jsonl.tmp.0123456789abcdef"};
    job j = job_make("");
    job_commit(&j, (job_save){.step = 9, .final = true, .seed = 4});
    char *eval = jobdir_file(j.dir, "eval");
    assert_int_equal(fs_mkdirs(eval, NULL), OK);
    for (size_t i = 0; i < COUNT_OF(left); i++)
        put(&j, left[i], "{");
    runs(&j);
    for (size_t i = 0; i < COUNT_OF(left); i++)
        assert_false(job_has(&j, left[i]));
    free(eval);
    job_fini(&j);
}

static void test_reports_the_final_checkpoint_and_ends(void **state)
{
    (void)state;
    job j = job_make("");
    double loss, accuracy;
    job_commit(&j, (job_save){.step = 9, .epochs_done = 3, .final = true, .seed = 4});
    job_reference(&j, &loss, &accuracy);
    runs(&j);
    json_t *o = report_of(&j, 9);
    assert_true(fabs(number_of(o, "loss") - loss) < 1e-5);
    assert_true(fabs(number_of(o, "accuracy") - accuracy) < 1e-9);
    assert_true(number_of(o, "step") == 9 && number_of(o, "epochs_done") == 3);
    assert_true(number_of(o, "examples") == JOB_EXAMPLES && number_of(o, "seconds") > 0);
    assert_true(json_is_true(json_object_get(o, "final")));
    json_decref(o);
    assert_int_equal(lines_of(&j, "eval/metrics.jsonl"), 1);

    char *eval = jobdir_file(j.dir, "eval"), **names = NULL;
    size_t n = 0;
    int counts[2] = {0};
    assert_int_equal(fs_list(eval, &names, &n, NULL), OK);
    for (size_t i = 0; i < n; i++)
        if (strncmp(names[i], "events.out.tfevents.", 20) == 0) {
            char *path = jobdir_file(j.dir, "eval/%s", names[i]);
            assert_int_equal(events_read(path, count_tags, counts, NULL), OK);
            free(path);
        }
    assert_true(counts[0] == 1 && counts[1] == 1);
    fs_list_free(names, n);
    free(eval);

    runs(&j); /* started again: nothing left to do */
    assert_int_equal(lines_of(&j, "eval/metrics.jsonl"), 1);
    job_fini(&j);
}

static void test_takes_epoch_ends_and_skips_what_was_overtaken(void **state)
{
    (void)state;
    job j = job_make("");
    job_commit(&j, (job_save){.step = 2});
    job_commit(&j, (job_save){.step = 4, .epochs_done = 1});
    job_commit(&j, (job_save){.step = 6, .epochs_done = 1});
    job_commit(&j, (job_save){.step = 8, .epochs_done = 2});
    job_commit(&j, (job_save){.step = 10, .epochs_done = 2});
    job_commit(&j, (job_save){.step = 12, .epochs_done = 3, .final = true});
    runs(&j);
    assert_true(job_has(&j, "eval/step-000000004.json"));
    assert_true(job_has(&j, "eval/step-000000008.json"));
    assert_true(job_has(&j, "eval/step-000000012.json"));
    assert_false(job_has(&j, "eval/step-000000002.json"));
    assert_false(job_has(&j, "eval/step-000000006.json"));
    assert_false(job_has(&j, "eval/step-000000010.json"));
    char *text = job_text(&j, "eval/metrics.jsonl");
    assert_non_null(strstr(text, "12")); /* the newest comes first */
    assert_true(strstr(text, "\"step\":12") < strstr(text, "\"step\":8"));
    assert_true(strstr(text, "\"step\":8") < strstr(text, "\"step\":4"));
    free(text);
    job_fini(&j);
}

static void test_a_checkpoint_that_became_final_is_told_so(void **state)
{
    (void)state;
    job j = job_make("");
    job_commit(&j, (job_save){.step = 5, .epochs_done = 1});
    put(&j, "summary.json", "{\"steps\": 5}");
    runs(&j);
    json_t *o = report_of(&j, 5);
    assert_true(json_is_false(json_object_get(o, "final")));
    json_decref(o);
    job_commit(&j, (job_save){.step = 5, .epochs_done = 1, .final = true});
    runs(&j);
    o = report_of(&j, 5);
    assert_true(json_is_true(json_object_get(o, "final")));
    json_decref(o);
    job_fini(&j);
}

/* A master in a thread: commits, waits for reports, ends the job in one way or another. */
typedef struct master {
    job *j;
    const char *summary; /* written at the end; NULL: the last checkpoint is final */
    bool ok;
} master;

static bool wait_for(const job *j, const char *name)
{
    int64_t until = clock_us() + 60000000;
    while (!job_has(j, name))
        if (clock_us() > until)
            return false;
        else
            sched_yield();
    return true;
}

static void *train(void *arg)
{
    master *m = arg;
    m->ok = true;
    for (int64_t step = 1; step <= 3; step++) {
        char name[64];
        snprintf(name, sizeof name, "eval/step-%09lld.json", (long long)step);
        job_commit(m->j, (job_save){.step = step, .final = step == 3 && !m->summary});
        m->ok = wait_for(m->j, name) && m->ok;
    }
    if (m->summary)
        put(m->j, "summary.json", m->summary);
    return NULL;
}

static void test_follows_a_job_to_its_end(void **state)
{
    (void)state;
    static const char *const ends[] = {NULL, "{\"steps\": 3}"};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        job j = job_make("");
        master m = {.j = &j, .summary = ends[i]};
        pthread_t thread;
        assert_int_equal(thread_start(&thread, "master", train, &m, NULL), OK);
        runs(&j);
        pthread_join(thread, NULL);
        assert_true(m.ok);
        assert_int_equal(lines_of(&j, "eval/metrics.jsonl"), 3);
        char **names = NULL;
        size_t n = 0;
        char *pins = jobdir_file(j.dir, "pins");
        if (fs_exists(pins))
            assert_int_equal(fs_list(pins, &names, &n, NULL), OK);
        assert_int_equal(n, 0); /* nothing stays pinned */
        fs_list_free(names, n);
        free(pins);
        job_fini(&j);
    }
}

static void test_a_silent_job_is_lost(void **state)
{
    (void)state;
    job j = job_make("");
    error err = ERROR_INIT;
    assert_int_equal(run(&j, NULL, 0.3, &err), E_LOST);
    assert_non_null(strstr(err.text, "no sign of life in '"));
    assert_non_null(strstr(err.text, "(no checkpoint yet): the master is gone"));
    job_commit(&j, (job_save){.step = 7});
    error_clear(&err);
    assert_int_equal(run(&j, NULL, 0.3, &err), E_LOST);
    assert_non_null(strstr(err.text, "(newest checkpoint step-000000007)"));
    assert_true(job_has(&j, "eval/step-000000007.json"));
    job_fini(&j);
}

typedef struct ending {
    const char *text; /* of state.json */
    status code;
    const char *says;
} ending;

static const ending endings[] = {
    {"{\"state\": \"failed\", \"start\": 2, \"exit_code\": 3, \"text\": \"bad labels\"}", E_DATA,
     "the job has ended: bad labels"},
    {"{\"state\": \"failed\", \"start\": 2, \"exit_code\": 200, \"text\": \"gone\"}", E_PROTOCOL,
     "the job has ended: gone"},
    {"{\"state\": \"preempted\", \"start\": 2, \"exit_code\": 143, \"text\": \"cut\"}", E_PREEMPTED,
     "the job has ended: cut"},
};

typedef struct failing {
    job *j;
    const ending *end;
} failing;

static void *fail_after_one(void *arg)
{
    const failing *f = arg;
    job_commit(f->j, (job_save){.step = 1});
    wait_for(f->j, "eval/step-000000001.json");
    put(f->j, "state.json", f->end->text);
    return NULL;
}

/* As if it had been written an hour ago. */
static void age(const job *j, const char *name)
{
    char *path = jobdir_file(j->dir, "%s", name);
    struct timespec now, then[2];
    clock_gettime(CLOCK_REALTIME, &now);
    then[0] = then[1] = (struct timespec){.tv_sec = now.tv_sec - 3600};
    assert_int_equal(utimensat(AT_FDCWD, path, then, 0), 0);
    free(path);
}

/* What an earlier start ended with does not count while a new one may come. */
static void test_leaves_with_the_job(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        job j = job_make("");
        put(&j, "state.json",
            "{\"state\": \"failed\", \"start\": 1, \"exit_code\": 1, \"text\": \"before\"}");
        age(&j, "state.json");
        failing f = {&j, &endings[i]};
        pthread_t thread;
        error err = ERROR_INIT;
        assert_int_equal(thread_start(&thread, "master", fail_after_one, &f, NULL), OK);
        assert_int_equal(run(&j, NULL, 30.0, &err), endings[i].code);
        assert_string_equal(err.text, endings[i].says);
        pthread_join(thread, NULL);
        job_fini(&j);
    }
}

static void test_an_old_end_counts_when_nobody_comes(void **state)
{
    (void)state;
    job j = job_make("distributed: {start_timeout: 0.3}");
    put(&j, "state.json", endings[0].text);
    age(&j, "state.json");
    error err = ERROR_INIT;
    assert_int_equal(run(&j, NULL, 30.0, &err), E_DATA);
    assert_string_equal(err.text, endings[0].says);
    job_fini(&j);
}

/* The master failed before the evaluator had begun to look. */
static void test_an_end_of_just_now_counts_soon(void **state)
{
    (void)state;
    job j = job_make("distributed: {start_timeout: 3600}");
    put(&j, "state.json", endings[0].text);
    error err = ERROR_INIT;
    assert_int_equal(run(&j, NULL, 3600.0, &err), E_DATA);
    assert_string_equal(err.text, endings[0].says);
    job_fini(&j);
}

static void test_stops_when_told(void **state)
{
    (void)state;
    job j = job_make("");
    job_commit(&j, (job_save){.step = 7, .final = true});
    atomic_bool stop = true;
    error err = ERROR_INIT;
    assert_int_equal(run(&j, &stop, 30.0, &err), OK);
    assert_false(job_has(&j, "eval/step-000000007.json"));
    job_fini(&j);
}

static void test_a_damaged_last_checkpoint_is_an_error(void **state)
{
    (void)state;
    job j = job_make("");
    job_commit(&j, (job_save){.step = 7, .final = true});
    put(&j, "checkpoints/step-000000007/ps-0-of-1.safetensors", "not weights");
    error err = ERROR_INIT;
    assert_int_equal(run(&j, NULL, 0.5, &err), E_DATA); /* no master lives that would go back */
    assert_non_null(strstr(err.text, "ps-0-of-1.safetensors"));
    assert_false(job_has(&j, "eval/step-000000007.json"));
    job_fini(&j);
}

/* The others are evaluated, and the job ends. */
static void test_a_damaged_checkpoint_that_others_follow_is_passed_over(void **state)
{
    (void)state;
    job j = job_make("");
    job_commit(&j, (job_save){.step = 4, .epochs_done = 1});
    job_commit(&j, (job_save){.step = 8, .epochs_done = 2});
    job_commit(&j, (job_save){.step = 12, .epochs_done = 3, .final = true});
    put(&j, "checkpoints/step-000000008/ps-0-of-1.safetensors", "not weights");
    runs(&j);
    assert_true(job_has(&j, "eval/step-000000012.json"));
    assert_false(job_has(&j, "eval/step-000000008.json"));
    assert_true(job_has(&j, "eval/step-000000004.json"));
    job_fini(&j);
}

static void unlink_of(const job *j, const char *name)
{
    char *path = jobdir_file(j->dir, "%s", name);
    assert_int_equal(fs_remove_tree(path, NULL), OK);
    free(path);
}

static status find_nine(void *user, const event_record *r, error *err)
{
    (void)err;
    *(bool *)user |= r->step == 9;
    return OK;
}

/* What was told of a checkpoint that counts no more is taken back with the next report. */
static void test_a_job_that_goes_back(void **state)
{
    (void)state;
    job j = job_make("");
    job_commit(&j, (job_save){.step = 7, .epochs_done = 1});
    job_commit(&j, (job_save){.step = 9, .epochs_done = 1, .final = true});
    runs(&j);
    unlink_of(&j, "checkpoints/step-000000009"); /* as a master does that goes back */
    unlink_of(&j, "eval/step-000000009.json");
    job_commit(&j, (job_save){.step = 8, .epochs_done = 1, .final = true, .seed = 2});
    runs(&j);
    char *text = job_text(&j, "eval/metrics.jsonl"), *eval = jobdir_file(j.dir, "eval"), **names = NULL;
    assert_null(strstr(text, "\"step\":9"));
    assert_non_null(strstr(text, "\"step\":8"));
    assert_non_null(strstr(text, "\"step\":7"));
    size_t n = 0;
    bool tells = false;
    assert_int_equal(fs_list(eval, &names, &n, NULL), OK);
    for (size_t i = 0; i < n; i++) {
        char *path = xasprintf("%s/%s", eval, names[i]);
        if (strncmp(names[i], "events.", 7) == 0)
            assert_int_equal(events_read(path, find_nine, &tells, NULL), OK);
        free(path);
    }
    assert_false(tells);
    fs_list_free(names, n);
    free(eval);
    free(text);
    job_fini(&j);
}

static void expect_refusal(const config *c, const char *model, status st, const char *text)
{
    error err = ERROR_INIT;
    metric_set m;
    metric_figures figures;
    evaluator_request r = {.config = c, .model = model, .device = backend_numbered(-1, 1)};
    assert_int_equal(evaluator_evaluate(&r, 1, NULL, NULL, &m, &figures, NULL, &err), st);
    if (!strstr(err.text, text))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, text);
}

static void *teach(void *arg)
{
    const job *j = arg;
    wait_for(j, "eval/alive");
    put(j, "vocabulary.json", "{\"label\": {\"label\": [\"a\", \"b\", \"c\"]}}");
    return NULL;
}

/* Of classes that training teaches, once it has, and not at the first checkpoint. */
static void test_metrics_that_do_not_fit_are_refused_at_once(void **state)
{
    (void)state;
    job plain = job_make("");
    char *lines = xasprintf("%s/lines.jsonl", plain.path);
    static const char text[] = "{\"x\": 1, \"label\": \"a\"}\n{\"x\": 2, \"label\": \"b\"}\n"
                               "{\"x\": 3, \"label\": \"c\"}\n";
    assert_int_equal(fs_write_atomic(lines, text, sizeof text - 1, NULL), OK);
    char *more = xasprintf("dataset_reader: {type: 'jsonl', fields: [{name: 'x', type: 'number'}, {name: 'label', "
                           "type: 'word'}]}, train_data_path: '%s', validation_data_path: '%s', model: {type: 'mlp', "
                           "hidden: [3]}, trainer: {metrics: ['f1']}", lines, lines);
    job j = job_make(more);
    pthread_t thread;
    error err = ERROR_INIT;
    char *checkpoints = jobdir_file(j.dir, "checkpoints");
    assert_int_equal(fs_mkdirs(checkpoints, NULL), OK);
    put(&j, "state.json", "{\"state\": \"running\", \"start\": 1, \"exit_code\": 0, \"text\": \"\"}");
    assert_int_equal(thread_start(&thread, "master", teach, &j, NULL), OK);
    assert_int_equal(run(&j, NULL, 30.0, &err), E_CONFIG);
    assert_non_null(strstr(err.text, "metric 'f1': positive_label is missing: f1 is of one of 3 classes"));
    pthread_join(thread, NULL);
    job_fini(&j);
    job_fini(&plain);
    free(checkpoints);
    free(more);
    free(lines);
}

static void test_models_that_do_not_fit(void **state)
{
    (void)state;
    job j = job_make("");
    job wider = job_make("model: {type: 'mlp', hidden: [6], batch_norm: true}");
    job plain = job_make("model: {type: 'mlp', hidden: [5]}");
    job counted = job_make("dataset_reader: {}, model: {type: 'mlp', hidden: [6]}");
    job blind = job_make("validation_data_path: null");
    job_commit(&j, (job_save){.step = 7});
    char *folder = jobdir_file(j.dir, "checkpoints/step-000000007");
    char *file = jobdir_file(j.dir, "model.safetensors");
    assert_int_equal(checkpoint_export(j.flat, j.weights, file, NULL), OK);
    const char *models[] = {folder, file};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        expect_refusal(wider.config, models[i], E_DATA, "' is [5");
        expect_refusal(wider.config, models[i], E_DATA, ", the model asks for [6");
        expect_refusal(counted.config, models[i], E_DATA, "dataset_reader.classes is not set");
        expect_refusal(blind.config, models[i], E_CONFIG, "set validation_data_path");
    }
    expect_refusal(plain.config, file, E_DATA,
                   "has no tensor 'fc1.bias', which the model asks for");
    expect_refusal(j.config, "/nonexistent.safetensors", E_DATA, "/nonexistent.safetensors");
    free(folder);
    free(file);
    job_fini(&j);
    job_fini(&wider);
    job_fini(&plain);
    job_fini(&blind);
    job_fini(&counted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures_are_right),
        cmocka_unit_test(test_reports_the_final_checkpoint_and_ends),
        cmocka_unit_test(test_what_a_killed_evaluator_left_goes),
        cmocka_unit_test(test_takes_epoch_ends_and_skips_what_was_overtaken),
        cmocka_unit_test(test_a_checkpoint_that_became_final_is_told_so),
        cmocka_unit_test(test_follows_a_job_to_its_end),
        cmocka_unit_test(test_a_silent_job_is_lost),
        cmocka_unit_test(test_leaves_with_the_job),
        cmocka_unit_test(test_an_old_end_counts_when_nobody_comes),
        cmocka_unit_test(test_an_end_of_just_now_counts_soon),
        cmocka_unit_test(test_stops_when_told),
        cmocka_unit_test(test_metrics_that_do_not_fit_are_refused_at_once),
        cmocka_unit_test(test_a_damaged_last_checkpoint_is_an_error),
        cmocka_unit_test(test_a_damaged_checkpoint_that_others_follow_is_passed_over),
        cmocka_unit_test(test_a_job_that_goes_back),
        cmocka_unit_test(test_models_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
