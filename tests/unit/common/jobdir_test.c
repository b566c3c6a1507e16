#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/store/jobdir.h"
#include "common/store/lockfile.h"
#include "support/folder.h"
#include "unit/common/support_jobdir.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool has(const char *dir, const char *name)
{
    char *path = xasprintf("%s/%s", dir, name);
    bool there = fs_exists(path);
    free(path);
    return there;
}

static void test_first_start(void **state)
{
    (void)state;
    char *path = jobdir_place("first/below");
    config *c = jobdir_config(NULL);
    jobdir *d = jobdir_start((jobdir_request){.path = path, .config = c});
    assert_string_equal(jobdir_path(d), path);
    assert_true(jobdir_job_id(d) != 0);
    assert_int_equal(strlen(jobdir_token(d)), 32);
    assert_int_equal(jobdir_batches_per_step(d), 0);
    char *file = jobdir_file(d, "checkpoints/step-%09lld", 40LL), *dump = config_dump(c);
    assert_non_null(strstr(file, "first/below/checkpoints/step-000000040"));
    free(file);

    file = jobdir_file(d, "config.json");
    json_t *written = NULL, *expected = NULL;
    assert_int_equal(json_read_file(file, &written, NULL), OK);
    assert_int_equal(json_parse(dump, strlen(dump), "dump", E_DATA, &expected, NULL), OK);
    assert_true(json_equal(written, expected));
    json_decref(written);
    json_decref(expected);
    free(file);
    free(dump);

    file = jobdir_file(d, "job.json");
    assert_int_equal(json_read_file(file, &written, NULL), OK);
    char id[17];
    snprintf(id, sizeof id, "%016llx", (unsigned long long)jobdir_job_id(d));
    assert_string_equal(json_string_value(json_object_get(written, "job_id")), id);
    assert_string_equal(json_string_value(json_object_get(written, "tequio_version")),
                        TEQUIO_VERSION);
    assert_true(json_array_size(json_object_get(written, "config_digest_lines")) > 3);
    json_decref(written);
    free(file);
    jobdir_close(&d);
    assert_null(d);
    jobdir_close(&d);
    config_destroy(&c);
    free(path);
}

static void test_what_is_fixed_stays_fixed(void **state)
{
    (void)state;
    char *path = jobdir_place("fixed/");
    config *c = jobdir_config(NULL);
    jobdir *d = jobdir_start((jobdir_request){.path = path, .config = c});
    int64_t restarts = -1;
    assert_int_equal(jobdir_count_start(d, &restarts, NULL), OK);
    assert_int_equal(restarts, 0);
    assert_int_equal(jobdir_set_batches_per_step(d, 4, NULL), OK);
    assert_int_equal(jobdir_set_batches_per_step(d, 4, NULL), OK);
    error err = ERROR_INIT;
    assert_int_equal(jobdir_set_batches_per_step(d, 5, &err), E_CONFIG);
    assert_non_null(strstr(err.text, "began with 4"));
    char *before;
    assert_int_equal(jobdir_keep_fingerprint(d, "a CPU", &before, NULL), OK);
    assert_null(before);
    uint64_t id = jobdir_job_id(d);
    char *token = xstrdup(jobdir_token(d));
    jobdir_close(&d);

    d = jobdir_start((jobdir_request){.path = path, .config = c, .recover = true});
    assert_true(jobdir_job_id(d) == id);
    assert_string_equal(jobdir_token(d), token);
    assert_int_equal(jobdir_batches_per_step(d), 4);
    assert_int_equal(jobdir_count_start(d, &restarts, NULL), OK);
    assert_int_equal(restarts, 1);
    assert_int_equal(jobdir_keep_fingerprint(d, "a CPU", &before, NULL), OK);
    assert_null(before);
    assert_int_equal(jobdir_keep_fingerprint(d, "a GPU", &before, NULL), OK);
    assert_string_equal(before, "a CPU");
    free(before);

    jobdir *looker = NULL;
    assert_int_equal(jobdir_open(path, &looker, NULL), OK);
    assert_true(jobdir_job_id(looker) == id);
    assert_string_equal(jobdir_token(looker), token);
    assert_int_equal(jobdir_batches_per_step(looker), 4);
    jobdir_close(&looker);
    jobdir_close(&d);
    free(token);
    config_destroy(&c);
    free(path);
}

static void test_open_makes_the_folder_only(void **state)
{
    (void)state;
    char *path = jobdir_place("opened");
    jobdir *d = NULL;
    assert_int_equal(jobdir_open(path, &d, NULL), OK);
    assert_true(fs_exists(path));
    assert_false(has(path, "config.json"));
    assert_true(jobdir_job_id(d) == 0);
    assert_string_equal(jobdir_token(d), "");
    assert_int_equal(jobdir_batches_per_step(d), 0);
    error err = ERROR_INIT;
    int64_t restarts;
    assert_int_equal(jobdir_count_start(d, &restarts, &err), E_IO);
    assert_non_null(strstr(err.text, "no job was started"));
    jobdir_close(&d);

    /* roles that came first and logged are not in the master's way */
    char *log = xasprintf("%s/log", path);
    jobdir_put(log, "ps.0.log", "hello");
    free(log);
    config *c = jobdir_config(NULL);
    d = jobdir_start((jobdir_request){.path = path, .config = c});
    jobdir_close(&d);
    config_destroy(&c);
    free(path);
}

static void test_allennlp_rule(void **state)
{
    (void)state;
    char *path = jobdir_place("allennlp"), *expected;
    config *c = jobdir_config(NULL), *other = jobdir_config("{random_seed: 7}");
    config *elsewhere = jobdir_config("{distributed: {workers: 3}}");
    jobdir_request plain = {.path = path, .config = c}, recover = plain, force = plain;
    recover.recover = true;
    force.force = true;
    jobdir *d = jobdir_start(recover);
    uint64_t id = jobdir_job_id(d);
    assert_int_equal(jobdir_begin(d, NULL), OK);
    jobdir_close(&d);

    expected = xasprintf("Serialization directory (%s) already exists and is not empty. Specify "
                         "--recover to recover from an existing output folder: its job goes on. Specify "
                         "--force to remove what is in it and start over.",
                         path);
    jobdir_refused(plain, E_CONFIG, expected);
    free(expected);
    jobdir_request both = recover;
    both.force = true;
    jobdir_refused(both, E_CONFIG, "Illegal arguments: both force and recover are true.");
    jobdir_request foreign = recover;
    foreign.config = other;
    jobdir_refused(foreign, E_CONFIG,
                   "Training configuration does not match the configuration we're recovering "
                   "from. First difference: random_seed");
    recover.config = elsewhere;
    d = jobdir_start(recover);
    assert_true(jobdir_job_id(d) == id);
    jobdir_close(&d);

    jobdir_put(path, "left-over", "x");
    force.config = other;
    d = jobdir_start(force);
    assert_true(jobdir_job_id(d) != id);
    assert_false(has(path, "left-over"));
    jobdir_close(&d);
    config_destroy(&c);
    config_destroy(&other);
    config_destroy(&elsewhere);
    free(path);
}

static void test_estimator_rule(void **state)
{
    (void)state;
    char *path = jobdir_place("estimator");
    config *c = jobdir_config(NULL), *other = jobdir_config("{random_seed: 7}");
    jobdir_request request = {.path = path, .rule = JOBDIR_ESTIMATOR, .config = c};
    jobdir_put(path, "notes.txt", "mine");
    jobdir *d = jobdir_start(request);
    uint64_t id = jobdir_job_id(d);
    assert_int_equal(jobdir_begin(d, NULL), OK);
    jobdir_close(&d);
    d = jobdir_start(request);
    assert_true(jobdir_job_id(d) == id);
    jobdir_close(&d);

    request.config = other;
    jobdir_refused(request, E_CONFIG, "first difference: random_seed");
    jobdir_refused(request, E_CONFIG, "give --force");
    request.force = true;
    d = jobdir_start(request);
    assert_true(jobdir_job_id(d) != id);
    assert_false(has(path, "notes.txt"));
    jobdir_close(&d);
    config_destroy(&c);
    config_destroy(&other);
    free(path);
}

static void test_finished_jobs_are_left_alone(void **state)
{
    (void)state;
    char *path = jobdir_place("finished");
    config *c = jobdir_config(NULL);
    jobdir_request request = {.path = path, .rule = JOBDIR_ESTIMATOR, .config = c};
    jobdir *d = jobdir_start(request);
    jobdir_close(&d);
    jobdir_put(path, "summary.json", "{\"complete\": false}");
    d = jobdir_start(request);
    jobdir_close(&d);

    char *lock = xasprintf("%s/job.lock", path);
    jobdir_put(path, "summary.json", "{\"complete\": true, \"steps\": 3}");
    unlink(lock);
    for (int rule = 0; rule < 2; rule++) {
        request.rule = (jobdir_rule)rule;
        request.recover = rule == JOBDIR_ALLENNLP;
        bool done = false;
        assert_int_equal(jobdir_prepare(&request, &d, &done, NULL), OK);
        assert_true(done);
        assert_true(jobdir_job_id(d) != 0);
        jobdir_close(&d);
        assert_false(fs_exists(lock));
    }
    jobdir_put(path, "summary.json", "{");
    jobdir_refused(request, E_DATA, "summary.json");
    free(lock);
    config_destroy(&c);
    free(path);
}

static void test_foreign_folders_are_left_alone(void **state)
{
    (void)state;
    char *path = jobdir_place("foreign");
    config *c = jobdir_config(NULL);
    jobdir_request force = {.path = path, .config = c, .force = true}, recover = force;
    recover.force = false;
    recover.recover = true;
    jobdir_put(path, "thesis.tex", "years of work");
    jobdir_refused(force, E_CONFIG, "does not look like a job dir");
    jobdir_request plain = {.path = path, .config = c};
    jobdir_refused(plain, E_CONFIG, "no job in it that --recover could go on with, or --force remove");
    jobdir_refused(recover, E_CONFIG, "no job.json");
    assert_true(has(path, "thesis.tex"));
    assert_false(has(path, "job.lock"));
    jobdir_put(path, "config.json", "{}");
    jobdir_refused(plain, E_CONFIG, "so --recover has no job to go on with. Specify --force");
    recover.rule = JOBDIR_ESTIMATOR;
    recover.recover = false;
    jobdir_refused(recover, E_CONFIG, "no job.json");
    jobdir *d = jobdir_start(force);
    assert_false(has(path, "thesis.tex"));
    jobdir_close(&d);

    jobdir_put(path, "job.json", "{\"job_id\": \"0\"}");
    recover.recover = true;
    jobdir_refused(recover, E_DATA, "not a Tequio job");
    jobdir_put(path, "job.json", "nonsense");
    jobdir_refused(recover, E_DATA, "job.json");
    error err = ERROR_INIT;
    assert_int_equal(jobdir_open(path, &d, &err), E_DATA);
    assert_non_null(strstr(err.text, "job.json"));
    config_destroy(&c);
    free(path);
}

static void test_bad_places(void **state)
{
    (void)state;
    char *path = jobdir_place("a-file");
    config *c = jobdir_config(NULL);
    assert_int_equal(fs_write_atomic(path, "x", 1, NULL), OK);
    jobdir_refused((jobdir_request){.path = path, .config = c}, E_IO, "a-file");
    jobdir_refused((jobdir_request){.path = "", .config = c}, E_USAGE, "empty");
    config_destroy(&c);
    free(path);
}

/* A start cut short after job.json and before config.json is a start: it resumes. */
static void test_the_vocabulary_is_kept(void **state)
{
    (void)state;
    char *path = jobdir_place("vocabulary"), *text = NULL;
    config *c = jobdir_config(NULL);
    jobdir *d = jobdir_start((jobdir_request){.path = path, .config = c});
    assert_int_equal(jobdir_read_vocabulary(d, &text, NULL), OK);
    assert_null(text);
    for (int i = 0; i < 2; i++)
        assert_int_equal(jobdir_keep_vocabulary(d, "{\"tokens\":[\"a\"]}", NULL), OK);
    error err = ERROR_INIT;
    assert_int_equal(jobdir_keep_vocabulary(d, "{\"tokens\":[\"b\"]}", &err), E_DATA);
    assert_non_null(strstr(err.text, "the training data are not those that this job began with"));
    assert_int_equal(jobdir_read_vocabulary(d, &text, NULL), OK);
    assert_string_equal(text, "{\"tokens\":[\"a\"]}");
    free(text);
    jobdir_close(&d);
    config_destroy(&c);
    free(path);
}

static void test_config_json_is_written_again(void **state)
{
    (void)state;
    char *path = jobdir_place("cut-short"), *file = xasprintf("%s/config.json", path);
    config *c = jobdir_config(NULL);
    jobdir *d = jobdir_start((jobdir_request){.path = path, .config = c});
    jobdir_close(&d);
    unlink(file);
    d = jobdir_start((jobdir_request){.path = path, .config = c, .recover = true});
    jobdir_close(&d);
    assert_true(fs_exists(file));
    config_destroy(&c);
    free(file);
    free(path);
}

static void test_a_checkpoint_set_aside_comes_back(void **state)
{
    (void)state;
    char *path = jobdir_place("aside");
    config *c = jobdir_config(NULL);
    jobdir_request request = {.path = path, .rule = JOBDIR_ESTIMATOR, .config = c};
    jobdir *d = jobdir_start(request);
    char *aside = jobdir_file(d, "checkpoints/step-000000007.old.3");
    jobdir_put(aside, "manifest.json", "{}");
    jobdir_close(&d);
    d = jobdir_start(request);
    assert_false(fs_exists(aside));
    assert_true(has(path, "checkpoints/step-000000007/manifest.json"));
    jobdir_close(&d);
    free(aside);
    config_destroy(&c);
    free(path);
}

/* The holder is another process; the refusal names it, and its death frees the folder. */
static void test_two_masters(void **state)
{
    (void)state;
    char *path = jobdir_place("two-masters");
    config *c = jobdir_config(NULL);
    jobdir_request request = {.path = path, .rule = JOBDIR_ESTIMATOR, .config = c};
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        jobdir *d = NULL;
        bool done;
        char ok = jobdir_prepare(&request, &d, &done, NULL) == OK;
        if (write(ready[1], &ok, 1) == 1)
            pause();
        _exit(1);
    }
    char ok = 0;
    assert_int_equal(read(ready[0], &ok, 1), 1);
    assert_int_equal(ok, 1);
    char *expected = xasprintf("in use by process %ld on ", (long)child);
    jobdir_refused(request, E_BUSY, expected);
    request.force = true;
    jobdir_refused(request, E_BUSY, expected);
    assert_true(has(path, "job.json"));
    request.force = false;
    jobdir *looker = NULL;
    assert_int_equal(jobdir_open(path, &looker, NULL), OK);
    jobdir_close(&looker);
    char *lock = xasprintf("%s/job.lock", path), *holder = lockfile_holder(lock);
    assert_int_equal(strtol(holder, NULL, 10), child);
    free(holder);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_null(lockfile_holder(lock));
    free(lock);
    jobdir *d = jobdir_start(request);
    jobdir_close(&d);
    close(ready[0]);
    close(ready[1]);
    free(expected);
    config_destroy(&c);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_start),
        cmocka_unit_test(test_what_is_fixed_stays_fixed),
        cmocka_unit_test(test_open_makes_the_folder_only),
        cmocka_unit_test(test_allennlp_rule),
        cmocka_unit_test(test_estimator_rule),
        cmocka_unit_test(test_finished_jobs_are_left_alone),
        cmocka_unit_test(test_foreign_folders_are_left_alone),
        cmocka_unit_test(test_bad_places),
        cmocka_unit_test(test_the_vocabulary_is_kept),
        cmocka_unit_test(test_config_json_is_written_again),
        cmocka_unit_test(test_a_checkpoint_set_aside_comes_back),
        cmocka_unit_test(test_two_masters),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
