#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/commands.h"
#include "cli/inspect/inspect.h"
#include "cli/inspect/text.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/store/checkpoint.h"
#include "common/store/events.h"
#include "common/store/safetensors.h"
#include "support/folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *file(const char *name)
{
    return folder_file("%s", name);
}

static json_t *look(const char *path)
{
    json_t *report = NULL;
    error err = ERROR_INIT;
    if (inspect_look(path, true, &report, &err) != OK)
        fail_msg("%s", err.text);
    return report;
}

static void assert_refused(const char *path, status expected, const char *text)
{
    json_t *report = NULL;
    error err = ERROR_INIT;
    assert_int_equal(inspect_look(path, true, &report, &err), expected);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
}

/* The text for people holds every one of the NULL-terminated pieces, in this order. */
static void assert_text(const json_t *report, const char *const *pieces)
{
    buf text = BUF_INIT;
    inspect_print(report, &text);
    const char *at = text.data;
    for (; *pieces; pieces++) {
        const char *found = strstr(at, *pieces);
        if (!found)
            fail_msg("no '%s' (in its place) in:\n%s", *pieces, text.data);
        at = found + strlen(*pieces);
    }
    buf_fini(&text);
}

static double real(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static void write_tensors(const char *path, const st_tensor *tensors, size_t n)
{
    st_writer *w = NULL;
    st_meta meta = {"format", "pt"};
    assert_int_equal(st_writer_open(path, tensors, n, &meta, 1, &w, NULL), OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(st_writer_add(w, tensors[i].data, tensors[i].bytes, NULL), OK);
    assert_int_equal(st_writer_close(&w, NULL, NULL, NULL), OK);
}

/* The same four values in every type that can hold them. */
static void test_safetensors(void **state)
{
    (void)state;
    const float f32[] = {-1, 0, 2, 3};
    const double f64[] = {-1, 0, 2, 3};
    const uint16_t f16[] = {0xbc00, 0x0000, 0x4000, 0x4200}, bf16[] = {0xbf80, 0, 0x4000, 0x4040};
    const int64_t i64[] = {-1, 0, 2, 3};
    const int32_t i32[] = {-1, 0, 2, 3};
    const uint8_t u8[] = {0, 1, 254, 255};
    const float bad[] = {NAN, 5, INFINITY};
    const uint16_t odd[] = {0x0001, 0x7c00, 0x03ff, 0x7bff};
    const st_tensor tensors[] = {
        {.name = "f32", .dtype = DT_F32, .rank = 2, .dim = {2, 2}, .data = f32, .bytes = 16},
        {.name = "f64", .dtype = DT_F64, .rank = 1, .dim = {4}, .data = f64, .bytes = 32},
        {.name = "f16", .dtype = DT_F16, .rank = 1, .dim = {4}, .data = f16, .bytes = 8},
        {.name = "bf16", .dtype = DT_BF16, .rank = 1, .dim = {4}, .data = bf16, .bytes = 8},
        {.name = "i64", .dtype = DT_I64, .rank = 1, .dim = {4}, .data = i64, .bytes = 32},
        {.name = "i32", .dtype = DT_I32, .rank = 1, .dim = {4}, .data = i32, .bytes = 16},
        {.name = "u8", .dtype = DT_U8, .rank = 1, .dim = {4}, .data = u8, .bytes = 4},
        {.name = "bad", .dtype = DT_F32, .rank = 1, .dim = {3}, .data = bad, .bytes = 12},
        {.name = "odd", .dtype = DT_F16, .rank = 1, .dim = {4}, .data = odd, .bytes = 8},
        {.name = "none", .dtype = DT_F32, .rank = 1, .dim = {0}, .data = f32, .bytes = 0},
    };
    char *path = file("values.safetensors");
    write_tensors(path, tensors, COUNT_OF(tensors));
    json_t *report = look(path), *rows = json_object_get(report, "tensors");
    assert_string_equal(inspect_str(report, "kind"), "safetensors");
    assert_string_equal(inspect_str(json_object_get(report, "metadata"), "format"), "pt");
    assert_int_equal(json_array_size(rows), COUNT_OF(tensors));
    for (size_t i = 0; i < 6; i++) {
        const json_t *row = json_array_get(rows, i);
        assert_string_equal(inspect_str(row, "name"), tensors[i].name);
        assert_true(real(row, "min") == -1 && real(row, "max") == 3 && real(row, "mean") == 1);
        assert_true(fabs(real(row, "std") - sqrt(2.5)) < 1e-12);
        assert_int_equal(inspect_int(row, "not_finite"), 0);
    }
    assert_true(real(json_array_get(rows, 6), "max") == 255);
    const json_t *row = json_array_get(rows, 7);
    assert_true(real(row, "min") == 5 && real(row, "max") == 5 && real(row, "std") == 0);
    assert_int_equal(inspect_int(row, "not_finite"), 2);
    row = json_array_get(rows, 8);
    assert_true(real(row, "min") == ldexp(1, -24) && real(row, "max") == 65504);
    assert_int_equal(inspect_int(row, "not_finite"), 1);
    assert_true(json_is_null(json_object_get(json_array_get(rows, 9), "min")));
    assert_text(report, (const char *[]){"values.safetensors: safetensors, 10 tensors", "format=pt",
                                         "tensor", "shape", "f32", "[2,2]", "float32", "-1", "3",
                                         "1.5811", "2 not finite", "none", "[0]", "-", NULL});
    json_decref(report);

    /* found by its content, too */
    char *other = file("nameless");
    assert_int_equal(rename(path, other), 0);
    report = look(other);
    assert_string_equal(inspect_str(report, "kind"), "safetensors");
    json_decref(report);
    free(other);
    free(path);
}

static void test_events(void **state)
{
    (void)state;
    char *dir = file("events"), **names = NULL;
    size_t n;
    events *e = NULL;
    assert_int_equal(events_open(dir, &e, NULL), OK);
    for (int i = 10; i < 15; i++)
        events_scalar(e, i, "loss", (float)i / 4);
    events_scalar(e, 15, "broken", NAN);
    events_histogram *h = events_histogram_create();
    events_histogram_add(h, (const float[]){1, 2, 6}, 3);
    events_add_histogram(e, 20, "weights", h);
    events_histogram_destroy(&h);
    events_close(&e);
    assert_int_equal(fs_list(dir, &names, &n, NULL), OK);
    char *path = xasprintf("%s/%s", dir, names[0]), *other = file("renamed");
    fs_list_free(names, n);
    for (int again = 0; again < 2; again++) {
        json_t *report = look(again ? other : path), *tags = json_object_get(report, "tags");
        assert_string_equal(inspect_str(report, "kind"), "events");
        assert_int_equal(inspect_int(report, "records"), 8);
        assert_int_equal(json_array_size(tags), 3);
        const json_t *loss = json_array_get(tags, 0), *weights = json_array_get(tags, 2);
        assert_int_equal(inspect_int(loss, "count"), 5);
        assert_int_equal(inspect_int(loss, "last_step"), 14);
        assert_true(real(loss, "last") == 3.5);
        assert_true(json_is_null(json_object_get(json_array_get(tags, 1), "last")));
        assert_true(real(weights, "num") == 3 && real(weights, "mean") == 3);
        assert_text(report,
                    (const char *[]){"8 records, 3 tags", "loss", "scalar", "5", "10..14", "3.5",
                                     "broken", "-", "weights", "histogram", "3 in [1, 6]", NULL});
        json_decref(report);
        if (!again)
            assert_int_equal(rename(path, other), 0);
    }
    free(other);
    free(path);
    free(dir);
}

static void test_idx(void **state)
{
    (void)state;
    const unsigned char bytes[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 9, 1, 2, 3, 4, 5};
    char *path = file("labels-idx2-ubyte");
    assert_int_equal(fs_write_atomic(path, bytes, sizeof bytes, NULL), OK);
    json_t *report = look(path);
    assert_string_equal(inspect_str(report, "kind"), "idx");
    assert_int_equal(json_array_size(json_object_get(report, "dims")), 2);
    assert_true(real(report, "min") == 1 && real(report, "max") == 9 && real(report, "mean") == 4);
    assert_text(report, (const char *[]){"IDX, 2 x 3 u8", "values 6, min 1, max 9, mean 4", NULL});
    json_decref(report);
    assert_int_equal(fs_write_atomic(path, bytes, sizeof bytes - 1, NULL), OK);
    assert_refused(path, E_DATA, "labels-idx2-ubyte");
    free(path);
}

/* A job dir with one checkpoint of step 3, made as a job makes it. */
static jobdir *make_job(const char *path, bool keep_lock)
{
    config_source source = {.text = "{train_data_path: 'x', model: {type: 'mlp'}, "
                                    "data_loader: {batch_size: 8}, trainer: {num_epochs: 2}}"};
    config *c = NULL;
    error err = ERROR_INIT;
    if (config_load(&source, &c, &err) != OK)
        fail_msg("%s", err.text);
    jobdir_request request = {.path = path, .rule = JOBDIR_ESTIMATOR, .force = true, .config = c};
    jobdir *d = NULL;
    bool done;
    assert_int_equal(jobdir_prepare(&request, &d, &done, NULL), OK);
    const tensor_decl tensor = {.name = "w", .rank = 1, .dim = {5}};
    const float zeros[64] = {0};
    flat *f = NULL;
    assert_int_equal(flat_create(&tensor, 1, &f, NULL), OK);
    shard_part part = {.part = 0, .weights = zeros, .slots = {zeros}};
    const char *slot_names[] = {"m"};
    char *shard = jobdir_file(d, "checkpoints/step-000000003.tmp.1/ps-0-of-1.safetensors");
    manifest_shard listed = {.file = (char *)(uintptr_t) "ps-0-of-1.safetensors"};
    assert_int_equal(shard_write(&(shard_request){.path = shard,
                                                  .flat = f,
                                                  .parts = &part,
                                                  .n_parts = 1,
                                                  .slot_names = slot_names,
                                                  .n_slots = 1,
                                                  .step = 3},
                                 listed.sha256, &listed.bytes, NULL),
                     OK);
    manifest m = {.step = 3,
                  .final = true,
                  .seed = 7,
                  .batches_per_step = 4,
                  .epochs_done = 1,
                  .flat = f,
                  .n_slots = 1,
                  .slot_names = {(char *)(uintptr_t) "m"},
                  .n_shards = 1,
                  .shards = &listed,
                  .part_shard = (int32_t[]){0}};
    config_digest(c, m.config_digest);
    flat_digest(f, m.flat_digest);
    assert_int_equal(checkpoint_commit(d, 1, &m, NULL), OK);
    flat_destroy(&f);
    config_destroy(&c);
    free(shard);
    if (!keep_lock)
        jobdir_close(&d);
    return d;
}

static void test_checkpoint(void **state)
{
    (void)state;
    char *job = file("job-a");
    make_job(job, false);
    char *dir = xasprintf("%s/checkpoints/step-000000003", job);
    char *manifest_path = xasprintf("%s/manifest.json", dir);
    char *shard = xasprintf("%s/ps-0-of-1.safetensors", dir);
    for (int by_file = 0; by_file < 2; by_file++) {
        json_t *report = look(by_file ? manifest_path : dir);
        assert_string_equal(inspect_str(report, "kind"), "checkpoint");
        assert_string_equal(inspect_str(report, "dir"), dir);
        assert_int_equal(inspect_int(report, "step"), 3);
        assert_int_equal(inspect_int(report, "elements"), 5);
        assert_true(inspect_true(report, "final"));
        assert_true(inspect_true(report, "verified"));
        assert_text(report, (const char *[]){"checkpoint of step 3, where training was to end",
                                             "5 elements", "optimizer state   m", "whole",
                                             "ps-0-of-1.safetensors", "1 parts", "sha256", NULL});
        json_decref(report);
    }
    buf bytes = BUF_INIT;
    assert_int_equal(fs_read(shard, 1 << 20, &bytes, NULL), OK);
    bytes.data[bytes.size - 1] ^= 1;
    assert_int_equal(fs_write_atomic(shard, bytes.data, bytes.size, NULL), OK);
    assert_refused(dir, E_DATA, "damaged");
    json_t *report = NULL;
    assert_int_equal(inspect_look(dir, false, &report, NULL), OK);
    assert_text(report, (const char *[]){"SHA-256 not checked", NULL});
    json_decref(report);
    buf_fini(&bytes);
    free(shard);
    free(manifest_path);
    free(dir);
    free(job);
}

static void put(const char *dir, const char *name, const char *text)
{
    char *path = xasprintf("%s/%s", dir, name);
    assert_int_equal(fs_write_atomic(path, text, strlen(text), NULL), OK);
    free(path);
}

static void test_job(void **state)
{
    (void)state;
    char *path = file("job-b");
    jobdir *d = make_job(path, true);
    json_t *report = look(path);
    assert_string_equal(inspect_str(report, "kind"), "job");
    assert_string_equal(inspect_str(report, "state"), "running");
    char *expected = xasprintf("running, master is process %ld on ", (long)getpid());
    assert_text(report, (const char *[]){"job-b: job ", expected, "config", "model.type", "mlp",
                                         "data_loader.batch_size", "8", "checkpoints 3",
                                         "best none", NULL});
    free(expected);
    json_decref(report);
    jobdir_close(&d);

    put(path, "metrics_epoch_2.json", "{\"loss\": 0.5}");
    put(path, "metrics_epoch_10.json", "{\"loss\": 0.25, \"best\": {\"epoch\": 9}}");
    report = look(path);
    assert_string_equal(inspect_str(report, "state"), "unfinished");
    assert_text(report, (const char *[]){"metrics\n", "loss", "0.25", "best.epoch", "9", NULL});
    json_decref(report);

    put(path, "summary.json", "{\"complete\": true, \"steps\": 3}");
    put(path, "metrics.json", "{\"loss\": 0.125}");
    report = look(path);
    assert_string_equal(inspect_str(report, "state"), "finished");
    assert_text(report, (const char *[]){"0.125", "summary\n", "steps", "3", NULL});
    json_decref(report);

    put(path, "summary.json", "{");
    assert_refused(path, E_DATA, "summary.json");
    free(path);
}

static void test_what_is_nothing_of_ours(void **state)
{
    (void)state;
    char *path = file("letter.txt"), *absent = file("absent"), *empty = file("empty");
    assert_int_equal(fs_write_atomic(path, "Dear reader,\n", 13, NULL), OK);
    assert_int_equal(fs_write_atomic(empty, "", 0, NULL), OK);
    assert_refused(path, E_DATA, "is neither safetensors, nor an event file, nor IDX");
    assert_refused(empty, E_DATA, "is neither");
    assert_refused(absent, E_DATA, "No such file");
    assert_refused(folder_path(), E_DATA, "neither a checkpoint (no manifest.json) nor a job dir");
    char *torn = file("torn.safetensors");
    assert_int_equal(fs_write_atomic(torn, "abc", 3, NULL), OK);
    assert_refused(torn, E_DATA, "too few");
    free(torn);
    free(empty);
    free(absent);
    free(path);
}

/* A byte of a path that is no UTF-8 is told as '?', and nothing is left out for it. */
static void test_paths_that_are_no_utf8(void **state)
{
    (void)state;
    char *folder = file("p\xe4th"), *class = file("p\xe4th/k\374che"), *broken = file("p\xe4th/k\374che/\xff.png");
    assert_int_equal(fs_mkdirs(class, NULL), OK);
    assert_int_equal(fs_write_atomic(broken, "no picture", 10, NULL), OK);
    json_t *report = look(folder), *list = json_object_get(report, "broken");
    const char *end = strrchr(inspect_str(report, "path"), '/');
    assert_string_equal(end, "/p?th");
    assert_int_equal(json_array_size(json_object_get(report, "classes")), 1);
    assert_string_equal(inspect_str(json_array_get(json_object_get(report, "classes"), 0), "class"), "k?che");
    assert_int_equal(json_array_size(list), 1);
    assert_string_equal(inspect_str(json_array_get(list, 0), "file"), "k?che/?.png");
    assert_true(*inspect_str(json_array_get(list, 0), "why"));
    json_decref(report);

    char *lines = file("p\xe4th/lines.jsonl"), *tensors = file("p\xe4th/t.safetensors");
    assert_int_equal(fs_write_atomic(lines, "{\"a\": 1}\n", 9, NULL), OK);
    report = look(lines);
    assert_non_null(strstr(inspect_str(report, "path"), "/p?th/lines.jsonl"));
    assert_int_equal(json_array_size(json_object_get(report, "files")), 1);
    json_decref(report);
    write_tensors(tensors, &(st_tensor){.name = "x", .dtype = DT_U8, .rank = 1, .dim = {1}, .data = "", .bytes = 1}, 1);
    report = look(tensors);
    assert_non_null(strstr(inspect_str(report, "file"), "/p?th/t.safetensors"));
    json_decref(report);
    free(tensors);
    free(lines);
    free(broken);
    free(class);
    free(folder);
}

/* What took no time has no part of none. */
static void test_a_profile_of_no_time(void **state)
{
    (void)state;
    static const char text[] =
        "{\"traceEvents\": [{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, "
        "\"args\": {\"name\": \"worker.0\"}}, "
        "{\"ph\": \"X\", \"name\": \"fc1\", \"pid\": 1, \"ts\": 0, \"dur\": 0, \"args\": {\"kind\": \"NODE\"}}], "
        "\"otherData\": {\"schema\": 1, \"begin\": 1, \"end\": 2, \"tasks\": []}}";
    char *path = file("trace.json");
    assert_int_equal(fs_write_atomic(path, text, strlen(text), NULL), OK);
    json_t *report = look(path);
    assert_text(report, (const char *[]){"worker.0", "fc1", "-", "0.0 %", "1", NULL});
    json_decref(report);
    free(path);
}

/* Nodes of devices count beside others; of a task it is what its device computed. */
static void test_a_profile_of_a_device(void **state)
{
    (void)state;
    static const char text[] =
        "{\"traceEvents\": [{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, "
        "\"args\": {\"name\": \"worker.0\"}}, "
        "{\"ph\": \"X\", \"name\": \"slot 0\", \"pid\": 1, \"dur\": 90000, \"args\": {\"kind\": \"DEVICE_SLOT\"}}, "
        "{\"ph\": \"X\", \"name\": \"fc1\", \"pid\": 1, \"dur\": 30000, \"args\": {\"kind\": \"DEVICE_NODE\"}}, "
        "{\"ph\": \"X\", \"name\": \"fc2\", \"pid\": 1, \"dur\": 10000, \"args\": {\"kind\": \"DEVICE_NODE\"}}, "
        "{\"ph\": \"X\", \"name\": \"fc1\", \"pid\": 1, \"dur\": 40000, \"args\": {\"kind\": \"DEVICE_NODE\"}}], "
        "\"otherData\": {\"schema\": 1, \"begin\": 1, \"end\": 2, \"tasks\": []}}";
    char *path = file("device.json");
    assert_int_equal(fs_write_atomic(path, text, strlen(text), NULL), OK);
    json_t *report = look(path);
    assert_text(report, (const char *[]){"on device", "worker.0", "80 ms", "fc1", "70 ms", "87.5 %", "2", "fc2", NULL});
    json_decref(report);
    free(path);
}

static status parse(int n, char *const *words, args *ret, error *err)
{
    error_clear(err);
    return args_parse(&command_inspect, n, words, ret, err);
}

static void test_command_line(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    args a;
    assert_int_equal(parse(0, NULL, &a, &err), E_USAGE);
    assert_non_null(strstr(err.text, "FILE|DIR"));
    assert_int_equal(parse(2, (char *[]){"--jsn", "x"}, &a, &err), E_USAGE);
    assert_non_null(strstr(err.text, "--json"));
    assert_int_equal(parse(2, (char *[]){"a", "b"}, &a, &err), E_USAGE);
    assert_int_equal(parse(1, (char *[]){"/nowhere"}, &a, &err), OK);
    assert_int_equal(command_inspect.run(&a, &err), status_exit_code(E_DATA));
    assert_int_equal(err.code, E_DATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_safetensors),  cmocka_unit_test(test_events),
        cmocka_unit_test(test_idx),          cmocka_unit_test(test_checkpoint),
        cmocka_unit_test(test_job),          cmocka_unit_test(test_what_is_nothing_of_ours),
        cmocka_unit_test(test_paths_that_are_no_utf8),
        cmocka_unit_test(test_a_profile_of_no_time),
        cmocka_unit_test(test_a_profile_of_a_device),
        cmocka_unit_test(test_command_line),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
