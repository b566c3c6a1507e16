/*
 * Cuts of a server that stands by: frozen and not written until it acts, let go when the checkpoint
 * exists or when it cannot be complete any more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "support/folder.h"
#include "unit/ps/support_cut.h"

#include <stdlib.h>
#include <string.h>

/* A standby freezes and writes nothing, until it acts: then what is long past is written. */
static void test_standing_by(void **state)
{
    (void)state;
    enum { ELSEWHERE = 7 };
    char *dir = folder_file("standing-by");
    server_set v;
    server_set_make(&v, shape_large(2), 1, 0, NULL);
    holders h = {.acting = ELSEWHERE, .standby = 0, .is_backed = true};
    cuts_hold(v.cuts[0], &h, -1);
    assert_false(announce(&v, 0, 2, 1, dir));
    assert_false(announce(&v, 0, 4, 3, dir));
    for (int64_t step = 0; step < 4; step++)
        servers_push_all(&v.servers, step);
    assert_false(announce(&v, 0, 2, 1, dir)); /* it is past it, and has it all the same */
    assert_false(
        announce(&v, 0, 3, 2, dir)); /* it has it not, but that is not for a standby to say */
    cut_result r;
    assert_false(cuts_next_result(v.cuts[0], &r));
    h = (holders){.acting = 0, .standby = HOLDER_NONE};
    cuts_hold(v.cuts[0], &h, -1);
    for (int64_t version = 1; version < 4; version += 2) {
        r = wait_result(&v, 0);
        assert_int_equal(r.status, OK);
        assert_int_equal(r.version, version);
        assert_int_equal(r.shard, 0);
        assert_int_equal(r.batches, 2 * version);
    }
    assert_true(announce(&v, 0, 3, 2, dir));
    assert_false(cuts_under_way(v.cuts[0]));
    server_set_fini(&v);
    free(dir);
}

/* Nobody asks for what the checkpoint has already that was committed before the other server died. */
static void test_what_is_saved_is_not_written_again(void **state)
{
    (void)state;
    char *dir = folder_file("saved");
    server_set v;
    server_set_make(&v, shape_large(2), 1, 0, NULL);
    holders h = {.acting = 7, .standby = 0, .is_backed = true};
    cuts_hold(v.cuts[0], &h, -1);
    assert_false(announce(&v, 0, 2, 1, dir));
    assert_false(announce(&v, 0, 3, 2, dir));
    for (int64_t step = 0; step < 3; step++)
        servers_push_all(&v.servers, step);
    h = (holders){.acting = 0, .standby = HOLDER_NONE};
    cuts_hold(v.cuts[0], &h, 1);
    assert_int_equal(wait_result(&v, 0).version, 2);
    assert_false(cuts_under_way(v.cuts[0]));
    server_set_fini(&v);
    free(dir);
}

/* What a standby has frozen goes when the checkpoint exists, or when it holds nothing any more. */
static void test_a_standby_lets_go(void **state)
{
    (void)state;
    char *dir = folder_file("lets-go");
    server_set v;
    server_set_make(&v, shape_large(2), 1, 0, NULL);
    holders h = {.acting = 7, .standby = 0, .is_backed = true};
    cuts_hold(v.cuts[0], &h, -1);
    assert_false(announce(&v, 0, 2, 1, dir));
    servers_push_all(&v.servers, 0);
    assert_true(cuts_under_way(v.cuts[0]));
    bool late;
    cut_call next = {.id = 3, .version = 2, .dir = dir, .saved = 1};
    cuts_announce(v.cuts[0], v.servers.tables[0], &next, &late);
    assert_false(late);
    h = (holders){.acting = 0, .standby = HOLDER_NONE}; /* of the first nothing is left to write */
    cuts_hold(v.cuts[0], &h, -1);
    servers_push_all(&v.servers, 1);
    assert_int_equal(wait_result(&v, 0).version, 2);
    h = (holders){.acting = 7, .standby = 0};
    assert_false(announce(&v, 0, 4, 3, dir));
    cuts_hold(v.cuts[0], &h, -1);
    assert_false(cuts_under_way(v.cuts[0]));
    server_set_fini(&v);
    free(dir);
}

/* All parts come as copies, as another server has them now. */
static void take_copies(server_set *v, table *from)
{
    for (int32_t p = 0; p < v->shape.flat->n_parts; p++) {
        uint32_t n = table_vectors(from, p);
        bool is_complete = false;
        for (uint32_t row = 0; row < n; row++) {
            table_row r = {.at = row, .n = n};
            span *b = table_vector(from, p, row, &r.scale);
            r.data = b->data;
            r.n_floats = span_n(b);
            assert_int_equal(table_take_copy(v->servers.tables[0], p, table_version(from, p), &r,
                                             &is_complete, NULL),
                             OK);
            span_drop(b);
        }
        assert_true(is_complete);
        cuts_applied(v->cuts[0], v->servers.tables[0], p, table_version(from, p));
    }
}

/* It heard of the cut before it had a part, and what it was sent is past it: the master, who waits
 * for the one who acts, has to hear that. */
static void test_copies_past_a_cut(void **state)
{
    (void)state;
    char *dir = folder_file("past");
    server_set v, other;
    server_set_make(&v, shape_large(2), 1, 0, NULL);
    server_set_make(&other, shape_large(2), 1, 0, NULL);
    part_hold *parts = xcalloc((size_t)v.shape.flat->n_parts, sizeof *parts);
    for (int32_t p = 0; p < v.shape.flat->n_parts; p++)
        parts[p] = PART_AWAITED;
    assert_int_equal(table_hold(v.servers.tables[0], parts, NULL), OK);
    holders h = {.acting = 7, .standby = 0, .is_backed = true};
    cuts_hold(v.cuts[0], &h, -1);
    assert_false(announce(&v, 0, 3, 2, dir));
    assert_false(announce(&v, 0, 4, 3, dir));
    for (int64_t step = 0; step < 3; step++)
        servers_push_all(&other.servers, step);
    take_copies(&v, other.servers.tables[0]);
    h = (holders){.acting = 0, .standby = HOLDER_NONE};
    cuts_hold(v.cuts[0], &h, -1);
    assert_int_equal(wait_result(&v, 0).version, 3);
    assert_true(announce(&v, 0, 3, 2, dir));
    assert_false(cuts_under_way(v.cuts[0]));
    free(parts);
    free(dir);
    server_set_fini(&v);
    server_set_fini(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_standing_by),
        cmocka_unit_test(test_what_is_saved_is_not_written_again),
        cmocka_unit_test(test_a_standby_lets_go),
        cmocka_unit_test(test_copies_past_a_cut),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
