/* The same bits twice, and for our own kernels on any number of threads. */
#include "unit/backend/support_program.h"

#include "common/base/hash.h"
#include "common/base/rng.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

/* One of each kernel of our own, on tensors that several threads share. */
static void build_own_kernels(program *p)
{
    graph_val x = program_input(p, "x", DT_F32, (graph_shape){2, {300, 517}});
    graph_val z = program_input(p, "z", DT_F32, (graph_shape){2, {300, 517}});
    graph_val row = program_input(p, "row", DT_F32, (graph_shape){2, {1, 517}});
    graph_val row_31 = program_input(p, "row_31", DT_F32, (graph_shape){1, {31}});
    graph_val packed = program_input(p, "packed", DT_F32, (graph_shape){3, {3, 130, 48}});
    graph_val labels = program_input(p, "labels", DT_I64, (graph_shape){1, {300}});
    graph_val batch = program_input(p, "batch", DT_I64, (graph_shape){1, {1}});
    graph_val image = program_input(p, "image", DT_F32, (graph_shape){4, {8, 20, 30, 31}});
    axis_attr last = {.axis = -1}, channel = {.axis = 1};
    row_norm_attr last_rows = {.axis = -1};
    reduce_attr rows = {.axes = {0}, .n_axes = 1}, columns = {.axes = {1}, .n_axes = 1};
    reduce_attr channels = {.axes = {0, 2, 3}, .n_axes = 3};
    dropout_attr dropout = {.ratio = 0.3f, .seed = 5, .stream = 9};
    transpose_attr turn = {.reverse = true};
    const graph_val xz[] = {x, z}, x_row[] = {x, row};
    program_node(p, OP_ADD, "add", NULL, 2, xz, NULL);
    program_node(p, OP_DIV, "div_row", NULL, 2, x_row, NULL);
    program_node(p, OP_RELU, "relu", NULL, 1, &x, NULL);
    program_node(p, OP_SIGMOID, "sigmoid", NULL, 1, &x, NULL);
    program_node(p, OP_TANH, "tanh", NULL, 1, &x, NULL);
    program_node(p, OP_GELU, "gelu", NULL, 1, &x, NULL);
    program_node(p, OP_SOFTMAX, "softmax", &last, 1, &x, NULL);
    program_node(p, OP_SOFTMAX, "softmax_channel", &channel, 1, &image, NULL);
    program_node(p, OP_LOG_SOFTMAX, "log_softmax", &last, 1, &x, NULL);
    program_node(p, OP_SOFTMAX_CROSS_ENTROPY_LOSS, "loss", NULL, 2, (graph_val[]){x, labels}, NULL);
    program_node(p, OP_DROPOUT, "dropout", &dropout, 2, (graph_val[]){x, batch}, NULL);
    program_node(p, OP_REDUCE_SUM, "rows", &rows, 1, &x, NULL);
    program_node(p, OP_REDUCE_MEAN, "columns", &columns, 1, &x, NULL);
    program_node(p, OP_REDUCE_SUM, "channels", &channels, 1, &image, NULL);
    program_node(p, OP_REDUCE_SUM, "all", NULL, 1, &image, NULL);
    program_node(p, OP_REDUCE_L2, "length", &columns, 1, &x, NULL);
    program_node(p, OP_REDUCE_MAX, "largest", NULL, 1, &image, NULL);
    program_node(p, OP_REDUCE_PROD, "product", &columns, 1, &x, NULL);
    program_node(p, OP_REDUCE_LOG_SUM_EXP, "log_sum_exp", &rows, 1, &x, NULL);
    program_node(p, OP_CUM_SUM, "running", &(cum_sum_attr){.axis = 1}, 1, &x, NULL);
    program_node(p, OP_ARG_MAX, "place", &(arg_attr){.axis = 0}, 1, &x, NULL);
    graph_val less = program_node(p, OP_LESS, "less", NULL, 2, x_row, NULL);
    program_node(p, OP_WHERE, "where", NULL, 3, (graph_val[]){less, x, row}, NULL);
    program_node(p, OP_CAST, "cast", &(cast_attr){.to = DT_F32}, 1, &less, NULL);
    program_node(p, OP_POW, "pow", NULL, 2, x_row, NULL);
    program_node(p, OP_SIN, "sin", NULL, 1, &x, NULL);
    program_node(p, OP_ERF, "erf", NULL, 1, &x, NULL);
    program_node(p, OP_TRANSPOSE, "turn", &turn, 1, &image, NULL);
    program_node(p, OP_ATTENTION, "attention", &(attention_attr){.q_heads = 1, .causal = true}, 1,
                 (graph_val[]){packed}, NULL);
    program_node(p, OP_LAYER_NORMALIZATION, "rows_normal", &last_rows, 2,
                 (graph_val[]){image, row_31}, NULL);
}

/* Everything the nodes made, as one hash. */
static void run_and_hash(program *p, int threads, char *ret_hex)
{
    program_load(p, threads);
    program_fill_sources(p);
    for (int i = 0; i < 300; i++)
        program_ints(p, graph_find(p->g, "labels"))[i] = i * 31 % 517;
    program_ints(p, graph_find(p->g, "batch"))[0] = 12345;
    program_run(p);
    sha256 h;
    sha256_begin(&h);
    for (graph_val v = 0; v < graph_n_values(p->g); v++)
        sha256_add(&h, p->addresses[v], backend_cpu.value_bytes(p->loaded, v));
    sha256_end(&h, ret_hex);
    program_unload(p);
}

static void test_own_kernels_do_not_feel_threads(void **state)
{
    (void)state;
    program p;
    program_init(&p);
    build_own_kernels(&p);
    char one[SHA256_HEX], again[SHA256_HEX], more[SHA256_HEX];
    run_and_hash(&p, 1, one);
    run_and_hash(&p, 1, again);
    assert_string_equal(one, again);
    for (int threads = 2; threads <= 5; threads++) {
        run_and_hash(&p, threads, more);
        assert_string_equal(one, more);
    }
    program_fini(&p);
}

static void test_the_dropout_mask_is_the_stream_of_the_batch(void **state)
{
    (void)state;
    program p;
    program_init(&p);
    enum { N = 1003 };
    graph_val x = program_input(&p, "x", DT_F32, (graph_shape){2, {17, 59}});
    graph_val batch = program_input(&p, "batch", DT_I64, (graph_shape){1, {1}});
    dropout_attr attr = {.ratio = 0.37f, .seed = 77, .stream = 3};
    graph_val out[2];
    program_node(&p, OP_DROPOUT, "dropout", &attr, 2, (graph_val[]){x, batch}, out);
    program_load(&p, 1);
    program_fill_sources(&p);
    for (int64_t id = 0; id < 1000000007; id = id * 1009 + 1) {
        program_ints(&p, batch)[0] = id;
        program_run(&p);
        rng r = rng_make(77, RNG_DROPOUT, rng_mix(3, (uint64_t)id));
        for (int e = 0; e < N; e++) {
            bool kept = (double)rng_u32(&r, (uint64_t)e) >= (double)0.37f * 4294967296.0;
            assert_int_equal(((uint8_t *)p.addresses[out[1]])[e], kept);
            float y = kept ? program_floats(&p, x)[e] * (1.0f / (1.0f - 0.37f)) : 0.0f;
            assert_true(program_floats(&p, out[0])[e] == y);
        }
    }
    program_fini(&p);
}

/* With oneDNN in it: a fixed number of threads gives the same bits every time. */
static void test_a_convolution_gives_the_same_bits_twice(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        program p;
        program_init(&p);
        graph_val x = program_input(&p, "x", DT_F32, (graph_shape){4, {8, 3, 20, 20}});
        graph_val w = program_param(&p, "w", (graph_shape){4, {24, 3, 3, 3}});
        graph_val weight = program_input(&p, "weight", DT_F32, (graph_shape){.rank = 0});
        graph_val y = program_node(&p, OP_CONV, "conv", NULL, 2, (graph_val[]){x, w}, NULL);
        y = program_node(&p, OP_RELU, "relu", NULL, 1, &y, NULL);
        y = program_node(&p, OP_REDUCE_MEAN, "mean", &(reduce_attr){.drop_dims = true}, 1, &y,
                         NULL);
        assert_int_equal(graph_backward(p.g, y, weight, &p.err), OK);
        char first[SHA256_HEX], second[SHA256_HEX];
        for (int run = 0; run < 2; run++) {
            program_load(&p, threads);
            program_fill_sources(&p);
            program_run(&p);
            graph_val dw = graph_value_at(p.g, w)->grad;
            sha256_hex(p.addresses[dw], backend_cpu.value_bytes(p.loaded, dw),
                       run ? second : first);
            program_unload(&p);
        }
        assert_string_equal(first, second);
        program_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_kernels_do_not_feel_threads),
        cmocka_unit_test(test_the_dropout_mask_is_the_stream_of_the_batch),
        cmocka_unit_test(test_a_convolution_gives_the_same_bits_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
