/*
 * Cuts: frozen at the version announced while updates go on, late when it is past, replaced when it
 * is announced anew; what was written goes on bit for bit, also on another number of servers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "support/folder.h"
#include "unit/ps/support_cut.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { AT = 3, END = 6 };

/* Trains to END on `n` servers, cut at AT on the way; the checkpoint goes on on `n_next` servers.
 */
static void check_goes_on(int32_t n, int32_t n_next)
{
    char *job = folder_file("job-%d-%d", n, n_next);
    char *dir = xasprintf("%s/checkpoints/step-%09d.tmp.1", job, AT);
    assert_int_equal(fs_mkdirs(job, NULL), OK);
    server_set v, next;
    server_set_make(&v, shape_large(3), n, 0, NULL);
    for (int64_t step = 0; step < END; step++) {
        for (int32_t i = 0; step == 1 && i < n; i++)
            assert_false(announce(&v, i, 5, AT, dir));
        servers_push_all(&v.servers, step);
    }
    cut_result results[SERVERS_MAX];
    for (int32_t i = 0; i < n; i++) {
        results[i] = wait_result(&v, i);
        assert_int_equal(results[i].status, OK);
        assert_int_equal(results[i].id, 5);
        assert_int_equal(results[i].version, AT);
        assert_int_equal(results[i].batches, holds_live(&v, i) ? 9 : -1);
    }
    checkpoint *c = commit(&v, job, AT, results);
    shape s = shape_large(3);
    server_set_make(&next, s, n_next, AT, c);
    whole w = whole_make(&next.shape);
    for (int64_t step = 0; step < AT; step++)
        whole_step(&w, 1);
    servers_check(&next.servers, &w);
    for (int64_t step = AT; step < END; step++) {
        servers_push_all(&next.servers, step);
        whole_step(&w, 1);
    }
    servers_check(&next.servers, &w);
    servers_check(&v.servers, &w);
    whole_fini(&w);
    checkpoint_close(&c);
    server_set_fini(&v);
    server_set_fini(&next);
    free(dir);
    free(job);
}

static void test_what_was_cut_goes_on(void **state)
{
    (void)state;
    check_goes_on(1, 2);
    check_goes_on(2, 1);
    check_goes_on(4, 3);
}

/* Parts come to the version one by one, and the first is well past it before the last is there. */
static void test_parts_freeze_alone(void **state)
{
    (void)state;
    char *dir = folder_file("alone");
    server_set v;
    server_set_make(&v, shape_large(2), 1, 0, NULL);
    assert_false(announce(&v, 0, 1, 1, dir));
    for (int64_t step = 0; step < 2; step++) {
        servers_push_step(&v.servers, 0, step);
        servers_push_step(&v.servers, 2, step);
    }
    cut_result r;
    assert_false(cuts_next_result(v.cuts[0], &r));
    assert_true(cuts_under_way(v.cuts[0]));
    servers_push_step(&v.servers, 1, 0);
    r = wait_result(&v, 0);
    assert_int_equal(r.status, OK);
    assert_int_equal(r.version, 1);
    assert_int_equal(r.batches, 2);
    assert_string_equal(r.file, "ps-0-of-1.safetensors");
    char *path = xasprintf("%s/%s", dir, r.file);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, r.bytes);
    assert_false(cuts_under_way(v.cuts[0]));
    free(path);
    free(dir);
    server_set_fini(&v);
}

static void test_late(void **state)
{
    (void)state;
    char *dir = folder_file("late");
    server_set v;
    server_set_make(&v, shape_large(2), 1, 0, NULL);
    servers_push_step(&v.servers, 1, 0);
    assert_true(announce(&v, 0, 1, 0, dir)); /* one part is past it */
    assert_false(cuts_under_way(v.cuts[0]));
    assert_false(announce(&v, 0, 2, 1, dir));
    assert_true(cuts_under_way(v.cuts[0]));
    assert_true(replace(&v, 0, 1, 0, dir, 2)); /* late, and the one before is off too */
    assert_false(cuts_under_way(v.cuts[0]));
    server_set_fini(&v);
    free(dir);
}

static void test_announced_anew(void **state)
{
    (void)state;
    char *dir = folder_file("anew");
    server_set v;
    server_set_make(&v, shape_large(2), 1, 0, NULL);
    assert_false(announce(&v, 0, 6, 1, dir));
    servers_push_step(&v.servers, 0, 0);
    assert_false(replace(&v, 0, 7, 2, dir, 6));
    servers_push_step(&v.servers, 1, 0);
    servers_push_step(&v.servers, 2, 0); /* version 1 is whole, nobody wants it */
    assert_true(cuts_under_way(v.cuts[0]));
    servers_push_all(&v.servers, 1);
    cut_result r = wait_result(&v, 0);
    assert_int_equal(r.version, 2);
    assert_int_equal(r.id, 7);
    assert_false(cuts_next_result(v.cuts[0], &r));
    assert_false(cuts_under_way(v.cuts[0]));
    server_set_fini(&v);
    free(dir);
}

/* The master, or the next one, did not hear: frozen parts stay frozen, results come again. */
static void test_said_again(void **state)
{
    (void)state;
    char *dir = folder_file("again");
    server_set v;
    server_set_make(&v, shape_large(2), 1, 0, NULL);
    assert_false(announce(&v, 0, 2, 1, dir));
    servers_push_step(&v.servers, 0, 0);
    assert_false(announce(&v, 0, 2, 1, dir)); /* a part is at 1, and frozen */
    servers_push_step(&v.servers, 1, 0);
    servers_push_step(&v.servers, 2, 0);
    cut_result first = wait_result(&v, 0), again;
    servers_push_all(&v.servers, 1);
    assert_false(cuts_next_result(v.cuts[0], &again));
    assert_false(announce(&v, 0, 2, 1, dir)); /* long past, but written */
    assert_true(cuts_next_result(v.cuts[0], &again));
    assert_int_equal(again.id, 2);
    assert_string_equal(again.sha256, first.sha256);
    assert_false(cuts_next_result(v.cuts[0], &again));
    server_set_fini(&v);
    free(dir);
}

static void test_several_at_once(void **state)
{
    (void)state;
    server_set v;
    server_set_make(&v, shape_large(2), 1, 0, NULL);
    for (uint32_t id = 1; id <= 3; id++) {
        char *dir = folder_file("several-%u", id);
        assert_false(announce(&v, 0, id, 4 - (int64_t)id, dir));
        free(dir);
    }
    for (int64_t step = 0; step < 3; step++)
        servers_push_all(&v.servers, step);
    for (uint32_t id = 3; id >= 1; id--) {
        cut_result r = wait_result(&v, 0);
        assert_int_equal(r.status, OK);
        assert_int_equal(r.id, id);
        assert_int_equal(r.version, 4 - (int64_t)id);
    }
    server_set_fini(&v);
}

/* At the version it stands at: nothing has to move for it. */
static void test_here_and_now(void **state)
{
    (void)state;
    char *dir = folder_file("now");
    server_set v;
    server_set_make(&v, shape_large(2), 2, 0, NULL);
    servers_push_all(&v.servers, 0);
    for (int32_t i = 0; i < 2; i++) {
        assert_false(announce(&v, i, 1, 1, dir));
        assert_int_equal(wait_result(&v, i).batches, 2);
    }
    server_set_fini(&v);
    free(dir);
}

static void test_a_shard_that_cannot_be_written(void **state)
{
    (void)state;
    char *file = folder_file("a-file"), *dir = xasprintf("%s/below", file);
    assert_int_equal(fs_write_atomic(file, "x", 1, NULL), OK);
    server_set v;
    server_set_make(&v, shape_small(2), 1, 0, NULL);
    assert_false(announce(&v, 0, 1, 0, dir));
    cut_result r = wait_result(&v, 0);
    assert_int_equal(r.status, E_IO);
    assert_non_null(strstr(r.error.text, file));
    assert_false(announce(&v, 0, 1, 0, dir));
    holders h = {.acting = 7, .standby = 0, .is_backed = true};
    cuts_hold(v.cuts[0], &h, -1); /* now another server may do better */
    while (cuts_under_way(v.cuts[0])) {
        assert_int_equal(net_poll(NULL, 0, v.waker, 10, NULL), OK);
        assert_false(cuts_next_result(v.cuts[0], &r));
    }
    server_set_fini(&v);
    free(file);
    free(dir);
}

/* Its blocks are kept until somebody asks for it again, when the parts are long past it. */
static void test_one_that_must_be_is_written_when_there_is_room(void **state)
{
    (void)state;
    char *file = folder_file("no-room"), *dir = xasprintf("%s/below", file);
    assert_int_equal(fs_write_atomic(file, "x", 1, NULL), OK);
    server_set v;
    bool late;
    cut_call call = {.id = 1, .version = 1, .dir = dir, .must = true};
    server_set_make(&v, shape_small(2), 1, 0, NULL);
    cuts_announce(v.cuts[0], v.servers.tables[0], &call, &late);
    servers_push_all(&v.servers, 0);
    assert_int_equal(wait_result(&v, 0).status, E_IO);
    servers_push_all(&v.servers, 1);
    assert_int_equal(cuts_next(v.cuts[0]), -1);
    cuts_announce(v.cuts[0], v.servers.tables[0], &call, &late);
    assert_int_equal(wait_result(&v, 0).status, E_IO);
    assert_int_equal(fs_remove_tree(file, NULL), OK);
    cut_result r;
    assert_false(cuts_next_result(v.cuts[0], &r)); /* not by itself */
    cuts_announce(v.cuts[0], v.servers.tables[0], &call, &late);
    assert_false(late);
    r = wait_result(&v, 0);
    assert_int_equal(r.status, OK);
    assert_int_equal(r.version, 1);
    assert_int_equal(r.batches, 2);
    assert_false(cuts_under_way(v.cuts[0]));
    server_set_fini(&v);
    free(file);
    free(dir);
}

/* Destroyed with one cut waiting for a version and another just handed to the writer. */
static void test_left_in_the_midst(void **state)
{
    (void)state;
    char *dir = folder_file("midst");
    server_set v;
    server_set_make(&v, shape_large(2), 1, 0, NULL);
    assert_false(announce(&v, 0, 1, 0, dir));
    assert_false(announce(&v, 0, 2, 9, dir));
    server_set_fini(&v);
    char *path = xasprintf("%s/ps-0-of-1.safetensors", dir);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    free(path);
    free(dir);
}

/* CTest labels: tsan */
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_cut_goes_on),
        cmocka_unit_test(test_parts_freeze_alone),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_announced_anew),
        cmocka_unit_test(test_said_again),
        cmocka_unit_test(test_several_at_once),
        cmocka_unit_test(test_here_and_now),
        cmocka_unit_test(test_a_shard_that_cannot_be_written),
        cmocka_unit_test(test_one_that_must_be_is_written_when_there_is_room),
        cmocka_unit_test(test_left_in_the_midst),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
