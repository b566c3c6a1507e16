/* Kernels that move elements and look along axes, of more of them than 32 bits count. */
#include "cuda_emu/large/support_large.h"

#include "backend/cuda/kernels/along.h"
#include "backend/cuda/kernels/attention.h"
#include "backend/cuda/kernels/channels_last.h"
#include "backend/cuda/kernels/gather.h"
#include "backend/cuda/kernels/index.h"
#include "backend/cuda/kernels/move.h"
#include "backend/cuda/kernels/pad.h"
#include "backend/cuda/kernels/pool.h"

static void moves(void **state)
{
    (void)state;
    float *x = vast(0), *y = vast(1);
    cuda_stream s = kernel_test_stream();
    const axes transposed = {2, {WIDTH, ROWS}, {{ROWS, 1}, {1, WIDTH}}};
    const launch_trilu_call upper = {1, ROWS, WIDTH, 0, true, 4};
    x[ALL - 1] = 3;
    launch_transpose(s, 4, y, x, &transposed, 0);
    expect_last(y, ALL, 3);
    y = vast(1);
    launch_move(s, 4, y, x, &transposed);
    expect_last(y, ALL, 3);
    launch_move_add(s, y, x, &transposed);
    expect_last(y, ALL, 6);
    launch_trilu(s, &upper, y, x);
    expect_last(y, ALL, 3);
    y = vast(1);
    launch_channels_last(s, (launch_types){0}, y, x, ROWS, 65540 / 4, 4);
    expect_last(y, ALL, 3);
}

static void rotation(void **state)
{
    (void)state;
    float *x = vast(0), *y = vast(1), *table = vast(2);
    launch_rotary t = {.rows = (1 << 26) + 1,
                       .heads = (1 << 26) + 1,
                       .length = 1,
                       .head = 64,
                       .width = 64,
                       .x = x,
                       .cosine = table,
                       .sine = table + 32,
                       .y = y};
    for (int i = 0; i < 32; i++)
        table[i] = 2;
    x[t.rows * 64 - 1] = 3;
    launch_rotary_embedding(kernel_test_stream(), &t);
    expect_last(y, t.rows * 64, 6);
}

static void rows_by_number(void **state)
{
    (void)state;
    enum { INNER = 64 };
    float *x = vast(0), *y = vast(1);
    int64_t *index = vast(2);
    uint32_t *sorted = vast(3), *order = sorted + 1;
    int64_t places = (1 << 26) + 1, all = places * INNER;
    cuda_stream s = kernel_test_stream();
    const launch_gather_call c = {.at = {.outer = 1,
                                         .rows = places,
                                         .inner = INNER,
                                         .count = 1,
                                         .wide = true,
                                         .depth = 1,
                                         .rank = 1,
                                         .size = {places},
                                         .stride = {1},
                                         .dim = {1}},
                                  .element = 4};
    x[all - 1] = 3;
    index[0] = places - 1;
    sorted[0] = (uint32_t)places - 1;
    launch_gather(s, &c, y, x, index);
    expect_last(y, INNER, 3);
    launch_put(s, &c.at, LAUNCH_ADD, DT_F32, x, y, sorted, order, NULL);
    expect_last(x, all, 6);
}

static void padding(void **state)
{
    (void)state;
    float *x = vast(0), *y = vast(1);
    int64_t *table = vast(2);
    const launch_pad_call c = {1, {ROWS}, {table}, WIDTH, 4, {0}};
    x[ALL - 1] = 3;
    for (int64_t i = 0; i < ROWS; i++)
        table[i] = i * WIDTH;
    launch_pad(kernel_test_stream(), &c, y, x);
    expect_last(y, ALL, 3);
}

static void lines(void **state)
{
    (void)state;
    float *x = vast(0), *y = vast(1);
    int64_t *at = vast(2);
    cuda_stream s = kernel_test_stream();
    const launch_along_call c = {.outer = ROWS, .axis = WIDTH, .inner = 1, .by_block = true};
    x[ALL - 1] = 3;
    launch_arg(s, &c, at, x);
    done();
    assert_int_equal(at[ROWS - 1], WIDTH - 1);
    launch_hardmax(s, &c, y, x);
    expect_last(y, ALL, 1);
    launch_cum_sum(s, &c, y, x);
    expect_last(y, ALL, 3);
}

static void pools(void **state)
{
    (void)state;
    float *x = vast(0), *y = vast(1);
    uint8_t *taps = vast(2);
    cuda_stream s = kernel_test_stream();
    launch_pool p = {.planes = 1 << 22,
                     .channels = 1,
                     .in = {1, 32, 33},
                     .out = {1, 32, 33},
                     .kernel = {1, 1, 1},
                     .stride = {1, 1, 1},
                     .dilation = {1, 1, 1},
                     .padded = {1, 32, 33}};
    int64_t all = p.planes * 32 * 33;
    x[all - 1] = 3;
    launch_max_pool(s, &p, y, taps, NULL, x);
    expect_last(y, all, 3);
    launch_average_pool_bwd(s, &p, x, y);
    expect_last(x, all, 3);
    x[all - 1] = 0;
    launch_max_pool_bwd(s, &p, x, y, taps);
    expect_last(x, all, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(moves),   KERNEL_TEST(rotation), KERNEL_TEST(rows_by_number),
        KERNEL_TEST(padding), KERNEL_TEST(lines),    KERNEL_TEST(pools),
    };
    emu_ends_only();
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
