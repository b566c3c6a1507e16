/* Checkpoints where folders cannot be renamed, as in Cloud Storage behind FUSE: files move one by
 * one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/fs.h"
#include "common/store/checkpoint.h"
#include "unit/common/support_checkpoint.h"
#include "support/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int moves_left; /* of files; then the disk is gone */

/* In the place of libc's. */
int rename(const char *from, const char *to)
{
    struct stat info;
    bool is_folder = stat(from, &info) == 0 && S_ISDIR(info.st_mode);
    if (is_folder || moves_left-- <= 0) {
        errno = is_folder ? EMFILE : EIO;
        return -1;
    }
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    (void)from_dir, (void)from, (void)to_dir, (void)to, (void)flags;
    errno = EINVAL;
    return -1;
}

static jobdir *open_dir(const char *name)
{
    char *path = folder_file("%s", name);
    jobdir *d = NULL;
    moves_left = 1000;
    assert_int_equal(jobdir_open(path, &d, NULL), OK);
    free(path);
    return d;
}

static void commit(const trained *t, const jobdir *d, trained_save save)
{
    error err = ERROR_INIT;
    if (trained_commit(t, d, save, &err) != OK)
        fail_msg("%s", err.text);
}

/* `steps` are those that can be opened, as " 5 9"; and no other folder is there. */
static void assert_only(const jobdir *d, const char *steps)
{
    char *root = jobdir_file(d, "checkpoints"), **names = NULL, text[64] = "";
    size_t n = 0;
    assert_int_equal(fs_list(root, &names, &n, NULL), OK);
    for (size_t i = 0; i < n; i++) {
        checkpoint *c = NULL;
        error err = ERROR_INIT;
        char *path = jobdir_file(d, "checkpoints/%s", names[i]);
        if (checkpoint_open(path, true, &c, &err) != OK)
            fail_msg("%s", err.text);
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, " %lld", (long long)checkpoint_manifest(c)->step);
        checkpoint_close(&c);
        free(path);
    }
    assert_string_equal(text, steps);
    fs_list_free(names, n);
    free(root);
}

static void test_they_are_written_and_written_again(void **state)
{
    (void)state;
    jobdir *d = open_dir("again");
    trained old = trained_make(100, 1), fresh = trained_make(100, 2);
    commit(&old, d, (trained_save){5, 1, 2, 1});
    commit(&old, d, (trained_save){9, 1, 3, 1});
    commit(&fresh, d, (trained_save){9, 2, 1, 1});
    assert_only(d, " 5 9");
    char *path = jobdir_file(d, "checkpoints/step-000000009/ps-0-of-1.safetensors");
    assert_true(fs_exists(path)); /* of the later one, which had one server */
    free(path);
    trained_fini(&old);
    trained_fini(&fresh);
    jobdir_close(&d);
}

/* The disk goes away before each of the moves: until the last one is done there is no checkpoint,
 * and the next attempt makes a whole one. */
static void test_half_of_one_does_not_count(void **state)
{
    (void)state;
    trained t = trained_make(100, 1);
    manifest m;
    for (int moves = 1; moves <= 3; moves++) { /* the manifest comes to its place by the first */
        char name[16];
        snprintf(name, sizeof name, "half%d", moves);
        jobdir *d = open_dir(name);
        int64_t *steps = NULL;
        size_t n = 0;
        assert_int_equal(trained_write_shards(&t, d, (trained_save){7, 1, 2, 1}, &m, NULL), OK);
        moves_left = moves;
        assert_int_equal(checkpoint_commit(d, 1, &m, NULL), E_DISK);
        assert_int_equal(checkpoint_list(d, &steps, &n, NULL), OK);
        assert_int_equal(n, 0);
        free(steps);
        manifest_fini(&m);
        moves_left = 1000;
        commit(&t, d, (trained_save){7, 2, 2, 1});
        checkpoint_pruning p = {.keep = 0, .era = 3, .committed = 7};
        assert_int_equal(checkpoint_prune(d, &p, NULL), OK);
        assert_only(d, " 7");
        jobdir_close(&d);
    }
    trained_fini(&t);
}

static void test_what_is_not_kept_goes(void **state)
{
    (void)state;
    jobdir *d = open_dir("kept");
    trained t = trained_make(100, 1);
    for (int64_t step = 1; step <= 4; step++)
        commit(&t, d, (trained_save){step, 1, 1, 0});
    checkpoint_pruning p = {.keep = 2, .era = 1, .committed = 4};
    assert_int_equal(checkpoint_prune(d, &p, NULL), OK);
    assert_only(d, " 3 4");
    trained_fini(&t);
    jobdir_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_they_are_written_and_written_again),
        cmocka_unit_test(test_half_of_one_does_not_count),
        cmocka_unit_test(test_what_is_not_kept_goes),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
