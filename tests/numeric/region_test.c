/*
 * DeformConv and RoiAlign as they are imported. The first is held against its definition, a sum over
 * all that its kernel reads, in double; of the second only what the import decides: op_value_test has
 * the rest.
 */
#include "common/base/rng.h"
#include "numeric/onnx_run.h"
#include "numeric/support_compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void fill(double *x, int64_t n, uint64_t stream, double scale)
{
    rng r = rng_make(4, RNG_TEST, stream);
    for (int64_t i = 0; i < n; i++)
        x[i] = scale * (double)rng_normal(&r, (uint64_t)i);
}

typedef struct deform_row {
    int64_t n, channels, size[2], maps, kernel[2], strides[2], dilations[2], pads[4];
    int64_t groups, offset_groups;
    bool bias, mask;
    double offsets; /* how far they go; 0: all stand where they would */
} deform_row;

static const deform_row rows[] = {
    {2, 4, {6, 5}, 3, {3, 2}, {1, 1}, {1, 1}, {1, 0, 1, 1}, 1, 1, true, false, 0.8},
    {1, 4, {7, 8}, 6, {2, 3}, {2, 1}, {1, 2}, {0, 1, 0, 1}, 2, 2, false, true, 2.0},
    {2, 6, {5, 5}, 6, {1, 1}, {1, 2}, {1, 1}, {0, 0, 0, 0}, 3, 1, true, true, 9.0},
    {1, 2, {4, 4}, 2, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 1, 2, false, false, 0.0},
};

enum { MOST = RUN_MOST_ELEMENTS };

typedef struct operands {
    double x[MOST], w[MOST], offset[MOST], bias[16], mask[MOST], y[MOST];
    graph_shape shape[5], out;
} operands;

static double pixel(const deform_row *r, const double *plane, int64_t row, int64_t column)
{
    bool inside = row >= 0 && row < r->size[0] && column >= 0 && column < r->size[1];
    return inside ? plane[row * r->size[1] + column] : 0;
}

static double between(const deform_row *r, const double *plane, double y, double x)
{
    int64_t row = (int64_t)floor(y), column = (int64_t)floor(x);
    double down = y - floor(y), right = x - floor(x), sum = 0;
    for (int k = 0; k < 4; k++)
        sum += (k / 2 ? down : 1 - down) * (k % 2 ? right : 1 - right) *
               pixel(r, plane, row + k / 2, column + k % 2);
    return sum;
}

/* What element k of the kernel reads of channel c for place (i, j) of image n, times the mask. */
static double read_at(const deform_row *r, const operands *o, int64_t n, int64_t c, int64_t k,
                      int64_t i, int64_t j)
{
    int64_t rows_out = o->out.dim[2], columns_out = o->out.dim[3], K = r->kernel[0] * r->kernel[1];
    int64_t group = c / (r->channels / r->offset_groups), place = i * columns_out + j;
    int64_t at = (n * r->offset_groups + group) * K + k, plane = rows_out * columns_out;
    double y = (double)(i * r->strides[0] - r->pads[0] + k / r->kernel[1] * r->dilations[0]) +
               o->offset[2 * at * plane + place];
    double x = (double)(j * r->strides[1] - r->pads[1] + k % r->kernel[1] * r->dilations[1]) +
               o->offset[(2 * at + 1) * plane + place];
    const double *of = o->x + (n * r->channels + c) * r->size[0] * r->size[1];
    return between(r, of, y, x) * (r->mask ? o->mask[at * plane + place] : 1);
}

static void compute(const deform_row *r, operands *o)
{
    int64_t K = r->kernel[0] * r->kernel[1], each = r->channels / r->groups;
    for (int64_t e = 0; e < graph_shape_elements(&o->out); e++) {
        int64_t j = e % o->out.dim[3], i = e / o->out.dim[3] % o->out.dim[2];
        int64_t map = e / o->out.dim[3] / o->out.dim[2] % r->maps;
        int64_t n = e / o->out.dim[3] / o->out.dim[2] / r->maps, group = map / (r->maps / r->groups);
        o->y[e] = r->bias ? o->bias[map] : 0;
        for (int64_t c = 0; c < each; c++)
            for (int64_t k = 0; k < K; k++)
                o->y[e] += o->w[(map * each + c) * K + k] *
                           read_at(r, o, n, group * each + c, k, i, j);
    }
}

static operands *prepare(const deform_row *r)
{
    operands *o = xcalloc(1, sizeof *o);
    int64_t K = r->kernel[0] * r->kernel[1];
    o->out = (graph_shape){4, {r->n, r->maps}};
    for (int i = 0; i < 2; i++)
        o->out.dim[2 + i] = (r->size[i] + r->pads[i] + r->pads[2 + i] -
                             r->dilations[i] * (r->kernel[i] - 1) - 1) /
                                r->strides[i] +
                            1;
    int64_t h = o->out.dim[2], w = o->out.dim[3];
    o->shape[0] = (graph_shape){4, {r->n, r->channels, r->size[0], r->size[1]}};
    o->shape[1] = (graph_shape){4, {r->maps, r->channels / r->groups, r->kernel[0], r->kernel[1]}};
    o->shape[2] = (graph_shape){4, {r->n, 2 * r->offset_groups * K, h, w}};
    o->shape[3] = (graph_shape){1, {r->maps}};
    o->shape[4] = (graph_shape){4, {r->n, r->offset_groups * K, h, w}};
    double *const of[] = {o->x, o->w, o->offset, o->bias, o->mask};
    for (uint64_t i = 0; i < 5; i++)
        fill(of[i], graph_shape_elements(&o->shape[i]), i, i == 2 ? r->offsets : 1);
    compute(r, o);
    return o;
}

static const char *list(file *f, const int64_t *x, int n)
{
    const char *text = arena_printf(f->a, "%lld", (long long)x[0]);
    for (int i = 1; i < n; i++)
        text = arena_printf(f->a, "%s,%lld", text, (long long)x[i]);
    return text;
}

static void check_deform(const deform_row *r)
{
    static const char *const names[] = {"x", "w", "offset", "bias", "mask"};
    operands *o = prepare(r);
    file *f = file_create(19);
    run_input in[5];
    double *const of[] = {o->x, o->w, o->offset, o->bias, o->mask};
    size_t n_in = 0;
    for (int i = 0; i < 5; i++) {
        if ((i == 3 && !r->bias) || (i == 4 && !r->mask))
            continue;
        file_input(f, names[i], FILE_FLOAT, list(f, o->shape[i].dim, o->shape[i].rank));
        in[n_in++] = (run_input){names[i], DT_F32, o->shape[i], of[i], false};
    }
    Onnx__NodeProto *n = file_node(f, "DeformConv",
                                   arena_printf(f->a, "x w offset %s %s", r->bias ? "bias" : "-",
                                                r->mask ? "mask" : "-"),
                                   "y");
    file_list(f, n, "strides", list(f, r->strides, 2));
    file_list(f, n, "dilations", list(f, r->dilations, 2));
    file_list(f, n, "pads", list(f, r->pads, 4));
    file_int(f, n, "group", r->groups);
    file_int(f, n, "offset_group", r->offset_groups);
    file_output(f, "y");
    run_result *y = run_file(f, in, n_in, 0);
    assert_true(graph_shape_equal(&y->shape[0], &o->out));
    if (!is_close("DeformConv", y->y[0], o->y, graph_shape_elements(&o->out), 1e-5))
        fail_msg("row %d", (int)(r - rows));
    free(y);
    free(o);
    file_destroy(&f);
}

static void a_kernel_reads_where_offsets_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_deform(&rows[i]);
}

/* One bin over pixels 1 to 3 of a plane whose values are their columns, one sample. */
static double middle(int64_t opset, const char *where)
{
    static const double x[] = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4}, box[] = {1, 0, 3, 1}, image = 0;
    file *f = file_create(opset);
    file_input(f, "x", FILE_FLOAT, "1,1,2,5");
    file_input(f, "box", FILE_FLOAT, "1,4");
    file_input(f, "image", FILE_INT64, "1");
    Onnx__NodeProto *n = file_node(f, "RoiAlign", "x box image", "y");
    file_int(f, n, "sampling_ratio", 1);
    if (where)
        file_string(f, n, "coordinate_transformation_mode", where);
    file_output(f, "y");
    const run_input in[] = {{"x", DT_F32, {4, {1, 1, 2, 5}}, x, false},
                            {"box", DT_F32, {2, {1, 4}}, box, false},
                            {"image", DT_I64, {1, {1}}, &image, false}};
    run_result *y = run_file(f, in, COUNT_OF(in), 0);
    double value = y->y[0][0];
    free(y);
    file_destroy(&f);
    return value;
}

static void pixels_have_their_middle_where_the_opset_says(void **state)
{
    (void)state;
    assert_true(middle(10, NULL) == 2.0);
    assert_true(middle(16, NULL) == 1.5);
    assert_true(middle(16, "half_pixel") == 1.5);
    assert_true(middle(16, "output_half_pixel") == 2.0);
}

/* What a lane, or an import, must say no to. */
static void expect_refusal(const char *inputs, const char *text)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    onnx_imported imported = {.memory = NULL};
    file *f = file_create(19);
    file_input(f, "x", FILE_FLOAT, "1,4,6,6");
    file_input(f, "w", FILE_FLOAT, "2,4,3,3");
    file_input(f, "boxes", FILE_FLOAT, "1,7,4");
    file_input(f, "scores", FILE_FLOAT, "1,2,7");
    file_node(f, strchr(inputs, 'b') ? "NonMaxSuppression" : "DeformConv", inputs, "y");
    file_output(f, "y");
    onnx_model *m = file_open(f);
    onnx_binding bound[] = {{.input = "x"}, {.input = "w"}, {.input = "boxes"}, {.input = "scores"}};
    const graph_shape shapes[] = {
        {4, {1, 4, 6, 6}}, {4, {2, 4, 3, 3}}, {3, {1, 7, 4}}, {3, {1, 2, 7}}};
    must(graph_create(&g, &err), &err);
    for (size_t i = 0; i < COUNT_OF(bound); i++)
        must(graph_input(g, bound[i].input, DT_F32, shapes[i], &bound[i].value, &err), &err);
    onnx_request request = {.inputs = bound, .n_inputs = COUNT_OF(bound), .batch_id = GRAPH_NONE};
    assert_int_not_equal(onnx_import(m, g, &request, &imported, &err), OK);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not hold '%s'", err.text, text);
    graph_destroy(&g);
    onnx_close(&m);
    file_destroy(&f);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    expect_refusal("x w x", "its offset is [1,4,6,6], must be [1,18,4,4]");
    expect_refusal("boxes scores", "(NonMaxSuppression): how many boxes it keeps depends on data");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_reads_where_offsets_say),
        cmocka_unit_test(pixels_have_their_middle_where_the_opset_says),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
