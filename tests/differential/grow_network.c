#include "differential/grow.h"

#include <stdlib.h>
#include <string.h>

static int64_t size_at(const sketch *s, int32_t x, int32_t from_end)
{
    const graph_shape *shape = grow_shape_of(s, x);
    return shape->dim[shape->rank - from_end];
}

void grow_matmul(sketch *s)
{
    int32_t x = grow_any(s, 1, 4);
    if (x == NO_TERM)
        return;
    graph_shape shape = *grow_shape_of(s, x);
    bool on_right = dice_chance(&s->dice, 30);
    int32_t rank = (int32_t)dice_int(&s->dice, 1, 3), keep = rank - 2;
    graph_shape w = {.rank = rank};
    int64_t inner = shape.rank == 1 || !on_right ? size_at(s, x, 1) : size_at(s, x, 2);
    for (int32_t i = 0; i < keep; i++)
        w.dim[i] = dice_chance(&s->dice, 60) && shape.rank - 2 - keep + i >= 0
                       ? shape.dim[shape.rank - 2 - keep + i]
                       : 1;
    w.dim[rank - 1] = dice_int(&s->dice, 1, 5);
    w.dim[rank == 1 ? 0 : on_right ? rank - 1 : rank - 2] = inner;
    if (rank > 1 && on_right)
        w.dim[rank - 2] = dice_int(&s->dice, 1, 5);
    int32_t other = grow_weight(s, &w, ANY);
    sketch_call(s, "MatMul", on_right ? other : x, on_right ? x : other, NO_TERM);
}

void grow_gemm(sketch *s)
{
    int32_t a = grow_any(s, 2, 2);
    if (a == NO_TERM)
        return;
    bool trans_a = dice_chance(&s->dice, 30), trans_b = dice_chance(&s->dice, 50);
    int64_t m = grow_shape_of(s, a)->dim[trans_a], k = grow_shape_of(s, a)->dim[!trans_a];
    int64_t n = dice_int(&s->dice, 1, 6);
    int32_t b = trans_b ? grow_weight_of(s, 2, n, k) : grow_weight_of(s, 2, k, n), c = NO_TERM;
    switch (dice_int(&s->dice, 0, 5)) {
    case 0:
        c = grow_weight_of(s, 2, m, n);
        break;
    case 1:
        c = grow_weight_of(s, 2, m, (int64_t)1);
        break;
    case 2:
        c = grow_weight_of(s, 2, (int64_t)1, n);
        break;
    case 3:
        c = grow_weight_of(s, 1, n);
        break;
    case 4:
        c = grow_weight_of(s, 0);
        break;
    default:
        break;
    }
    if (c == NO_TERM && s->opset < 11)
        return;
    sketch_begin(s, "Gemm");
    sketch_in(s, a);
    sketch_in(s, b);
    if (c != NO_TERM)
        sketch_in(s, c);
    if (trans_a)
        sketch_int(s, "transA", 1);
    if (trans_b)
        sketch_int(s, "transB", 1);
    if (dice_chance(&s->dice, 30))
        sketch_float(s, "alpha", dice_real(&s->dice, -2, 2));
    if (dice_chance(&s->dice, 30))
        sketch_float(s, "beta", dice_real(&s->dice, -2, 2));
    sketch_end_1(s);
}

void grow_einsum(sketch *s)
{
    static const struct {
        const char *equation, *in[2];
    } rows[] = {{"ij,jk->ik", {"ij", "jk"}},
                {"bij,bjk->bik", {"bij", "bjk"}},
                {"bij,bkj->bik", {"bij", "bkj"}},
                {"bhqd,bhkd->bhqk", {"bhqd", "bhkd"}},
                {"bqhd,bkhd->bhqk", {"bqhd", "bkhd"}},
                {"i,j->ij", {"i", "j"}},
                {"ij,ij->i", {"ij", "ij"}},
                {"bij,jk->bik", {"bij", "jk"}},
                {"ii->i", {"ii", ""}},
                {"ijk->kj", {"ijk", ""}},
                {"ij,kj->", {"ij", "kj"}},
                {"bi,ij,bj->b", {"bi", "ij"}}};
    int64_t r = dice_int(&s->dice, 0, COUNT_OF(rows) - 2), sizes[128];
    int32_t in[2] = {NO_TERM, NO_TERM};
    for (int i = 0; i < 128; i++)
        sizes[i] = dice_int(&s->dice, 1, 4);
    for (int k = 0; k < 2 && *rows[r].in[k]; k++) {
        graph_shape shape = {.rank = (int32_t)strlen(rows[r].in[k])};
        for (int32_t i = 0; i < shape.rank; i++)
            shape.dim[i] = sizes[(int)rows[r].in[k][i]];
        in[k] = grow_weight(s, &shape, ANY);
        if (dice_chance(&s->dice, 40))
            in[k] = sketch_call(s, "Tanh", in[k], NO_TERM, NO_TERM);
        if (in[k] == NO_TERM)
            return;
    }
    sketch_begin(s, "Einsum");
    sketch_in(s, in[0]);
    if (in[1] != NO_TERM)
        sketch_in(s, in[1]);
    sketch_string(s, "equation", rows[r].equation);
    sketch_end_1(s);
}

/* --- windows --- */

typedef struct window {
    int32_t spatial;
    int64_t kernel[3], strides[3], dilations[3], pads[6];
    const char *auto_pad; /* NULL: pads */
} window;

static window draw_window(sketch *s, const graph_shape *x, bool dilates)
{
    static const char *const autos[] = {"SAME_UPPER", "SAME_LOWER", "VALID"};
    window w = {.spatial = x->rank - 2};
    for (int32_t i = 0; i < w.spatial; i++) {
        int64_t size = x->dim[2 + i];
        w.kernel[i] = dice_int(&s->dice, 1, size < 3 ? size : 3);
        w.strides[i] = dice_int(&s->dice, 1, 2);
        w.dilations[i] = dilates && dice_chance(&s->dice, 30) ? 2 : 1;
        int64_t extent = (w.kernel[i] - 1) * w.dilations[i] + 1;
        for (int k = 0; k < 2; k++)
            if (dice_chance(&s->dice, 40))
                w.pads[i + k * w.spatial] = dice_int(&s->dice, 0, extent - 1 < 2 ? extent - 1 : 2);
    }
    bool is_dilated = false;
    for (int32_t i = 0; i < w.spatial; i++)
        is_dilated |= w.dilations[i] > 1;
    if (dice_chance(&s->dice,
                    25)) /* ONNX Runtime has other pads for dilated windows than the text */
        w.auto_pad = is_dilated ? "VALID" : DICE_OF(&s->dice, autos);
    return w;
}

static void put_window(sketch *s, const window *w, bool dilates, bool with_kernel)
{
    if (with_kernel || dice_chance(&s->dice, 70))
        sketch_ints(s, "kernel_shape", w->kernel, w->spatial);
    sketch_ints(s, "strides", w->strides, w->spatial);
    if (dilates)
        sketch_ints(s, "dilations", w->dilations, w->spatial);
    if (w->auto_pad)
        sketch_string(s, "auto_pad", w->auto_pad);
    else if (dice_chance(&s->dice, 80))
        sketch_ints(s, "pads", w->pads, 2 * w->spatial);
}

/* [N, C, ...] with C a multiple of `groups`. */
static int32_t image(sketch *s, int64_t groups, int32_t low, int32_t high)
{
    int32_t x = dice_chance(&s->dice, 70) ? grow_old(s, DT_F32, low, high) : NO_TERM;
    if (x != NO_TERM && grow_shape_of(s, x)->dim[1] % groups == 0)
        return x;
    graph_shape shape = {.rank = (int32_t)dice_int(&s->dice, low, high)};
    shape.dim[0] = dice_int(&s->dice, 1, 2);
    shape.dim[1] = groups * dice_int(&s->dice, 1, 2);
    for (int32_t i = 2; i < shape.rank; i++)
        shape.dim[i] = dice_int(&s->dice, 1, shape.rank == 5 ? 3 : 5);
    return grow_weight(s, &shape, ANY);
}

static void convolve(sketch *s, bool transposed)
{
    int64_t groups = dice_chance(&s->dice, 30) ? 2 : 1;
    int32_t x = image(s, groups, 3, 5);
    if (x == NO_TERM)
        return;
    const graph_shape shape = *grow_shape_of(s, x);
    window w = draw_window(s, &shape, true);
    int64_t maps = dice_int(&s->dice, 1, 3);
    graph_shape weight = {.rank = shape.rank, .dim = {groups * maps, shape.dim[1] / groups}};
    if (transposed) {
        weight.dim[0] = shape.dim[1];
        weight.dim[1] = maps;
    }
    for (int32_t i = 0; i < w.spatial; i++)
        weight.dim[2 + i] = w.kernel[i];
    int32_t k = grow_weight(s, &weight, ANY);
    int32_t b = dice_chance(&s->dice, 60) ? grow_weight_of(s, 1, groups * maps) : NO_TERM;
    sketch_begin(s, transposed ? "ConvTranspose" : "Conv");
    sketch_in(s, x);
    sketch_in(s, k);
    if (b != NO_TERM)
        sketch_in(s, b);
    put_window(s, &w, true, false);
    if (groups > 1)
        sketch_int(s, "group", groups);
    if (transposed && dice_chance(&s->dice, 30)) {
        int64_t more[3] = {w.strides[0] - 1, w.strides[1] - 1, w.strides[2] - 1};
        sketch_ints(s, "output_padding", more, w.spatial);
    }
    sketch_end_1(s);
}

void grow_conv(sketch *s)
{
    convolve(s, false);
}

void grow_conv_transpose(sketch *s)
{
    convolve(s, true);
}

void grow_pool(sketch *s)
{
    static const char *const types[] = {"MaxPool", "AveragePool", "LpPool"};
    const char *type = DICE_OF(&s->dice, types);
    bool is_max = *type == 'M', is_average = *type == 'A';
    bool dilates = is_max || s->opset >= (is_average ? 19 : 18);
    int32_t x = image(s, 1, 3, 5), out[2];
    if (x == NO_TERM)
        return;
    window w = draw_window(s, grow_shape_of(s, x), dilates);
    sketch_begin(s, type);
    sketch_in(s, x);
    put_window(s, &w, dilates, true);
    if (!w.auto_pad && (is_max || is_average || s->opset >= 18) && dice_chance(&s->dice, 35))
        sketch_int(s, "ceil_mode", 1);
    if (is_average && dice_chance(&s->dice, 50))
        sketch_int(s, "count_include_pad", dice_int(&s->dice, 0, 1));
    if (*type == 'L')
        sketch_int(s, "p", dice_int(&s->dice, 1, 3));
    sketch_end(s, is_max && dice_chance(&s->dice, 15) ? 2 : 1, out);
}

void grow_global_pool(sketch *s)
{
    static const char *const types[] = {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"};
    sketch_call(s, DICE_OF(&s->dice, types), image(s, 1, 3, 5), NO_TERM, NO_TERM);
}

/* --- norms --- */

static int32_t vector(sketch *s, int64_t n, domain d)
{
    return grow_weight(s, &(graph_shape){1, {n}}, d);
}

static int32_t batch_norm(sketch *s, int32_t x, const int32_t *numbers, double epsilon)
{
    sketch_begin(s, "BatchNormalization");
    sketch_in(s, x);
    for (int i = 0; i < 4; i++)
        sketch_in(s, numbers[i]);
    sketch_float(s, "epsilon", epsilon);
    if (s->opset >= 14 && dice_chance(&s->dice, 25))
        sketch_int(s, "training_mode", 1);
    return sketch_end_1(s);
}

/* Once, or twice with the same numbers. */
void grow_batch_norm(sketch *s)
{
    int32_t x = image(s, 1, 2, 4);
    if (x == NO_TERM)
        return;
    int64_t channels = grow_shape_of(s, x)->dim[1];
    const int32_t numbers[] = {vector(s, channels, ANY), vector(s, channels, ANY),
                               vector(s, channels, ANY), vector(s, channels, POSITIVE)};
    double epsilon = dice_real(&s->dice, 1e-4, 0.1);
    int32_t y = batch_norm(s, x, numbers, epsilon);
    if (y != NO_TERM && dice_chance(&s->dice, 25))
        batch_norm(s, dice_chance(&s->dice, 50) ? y : x, numbers, epsilon);
}

/* A node of x, and a scale and a bias of its channels. */
static void begin_by_channel(sketch *s, const char *type, int32_t x)
{
    int64_t channels = grow_shape_of(s, x)->dim[1];
    int32_t scale = vector(s, channels, ANY), bias = vector(s, channels, ANY);
    sketch_begin(s, type);
    sketch_in(s, x);
    sketch_in(s, scale);
    sketch_in(s, bias);
}

void grow_instance_norm(sketch *s)
{
    int32_t x = image(s, 1, 3, 5);
    if (x == NO_TERM)
        return;
    begin_by_channel(s, "InstanceNormalization", x);
    sketch_float(s, "epsilon", dice_real(&s->dice, 1e-4, 0.1));
    sketch_end_1(s);
}

void grow_group_norm(sketch *s)
{
    int64_t groups = dice_int(&s->dice, 1, 2);
    int32_t x = image(s, groups, 3, 5);
    if (x == NO_TERM)
        return;
    begin_by_channel(s, "GroupNormalization", x);
    sketch_int(s, "num_groups", groups);
    sketch_float(s, "epsilon", dice_real(&s->dice, 1e-4, 0.1));
    sketch_end_1(s);
}

/* Scale, and shift if the operator has one, of the axes from one on. */
static void normalize_rows(sketch *s, const char *type, bool shifts)
{
    int32_t x = grow_any(s, 1, 4);
    if (x == NO_TERM)
        return;
    const graph_shape shape = *grow_shape_of(s, x);
    int64_t axis = grow_axis(s, shape.rank), from = axis < 0 ? axis + shape.rank : axis;
    graph_shape rest = {.rank = shape.rank - (int32_t)from};
    memcpy(rest.dim, shape.dim + from, (size_t)rest.rank * sizeof *rest.dim);
    int32_t scale = grow_weight(s, &rest, ANY),
            shift = shifts ? grow_weight(s, &rest, ANY) : NO_TERM;
    sketch_begin(s, type);
    sketch_in(s, x);
    sketch_in(s, scale);
    if (shifts)
        sketch_in(s, shift);
    if (from != shape.rank - 1 || dice_chance(&s->dice, 60))
        sketch_int(s, "axis", axis);
    sketch_float(s, "epsilon", dice_real(&s->dice, 1e-4, 0.1));
    sketch_end_1(s);
}

void grow_layer_norm(sketch *s)
{
    normalize_rows(s, "LayerNormalization", dice_chance(&s->dice, 60));
}

void grow_rms_norm(sketch *s)
{
    normalize_rows(s, "RMSNormalization", false);
}

/* --- images --- */

void grow_resize(sketch *s)
{
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const places[] = {"half_pixel", "asymmetric", "align_corners",
                                         "pytorch_half_pixel"};
    static const char *const nearests[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                           "ceil"};
    int32_t x = image(s, 1, 4, 4);
    if (x == NO_TERM)
        return;
    const graph_shape shape = *grow_shape_of(s, x);
    double scales[4] = {1, 1};
    int64_t sizes[4] = {shape.dim[0], shape.dim[1]};
    for (int i = 2; i < 4; i++) {
        static const double some[] = {0.5, 1, 1.5, 2, 2, 3};
        scales[i] = DICE_OF(&s->dice, some);
        sizes[i] = dice_int(&s->dice, 1, 6);
    }
    const char *place = DICE_OF(&s->dice, places), *mode = DICE_OF(&s->dice, modes);
    /* Where ONNX Runtime is not what ONNX's own reference is: a scale that gives no whole size, and
     * weights around the place of a single element. */
    if (mode == modes[2] && place == places[3])
        place = places[0];
    bool by_sizes = place == places[2] || place == places[3] || dice_chance(&s->dice, 40);
    bool filters = mode != modes[0] && s->opset >= 18 && place == places[0];
    int32_t none =
        s->opset < 13 ? sketch_const(s, DT_F32, &(graph_shape){1, {0}}, scales) : NO_TERM;
    int32_t how = by_sizes ? sketch_const_ints(s, sizes, 4)
                           : sketch_const(s, DT_F32, &(graph_shape){1, {4}}, scales);
    sketch_begin(s, "Resize");
    sketch_in(s, x);
    sketch_in(s, none);
    sketch_in(s, by_sizes ? none : how);
    if (by_sizes)
        sketch_in(s, how);
    sketch_string(s, "mode", mode);
    if (place != places[0] || dice_chance(&s->dice, 50))
        sketch_string(s, "coordinate_transformation_mode", place);
    if (mode == modes[0] && dice_chance(&s->dice, 60))
        sketch_string(s, "nearest_mode", DICE_OF(&s->dice, nearests));
    if (mode == modes[2] && dice_chance(&s->dice, 40))
        sketch_float(s, "cubic_coeff_a", -0.5);
    if (mode == modes[2] && dice_chance(&s->dice, 30))
        sketch_int(s, "exclude_outside", 1);
    if (filters && dice_chance(&s->dice, 40))
        sketch_int(s, "antialias", 1);
    sketch_end_1(s);
}

void grow_grid_sample(sketch *s)
{
    static const char *const paddings[] = {"zeros", "border", "reflection"};
    int32_t x = image(s, 1, 4, 4);
    if (x == NO_TERM)
        return;
    graph_shape shape = {
        4, {grow_shape_of(s, x)->dim[0], dice_int(&s->dice, 1, 3), dice_int(&s->dice, 1, 3), 2}};
    int32_t grid = grow_weight(s, &shape, INSIDE);
    sketch_begin(s, "GridSample");
    sketch_in(s, x);
    sketch_in(s, grid);
    static const char *const old_modes[] = {"bilinear", "nearest", "bicubic"};
    static const char *const new_modes[] = {"linear", "nearest", "cubic"};
    sketch_string(s, "mode",
                  s->opset >= 20 ? DICE_OF(&s->dice, new_modes) : DICE_OF(&s->dice, old_modes));
    sketch_string(s, "padding_mode", DICE_OF(&s->dice, paddings));
    sketch_int(s, "align_corners", dice_int(&s->dice, 0, 1));
    sketch_end_1(s);
}

/* --- training --- */

void grow_dropout(sketch *s)
{
    int32_t x = grow_any(s, 1, 4);
    int32_t ratio = dice_chance(&s->dice, 60)
                        ? sketch_const(s, DT_F32, &(graph_shape){.rank = 0}, &(double){0.3})
                        : NO_TERM;
    sketch_begin(s, "Dropout");
    sketch_in(s, x);
    if (ratio != NO_TERM)
        sketch_in(s, ratio);
    sketch_end_1(s);
}

void grow_loss(sketch *s)
{
    static const char *const reductions[] = {"mean", "sum", "none"};
    bool is_nll = dice_chance(&s->dice, 50);
    int32_t x = grow_any(s, 2, 4);
    if (x == NO_TERM)
        return;
    const graph_shape shape = *grow_shape_of(s, x);
    int64_t classes = shape.dim[1];
    graph_shape of = {.rank = shape.rank - 1, .dim = {shape.dim[0]}};
    memcpy(of.dim + 1, shape.dim + 2, (size_t)(shape.rank - 2) * sizeof *of.dim);
    int64_t n = graph_shape_elements(&of);
    if (n > 512)
        return;
    double labels[512];
    bool ignores = dice_chance(&s->dice, 30);
    for (int64_t i = 0; i < n; i++)
        labels[i] = ignores && i > 0 && dice_chance(&s->dice, 20)
                        ? -1
                        : (double)dice_int(&s->dice, 0, classes - 1);
    int32_t target = sketch_fed(s, DT_I64, &of, labels);
    int32_t weights = NO_TERM; /* they have no gradient */
    if (dice_chance(&s->dice, 30) && classes <= 8) {
        double values[8];
        for (int64_t i = 0; i < classes; i++)
            values[i] = dice_real(&s->dice, 0.3, 2);
        weights = sketch_fed(s, DT_F32, &(graph_shape){1, {classes}}, values);
    }
    if (is_nll && dice_chance(&s->dice, 60)) {
        sketch_begin(s, "LogSoftmax");
        sketch_in(s, x);
        sketch_int(s, "axis", 1);
        x = sketch_end_1(s);
    }
    sketch_begin(s, is_nll ? "NegativeLogLikelihoodLoss" : "SoftmaxCrossEntropyLoss");
    sketch_in(s, x);
    sketch_in(s, target);
    if (weights != NO_TERM)
        sketch_in(s, weights);
    if (ignores || dice_chance(&s->dice, 20))
        sketch_int(s, "ignore_index", -1);
    if (dice_chance(&s->dice, 70))
        sketch_string(s, "reduction", DICE_OF(&s->dice, reductions));
    int32_t out[2];
    sketch_end(s, !is_nll && dice_chance(&s->dice, 30) ? 2 : 1, out);
}
