/*
 * Cuts: frozen at the version announced while updates go on, late when it is past, replaced when it
 * is announced anew, let go when it cannot be complete any more; what was written goes on bit for
 * bit, also on another number of servers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "ps/cut.h"
#include "unit/ps/support_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char folder[256];

static int folder_make(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/tequio-test-XXXXXX", base ? base : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static int folder_remove(void **state)
{
    (void)state;
    return fs_remove_tree(folder, NULL) == OK ? 0 : -1;
}

/* Servers whose every update is told to their cuts, as the server's loop does it. */
typedef struct village {
    shape shape;
    servers servers;
    cuts *cuts[SERVERS_MAX];
    holders holders[SERVERS_MAX];
    net_waker *waker;
} village;

static status tell_cuts(void *user, int32_t part, int64_t version, const float *grad, error *err)
{
    (void)grad, (void)err;
    village *v = user;
    int32_t i = v->servers.placement[part];
    cuts_applied(v->cuts[i], v->servers.tables[i], part, version);
    return OK;
}

static status no_vote(void *user, int32_t part, int64_t step, double square_sum, error *err)
{
    (void)user, (void)part, (void)step, (void)square_sum;
    return FAIL(err, E_FAIL, "nobody votes here");
}

static const char *slot_names[OPTIM_SLOTS];

static void village_make(village *v, shape s, int32_t n, int64_t step, const checkpoint *restore)
{
    *v = (village){.shape = s};
    table_hooks hooks = {.applied = tell_cuts, .voted = no_vote, .user = v};
    v->servers = servers_make(&v->shape, n, &hooks, step, restore);
    assert_int_equal(net_waker_create(&v->waker, NULL), OK);
    for (size_t k = 0; k < optim_slots(&s.optim); k++)
        slot_names[k] = optim_slot_name(&s.optim, k);
    for (int32_t i = 0; i < n; i++)
        v->holders[i] = (holders){.acting = i, .standby = HOLDER_NONE};
    for (int32_t i = 0; i < n; i++) {
        cuts_options options = {
            .flat = s.flat,
            .placement = v->servers.placement,
            .shards = v->holders,
            .server = i,
            .n_servers = n,
            .slot_names = slot_names,
            .n_slots = optim_slots(&s.optim),
            .waker = v->waker,
        };
        assert_int_equal(cuts_create(&options, &v->cuts[i], NULL), OK);
    }
}

static void village_fini(village *v)
{
    for (int32_t i = 0; i < v->servers.n; i++)
        cuts_destroy(&v->cuts[i]);
    servers_fini(&v->servers);
    shape_fini(&v->shape);
    net_waker_destroy(&v->waker);
    assert_int_equal(hands_out(), 0);
}

static bool replace(village *v, int32_t i, uint32_t id, int64_t version, const char *dir,
                    uint32_t replaces)
{
    bool late = true;
    cut_call call = {.id = id, .version = version, .dir = dir, .replaces = replaces};
    cuts_announce(v->cuts[i], v->servers.tables[i], &call, &late);
    return late;
}

static bool announce(village *v, int32_t i, uint32_t id, int64_t version, const char *dir)
{
    return replace(v, i, id, version, dir, 0);
}

static cut_result wait_result(village *v, int32_t i)
{
    cut_result r;
    while (!cuts_next_result(v->cuts[i], &r))
        assert_int_equal(net_poll(NULL, 0, v->waker, 10000, NULL), OK);
    return r;
}

/* What the master does with the shards. */
static checkpoint *commit(village *v, const char *job, int64_t step, const cut_result *results)
{
    const flat *f = v->shape.flat;
    manifest m = {.step = step,
                  .seed = SEED,
                  .batches_per_step = v->shape.steps.per_step,
                  .flat = v->shape.flat,
                  .n_slots = optim_slots(&v->shape.optim),
                  .n_shards = (size_t)v->servers.n,
                  .part_shard = v->servers.placement};
    manifest_shard shards[SERVERS_MAX];
    memset(m.config_digest, 'c', 64);
    flat_digest(f, m.flat_digest);
    m.shards = shards;
    for (size_t k = 0; k < m.n_slots; k++)
        m.slot_names[k] = (char *)(uintptr_t)slot_names[k];
    for (int32_t i = 0; i < v->servers.n; i++) {
        shards[i] =
            (manifest_shard){.file = (char *)(uintptr_t)results[i].file, .bytes = results[i].bytes};
        memcpy(shards[i].sha256, results[i].sha256, sizeof shards[i].sha256);
    }
    jobdir *d = NULL;
    checkpoint *c = NULL;
    error err = ERROR_INIT;
    assert_int_equal(jobdir_open(job, &d, NULL), OK);
    if (checkpoint_commit(d, 1, &m, &err) != OK)
        fail_msg("%s", err.text);
    char *dir = jobdir_file(d, "checkpoints/step-%09lld", (long long)step);
    if (checkpoint_open(dir, true, &c, &err) != OK)
        fail_msg("%s", err.text);
    free(dir);
    jobdir_close(&d);
    return c;
}

static bool holds_live(const village *v, int32_t server)
{
    for (int32_t p = 0; p < v->shape.flat->n_live_parts; p++)
        if (v->servers.placement[p] == server)
            return true;
    return false;
}

enum { AT = 3, END = 6 };

/* Trains to END on `n` servers, cut at AT on the way; the checkpoint goes on on `n_next` servers.
 */
static void check_goes_on(int32_t n, int32_t n_next)
{
    char *job = xasprintf("%s/job-%d-%d", folder, n, n_next);
    char *dir = xasprintf("%s/checkpoints/step-%09d.tmp.1", job, AT);
    village v, next;
    village_make(&v, shape_large(3), n, 0, NULL);
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
    village_make(&next, s, n_next, AT, c);
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
    village_fini(&v);
    village_fini(&next);
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
    char *dir = xasprintf("%s/alone", folder);
    village v;
    village_make(&v, shape_large(2), 1, 0, NULL);
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
    village_fini(&v);
}

static void test_late(void **state)
{
    (void)state;
    char *dir = xasprintf("%s/late", folder);
    village v;
    village_make(&v, shape_large(2), 1, 0, NULL);
    servers_push_step(&v.servers, 1, 0);
    assert_true(announce(&v, 0, 1, 0, dir)); /* one part is past it */
    assert_false(cuts_under_way(v.cuts[0]));
    assert_false(announce(&v, 0, 2, 1, dir));
    assert_true(cuts_under_way(v.cuts[0]));
    assert_true(replace(&v, 0, 1, 0, dir, 2)); /* late, and the one before is off too */
    assert_false(cuts_under_way(v.cuts[0]));
    village_fini(&v);
    free(dir);
}

/* A standby freezes and writes nothing, until it acts: then what is long past is written. */
static void test_standing_by(void **state)
{
    (void)state;
    enum { ELSEWHERE = 7 };
    char *dir = xasprintf("%s/standing-by", folder);
    village v;
    village_make(&v, shape_large(2), 1, 0, NULL);
    holders h = {.acting = ELSEWHERE, .standby = 0, .is_backed = true};
    cuts_hold(v.cuts[0], &h);
    assert_false(announce(&v, 0, 2, 1, dir));
    assert_false(announce(&v, 0, 4, 3, dir));
    for (int64_t step = 0; step < 4; step++)
        servers_push_all(&v.servers, step);
    assert_false(announce(&v, 0, 2, 1, dir)); /* it is past it, and has it all the same */
    assert_false(announce(&v, 0, 3, 2, dir)); /* it has it not, but that is not for a standby to say */
    cut_result r;
    assert_false(cuts_next_result(v.cuts[0], &r));
    h = (holders){.acting = 0, .standby = HOLDER_NONE};
    cuts_hold(v.cuts[0], &h);
    for (int64_t version = 1; version < 4; version += 2) {
        r = wait_result(&v, 0);
        assert_int_equal(r.status, OK);
        assert_int_equal(r.version, version);
        assert_int_equal(r.shard, 0);
        assert_int_equal(r.batches, 2 * version);
    }
    assert_true(announce(&v, 0, 3, 2, dir));
    assert_false(cuts_under_way(v.cuts[0]));
    village_fini(&v);
    free(dir);
}

/* What a standby has frozen goes when the checkpoint exists, or when it holds nothing any more. */
static void test_a_standby_lets_go(void **state)
{
    (void)state;
    char *dir = xasprintf("%s/lets-go", folder);
    village v;
    village_make(&v, shape_large(2), 1, 0, NULL);
    holders h = {.acting = 7, .standby = 0, .is_backed = true};
    cuts_hold(v.cuts[0], &h);
    assert_false(announce(&v, 0, 2, 1, dir));
    servers_push_all(&v.servers, 0);
    assert_true(cuts_under_way(v.cuts[0]));
    bool late;
    cut_call next = {.id = 3, .version = 2, .dir = dir, .saved = 1};
    cuts_announce(v.cuts[0], v.servers.tables[0], &next, &late);
    assert_false(late);
    h = (holders){.acting = 0, .standby = HOLDER_NONE}; /* of the first nothing is left to write */
    cuts_hold(v.cuts[0], &h);
    servers_push_all(&v.servers, 1);
    assert_int_equal(wait_result(&v, 0).version, 2);
    h = (holders){.acting = 7, .standby = 0};
    assert_false(announce(&v, 0, 4, 3, dir));
    cuts_hold(v.cuts[0], &h);
    assert_false(cuts_under_way(v.cuts[0]));
    village_fini(&v);
    free(dir);
}

/* All parts come as copies, as another server has them now. */
static void take_copies(village *v, table *from)
{
    for (int32_t p = 0; p < v->shape.flat->n_parts; p++) {
        uint32_t n = table_vectors(from, p);
        bool is_complete = false;
        for (uint32_t row = 0; row < n; row++) {
            block *b = table_vector(from, p, row);
            assert_int_equal(table_take_copy(v->servers.tables[0], p, table_version(from, p), row,
                                             n, b->data, b->n, &is_complete, NULL),
                             OK);
            block_drop(b);
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
    char *dir = xasprintf("%s/past", folder);
    village v, other;
    village_make(&v, shape_large(2), 1, 0, NULL);
    village_make(&other, shape_large(2), 1, 0, NULL);
    part_hold *parts = xcalloc((size_t)v.shape.flat->n_parts, sizeof *parts);
    for (int32_t p = 0; p < v.shape.flat->n_parts; p++)
        parts[p] = PART_AWAITED;
    assert_int_equal(table_hold(v.servers.tables[0], parts, NULL), OK);
    holders h = {.acting = 7, .standby = 0, .is_backed = true};
    cuts_hold(v.cuts[0], &h);
    assert_false(announce(&v, 0, 3, 2, dir));
    assert_false(announce(&v, 0, 4, 3, dir));
    for (int64_t step = 0; step < 3; step++)
        servers_push_all(&other.servers, step);
    take_copies(&v, other.servers.tables[0]);
    h = (holders){.acting = 0, .standby = HOLDER_NONE};
    cuts_hold(v.cuts[0], &h);
    assert_int_equal(wait_result(&v, 0).version, 3);
    assert_true(announce(&v, 0, 3, 2, dir));
    assert_false(cuts_under_way(v.cuts[0]));
    free(parts);
    free(dir);
    village_fini(&v);
    village_fini(&other);
}

static void test_announced_anew(void **state)
{
    (void)state;
    char *dir = xasprintf("%s/anew", folder);
    village v;
    village_make(&v, shape_large(2), 1, 0, NULL);
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
    village_fini(&v);
    free(dir);
}

/* The master, or the next one, did not hear: frozen parts stay frozen, results come again. */
static void test_said_again(void **state)
{
    (void)state;
    char *dir = xasprintf("%s/again", folder);
    village v;
    village_make(&v, shape_large(2), 1, 0, NULL);
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
    village_fini(&v);
    free(dir);
}

static void test_several_at_once(void **state)
{
    (void)state;
    village v;
    village_make(&v, shape_large(2), 1, 0, NULL);
    for (uint32_t id = 1; id <= 3; id++) {
        char *dir = xasprintf("%s/several-%u", folder, id);
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
    village_fini(&v);
}

/* At the version it stands at: nothing has to move for it. */
static void test_here_and_now(void **state)
{
    (void)state;
    char *dir = xasprintf("%s/now", folder);
    village v;
    village_make(&v, shape_large(2), 2, 0, NULL);
    servers_push_all(&v.servers, 0);
    for (int32_t i = 0; i < 2; i++) {
        assert_false(announce(&v, i, 1, 1, dir));
        assert_int_equal(wait_result(&v, i).batches, 2);
    }
    village_fini(&v);
    free(dir);
}

static void test_a_shard_that_cannot_be_written(void **state)
{
    (void)state;
    char *file = xasprintf("%s/a-file", folder), *dir = xasprintf("%s/below", file);
    assert_int_equal(fs_write_atomic(file, "x", 1, NULL), OK);
    village v;
    village_make(&v, shape_small(2), 1, 0, NULL);
    assert_false(announce(&v, 0, 1, 0, dir));
    cut_result r = wait_result(&v, 0);
    assert_int_equal(r.status, E_IO);
    assert_non_null(strstr(r.error.text, file));
    assert_false(announce(&v, 0, 1, 0, dir));
    holders h = {.acting = 7, .standby = 0, .is_backed = true};
    cuts_hold(v.cuts[0], &h); /* now another server may do better */
    while (cuts_under_way(v.cuts[0])) {
        assert_int_equal(net_poll(NULL, 0, v.waker, 10, NULL), OK);
        assert_false(cuts_next_result(v.cuts[0], &r));
    }
    village_fini(&v);
    free(file);
    free(dir);
}

/* Destroyed with one cut waiting for a version and another just handed to the writer. */
static void test_left_in_the_midst(void **state)
{
    (void)state;
    char *dir = xasprintf("%s/midst", folder);
    village v;
    village_make(&v, shape_large(2), 1, 0, NULL);
    assert_false(announce(&v, 0, 1, 0, dir));
    assert_false(announce(&v, 0, 2, 9, dir));
    village_fini(&v);
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
        cmocka_unit_test(test_standing_by),
        cmocka_unit_test(test_a_standby_lets_go),
        cmocka_unit_test(test_copies_past_a_cut),
        cmocka_unit_test(test_announced_anew),
        cmocka_unit_test(test_said_again),
        cmocka_unit_test(test_several_at_once),
        cmocka_unit_test(test_here_and_now),
        cmocka_unit_test(test_a_shard_that_cannot_be_written),
        cmocka_unit_test(test_left_in_the_midst),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
