/* Gather: types of indices, indices that point nowhere, and sums that do not feel threads. */
#include "unit/backend/support_program.h"

#include "common/base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_an_index_out_of_range_is_named(void **state)
{
    (void)state;
    const struct {
        int64_t index;
        const char *refused;
    } rows[] = {
        {9, NULL},
        {-10, NULL},
        {10, "index 10 at position 2 is outside -10..9"},
        {-11, "index -11 at position 2 is outside -10..9"},
        {INT64_MIN, "index -9223372036854775808 at position 2 is outside -10..9"},
        {INT64_MAX, "index 9223372036854775807 at position 2 is outside -10..9"},
    };
    program p;
    program_init(&p);
    graph_val x = program_input(&p, "x", DT_F32, (graph_shape){2, {10, 3}});
    graph_val at = program_input(&p, "at", DT_I64, (graph_shape){2, {2, 2}});
    graph_val dy = program_input(&p, "dy", DT_F32, (graph_shape){3, {2, 2, 3}});
    program_node(&p, OP_GATHER, "pick", NULL, 2, (graph_val[]){x, at}, NULL);
    program_node(&p, OP_GATHER_BWD, "put", &(gather_attr){.x = {2, {10, 3}}}, 2,
                 (graph_val[]){dy, at}, NULL);
    program_load(&p, 1);
    program_fill_sources(&p);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memcpy(program_ints(&p, at), (int64_t[]){0, -1, rows[i].index, 3}, 4 * sizeof(int64_t));
        for (int node = 0; node < 2; node++) {
            error err = ERROR_INIT;
            const backend_kernel *k = &p.kernels[node];
            status st = k->run(k->state, p.addresses, p.workspace, &err);
            assert_int_equal(st, rows[i].refused ? E_DATA : OK);
            if (rows[i].refused)
                assert_string_equal(err.text, rows[i].refused);
        }
    }
    program_fini(&p);
}

static void test_either_type_of_indices_picks_the_same(void **state)
{
    (void)state;
    program p;
    program_init(&p);
    graph_val x = program_input(&p, "x", DT_F32, (graph_shape){2, {5, 3}});
    graph_val wide = program_input(&p, "wide", DT_I64, (graph_shape){1, {4}});
    graph_val narrow = program_input(&p, "narrow", DT_I32, (graph_shape){1, {4}});
    graph_val a = program_node(&p, OP_GATHER, "a", NULL, 2, (graph_val[]){x, wide}, NULL);
    graph_val b = program_node(&p, OP_GATHER, "b", NULL, 2, (graph_val[]){x, narrow}, NULL);
    program_load(&p, 1);
    program_fill_sources(&p);
    memcpy(program_ints(&p, wide), (int64_t[]){4, -5, 2, -1}, 4 * sizeof(int64_t));
    memcpy(p.addresses[narrow], (int32_t[]){4, -5, 2, -1}, 4 * sizeof(int32_t));
    program_run(&p);
    assert_memory_equal(program_floats(&p, a), program_floats(&p, b), 12 * sizeof(float));
    assert_memory_equal(program_floats(&p, a), program_floats(&p, x) + 12, 3 * sizeof(float));
    program_fini(&p);
}

/* Some rows are picked often, others never; tables from one column to many. */
static void sum_picks(int64_t inner, int threads, char *ret_hex)
{
    enum { PICKS = 700, ROWS = 900 };
    program p;
    program_init(&p);
    graph_val at = program_input(&p, "at", DT_I64, (graph_shape){1, {PICKS}});
    graph_val dy = program_input(&p, "dy", DT_F32, (graph_shape){2, {PICKS, inner}});
    graph_val dx = program_node(&p, OP_GATHER_BWD, "put", &(gather_attr){.x = {2, {ROWS, inner}}},
                                2, (graph_val[]){dy, at}, NULL);
    program_load(&p, threads);
    program_fill_sources(&p);
    for (int64_t i = 0; i < PICKS; i++)
        program_ints(&p, at)[i] = i % 3 ? i * i % 7 : i * 31 % ROWS;
    memset(p.addresses[dx], 0xff, ROWS * (size_t)inner * sizeof(float));
    program_run(&p);
    sha256_hex(p.addresses[dx], ROWS * (size_t)inner * sizeof(float), ret_hex);
    program_fini(&p);
}

static void test_sums_of_picks_do_not_feel_threads(void **state)
{
    (void)state;
    const int64_t inner[] = {1, 17, 100, 333};
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) {
        char one[SHA256_HEX], more[SHA256_HEX];
        sum_picks(inner[i], 1, one);
        for (int threads = 2; threads <= 7; threads++) {
            sum_picks(inner[i], threads, more);
            assert_string_equal(one, more);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_index_out_of_range_is_named),
        cmocka_unit_test(test_either_type_of_indices_picks_the_same),
        cmocka_unit_test(test_sums_of_picks_do_not_feel_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
