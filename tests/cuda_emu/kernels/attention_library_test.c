/*
 * What attention by a library needs around it: masks as numbers that are added, rows of queries that may look
 * at nothing, with all that lies between rows, and seeds.
 */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/kernels/attention.h"
#include "common/base/rng.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 600, BATCHES = 2, HEADS = 2, QUERIES = 3, KEYS = 37, HEAD = 40, ROOM = 43 };
enum { ROWS = BATCHES * HEADS * QUERIES, PAIRS = ROWS * KEYS, NUMBERS = ROWS * ROOM };

static const float least = -1e30f;

static void bools_are_zero_or_least(void **state)
{
    (void)state;
    uint8_t mask[N];
    float got[N];
    for (int i = 0; i < N; i++)
        mask[i] = i % 3 == 0;
    float *bias = device_alloc(sizeof got);
    launch_attention_bias(kernel_test_stream(), bias, on_device(mask, sizeof mask), true, N);
    from_device(got, bias, sizeof got);
    for (int i = 0; i < N; i++)
        assert_true(got[i] == (mask[i] ? 0.0f : least));
}

static void floats_stay_but_for_what_no_sum_bears(void **state)
{
    (void)state;
    const float odd[] = {-INFINITY, -FLT_MAX, -1e30f, -1e4f, 0.0f, 3.5f, NAN};
    enum { ODD = sizeof odd / sizeof *odd };
    float mask[N], got[N];
    for (int i = 0; i < N; i++)
        mask[i] = odd[i % ODD];
    float *bias = device_alloc(sizeof got);
    launch_attention_bias(kernel_test_stream(), bias, on_device(mask, sizeof mask), false, N);
    from_device(got, bias, sizeof got);
    for (int i = 0; i < N; i++)
        assert_true(isnan(mask[i]) ? isnan(got[i]) : got[i] == fmaxf(mask[i], least));
}

/* Rows 3, 4, 7 and 11 look at nothing, row 5 at its last key alone; behind a row that looks at nothing stands one
 * that looks at its first key, and behind the last there is nothing. */
static bool looks(int row, int key)
{
    return row % 4 == 3 || row == 4 ? false : row == 5 ? key == KEYS - 1 : key == 0 || (key + row) % 3 == 0;
}

/* y lies with room between rows, heads and batches. */
static launch_attention rows_of(const void *mask, bool chooses)
{
    return (launch_attention){
        .batch = BATCHES,
        .q_heads = HEADS,
        .kv_heads = HEADS,
        .q_length = QUERIES,
        .k_length = KEYS,
        .head = HEAD,
        .v_head = HEAD,
        .operands = LAUNCH_BF16,
        .y_layout = {HEADS * QUERIES * ROOM, QUERIES * ROOM, ROOM},
        .mask = mask,
        .mask_chooses = chooses,
        .mask_stride = {HEADS * QUERIES * KEYS, QUERIES * KEYS, KEYS, 1},
    };
}

static bool is_blind(int row, bool causal)
{
    int limit = causal ? row % QUERIES + 1 : KEYS;
    for (int key = 0; key < limit; key++)
        if (looks(row, key))
            return false;
    return true;
}

static void play_rows(const void *mask, bool chooses, bool causal)
{
    uint16_t y[NUMBERS];
    float lse[ROWS];
    launch_attention t = rows_of(mask, chooses);
    t.causal = causal;
    for (int i = 0; i < NUMBERS; i++)
        y[i] = 0x3f80;
    for (int i = 0; i < ROWS; i++)
        lse[i] = 1.0f;
    t.y = on_device(y, sizeof y);
    t.lse = on_device(lse, sizeof lse);
    launch_attention_blind_rows(kernel_test_stream(), &t);
    from_device(y, t.y, sizeof y);
    from_device(lse, t.lse, sizeof lse);
    for (int row = 0; row < ROWS; row++) {
        bool blind = is_blind(row, causal);
        assert_true(lse[row] == (blind ? INFINITY : 1.0f));
        for (int i = 0; i < ROOM; i++)
            assert_int_equal(y[row * ROOM + i], blind && i < HEAD ? 0 : 0x3f80);
    }
}

static void rows_that_look_at_nothing_are_zero(void **state)
{
    (void)state;
    uint8_t bools[PAIRS];
    float floats[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        bools[i] = looks(i / KEYS, i % KEYS);
        floats[i] = bools[i] ? -FLT_MAX : -INFINITY;
    }
    const void *of_bools = on_device(bools, sizeof bools), *of_floats = on_device(floats, sizeof floats);
    play_rows(of_bools, true, false);
    play_rows(of_bools, true, true);
    play_rows(of_floats, false, false);
}

static void a_seed_is_a_batchs(void **state)
{
    (void)state;
    int64_t id = 3, got[LAUNCH_SEED_WORDS];
    uint64_t key = rng_mix(5, RNG_DROPOUT);
    launch_dropout d = {.batch = on_device(&id, sizeof id), .key = key, .stream = 9};
    int64_t *seed = device_alloc(sizeof got);
    launch_attention_seed(kernel_test_stream(), seed, &d);
    from_device(got, seed, sizeof got);
    assert_int_equal(got[0], rng_mix(key, rng_mix(9, 3)) >> 1);
    assert_int_equal(got[2], 0);
}

static void nothing_is_launched_for_nothing(void **state)
{
    (void)state;
    launch_attention t = {.q_heads = 1, .kv_heads = 1};
    launch_attention_bias(kernel_test_stream(), NULL, NULL, true, 0);
    launch_attention_blind_rows(kernel_test_stream(), &t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(bools_are_zero_or_least),
        KERNEL_TEST(floats_stay_but_for_what_no_sum_bears),
        KERNEL_TEST(rows_that_look_at_nothing_are_zero),
        KERNEL_TEST(a_seed_is_a_batchs),
        KERNEL_TEST(nothing_is_launched_for_nothing),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
