/* Kernels over rows and channels, of more elements than 32 bits count. */
#include "cuda_emu/large/support_large.h"

#include "backend/cuda/kernels/batch_norm.h"
#include "backend/cuda/kernels/group_norm.h"
#include "backend/cuda/kernels/loss.h"
#include "backend/cuda/kernels/lrn.h"
#include "backend/cuda/kernels/reduce.h"
#include "backend/cuda/kernels/row_norm.h"
#include "backend/cuda/kernels/softmax.h"

/* A row of which only the last number is not zero. */
static void rows_of_scores(void **state)
{
    (void)state;
    float *x = vast(0), *y = vast(1), *most = vast(2), *log_sum = vast(3), *loss = vast(4);
    int64_t *labels = vast(5);
    float *dloss = (float *)(labels + ROWS);
    uint64_t *fault = (uint64_t *)(dloss + ROWS + 1);
    cuda_stream s = kernel_test_stream();
    const launch_softmax_call soft = {LAUNCH_F32, ROWS, WIDTH, 1, false};
    const launch_softmax_call columns = {LAUNCH_F32, 1, 1 << 12, 1 << 21, false};
    launch_loss_call c = {.n = ROWS,
                          .classes = WIDTH,
                          .inner = 1,
                          .pitch = WIDTH,
                          .labels = labels,
                          .reduction = LAUNCH_LOSS_NONE,
                          .pieces = 1,
                          .workspace = (double *)vast(1),
                          .fault = fault};
    x[ALL - 1] = 100;
    dloss[ROWS - 1] = 1;
    labels[ROWS - 1] = WIDTH - 2;
    launch_loss(s, &c, loss, most, log_sum, x);
    expect_last(loss, ROWS, 100);
    launch_loss_bwd(s, &c, y, x, dloss, most, log_sum);
    expect_last(y, ALL, 1);
    expect_last(y, ALL - 1, -1);
    labels[ROWS - 1] = WIDTH - 1;
    c.workspace = vast(2);
    launch_accuracy(s, &c, labels, NULL, x);
    done();
    assert_int_equal(((uint8_t *)c.workspace)[ROWS - 1], 1);
    launch_softmax(s, &soft, y, x);
    expect_last(y, ALL, 1);
    y[ALL - 1] = 0.5f;
    launch_softmax_bwd(s, &soft, y, x, y);
    expect_last(y, ALL, 25);
    int64_t all = columns.axis * columns.inner;
    x[all - 1] = 100;
    launch_softmax(s, &columns, y, x);
    expect_last(y, all, 1);
}

static void norms_of_rows(void **state)
{
    (void)state;
    float *x = vast(0), *y = vast(1), *scale = vast(2), *sums = vast(3), *mean = vast(5);
    cuda_stream s = kernel_test_stream();
    launch_row_norm_call c = {.rows = ROWS,
                              .n = WIDTH,
                              .centred = true,
                              .epsilon = 1e-12f,
                              .bands = 32769,
                              .pieces = 1,
                              .workspace = vast(4)};
    float *inverse = mean + ROWS + 1;
    x[ALL - 1] = 1;
    for (int64_t i = 0; i < WIDTH; i++)
        scale[i] = 1;
    launch_row_norm(s, &c, y, mean, inverse, x, scale, NULL);
    expect_last(inverse, ROWS, 256);
    y = vast(1);
    c.rows++; /* for the last of two */
    inverse[c.rows - 1] = 1;
    y[ALL + WIDTH - 1] = 4;
    launch_row_norm_bwd(s, &c, y, sums, sums + WIDTH, y, x, scale, mean, inverse);
    expect_last(y, ALL + WIDTH, 4);
    expect_last(sums + WIDTH, WIDTH, 4);
}

/* Rows of a size that the last block has the last. */
static void norms_of_images(void **state)
{
    (void)state;
    float *x = vast(0), *y = vast(1), *of = vast(2);
    cuda_stream s = kernel_test_stream();
    launch_batch_norm_call c = {
        .n = 65536, .channels = 64, .plane = 1028, .lines = vast(3), .pieces = 1};
    launch_group_norm_call g = {
        .batch = 1 << 22, .groups = 1, .per_group = 1, .plane = 1028, .pieces = 1};
    int64_t all = c.n * c.channels * c.plane;
    for (int i = 0; i < 256; i++)
        of[i] = 1;
    x[all - 1] = 3;
    launch_batch_norm(s, &c, y, x, of, of, of, of);
    expect_last(y, all, 3);
    g.lines = vast(3);
    launch_group_norm(s, &g, y, vast(4), vast(5), x, of, of);
    expect_last(y, all, 33.05f);
    c.n = 1 << 25, c.plane = 1, c.channels = 132, c.channels_last = true;
    all = c.n * c.channels;
    x = vast(0);
    x[all - 1] = 3;
    launch_batch_norm(s, &c, y, x, of, of, of, of);
    expect_last(y, all, 3);
}

/* More channels than a grid's threads. */
static void many_channels(void **state)
{
    (void)state;
    float *x = vast(0), *y = vast(1), *of = vast(2), *sums = vast(3);
    cuda_stream s = kernel_test_stream();
    const int64_t channels = (1 << 21) + 1;
    const launch_batch_norm_call c = {
        .n = 1, .channels = channels, .plane = 1, .lines = vast(4), .pieces = 1};
    const launch_group_norm_call g = {.batch = 1,
                                      .groups = channels,
                                      .per_group = 1,
                                      .plane = 1,
                                      .pieces = 1,
                                      .lines = vast(4),
                                      .sums = vast(5)};
    x[channels - 1] = of[channels - 1] = 3;
    launch_batch_norm(s, &c, y, x, of, of, of, of);
    expect_last(y, channels, 3);
    launch_group_norm_bwd(s, &g, NULL, sums, sums + channels, x, x, of, of, of);
    expect_last(sums + channels, channels, 3);
    launch_batch_norm_bwd(s, &c, y, sums, sums + channels, x, x, of, of, of, false);
    expect_last(y, channels, 5.196f);
}

static void neighbours_in_channels(void **state)
{
    (void)state;
    float *x = vast(0), *y = vast(1), *sum = vast(2);
    const launch_lrn_call c = {1, 2049, 1 << 21, 1, 1, 1, 1, 1};
    int64_t all = c.channels * c.plane;
    x[all - 1] = 3;
    launch_lrn(kernel_test_stream(), &c, y, sum, x);
    expect_last(sum, all, 10);
    expect_last(y, all, 0.3f);
}

/* Sums of what each block has: of a row, and of columns in pieces. */
static void sums(void **state)
{
    (void)state;
    float *x = vast(0), *y = vast(1), *workspace = vast(2);
    cuda_stream s = kernel_test_stream();
    launch_reduce_call c = {.pieces = 128, .workspace = workspace};
    c.space =
        (reduce_space){.kept = {.count = 1}, .reduced = {1, {ROWS}, {WIDTH}, ROWS}, .last = WIDTH};
    x[ALL - 1] = 3;
    launch_reduce(s, &c, y, x);
    expect_last(workspace, 128 * WIDTH, 3);
    c.pieces = 1;
    c.space = (reduce_space){.kept = {1, {1 << 16}, {WIDTH}, 1 << 16},
                             .reduced = {.count = 1},
                             .last = WIDTH,
                             .last_reduced = true};
    x[(1 << 16) * WIDTH - 1] = 5;
    launch_reduce(s, &c, y, x);
    expect_last(y, 1 << 16, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(rows_of_scores),         KERNEL_TEST(norms_of_rows),
        KERNEL_TEST(norms_of_images),        KERNEL_TEST(many_channels),
        KERNEL_TEST(neighbours_in_channels), KERNEL_TEST(sums),
    };
    emu_ends_only();
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
