/*
 * Operators of ONNX that become several nodes, or none, as they are imported: what they give,
 * against what ONNX's pages say, worked out here in double.
 */
#include "numeric/onnx_run.h"
#include "numeric/support_compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 6 };

static void expect(const run_result *r, size_t k, const char *what, const double *want, int64_t n)
{
    assert_int_equal(graph_shape_elements(&r->shape[k]), n);
    if (!is_close(what, r->y[k], want, n, 1e-6))
        fail_msg("%s", what);
}

static int32_t onnx_type_of(dtype t)
{
    return t == DT_F32 ? 1 : t == DT_U8 ? 2 : t == DT_I32 ? 6 : t == DT_I64 ? 7 : 9;
}

/* --- functions of integers --- */

typedef struct integer_row {
    const char *op, *inputs;
    double want[N];
} integer_row;

static const double signed_x[N] = {-7, -1, 0, 3, 7, 9};

static const integer_row signed_rows[] = {
    {"Neg", "x", {7, 1, 0, -3, -7, -9}},      {"Abs", "x", {7, 1, 0, 3, 7, 9}},
    {"Sign", "x", {-1, -1, 0, 1, 1, 1}},      {"Relu", "x", {0, 0, 0, 3, 7, 9}},
    {"Clip", "x low high", {-2, -1, 0, 3, 4, 4}}, {"Clip", "x low", {-2, -1, 0, 3, 7, 9}},
    {"Clip", "x - high", {-7, -1, 0, 3, 4, 4}},   {"Clip", "x", {-7, -1, 0, 3, 7, 9}},
    {"Clip", "x high low", {-2, -2, -2, -2, -2, -2}}, /* the upper bound has the last word */
};

static void check_integers(dtype t, const integer_row *rows, size_t n, const double *x)
{
    const double low = t == DT_U8 ? 2 : -2, high = 4;
    file *f = file_create(17);
    file_input(f, "x", onnx_type_of(t), "6");
    file_input(f, "low", onnx_type_of(t), "");
    file_input(f, "high", onnx_type_of(t), "");
    for (size_t i = 0; i < n; i++) {
        const char *y = arena_printf(f->a, "y%zu", i);
        file_node(f, rows[i].op, rows[i].inputs, y);
        file_output(f, y);
    }
    const run_input in[] = {{"x", t, {1, {N}}, x, false},
                            {"low", t, {0}, &low, false},
                            {"high", t, {0}, &high, false}};
    run_result *r = run_file(f, in, COUNT_OF(in), 0);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(r->type[i], t);
        expect(r, i, rows[i].op, rows[i].want, N);
    }
    free(r);
    file_destroy(&f);
}

static void functions_of_integers(void **state)
{
    (void)state;
    static const double bytes[N] = {0, 1, 2, 3, 200, 255};
    static const integer_row of_bytes[] = {
        {"Abs", "x", {0, 1, 2, 3, 200, 255}},
        {"Sign", "x", {0, 1, 1, 1, 1, 1}},
        {"Relu", "x", {0, 1, 2, 3, 200, 255}},
        {"Clip", "x low high", {2, 2, 2, 3, 4, 4}},
    };
    check_integers(DT_I64, signed_rows, COUNT_OF(signed_rows), signed_x);
    check_integers(DT_I32, signed_rows, COUNT_OF(signed_rows), signed_x);
    check_integers(DT_U8, of_bytes, COUNT_OF(of_bytes), bytes);
}

/* Of floats, by bounds that are computed. */
static void a_clip_by_what_is_computed(void **state)
{
    (void)state;
    static const double x[N] = {-3, -1, 0, 0.5, 2, 5}, low = -1.5, high = 1.5;
    static const double want[N] = {-1.5, -1, 0, 0.5, 1.5, 1.5};
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "6");
    file_input(f, "low", FILE_FLOAT, "");
    file_input(f, "high", FILE_FLOAT, "");
    file_node(f, "Clip", "x low high", "y");
    file_output(f, "y");
    const run_input in[] = {{"x", DT_F32, {1, {N}}, x, false},
                            {"low", DT_F32, {0}, &low, false},
                            {"high", DT_F32, {0}, &high, false}};
    run_result *r = run_file(f, in, COUNT_OF(in), 0);
    expect(r, 0, "Clip", want, N);
    free(r);
    file_destroy(&f);
}

/* A reduction over axis 1 of [2,3], or over all. */
static void check_reduction(const char *op, dtype t, const double *x, const double *rows,
                            double all)
{
    file *f = file_create(20);
    file_input(f, "x", onnx_type_of(t), "2,3");
    file_ints(f, "axis", "1");
    file_int(f, file_node(f, op, "x axis", "rows"), "keepdims", 0);
    file_node(f, op, "x", "all");
    file_output(f, "rows");
    file_output(f, "all");
    const run_input in[] = {{"x", t, {2, {2, 3}}, x, false}};
    run_result *r = run_file(f, in, COUNT_OF(in), 0);
    assert_int_equal(r->type[0], t);
    assert_int_equal(r->shape[1].rank, 2);
    expect(r, 0, op, rows, 2);
    expect(r, 1, op, &all, 1);
    free(r);
    file_destroy(&f);
}

static void reductions_of_integers_and_conditions(void **state)
{
    (void)state;
    static const double bits[] = {0, 1, 0, 1, 1, 1}, none[] = {0, 0, 0, 0, 0, 0};
    static const double bytes[] = {7, 200, 3, 255, 0, 9};
    const double means[] = {-8 / 3, 19 / 3}; /* towards zero */
    check_reduction("ReduceMean", DT_I64, signed_x, means, 11 / 6);
    check_reduction("ReduceMean", DT_I32, signed_x, means, 11 / 6);
    check_reduction("ReduceMax", DT_BOOL, bits, (double[]){1, 1}, 1);
    check_reduction("ReduceMin", DT_BOOL, bits, (double[]){0, 1}, 0);
    check_reduction("ReduceMax", DT_BOOL, none, (double[]){0, 0}, 0);
    check_reduction("ReduceMax", DT_U8, bytes, (double[]){200, 255}, 255);
    check_reduction("ReduceMin", DT_U8, bytes, (double[]){3, 0}, 0);
}

/* --- loops --- */

static const double steps_x[] = {1, -2, 3, 0.5, 4, -1}; /* [3,2] */

/* h = 2 h + x[i], handed on and kept; `trips`, `condition`: inputs of the Loop. */
static file *loop_file(const char *inputs)
{
    file *f = file_create(17), *body = file_inside(f);
    file_input(f, "x", FILE_FLOAT, "3,2");
    file_input(f, "h", FILE_FLOAT, "2");
    Onnx__TensorProto *three = file_ints(f, "trips", "3"), *yes = file_ints(f, "one", "1");
    three->n_dims = yes->n_dims = 0;
    file_int(f, file_node(f, "Cast", "one", "yes"), "to", FILE_BOOL);
    file_input(body, "i", FILE_INT64, "");
    file_input(body, "go", FILE_BOOL, "");
    file_input(body, "before", FILE_FLOAT, "2");
    file_node(body, "Gather", "x i", "now");
    file_node(body, "Add", "before before", "twice");
    file_node(body, "Add", "twice now", "after");
    Onnx__TensorProto *two = file_ints(body, "two", "2");
    two->n_dims = 0;
    file_node(body, "Less", "i two", "go_on");
    file_node(body, "Identity", "after", "kept");
    file_output(body, "go_on");
    file_output(body, "after");
    file_output(body, "kept");
    file_subgraph(f, file_node(f, "Loop", inputs, "last all"), "body", body);
    file_output(f, "last");
    file_output(f, "all");
    return f;
}

/* By a count, by a condition, and by what ends first. */
static void a_loop_is_its_iterations(void **state)
{
    (void)state;
    static const char *const ways[] = {"trips - h", "- yes h", "trips yes h"};
    static const double h[] = {10, 20};
    double all[6], now[2] = {h[0], h[1]};
    for (int i = 0; i < 6; i++)
        all[i] = now[i % 2] = 2 * now[i % 2] + steps_x[i];
    for (size_t w = 0; w < COUNT_OF(ways); w++) {
        file *f = loop_file(ways[w]);
        const run_input in[] = {{"x", DT_F32, {2, {3, 2}}, steps_x, false},
                                {"h", DT_F32, {1, {2}}, h, false}};
        run_result *r = run_file(f, in, COUNT_OF(in), 0);
        expect(r, 0, ways[w], now, 2);
        assert_int_equal(r->shape[1].rank, 2);
        expect(r, 1, ways[w], all, 6);
        free(r);
        file_destroy(&f);
    }
}

/* Over axis 0 or 1 of x, from either end, its results stacked along axis 1 in either order. */
static void a_scan_takes_parts(void **state)
{
    (void)state;
    for (int way = 0; way < 8; way++) {
        bool across = way & 1, from_end = way & 2, backwards = way & 4;
        int n = across ? 2 : 3, width = across ? 3 : 2;
        file *f = file_create(17), *body = file_inside(f);
        file_input(f, "x", FILE_FLOAT, "3,2");
        file_input(f, "h", FILE_FLOAT, across ? "3" : "2");
        file_input(body, "before", FILE_FLOAT, "");
        file_input(body, "part", FILE_FLOAT, "");
        file_node(body, "Sub", "part before", "after");
        file_node(body, "Identity", "after", "kept");
        file_output(body, "after");
        file_output(body, "kept");
        Onnx__NodeProto *s = file_node(f, "Scan", "h x", "last all");
        file_int(f, s, "num_scan_inputs", 1);
        file_list(f, s, "scan_input_axes", across ? "-1" : "0");
        file_list(f, s, "scan_input_directions", from_end ? "1" : "0");
        file_list(f, s, "scan_output_axes", "1");
        file_list(f, s, "scan_output_directions", backwards ? "1" : "0");
        file_subgraph(f, s, "body", body);
        file_output(f, "last");
        file_output(f, "all");
        double h[3] = {1, 2, 3}, now[3] = {1, 2, 3}, all[6];
        for (int t = 0; t < n; t++) {
            int at = from_end ? n - 1 - t : t, to = backwards ? n - 1 - t : t;
            for (int j = 0; j < width; j++) {
                now[j] = (across ? steps_x[2 * j + at] : steps_x[2 * at + j]) - now[j];
                all[j * n + to] = now[j];
            }
        }
        const run_input in[] = {{"x", DT_F32, {2, {3, 2}}, steps_x, false},
                                {"h", DT_F32, {1, {width}}, h, false}};
        run_result *r = run_file(f, in, COUNT_OF(in), 0);
        expect(r, 0, "the last", now, width);
        expect(r, 1, "all", all, 6);
        free(r);
        file_destroy(&f);
    }
}

/* --- sequences --- */

static void sequences_are_lists(void **state)
{
    (void)state;
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "3,2");
    file_ints(f, "zero", "0");
    file_ints(f, "last", "-1");
    file_ints(f, "one", "1");
    file_int(f, file_node(f, "SplitToSequence", "x", "rows"), "keepdims", 0);
    file_node(f, "SequenceAt", "rows last", "third");
    file_node(f, "SequenceErase", "rows zero", "two");      /* 1 2 */
    file_node(f, "SequenceInsert", "two third zero", "s1"); /* 2 1 2 */
    file_node(f, "SequenceAt", "rows zero", "first");
    file_node(f, "SequenceInsert", "s1 first", "s2");       /* 2 1 2 0 */
    file_node(f, "SequenceConstruct", "first third", "s3"); /* 0 2 */
    file_int(f, file_node(f, "SequenceEmpty", "", "none"), "dtype", FILE_FLOAT);
    file_node(f, "SequenceInsert", "none first", "s4");
    file_int(f, file_node(f, "ConcatFromSequence", "s2", "flat"), "axis", 0);
    Onnx__NodeProto *n = file_node(f, "ConcatFromSequence", "s3", "beside");
    file_int(f, n, "axis", -1);
    file_int(f, n, "new_axis", 1);
    file_int(f, file_node(f, "ConcatFromSequence", "s4", "alone"), "axis", 0);
    file_node(f, "SequenceLength", "s2", "length");
    file_int(f, file_node(f, "Cast", "length", "four"), "to", FILE_FLOAT);
    file_node(f, "Mul", "first four", "four_times");
    const char *outputs[] = {"flat", "beside", "alone", "four_times"};
    for (size_t k = 0; k < COUNT_OF(outputs); k++)
        file_output(f, outputs[k]);
    const run_input in[] = {{"x", DT_F32, {2, {3, 2}}, steps_x, false}};
    run_result *r = run_file(f, in, COUNT_OF(in), 0);
    const double *x = steps_x;
    expect(r, 0, "flat", (double[]){x[4], x[5], x[2], x[3], x[4], x[5], x[0], x[1]}, 8);
    expect(r, 1, "beside", (double[]){x[0], x[4], x[1], x[5]}, 4);
    assert_int_equal(r->shape[1].rank, 2);
    expect(r, 2, "alone", (double[]){x[0], x[1]}, 2);
    expect(r, 3, "four times", (double[]){4 * x[0], 4 * x[1]}, 2);
    free(r);
    file_destroy(&f);
}

/* y = x x + x for every row and its own row of another sequence. */
static void a_map_takes_items(void **state)
{
    (void)state;
    file *f = file_create(17), *body = file_inside(f);
    file_input(f, "x", FILE_FLOAT, "3,2");
    file_node(f, "SplitToSequence", "x", "rows");
    file_node(f, "SplitToSequence", "x", "again");
    file_input(body, "a", FILE_FLOAT, "1,2");
    file_input(body, "b", FILE_FLOAT, "1,2");
    file_node(body, "Mul", "a b", "product");
    file_node(body, "Add", "product a", "sum");
    file_output(body, "sum");
    file_subgraph(f, file_node(f, "SequenceMap", "rows again", "mapped"), "body", body);
    file_int(f, file_node(f, "ConcatFromSequence", "mapped", "y"), "axis", 0);
    file_output(f, "y");
    double want[6];
    for (int i = 0; i < 6; i++)
        want[i] = steps_x[i] * steps_x[i] + steps_x[i];
    const run_input in[] = {{"x", DT_F32, {2, {3, 2}}, steps_x, false}};
    run_result *r = run_file(f, in, COUNT_OF(in), 0);
    expect(r, 0, "mapped", want, 6);
    free(r);
    file_destroy(&f);
}

/* --- If --- */

/* y = relu(x) where x adds up to more than 0, else tanh(x) / 2. */
static void a_condition_of_data_chooses(void **state)
{
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        file *f = file_create(17), *yes = file_inside(f), *no = file_inside(f);
        file_input(f, "x", FILE_FLOAT, "3,2");
        file_input(f, "zero", FILE_FLOAT, "");
        file_node(f, "ReduceSum", "x", "sum");
        file_node(f, "Greater", "sum zero", "is_positive");
        file_node(yes, "Relu", "x", "a");
        file_output(yes, "a");
        file_weights(no, "half", "1"); /* 0.5 */
        file_node(no, "Mul", "x half", "b");
        file_output(no, "b");
        Onnx__NodeProto *n = file_node(f, "If", "is_positive", "y");
        file_subgraph(f, n, "then_branch", yes);
        file_subgraph(f, n, "else_branch", no);
        file_output(f, "y");
        double x[6], want[6], zero = 0;
        for (int i = 0; i < 6; i++) {
            x[i] = sign * steps_x[i];
            want[i] = sign < 0 ? x[i] / 2 : x[i] > 0 ? x[i] : 0;
        }
        const run_input in[] = {{"x", DT_F32, {2, {3, 2}}, x, false},
                                {"zero", DT_F32, {0}, &zero, false}};
        run_result *r = run_file(f, in, COUNT_OF(in), 0);
        assert_int_equal(r->shape[0].rank, 2);
        expect(r, 0, "chosen", want, 6);
        free(r);
        file_destroy(&f);
    }
}

/* --- random numbers --- */

enum { DRAWN = 2000 };

static double mean_of(const double *x, int64_t n, double power, double around)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += pow(x[i] - around, power);
    return sum / (double)n;
}

static file *drawing(void)
{
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "2000");
    file_input(f, "p", FILE_FLOAT, "2000");
    file_input(f, "logits", FILE_FLOAT, "1,3");
    file_float(f, file_node(f, "RandomNormalLike", "x", "n"), "mean", 2);
    Onnx__NodeProto *u = file_node(f, "RandomUniformLike", "x", "u");
    file_float(f, u, "low", -1);
    file_float(f, u, "high", 3);
    file_int(f, file_node(f, "Bernoulli", "p", "b"), "dtype", FILE_BOOL);
    file_int(f, file_node(f, "Multinomial", "logits", "m"), "sample_size", DRAWN);
    file_node(f, "RandomNormalLike", "x", "n2");
    Onnx__NodeProto *shaped[2];
    for (int i = 0; i < 2; i++) {
        shaped[i] = file_node(f, "RandomNormal", "", i ? "s2" : "s1");
        file_list(f, shaped[i], "shape", "4,5");
        file_float(f, shaped[i], "seed", 3);
    }
    const char *outputs[] = {"n", "u", "b", "m", "n2", "s1", "s2"};
    for (size_t i = 0; i < COUNT_OF(outputs); i++)
        file_output(f, outputs[i]);
    return f;
}

static run_result *draw(int64_t batch)
{
    static double x[DRAWN], p[DRAWN];
    static const double logits[] = {0, 0.6931471805599453, -INFINITY}; /* 1/3, 2/3, 0 */
    for (int i = 0; i < DRAWN; i++)
        p[i] = 0.3;
    file *f = drawing();
    const run_input in[] = {{"x", DT_F32, {1, {DRAWN}}, x, false},
                            {"p", DT_F32, {1, {DRAWN}}, p, false},
                            {"logits", DT_F32, {2, {1, 3}}, logits, false}};
    run_result *r = run_file(f, in, COUNT_OF(in), batch);
    file_destroy(&f);
    return r;
}

/* Within four deviations of what the distribution says. */
static void expect_about(double is, double mean, double deviation)
{
    assert_true(fabs(is - mean) <= 4 * deviation / sqrt(DRAWN));
}

static void what_is_drawn_has_its_distribution(void **state)
{
    (void)state;
    run_result *r = draw(5);
    expect_about(mean_of(r->y[0], DRAWN, 1, 0), 2, 1);
    expect_about(mean_of(r->y[0], DRAWN, 2, 2), 1, sqrt(2));
    expect_about(mean_of(r->y[0], DRAWN, 4, 2), 3, sqrt(96));
    expect_about(mean_of(r->y[1], DRAWN, 1, 0), 1, 4 / sqrt(12));
    expect_about(mean_of(r->y[1], DRAWN, 2, 1), 16.0 / 12, 1.2);
    for (int i = 0; i < DRAWN; i++) {
        assert_true(r->y[1][i] >= -1 && r->y[1][i] <= 3);
        assert_true(r->y[2][i] == 0 || r->y[2][i] == 1);
        assert_true(r->y[3][i] == 0 || r->y[3][i] == 1); /* the third class never */
    }
    assert_int_equal(r->type[2], DT_BOOL);
    assert_int_equal(r->type[3], DT_I32);
    assert_int_equal(r->shape[3].dim[1], DRAWN);
    expect_about(mean_of(r->y[2], DRAWN, 1, 0), 0.3, sqrt(0.21));
    expect_about(mean_of(r->y[3], DRAWN, 1, 0), 2.0 / 3, sqrt(2.0 / 9));
    free(r);
}

/* By the batch and the node; one seed in the file is one stream. */
static void what_is_drawn_is_the_batchs(void **state)
{
    (void)state;
    run_result *a = draw(5), *again = draw(5), *other = draw(6);
    for (size_t k = 0; k < 7; k++) {
        size_t bytes = (size_t)graph_shape_elements(&a->shape[k]) * sizeof(double);
        assert_memory_equal(a->y[k], again->y[k], bytes);
        assert_memory_not_equal(a->y[k], other->y[k], bytes);
    }
    assert_memory_not_equal(a->y[0], a->y[4], DRAWN * sizeof(double));
    assert_memory_equal(a->y[5], a->y[6], 20 * sizeof(double));
    assert_int_equal(a->shape[5].rank, 2);
    free(a);
    free(again);
    free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_integers),
        cmocka_unit_test(a_clip_by_what_is_computed),
        cmocka_unit_test(reductions_of_integers_and_conditions),
        cmocka_unit_test(a_loop_is_its_iterations),
        cmocka_unit_test(a_scan_takes_parts),
        cmocka_unit_test(sequences_are_lists),
        cmocka_unit_test(a_map_takes_items),
        cmocka_unit_test(a_condition_of_data_chooses),
        cmocka_unit_test(what_is_drawn_has_its_distribution),
        cmocka_unit_test(what_is_drawn_is_the_batchs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
