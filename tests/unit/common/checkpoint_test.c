#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/store/checkpoint.h"
#include "common/store/safetensors.h"
#include "unit/common/support_checkpoint.h"
#include "support/folder.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static jobdir *open_dir(const char *name)
{
    char *path = folder_file("%s", name);
    jobdir *d = NULL;
    assert_int_equal(jobdir_open(path, &d, NULL), OK);
    free(path);
    return d;
}

static checkpoint *open_step(const jobdir *d, int64_t step)
{
    char *path = jobdir_file(d, "checkpoints/step-%09lld", (long long)step);
    checkpoint *c = NULL;
    error err = ERROR_INIT;
    if (checkpoint_open(path, true, &c, &err) != OK)
        fail_msg("%s", err.text);
    free(path);
    return c;
}

static void commit(const trained *t, const jobdir *d, trained_save save)
{
    error err = ERROR_INIT;
    if (trained_commit(t, d, save, &err) != OK)
        fail_msg("%s", err.text);
}

static void prune(const jobdir *d, int64_t keep, int64_t best, uint32_t era)
{
    error err = ERROR_INIT;
    checkpoint_pruning p = {
        .keep = keep, .spare = &best, .n_spare = 1, .era = era, .committed = 90};
    if (checkpoint_prune(d, &p, &err) != OK)
        fail_msg("%s", err.text);
}

/* `expected` as "5 10 15" */
static void assert_steps(const jobdir *d, const char *expected)
{
    int64_t *steps = NULL;
    size_t n = 0;
    assert_int_equal(checkpoint_list(d, &steps, &n, NULL), OK);
    buf text = BUF_INIT;
    buf_adds(&text, "");
    for (size_t i = 0; i < n; i++)
        buf_addf(&text, "%s%lld", i ? " " : "", (long long)steps[i]);
    assert_string_equal(text.data ? text.data : "", expected);
    buf_fini(&text);
    free(steps);
}

static void assert_index(const jobdir *d, const char *expected)
{
    char *path = jobdir_file(d, "checkpoint");
    buf text = BUF_INIT;
    assert_int_equal(fs_read(path, 1 << 16, &text, NULL), OK);
    assert_string_equal(text.data, expected);
    buf_fini(&text);
    free(path);
}

static bool has(const jobdir *d, const char *name)
{
    char *path = jobdir_file(d, "%s", name);
    bool there = fs_exists(path);
    free(path);
    return there;
}

/* Folders under checkpoints/ whose names have `what` in them. */
static size_t count(const jobdir *d, const char *what)
{
    char *path = jobdir_file(d, "checkpoints"), **names = NULL;
    size_t n = 0, found = 0;
    assert_int_equal(fs_list(path, &names, &n, NULL), OK);
    for (size_t i = 0; i < n; i++)
        found += strstr(names[i], what) != NULL;
    fs_list_free(names, n);
    free(path);
    return found;
}

static void assert_holds(const checkpoint *c, const trained *t, size_t n_slots)
{
    const flat *f = checkpoint_manifest(c)->flat;
    size_t bytes = (size_t)f->n_elements * sizeof(float);
    float *weights = xcalloc(1, bytes);
    assert_int_equal(checkpoint_read_flat(c, weights, NULL), OK);
    assert_int_equal(memcmp(weights, t->weights, bytes), 0);
    float *slot[CHECKPOINT_SLOTS];
    for (int32_t p = 0; p < f->n_parts; p++) {
        size_t part_bytes = (size_t)flat_part_elements(f, p) * sizeof(float);
        for (size_t s = 0; s < n_slots; s++) {
            slot[s] = xmalloc(part_bytes);
            memset(slot[s], 0xff, part_bytes);
        }
        assert_int_equal(checkpoint_read_part(c, p, NULL, slot, NULL), OK);
        for (size_t s = 0; s < n_slots; s++) {
            float *zeros = xcalloc(1, part_bytes);
            const float *expected = f->parts[p].frozen ? zeros : t->slots[s] + f->parts[p].begin;
            assert_int_equal(memcmp(slot[s], expected, part_bytes), 0);
            free(zeros);
            free(slot[s]);
        }
    }
    error err = ERROR_INIT;
    assert_int_equal(checkpoint_read_part(c, f->n_parts, weights, NULL, &err), E_DATA);
    free(weights);
}

static void test_round_trip_on_any_number_of_servers(void **state)
{
    (void)state;
    jobdir *d = open_dir("round");
    trained t = trained_make(150000, 1);
    assert_true(t.flat->n_live_parts >= 3 && t.flat->n_parts > t.flat->n_live_parts);
    int64_t step = 0;
    for (size_t servers = 1; servers <= 6; servers++) {
        for (size_t slots = 0; slots <= CHECKPOINT_SLOTS; slots++, step++) {
            commit(&t, d, (trained_save){step, 1, servers, slots});
            checkpoint *c = open_step(d, step);
            const manifest *m = checkpoint_manifest(c);
            assert_int_equal(m->step, step);
            assert_int_equal(m->n_shards, servers);
            assert_int_equal(m->n_slots, slots);
            assert_true(m->seed == UINT64_MAX - 1);
            assert_int_equal(m->batches_per_step, 4);
            assert_int_equal(m->epochs_done, 2);
            assert_int_equal(m->config_digest[63], 'c');
            assert_false(m->final);
            assert_int_equal(m->flat->n_parts, t.flat->n_parts);
            assert_true(m->flat->tensors[1].kind == TENSOR_FROZEN);
            assert_true(m->flat->tensors[2].momentum == 0.9f);
            assert_holds(c, &t, slots);
            checkpoint_close(&c);
            assert_null(c);
        }
        prune(d, 1, -1, 1);
    }
    commit(&t, d, (trained_save){40, 1, 1, 0});
    checkpoint *c = open_step(d, 40);
    assert_true(checkpoint_manifest(c)->final);
    checkpoint_close(&c);
    trained_fini(&t);
    jobdir_close(&d);
}

static void test_list_sees_complete_ones_only(void **state)
{
    (void)state;
    jobdir *d = open_dir("list");
    assert_steps(d, "");
    trained t = trained_make(100, 1);
    commit(&t, d, (trained_save){1234567890, 1, 2, 1});
    commit(&t, d, (trained_save){20, 1, 2, 1});
    commit(&t, d, (trained_save){5, 1, 2, 1});
    manifest m;
    assert_int_equal(trained_write_shards(&t, d, (trained_save){30, 2, 2, 1}, &m, NULL), OK);
    manifest_fini(&m);
    const char *strangers[] = {"step-40", "step-000000050", "step-0000000060", "other"};
    for (size_t i = 0; i < COUNT_OF(strangers); i++) {
        char *path = jobdir_file(d, "checkpoints/%s", strangers[i]);
        assert_int_equal(fs_mkdirs(path, NULL), OK);
        free(path);
    }
    assert_steps(d, "5 20 1234567890");
    assert_index(d, "model_checkpoint_path: \"checkpoints/step-1234567890\"\n"
                    "all_model_checkpoint_paths: \"checkpoints/step-000000005\"\n"
                    "all_model_checkpoint_paths: \"checkpoints/step-000000020\"\n"
                    "all_model_checkpoint_paths: \"checkpoints/step-1234567890\"\n");
    trained_fini(&t);
    jobdir_close(&d);
}

static void test_commit_wants_its_shards_alone(void **state)
{
    (void)state;
    jobdir *d = open_dir("wants");
    trained t = trained_make(100, 1);
    manifest m;
    assert_int_equal(trained_write_shards(&t, d, (trained_save){7, 3, 2, 1}, &m, NULL), OK);
    error err = ERROR_INIT;
    m.shards[1].bytes++;
    assert_int_equal(checkpoint_commit(d, 3, &m, &err), E_DATA);
    assert_non_null(strstr(err.text, "step-000000007.tmp.3/ps-1-of-2.safetensors"));
    m.shards[1].bytes--;
    error_clear(&err);
    assert_int_equal(checkpoint_commit(d, 4, &m, &err), E_IO);
    assert_non_null(strstr(err.text, "step-000000007.tmp.4/ps-0-of-2.safetensors"));
    assert_steps(d, "");
    char *stray = jobdir_file(d, "checkpoints/step-000000007.tmp.3/half-written");
    assert_int_equal(fs_write_atomic(stray, "x", 1, NULL), OK);
    assert_int_equal(checkpoint_commit(d, 3, &m, NULL), OK);
    assert_int_equal(checkpoint_commit(d, 3, &m, NULL), OK); /* as if something had failed behind the name */
    assert_steps(d, "7");
    assert_true(has(d, "checkpoints/step-000000007/ps-1-of-2.safetensors"));
    assert_false(has(d, "checkpoints/step-000000007/half-written"));
    free(stray);
    manifest_fini(&m);
    trained_fini(&t);
    jobdir_close(&d);
}

typedef struct watch {
    const jobdir *dir;
    atomic_bool stop;
    int64_t looks, missed;
} watch;

static void *watch_step_9(void *arg)
{
    watch *w = arg;
    while (!w->stop) {
        w->looks++;
        w->missed += !has(w->dir, "checkpoints/step-000000009/manifest.json");
    }
    return NULL;
}

static void test_a_replay_replaces_without_a_gap(void **state)
{
    (void)state;
    jobdir *d = open_dir("replay");
    trained old = trained_make(100, 1), fresh = trained_make(100, 2);
    commit(&old, d, (trained_save){9, 1, 3, 2});
    checkpoint *kept = open_step(d, 9);
    watch w = {.dir = d};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, watch_step_9, &w), 0);
    for (uint32_t era = 2; era < 30; era++)
        commit(era % 2 ? &old : &fresh, d, (trained_save){9, era, 1 + era % 3, 2});
    commit(&fresh, d, (trained_save){9, 30, 1, 2});
    w.stop = true;
    pthread_join(thread, NULL);
    assert_int_equal(w.missed, 0);

    checkpoint *c = open_step(d, 9);
    assert_holds(c, &fresh, 2);
    checkpoint_close(&c);
    /* who had it open keeps what was there */
    assert_holds(kept, &old, 2);
    checkpoint_close(&kept);
    assert_int_equal(checkpoint_sweep(d, NULL), OK);
    assert_int_equal(count(d, ""), 1);
    trained_fini(&old);
    trained_fini(&fresh);
    jobdir_close(&d);
}

static void test_prune_keeps_what_it_must(void **state)
{
    (void)state;
    jobdir *d = open_dir("prune");
    trained t = trained_make(100, 1);
    manifest m;
    for (int64_t step = 10; step <= 80; step += 10)
        commit(&t, d, (trained_save){step, 5, 1, 1});
    for (uint32_t era = 3; era <= 6; era++) {
        assert_int_equal(trained_write_shards(&t, d, (trained_save){90, era, 1, 1}, &m, NULL), OK);
        manifest_fini(&m);
    }
    assert_int_equal(trained_write_shards(&t, d, (trained_save){89, 5, 1, 1}, &m, NULL), OK);
    manifest_fini(&m);
    prune(d, 0, -1, 5);
    assert_false(has(d, "checkpoints/step-000000089.tmp.5"));
    assert_steps(d, "10 20 30 40 50 60 70 80");
    assert_false(has(d, "checkpoints/step-000000090.tmp.3"));
    assert_false(has(d, "checkpoints/step-000000090.tmp.4"));
    assert_true(has(d, "checkpoints/step-000000090.tmp.5"));
    assert_true(has(d, "checkpoints/step-000000090.tmp.6"));
    assert_int_equal(count(d, ".gone."), 3); /* two of one step */

    assert_int_equal(checkpoint_pin(d, 40, NULL), OK);
    prune(d, 2, 20, 5);
    assert_steps(d, "20 40 70 80");
    assert_index(d, "model_checkpoint_path: \"checkpoints/step-000000080\"\n"
                    "all_model_checkpoint_paths: \"checkpoints/step-000000020\"\n"
                    "all_model_checkpoint_paths: \"checkpoints/step-000000040\"\n"
                    "all_model_checkpoint_paths: \"checkpoints/step-000000070\"\n"
                    "all_model_checkpoint_paths: \"checkpoints/step-000000080\"\n");
    checkpoint_unpin(d, 40);
    checkpoint_unpin(d, 40);
    prune(d, 5, -1, 5);
    assert_steps(d, "20 40 70 80");
    prune(d, 1, 70, 5);
    assert_steps(d, "70 80");
    assert_int_equal(count(d, ".gone."), 9);
    assert_int_equal(checkpoint_sweep(d, NULL), OK);
    assert_int_equal(count(d, ".gone."), 0);
    assert_int_equal(count(d, ""), 4); /* and what is being written of 90, in two eras */
    assert_int_equal(checkpoint_sweep(d, NULL), OK);
    error err = ERROR_INIT;
    assert_int_equal(checkpoint_pin(d, 40, &err), E_DATA);
    assert_non_null(strstr(err.text, "no checkpoint of step 40"));
    trained_fini(&t);
    jobdir_close(&d);
}

/* The pin of a process that is gone holds nothing and goes with the next prune. */
static void test_stale_pins_are_ignored(void **state)
{
    (void)state;
    jobdir *d = open_dir("stale");
    trained t = trained_make(100, 1);
    commit(&t, d, (trained_save){1, 1, 1, 0});
    commit(&t, d, (trained_save){2, 1, 1, 0});
    commit(&t, d, (trained_save){3, 1, 1, 0});
    pid_t child = fork();
    if (child == 0)
        _exit(checkpoint_pin(d, 1, NULL));
    siginfo_t how;
    assert_int_equal(waitid(P_PID, (id_t)child, &how, WEXITED | WNOWAIT), 0); /* it stays a zombie */
    assert_int_equal(how.si_status, 0);
    char *stale = jobdir_file(d, "pins/1.%ld", (long)child);
    assert_true(fs_exists(stale));
    /* a pin of another host cannot be asked, so it holds */
    char *foreign = jobdir_file(d, "pins/2.1");
    assert_int_equal(fs_write_atomic(foreign, "elsewhere.invalid", 17, NULL), OK);
    /* but not for ever, as the clock of the files has it */
    char *old = jobdir_file(d, "pins/1.2");
    assert_int_equal(fs_write_atomic(old, "elsewhere.invalid", 17, NULL), OK);
    struct timespec times[2] = {{.tv_sec = time(NULL) - 7200}, {.tv_sec = time(NULL) - 7200}};
    assert_int_equal(utimensat(AT_FDCWD, old, times, 0), 0);
    /* one that was never written to its end holds nothing */
    char *half = jobdir_file(d, "pins/1.3");
    assert_int_equal(fs_write_atomic(half, "", 0, NULL), OK);
    prune(d, 1, -1, 1);
    assert_steps(d, "2 3");
    assert_false(fs_exists(stale));
    assert_false(fs_exists(old));
    assert_false(fs_exists(half));
    free(half);
    assert_true(fs_exists(foreign));
    assert_int_equal(waitpid(child, NULL, 0), child);
    free(old);
    free(foreign);
    free(stale);
    trained_fini(&t);
    jobdir_close(&d);
}

static void test_export(void **state)
{
    (void)state;
    trained t = trained_make(100, 1);
    char *path = folder_file("model.safetensors"), *nowhere = folder_file("no/model.safetensors");
    for (int again = 0; again < 2; again++)
        assert_int_equal(checkpoint_export(t.flat, t.weights, path, NULL), OK);
    st_file *f = NULL;
    assert_int_equal(st_open(path, &f, NULL), OK);
    assert_string_equal(st_metadata(f, "format"), "pt");
    assert_int_equal(st_count(f), t.flat->n_tensors);
    for (int32_t i = 0; i < t.flat->n_tensors; i++) {
        const st_tensor *s = st_find(f, t.flat->tensors[i].name);
        assert_non_null(s);
        assert_int_equal(s->dtype, DT_F32);
        assert_int_equal(s->rank, t.flat->tensors[i].rank);
        assert_memory_equal(s->dim, t.flat->tensors[i].dim, sizeof s->dim);
        assert_int_equal(memcmp(s->data, t.weights + t.flat->offset[i], s->bytes), 0);
        if (i)
            assert_true(strcmp(st_at(f, (size_t)i - 1)->name, st_at(f, (size_t)i)->name) < 0);
    }
    st_close(&f);
    error err = ERROR_INIT;
    assert_int_equal(checkpoint_export(t.flat, t.weights, nowhere, &err), E_IO);
    assert_non_null(strstr(err.text, "no/model.safetensors"));
    free(nowhere);
    free(path);
    trained_fini(&t);
}

enum { FULL_OK, FULL_NOT_PERMITTED, FULL_FAILED };

/* In a process and mount namespace of its own: a file system with room for one checkpoint. */
static int fill_a_disk(const char *mounted)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", mounted, "tmpfs", 0, "size=2m") != 0)
        return FULL_NOT_PERMITTED;
    jobdir *d = NULL;
    trained t = trained_make(150000, 1);
    error err = ERROR_INIT;
    int verdict = FULL_FAILED;
    checkpoint *c = NULL;
    if (jobdir_open(mounted, &d, NULL) != OK ||
        trained_commit(&t, d, (trained_save){1, 1, 2, 1}, NULL) != OK)
        goto out;
    if (trained_commit(&t, d, (trained_save){2, 1, 2, 1}, &err) != E_DISK ||
        !strstr(err.text, "No space left on device") ||
        !strstr(err.text, "step-000000002.tmp.1/ps-"))
        goto out;
    char *path = jobdir_file(d, "checkpoints/step-000000001");
    if (checkpoint_open(path, true, &c, NULL) == OK)
        verdict = FULL_OK;
    free(path);
out:
    if (verdict != FULL_OK)
        fprintf(stderr, "full disk: %s\n", err.text);
    checkpoint_close(&c);
    trained_fini(&t);
    jobdir_close(&d);
    return verdict;
}

static void test_a_full_disk_is_told(void **state)
{
    (void)state;
    char *mounted = folder_file("small-disk");
    assert_int_equal(fs_mkdirs(mounted, NULL), OK);
    pid_t child = fork();
    if (child == 0)
        _exit(fill_a_disk(mounted));
    int how = 0;
    assert_int_equal(waitpid(child, &how, 0), child);
    free(mounted);
    if (WIFEXITED(how) && WEXITSTATUS(how) == FULL_NOT_PERMITTED) {
        print_message("mounting a small file system is not permitted here\n");
        skip();
    }
    assert_int_equal(how, FULL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip_on_any_number_of_servers),
        cmocka_unit_test(test_list_sees_complete_ones_only),
        cmocka_unit_test(test_commit_wants_its_shards_alone),
        cmocka_unit_test(test_a_replay_replaces_without_a_gap),
        cmocka_unit_test(test_prune_keeps_what_it_must),
        cmocka_unit_test(test_stale_pins_are_ignored),
        cmocka_unit_test(test_export),
        cmocka_unit_test(test_a_full_disk_is_told),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
