/* What `bench net` moves, and that a whole measurement, with its processes, comes to an end. */
#include "cli/bench/cluster.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/store/jobdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* On every server, by one client of one worker. */
static void every_slot_is_pushed_once(const bench_load *l)
{
    int n_servers = l->request.servers;
    int *pushed = xcalloc((size_t)(l->n_slots * n_servers), sizeof *pushed);
    for (int w = 0; w < l->request.workers; w++)
        for (int c = 0; c < l->n_clients; c++)
            for (int s = 0; s < l->client_servers; s++) {
                uint32_t slot = bench_load_slot(l, w, c);
                assert_true(slot < (uint32_t)l->n_slots);
                pushed[(int)slot * n_servers + bench_load_server(l, c) + s]++;
            }
    for (int i = 0; i < l->n_slots * n_servers; i++)
        assert_int_equal(pushed[i], 1);
    free(pushed);
}

static void parts_have_the_size_asked_for(void **state)
{
    (void)state;
    static const int64_t sizes[] = {4096,   65536, 258048, 262144, 1 << 20, 1024000 / 16384 * 16384,
                                    4 << 20};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        bench_request r = {.bytes = sizes[i], .workers = 2, .servers = 3};
        bench_load l;
        assert_int_equal(bench_load_make(&r, &l, NULL), OK);
        for (int32_t p = 0; p < l.flat->n_parts; p++)
            assert_int_equal(flat_part_elements(l.flat, p) * 4, sizes[i]);
        assert_true(l.n_clients * l.flat->n_parts >= BENCH_IN_FLIGHT * r.servers);
        every_slot_is_pushed_once(&l);
        bench_load_fini(&l);
    }
}

static void a_size_no_part_has_is_refused(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 4095, 65537, 262144 + 4096, (4 << 20) + 16384};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        bench_request r = {.bytes = sizes[i], .workers = 1, .servers = 1};
        bench_load l;
        error err = ERROR_INIT;
        assert_int_equal(bench_load_make(&r, &l, &err), E_USAGE);
        assert_non_null(strstr(err.text, "must be a multiple of"));
    }
}

static void standbys_need_what_they_hold(void **state)
{
    (void)state;
    static const bench_request wrong[] = {
        {.traffic = BENCH_PUSHPULL, .bytes = 262144, .workers = 1, .servers = 1, .copies = true},
        {.traffic = BENCH_PUSHPULL, .bytes = 65536, .workers = 1, .servers = 2, .copies = true},
        {.traffic = BENCH_PUSH, .bytes = 262144, .workers = 1, .servers = 2, .copies = true},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        bench_load l;
        error err = ERROR_INIT;
        assert_int_equal(bench_load_make(&wrong[i], &l, &err), E_USAGE);
        assert_non_null(strstr(err.text, "standbys need two servers"));
    }
}

static char *make_job_dir(void)
{
    char *path = xasprintf("%s/tequio-bench-test-XXXXXX", getenv("TMPDIR") ?: "/tmp");
    assert_non_null(mkdtemp(path));
    bench_request r = {.bytes = 65536, .workers = 1, .servers = 1};
    bench_load l;
    assert_int_equal(bench_load_make(&r, &l, NULL), OK);
    jobdir *dir;
    bool is_done;
    assert_int_equal(
        jobdir_prepare(&(jobdir_request){.path = path, .config = l.config}, &dir, &is_done, NULL),
        OK);
    jobdir_close(&dir);
    bench_load_fini(&l);
    return path;
}

static void every_traffic_moves_and_leaves_nobody_behind(void **state)
{
    (void)state;
    char *dir = make_job_dir();
    static const int64_t sizes[] = {65536, 262144};
    for (int t = 0; t < BENCH_TRAFFICS; t++)
        for (size_t i = 0; i < 2 * COUNT_OF(sizes); i++) {
            bench_request r = {.traffic = (bench_traffic)t,
                               .bytes = sizes[i / 2],
                               .workers = 2,
                               .servers = 2,
                               .copies = i % 2};
            if (r.copies && (r.bytes < 262144 || t == BENCH_PUSH))
                continue;
            bench_speed speed = {.gbit_per_s = 0};
            error err = ERROR_INIT;
            status st = bench_cluster_measure(&r, dir, &speed, &err);
            if (st != OK)
                print_error("%s\n", err.text);
            assert_int_equal(st, OK);
            assert_true(speed.gbit_per_s > 0);
            assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
            assert_int_equal(errno, ECHILD);
        }
    assert_int_equal(fs_remove_tree(dir, NULL), OK);
    free(dir);
}

static void a_server_that_cannot_serve_is_told_of(void **state)
{
    (void)state;
    bench_request r = {.bytes = 65536, .workers = 1, .servers = 1};
    bench_speed speed;
    error err = ERROR_INIT;
    assert_int_not_equal(bench_cluster_measure(&r, "/dev/null/none", &speed, &err), OK);
    assert_true(strlen(err.text) > 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_have_the_size_asked_for),
        cmocka_unit_test(a_size_no_part_has_is_refused),
        cmocka_unit_test(standbys_need_what_they_hold),
        cmocka_unit_test(every_traffic_moves_and_leaves_nobody_behind),
        cmocka_unit_test(a_server_that_cannot_serve_is_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
