/* Damaged and foreign checkpoints: whatever is done to the files, opening says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "common/base/rng.h"
#include "unit/common/support_checkpoint.h"
#include "support/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static jobdir *dir;
static trained state_of_job;
static char *step_path; /* of a checkpoint of step 7 on 2 servers with 2 slots */

static void commit(const trained *t, trained_save save)
{
    error err = ERROR_INIT;
    if (trained_commit(t, dir, save, &err) != OK)
        fail_msg("%s", err.text);
}

static int set_up(void **state)
{
    if (folder_set_up(state) != 0 || jobdir_open(folder_path(), &dir, NULL) != OK)
        return -1;
    state_of_job = trained_make(300, 1);
    step_path = jobdir_file(dir, "checkpoints/step-000000007");
    return 0;
}

static int tear_down(void **state)
{
    free(step_path);
    trained_fini(&state_of_job);
    jobdir_close(&dir);
    return folder_tear_down(state);
}

static int fresh_checkpoint(void **state)
{
    (void)state;
    commit(&state_of_job, (trained_save){7, 1, 2, 2});
    return 0;
}

static buf read_file(const char *name)
{
    char *path = xasprintf("%s/%s", step_path, name);
    buf bytes = BUF_INIT;
    assert_int_equal(fs_read(path, 1 << 26, &bytes, NULL), OK);
    free(path);
    return bytes;
}

static void write_file(const char *name, const char *data, size_t bytes)
{
    char *path = xasprintf("%s/%s", step_path, name);
    assert_int_equal(fs_write_atomic(path, data, bytes, NULL), OK);
    free(path);
}

static void assert_refused(bool verify, status expected, const char *text)
{
    checkpoint *c = NULL;
    error err = ERROR_INIT;
    assert_int_equal(checkpoint_open(step_path, verify, &c, &err), expected);
    assert_null(c);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
}

static void assert_whole(void)
{
    checkpoint *c = NULL;
    error err = ERROR_INIT;
    if (checkpoint_open(step_path, true, &c, &err) != OK)
        fail_msg("%s", err.text);
    checkpoint_close(&c);
}

/* Every byte of the manifest and of the shards' headers, and many of the data. */
static void test_every_flipped_bit_is_seen(void **state)
{
    (void)state;
    const char *files[] = {"manifest.json", "ps-0-of-2.safetensors", "ps-1-of-2.safetensors"};
    rng r = rng_make(5, RNG_TEST, 3);
    uint64_t draw = 0;
    assert_whole();
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        buf bytes = read_file(files[i]);
        char *path = xasprintf("%s/%s", step_path, files[i]);
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        setvbuf(file, NULL, _IONBF, 0);
        for (size_t at = 0; at < bytes.size; at += at < 1200 ? 1 : 1 + rng_below(&r, draw++, 20)) {
            char flipped = (char)(bytes.data[at] ^ (1 << rng_below(&r, draw++, 8)));
            fseek(file, (long)at, SEEK_SET);
            fwrite(&flipped, 1, 1, file);
            checkpoint *c = NULL;
            if (checkpoint_open(step_path, true, &c, NULL) != E_DATA)
                fail_msg("%s: a flip in byte %zu went unseen", files[i], at);
            fseek(file, (long)at, SEEK_SET);
            fwrite(&bytes.data[at], 1, 1, file);
        }
        fclose(file);
        free(path);
        buf_fini(&bytes);
        assert_whole();
    }
}

static void test_cut_files(void **state)
{
    (void)state;
    const char *files[] = {"manifest.json", "ps-0-of-2.safetensors", "ps-1-of-2.safetensors"};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        buf bytes = read_file(files[i]);
        for (int cut = 0; cut < 8; cut++) {
            write_file(files[i], bytes.data, bytes.size * (size_t)cut / 8);
            assert_refused(false, E_DATA, files[i]);
            assert_refused(true, E_DATA, files[i]);
        }
        write_file(files[i], bytes.data, bytes.size);
        buf_fini(&bytes);
    }
    buf bytes = read_file("ps-1-of-2.safetensors");
    buf_adds(&bytes, "more");
    write_file("ps-1-of-2.safetensors", bytes.data, bytes.size);
    assert_refused(false, E_DATA, "truncated");
    buf_fini(&bytes);
}

static void test_missing_files(void **state)
{
    (void)state;
    char *path = xasprintf("%s/ps-1-of-2.safetensors", step_path);
    unlink(path);
    assert_refused(false, E_DATA, "ps-1-of-2.safetensors: missing, though the manifest lists it");
    free(path);
    path = xasprintf("%s/manifest.json", step_path);
    unlink(path);
    assert_refused(false, E_DATA, "has no manifest.json");
    free(path);
}

/* Shards of another step, of another model, or in each other's place. */
static void test_foreign_shards(void **state)
{
    (void)state;
    buf ours[2] = {read_file("ps-0-of-2.safetensors"), read_file("ps-1-of-2.safetensors")};
    buf our_manifest = read_file("manifest.json");

    write_file("ps-0-of-2.safetensors", ours[1].data, ours[1].size);
    write_file("ps-1-of-2.safetensors", ours[0].data, ours[0].size);
    assert_refused(false, E_DATA, "ps-0-of-2.safetensors");
    assert_refused(true, E_DATA, "ps-0-of-2.safetensors");

    trained other = trained_make(301, 1);
    commit(&other, (trained_save){7, 2, 2, 2});
    write_file("manifest.json", our_manifest.data, our_manifest.size);
    assert_refused(false, E_DATA, "another model's parameters");
    assert_refused(true, E_DATA, "damaged");

    trained twin = trained_make(300, 2);
    commit(&twin, (trained_save){7, 3, 2, 2});
    write_file("manifest.json", our_manifest.data, our_manifest.size);
    assert_refused(true, E_DATA, "damaged: its SHA-256");

    char *ninth = jobdir_file(dir, "checkpoints/step-000000009");
    char *seventh = step_path;
    commit(&state_of_job, (trained_save){9, 3, 2, 2});
    step_path = ninth;
    buf later = read_file("ps-0-of-2.safetensors");
    step_path = seventh;
    commit(&state_of_job, (trained_save){7, 4, 2, 2});
    write_file("ps-0-of-2.safetensors", later.data, later.size);
    assert_refused(false, E_DATA, "is a shard of step 9, the manifest of step 7");

    free(ninth);
    buf_fini(&later);
    buf_fini(&our_manifest);
    buf_fini(&ours[0]);
    buf_fini(&ours[1]);
    trained_fini(&other);
    trained_fini(&twin);
}

/* Replaces one piece of the manifest's text and seals it anew, as a liar would. */
static void rewrite_manifest(const char *piece, const char *by)
{
    static const char seal[] = ",\n  \"manifest_sha256\": \"";
    buf bytes = read_file("manifest.json"), out = BUF_INIT;
    char *at = strstr(bytes.data, piece), *end = strstr(bytes.data, seal);
    if (!at || !end)
        fail_msg("no '%s' in the manifest", piece);
    buf_add(&out, bytes.data, (size_t)(at - bytes.data));
    buf_adds(&out, by);
    at += strlen(piece);
    buf_add(&out, at, (size_t)(end - at));
    char digest[SHA256_HEX];
    sha256_hex(out.data, out.size, digest);
    buf_addf(&out, "%s%s\"\n}\n", seal, digest);
    write_file("manifest.json", out.data, out.size);
    buf_fini(&out);
    buf_fini(&bytes);
}

static void test_lying_manifests(void **state)
{
    (void)state;
    static const struct {
        const char *piece, *by, *text;
    } rows[] = {
        {"tequio-checkpoint", "other-thing", "format 'other-thing' is not 'tequio-checkpoint'"},
        {"\"version\": 1", "\"version\": 2", "'version' must be an integer of 1 to 1"},
        {"\"step\": 7", "\"step\": -7", "'step' must be an integer"},
        {"\"step\": 7", "\"step\": 8", "is a shard of step 7, the manifest of step 8"},
        {"\"final\": false", "\"final\": 0", "'final' must be a boolean"},
        {"\"seed\": \"18446744073709551614\"", "\"seed\": \"18446744073709551616\"", "'seed'"},
        {"\"seed\": \"18446744073709551614\"", "\"seed\": \"-1\"", "'seed'"},
        {"\"config_digest\": \"c", "\"config_digest\": \"C", "'config_digest' must be 64 hex"},
        {"\"flat_digest\": \"", "\"flat_digest\": \"0", "'flat_digest' must be 64 hex digits"},
        {"\"m\",", "\"momentum\",", "has no tensor 'part.000000.momentum'"},
        {"\"m\",", "3,", "'slots'"},
        {"\"m\",", "\"a\", \"b\", \"c\", \"m\",", "'slots' must be a list of at most 4"},
        {"\"m\",\n    \"v\"", "\"m\"", "holds 3 tensors, by the manifest they should be 2"},
        {"ps-0-of-2.safetensors", "../ps-0-of-2.safetensors", "the name of a file beside"},
        {"ps-0-of-2.safetensors", "ps-1-of-2.safetensors", "is listed twice"},
        {"\"shard\": 1", "\"shard\": 2", "part 1: 'shard' must be an integer of 0 to 1"},
        {"\"shard\": 1", "\"shard\": 0", "has no tensor 'part.000001.weights'"},
        {"\"frozen\": false", "\"frozen\": true", "part 0: 'frozen' must be false"},
        {"\"begin\": 0", "\"begin\": 1", "part 0: 'begin'"},
        {"\"rule\": \"uniform\"", "\"rule\": \"cauchy\"", "'rule' is 'cauchy', which is unknown"},
        {"\"kind\": \"state\"", "\"kind\": \"trainable\"", "flat_digest"},
        {"\"name\": \"scale\"", "\"name\": \"skale\"", "flat_digest"},
        {"\"name\": \"scale\"", "\"name\": \"empty\"", "manifest.json"},
        {"\"offset\": 0", "\"offset\": 64", "'offset'"},
        {"\"decay\": true", "\"decay\": 1", "conv.weight: 'decay' must be a boolean"},
        {"\"a\": 0.0", "\"a\": null", "'a' must be a number"},
        {"        300\n", "        4000000000000000000\n", "does not fit into the 2 parts"},
        {"        300\n", "        -300\n", "'shape' must be a list of integers"},
        {"\"tensors\": [", "\"tensors\": [{}, ", "'name' must be a string"},
        {"\"parts\": [", "\"parts\": [{}, ", "3 parts are listed, its tensors make 2"},
        {"\"parts\"", "\"portions\"", "'parts' must be a list"},
        {"\"parts\"", "parts", "manifest.json: line"},
    };
    buf honest = read_file("manifest.json");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        rewrite_manifest(rows[i].piece, rows[i].by);
        assert_refused(false, E_DATA, rows[i].text);
        write_file("manifest.json", honest.data, honest.size);
    }
    buf_fini(&honest);
    assert_whole();
}

/* Edited without a new seal: a person's hand, or a disk. */
static void test_an_edited_manifest(void **state)
{
    (void)state;
    buf bytes = read_file("manifest.json");
    char *at = strstr(bytes.data, "\"epochs_done\": 2");
    assert_non_null(at);
    at[strlen("\"epochs_done\": ")] = '3';
    write_file("manifest.json", bytes.data, bytes.size);
    assert_refused(false, E_DATA, "the file was changed or cut");
    buf_fini(&bytes);
}

static char *names_of_damaged(void)
{
    error err = ERROR_INIT;
    assert_int_equal(checkpoint_check_lost(dir, &err), E_DATA);
    return xstrdup(err.text);
}

/* A damaged one is kept for people to look into until those kept are all newer. */
static void test_a_condemned_one_is_a_checkpoint_no_more(void **state)
{
    (void)state;
    char *name = NULL, *path = NULL;
    int64_t newest = 0;
    char *all = jobdir_file(dir, "checkpoints");
    assert_int_equal(fs_remove_tree(all, NULL), OK);
    free(all);
    for (int64_t step = 1; step <= 3; step++)
        commit(&state_of_job, (trained_save){step, 1, 1, 0});
    assert_int_equal(checkpoint_check_lost(dir, NULL), OK);
    assert_int_equal(checkpoint_condemn(dir, 3, &name, NULL), OK);
    assert_string_equal(strrchr(name, '/') + 1, "step-000000003.damaged.0");
    free(name);
    assert_false(checkpoint_is_there(dir, 3));
    assert_int_equal(checkpoint_newest(dir, &newest, NULL), OK);
    assert_int_equal(newest, 2);
    commit(&state_of_job, (trained_save){3, 2, 1, 0}); /* computed again, and damaged again */
    assert_int_equal(checkpoint_condemn(dir, 3, &path, NULL), OK);
    assert_string_equal(strrchr(path, '/') + 1, "step-000000003.damaged.1");
    char *text = names_of_damaged();
    assert_non_null(strstr(text, "step-000000003.damaged.0, step-000000003.damaged.1"));
    free(text);
    checkpoint_pruning keep_two = {.keep = 2, .era = 2, .committed = 3};
    assert_int_equal(checkpoint_prune(dir, &keep_two, NULL), OK);
    assert_true(fs_exists(path));
    for (int64_t step = 4; step <= 5; step++)
        commit(&state_of_job, (trained_save){step, 2, 1, 0});
    keep_two.committed = 5;
    assert_int_equal(checkpoint_prune(dir, &keep_two, NULL), OK);
    assert_false(fs_exists(path));
    assert_int_equal(checkpoint_check_lost(dir, NULL), OK);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_every_flipped_bit_is_seen, fresh_checkpoint),
        cmocka_unit_test_setup(test_cut_files, fresh_checkpoint),
        cmocka_unit_test_setup(test_missing_files, fresh_checkpoint),
        cmocka_unit_test_setup(test_foreign_shards, fresh_checkpoint),
        cmocka_unit_test_setup(test_lying_manifests, fresh_checkpoint),
        cmocka_unit_test_setup(test_an_edited_manifest, fresh_checkpoint),
        cmocka_unit_test_setup(test_a_condemned_one_is_a_checkpoint_no_more, fresh_checkpoint),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
