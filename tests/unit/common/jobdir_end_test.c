/* The end of a job moves: which configurations may do so, and what that leaves in the dir. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/config/training.h"
#include "common/store/history.h"
#include "support/folder.h"
#include "unit/common/support_jobdir.h"

#include <stdlib.h>
#include <string.h>

/* 40 examples in batches of 8: five steps an epoch */
enum { EXAMPLES = 40, K = 1 };

static const char done[] = "{\"steps\": 5}";

/* A job that has begun with these settings, and has a checkpoint of that step; 0: none. */
static void begin(const char *path, const char *settings, int64_t step)
{
    config *c = jobdir_config(settings);
    jobdir *d = jobdir_start((jobdir_request){.path = path, .config = c, .recover = true});
    assert_int_equal(jobdir_begin(d, NULL), OK);
    assert_int_equal(jobdir_set_batches_per_step(d, K, NULL), OK);
    assert_int_equal(jobdir_keep_examples(d, EXAMPLES, NULL), OK);
    char *folder = jobdir_file(d, "checkpoints/step-%09lld", (long long)step);
    if (step)
        jobdir_put(folder, "manifest.json", "{}");
    free(folder);
    jobdir_close(&d);
    config_destroy(&c);
}

/* As far as the first step. */
static jobdir *go_on(const char *path, const char *settings)
{
    config *c = jobdir_config(settings);
    jobdir *d = jobdir_start((jobdir_request){.path = path, .config = c, .recover = true});
    assert_int_equal(jobdir_begin(d, NULL), OK);
    config_destroy(&c);
    return d;
}

static void refused(const char *path, const char *settings, const char *text)
{
    config *c = jobdir_config(settings);
    jobdir_request request = {.path = path, .config = c, .recover = true};
    for (int rule = JOBDIR_ALLENNLP; rule <= JOBDIR_ESTIMATOR; rule++) {
        request.rule = (jobdir_rule)rule;
        jobdir_refused(request, E_CONFIG, text);
    }
    config_destroy(&c);
}

static bool has(const char *path, const char *name)
{
    char *file = xasprintf("%s/%s", path, name);
    bool there = fs_exists(file);
    free(file);
    return there;
}

static json_t *json_in(const char *path, const char *name)
{
    char *file = xasprintf("%s/%s", path, name);
    json_t *value = NULL;
    assert_int_equal(json_read_file(file, &value, NULL), OK);
    free(file);
    return value;
}

static int64_t epochs_in_config(const char *path)
{
    json_t *c = json_in(path, "config.json");
    int64_t epochs =
        json_integer_value(json_object_get(json_object_get(c, "trainer"), "num_epochs"));
    json_decref(c);
    return epochs;
}

static void test_the_course(void **state)
{
    (void)state;
    static const struct {
        const char *settings;
        int64_t per_epoch, end;
    } cases[] = {
        {"{'trainer.num_epochs': 3}", 3, 9},
        {"{'trainer.num_epochs': 3, 'trainer.max_steps': 9}", 3, 9},
        {"{'trainer.num_epochs': 3, 'trainer.max_steps': 7}", 3, 7},
        {"{'trainer.num_epochs': 9000000000000000000}", 3, INT64_MAX},
        {"{'data_loader.drop_last': true}", 2, 2},
        {"{'distributed.mode': 'async'}", 5, 5},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        config *c = jobdir_config(cases[i].settings);
        steps s = training_steps(c, 39, &(steps_kinds){.n = 0}, 2);
        assert_int_equal(steps_per_epoch(&s), cases[i].per_epoch);
        assert_int_equal(training_total(&s, c), cases[i].end);
        config_destroy(&c);
    }
}

static void test_a_job_that_is_done_goes_on(void **state)
{
    (void)state;
    char *path = jobdir_place("done");
    begin(path, NULL, 5);
    static const char *const results[] = {"summary.json", "metrics.json", "model.safetensors"};
    for (size_t i = 0; i < COUNT_OF(results); i++)
        jobdir_put(path, results[i], done);
    config *c = jobdir_config("{'trainer.num_epochs': 2}");
    jobdir *d = jobdir_start((jobdir_request){.path = path, .config = c, .recover = true});
    assert_true(has(path, "summary.json")); /* it may fail still */
    assert_int_equal(epochs_in_config(path), 1);
    assert_null(history_of(d));
    jobdir_close(&d);
    config_destroy(&c);
    d = go_on(path, "{'trainer.num_epochs': 2}");
    assert_false(has(path, "summary.json"));
    assert_false(has(path, "metrics.json"));
    assert_true(has(path, "model.safetensors"));
    assert_int_equal(epochs_in_config(path), 2);
    json_t *entry = history_open_entry(d);
    assert_int_equal(json_integer_value(json_object_get(entry, "step")), 5);
    buf text = BUF_INIT;
    history_print(entry, &text);
    assert_string_equal(text.data, "from step 5: trainer.num_epochs 1 -> 2");
    json_t *rates = json_pack("{s:s, s:b, s:[f, f], s:[f, f]}", "schedule", "linear", "changed", 1,
                              "at_step", 0.0, 0.5, "at_end", 0.25, 0.125);
    assert_int_equal(history_complete(d, entry, (int64_t[]){5, 10}, rates, NULL), OK);
    assert_null(history_open_entry(d));
    jobdir_close(&d);

    /* as every start finds it from now on */
    d = go_on(path, "{'trainer.num_epochs': 2}");
    assert_int_equal(json_array_size(history_of(d)), 1);
    buf_fini(&text);
    history_print(json_array_get(history_of(d), 0), &text);
    assert_string_equal(text.data,
                        "from step 5: trainer.num_epochs 1 -> 2; the end moves from step 5 to 10; "
                        "learning rate (linear) 0 -> 0.5 at step 5, 0.25 -> 0.125 at the end");
    jobdir_close(&d);

    /* further, and back as far as nothing more was trained */
    d = go_on(path, "{'trainer.max_steps': 7, 'trainer.num_epochs': 3, 'trainer.patience': 2}");
    jobdir_close(&d);
    d = go_on(path, NULL);
    assert_int_equal(json_array_size(history_of(d)), 3);
    buf_fini(&text);
    history_print(json_array_get(history_of(d), 2), &text);
    assert_string_equal(text.data, "from step 5: trainer.num_epochs 3 -> 1, trainer.max_steps 7 -> "
                                   "null, trainer.patience 2 -> null");
    jobdir_close(&d);
    buf_fini(&text);
    free(path);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    char *path = jobdir_place("refused");
    begin(path, "{'trainer.num_epochs': 4}", 8);
    refused(path, "{'trainer.max_steps': 7}",
            "has reached step 8, but with trainer.num_epochs and trainer.max_steps as they are now "
            "it would end at step 5 (an epoch has 5): let it end at step 8 or later");
    refused(path, "{'trainer.num_epochs': 9, random_seed: 7}",
            "irst difference: random_seed: 13370 in the job, 7 now");
    refused(path, "{'trainer.optimizer': {type: 'adam', betas: [0.8, 0.9]}}",
            "irst difference: trainer.optimizer.betas: [0.9, 0.999] in the job, [0.8, 0.9] now");
    refused(path, "{'dataset_reader.augment': {}}",
            "irst difference: dataset_reader.augment.shift: absent in the job, 0 now");
    assert_int_equal(epochs_in_config(path), 4);
    assert_true(has(path, "checkpoints/step-000000008/manifest.json"));
    jobdir *d = go_on(path, "{'trainer.num_epochs': 2, 'trainer.max_steps': 8}"); /* just there */
    jobdir_close(&d);
    free(path);

    path = jobdir_place("without-checkpoints");
    begin(path, NULL, 0);
    jobdir_put(path, "summary.json", done);
    refused(path, "{'trainer.num_epochs': 2}", "is done and has no checkpoint any more to go on");
    assert_true(has(path, "summary.json"));
    free(path);

    path = jobdir_place("unordered");
    begin(path, "{'distributed.mode': 'ssp', 'trainer.num_epochs': 4}", 8);
    refused(path, "{'distributed.mode': 'ssp', 'trainer.num_epochs': 3}",
            "was to end at step 20, now at step 15");
    d = go_on(path, "{'distributed.mode': 'ssp', 'trainer.num_epochs': 5}");
    jobdir_close(&d);
    free(path);
}

/* A start that died between job.json and config.json. */
static void test_config_json_follows(void **state)
{
    (void)state;
    char *path = jobdir_place("half");
    begin(path, NULL, 5);
    json_t *before = json_in(path, "config.json");
    jobdir *d = go_on(path, "{'trainer.num_epochs': 3}");
    jobdir_close(&d);
    char *file = xasprintf("%s/config.json", path);
    assert_int_equal(json_write_file(file, before, NULL), OK);
    refused(path, "{'trainer.num_epochs': 3, random_seed: 7}", "random_seed: 13370 in the job");
    assert_int_equal(epochs_in_config(path), 1);
    d = go_on(path, "{'trainer.num_epochs': 3}");
    assert_int_equal(epochs_in_config(path), 3);
    assert_int_equal(json_array_size(history_of(d)), 1);
    jobdir_close(&d);
    json_decref(before);
    free(file);
    free(path);
}

static void test_examples_stay(void **state)
{
    (void)state;
    char *path = jobdir_place("examples");
    begin(path, NULL, 5);
    jobdir *d = go_on(path, NULL);
    error err = ERROR_INIT;
    assert_int_equal(jobdir_keep_examples(d, EXAMPLES, NULL), OK);
    assert_int_equal(jobdir_keep_examples(d, EXAMPLES + 1, &err), E_DATA);
    assert_non_null(strstr(err.text, "have 41 examples, but this job began with 40"));
    jobdir_close(&d);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_course),
        cmocka_unit_test(test_a_job_that_is_done_goes_on),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_config_json_follows),
        cmocka_unit_test(test_examples_stay),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
