/* Matmuls, convolutions and attention over operands of more elements than 32 bits count. */
#include "cuda_emu/large/support_large.h"

#include "backend/cuda/kernels/attention.h"
#include "backend/cuda/kernels/conv.h"

#include <math.h>

static void matmuls(void **state)
{
    (void)state;
    float *a = vast(0), *b = vast(1), *y = vast(2);
    gemm_task t = {.batches = ROWS,
                   .m = 256,
                   .n = 64,
                   .k = 256,
                   .a = {a, 256, 1, 65536},
                   .b = {b, 64, 1, 16384},
                   .y = y,
                   .y_row = 64,
                   .y_batch = 16384,
                   .end = {.alpha = 1},
                   .cut = {.pieces = 1}};
    a[ROWS * 65536 - 1] = 2;
    b[ROWS * 16384 - 1] = 3;
    launch_gemm(kernel_test_stream(), &t);
    expect_last(y, ROWS * 16384, 6);
    t = (gemm_task){.batches = 1,
                    .m = ROWS,
                    .n = WIDTH,
                    .k = 8,
                    .a = {a, 8, 1, 0},
                    .b = {b, WIDTH, 1, 0},
                    .y = y,
                    .y_row = WIDTH,
                    .end = {.alpha = 1, .beta = 1, .c = y, .c_row = WIDTH, .c_column = 1},
                    .cut = {.pieces = 1, .wide = true}};
    a[ROWS * 8 - 1] = 2;
    b[WIDTH * 8 - 1] = 3;
    y[ALL - 1] = 1;
    launch_gemm(kernel_test_stream(), &t);
    expect_last(y, ALL, 7);
}

static void convolutions(void **state)
{
    (void)state;
    float *x = vast(0), *w = vast(1), *y = vast(2);
    const conv_layout plain = {16 * 4096, 4096, 1};
    conv_task t = {.batch = ROWS,
                   .groups = 1,
                   .channels = 16,
                   .maps = 16,
                   .in = {1, 64, 64},
                   .out = {1, 64, 64},
                   .kernel = {1, 3, 3},
                   .stride = {1, 1, 1},
                   .dilation = {1, 1, 1},
                   .pad = {0, 1, 1},
                   .x = {x, DT_F32, plain},
                   .w = {w, DT_F32, {144, 9, 1}},
                   .y = {y, DT_F32, plain},
                   .end = {.alpha = 1},
                   .cut = {.pieces = 1}};
    x[ROWS * 65536 - 1] = 3;
    w[15 * 144 + 15 * 9 + 4] = 2; /* the middle, of the last channel for the last map */
    launch_conv(kernel_test_stream(), &t);
    expect_last(y, ROWS * 65536, 6);
    launch_conv_bwd_data(kernel_test_stream(), &t);
    expect_last(x, ROWS * 65536, 12);
    t.direct = true;
    launch_conv(kernel_test_stream(), &t);
    expect_last(y, ROWS * 65536, 24);
}

/* Scores are all alike: each query has the mean of the values, each key the queries' gradients. */
static void attention(void **state)
{
    (void)state;
    for (int type = LAUNCH_F32; type <= LAUNCH_BF16; type++) {
        void *zeros = vast(0), *values = vast(1), *y = vast(2), *dv = vast(3);
        const launch_layout layout = {65536, 64, 1024};
        const int64_t all = ROWS * 65536;
        launch_attention_bwd b = {.of = {.batch = ROWS,
                                         .q_heads = 16,
                                         .kv_heads = 16,
                                         .q_length = 64,
                                         .k_length = 64,
                                         .head = 64,
                                         .v_head = 64,
                                         .scale = 1,
                                         .operands = (launch_type)type,
                                         .results = (launch_type)type,
                                         .matmuls = type ? MATMULS_MMA : MATMULS_FFMA,
                                         .shared_limit = 227 << 10,
                                         .q = zeros,
                                         .k = zeros,
                                         .v = values,
                                         .q_layout = layout,
                                         .k_layout = layout,
                                         .v_layout = layout,
                                         .y_layout = layout,
                                         .y = y,
                                         .lse = vast(4)},
                                  .dy = values,
                                  .delta = vast(5),
                                  .dv = dv};
        const float one = 64;
        float got;
        size_t each = stored_bytes((launch_type)type, 1);
        to_stored((char *)values + (all - 1) * (int64_t)each, (launch_type)type, &one, 1);
        launch_attention_forward(kernel_test_stream(), &b.of);
        launch_attention_backward(kernel_test_stream(), &b);
        expect_last(b.of.lse, ROWS * 1024, 4.1589f);
        from_stored(&got, (launch_type)type, (char *)y + (all - 1) * (int64_t)each, 1);
        assert_true(fabs(got - 1) <= 0.01);
        from_stored(&got, (launch_type)type, (char *)dv + (all - 1) * (int64_t)each, 1);
        assert_true(fabs(got - 1) <= 0.01);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(matmuls),
        KERNEL_TEST(convolutions),
        KERNEL_TEST(attention),
    };
    emu_ends_only();
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
