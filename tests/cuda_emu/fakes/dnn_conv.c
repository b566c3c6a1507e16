/*
 * The graphs of convolutions that cuDNN knows: one of the three operations, alone or with an end,
 * the sum rounded to another type or a bias added to it in float32. With an end, and so in kernels
 * that it makes for the graph, it wants all channels last and, of gradients of images, whole vectors of
 * channels, of those of weights pairs.
 */
#include "cuda_emu/fakes/dnn.h"

#include "common/base/alloc.h"
#include "cuda_emu/fakes/dnn_image.h"
#include "cuda_emu/fakes/stride.h"
#include "cuda_emu/machine.h"

#include <string.h>

enum { WORKSPACE = 512, VECTOR = 8, PAIR = 2, AT_BIAS = IMAGE_PARTS, BOUND };

static const struct operation {
    unsigned kind, steps, alpha, beta, parts[IMAGE_PARTS];
} operations_known[IMAGE_PARTS] = {
    [IMAGE_X] = {DNN_OP_CONV_BWD_DATA,
                 DNN_OP_CONV_BWD_DATA_CONV,
                 DNN_OP_CONV_BWD_DATA_ALPHA,
                 DNN_OP_CONV_BWD_DATA_BETA,
                 {DNN_OP_CONV_BWD_DATA_DX, DNN_OP_CONV_BWD_DATA_W, DNN_OP_CONV_BWD_DATA_DY}},
    [IMAGE_W] = {DNN_OP_CONV_BWD_WEIGHTS,
                 DNN_OP_CONV_BWD_WEIGHTS_CONV,
                 DNN_OP_CONV_BWD_WEIGHTS_ALPHA,
                 DNN_OP_CONV_BWD_WEIGHTS_BETA,
                 {DNN_OP_CONV_BWD_WEIGHTS_X, DNN_OP_CONV_BWD_WEIGHTS_DW,
                  DNN_OP_CONV_BWD_WEIGHTS_DY}},
    [IMAGE_Y] = {DNN_OP_CONV,
                 DNN_OP_CONV_CONV,
                 DNN_OP_CONV_ALPHA,
                 DNN_OP_CONV_BETA,
                 {DNN_OP_CONV_X, DNN_OP_CONV_W, DNN_OP_CONV_Y}},
};

/* --- what was told --- */

static image image_of(dnn_desc tensor)
{
    int64_t rank = 0;
    const int64_t *sizes = told_values(tensor, DNN_TENSOR_SHAPE, &rank);
    const int64_t *strides = told_values(tensor, DNN_TENSOR_STRIDES, &rank);
    image i = {.type = told_word(tensor, DNN_TENSOR_TYPE),
               .outer = sizes[0],
               .channels = sizes[1],
               .positions = {1, 1, 1},
               .outer_stride = strides[0],
               .channel_stride = strides[1]};
    for (int64_t axis = 2; axis < rank; axis++) {
        i.positions[IMAGE_AXES - rank + axis] = sizes[axis];
        i.strides[IMAGE_AXES - rank + axis] = strides[axis];
    }
    return i;
}

static int64_t rank_of(dnn_desc tensor)
{
    int64_t rank = 0;
    (void)told_values(tensor, DNN_TENSOR_SHAPE, &rank);
    return rank;
}

/* Of the axes that are there, the others are walked in steps of one. */
static void take_steps(dnn_desc steps, unsigned attribute, int64_t others, int64_t ret[IMAGE_AXES])
{
    int64_t n = 0;
    const int64_t *x = told_values(steps, attribute, &n);
    for (int axis = 0; axis < IMAGE_AXES; axis++)
        ret[axis] = axis < IMAGE_AXES - n ? others : x[axis - (IMAGE_AXES - n)];
}

/* --- rules --- */

static const char *wrong_axes(const image_call *c, dnn_desc steps)
{
    int64_t behind[IMAGE_AXES];
    take_steps(steps, DNN_CONV_PADS_END, 0, behind);
    for (int axis = 0; axis < IMAGE_AXES; axis++) {
        int64_t reach = (c->of[IMAGE_W].positions[axis] - 1) * c->dilation[axis] + 1;
        int64_t span = c->of[IMAGE_X].positions[axis] + c->pad[axis] + behind[axis] - reach;
        if (c->pad[axis] < 0 || behind[axis] < 0 || c->stride[axis] < 1 || c->dilation[axis] < 1)
            return "pads, strides or dilations that cannot be";
        if (span < 0 || span / c->stride[axis] + 1 != c->of[IMAGE_Y].positions[axis])
            return "positions of y that do not follow from those of x";
    }
    return NULL;
}

static const char *wrong_sizes(const image_call *c)
{
    const image *x = &c->of[IMAGE_X], *w = &c->of[IMAGE_W], *y = &c->of[IMAGE_Y];
    if (x->outer != y->outer || w->outer != y->channels)
        return "x, w and y that do not go together";
    if (x->channels % w->channels || y->channels % c->groups)
        return "groups that do not come out even";
    return NULL;
}

static const char *wrong_steps(dnn_desc steps, int64_t rank)
{
    static const unsigned lists[] = {DNN_CONV_PADS_BEGIN, DNN_CONV_PADS_END, DNN_CONV_STRIDES,
                                     DNN_CONV_DILATIONS};
    if (rank < 4 || told_number(steps, DNN_CONV_AXES) != rank - 2)
        return "another number of axes";
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        int64_t n = 0;
        (void)told_values(steps, lists[i], &n);
        if (n != rank - 2)
            return "another number of pads, strides or dilations than of axes";
    }
    if (told_word(steps, DNN_CONV_MODE) != DNN_CROSS_CORRELATION ||
        told_word(steps, DNN_CONV_TYPE) != DNN_F32)
        return "a convolution that is transposed, or not in float32";
    return NULL;
}

/* --- its end --- */

static bool is_last(const image *i)
{
    return i->channels == 1 || i->channel_stride == 1;
}

/* Whether the operation ends the graph; then what is made, and the bias, are its operands. */
static bool take_end(image_call *c, dnn_desc end, dnn_desc sum, dnn_problem *ret)
{
    dnn_desc how = told_part(end, DNN_OP_POINTWISE_HOW), made = told_part(end, DNN_OP_POINTWISE_Y);
    dnn_desc bias = told_part(end, DNN_OP_POINTWISE_B);
    unsigned mode = told_word(how, DNN_POINTWISE_MODE);
    image between = image_of(sum), *to = &c->of[c->makes];
    *to = image_of(made);
    int64_t vector = c->makes == IMAGE_W ? PAIR : VECTOR;
    bool is_even = c->makes == IMAGE_Y || c->of[IMAGE_X].channels % vector == 0;
    for (int i = 0; i < IMAGE_PARTS; i++)
        is_even &= is_last(&c->of[i]);
    if (bias) {
        image row = image_of(bias);
        is_even &= row.type == DNN_F32 && row.outer == 1 && row.channels == to->channels &&
                   row.channel_stride == 1 &&
                   row.positions[0] * row.positions[1] * row.positions[2] == 1;
    }
    ret->tensors[c->makes] = made;
    ret->tensors[AT_BIAS] = bias;
    return is_even && told_flag(sum, DNN_TENSOR_IS_VIRTUAL) && between.type == DNN_F32 &&
           told_part(end, DNN_OP_POINTWISE_X) == sum && mode == (bias ? DNN_ADD : DNN_IDENTITY) &&
           told_word(how, DNN_POINTWISE_PRECISION) == DNN_F32 &&
           memcmp(between.positions, to->positions, sizeof to->positions) == 0 &&
           between.outer == to->outer && between.channels == to->channels;
}

/* --- the problem --- */

static void spoil_strides(image_call *c)
{
    image *x = &c->of[IMAGE_X], *w = &c->of[IMAGE_W], *y = &c->of[IMAGE_Y];
    x->outer_stride = STRIDE("images of x", x->outer_stride, x->outer > 1);
    x->channel_stride = STRIDE("channels of x", x->channel_stride, x->channels > 1);
    x->strides[0] = STRIDE("planes of x", x->strides[0], x->positions[0] > 1);
    x->strides[1] = STRIDE("rows of x", x->strides[1], x->positions[1] > 1);
    x->strides[2] = STRIDE("columns of x", x->strides[2], x->positions[2] > 1);
    w->outer_stride = STRIDE("maps of w", w->outer_stride, w->outer > 1);
    w->channel_stride = STRIDE("channels of w", w->channel_stride, w->channels > 1);
    w->strides[0] = STRIDE("planes of w", w->strides[0], w->positions[0] > 1);
    w->strides[1] = STRIDE("rows of w", w->strides[1], w->positions[1] > 1);
    w->strides[2] = STRIDE("columns of w", w->strides[2], w->positions[2] > 1);
    y->outer_stride = STRIDE("images of y", y->outer_stride, y->outer > 1);
    y->channel_stride = STRIDE("channels of y", y->channel_stride, y->channels > 1);
    y->strides[0] = STRIDE("planes of y", y->strides[0], y->positions[0] > 1);
    y->strides[1] = STRIDE("rows of y", y->strides[1], y->positions[1] > 1);
    y->strides[2] = STRIDE("columns of y", y->strides[2], y->positions[2] > 1);
}

static bool overlap(const image *a, const image *b)
{
    const char *x = a->at, *y = b->at;
    return x < y + image_extent(b) && y < x + image_extent(a);
}

static void bind(dnn_problem *p, void *const addresses[], void *workspace)
{
    image_call c;
    memcpy(&c, p->arguments, sizeof c);
    for (int i = 0; i < IMAGE_PARTS; i++)
        c.of[i].at = addresses[i];
    for (int i = 0; i < IMAGE_PARTS; i++)
        if (i != (int)c.makes && overlap(&c.of[i], &c.of[c.makes]))
            emu_fault("cuDNN: a convolution over its own operand");
    c.bias = addresses[AT_BIAS];
    c.workspace = workspace;
    c.tensor_cores = p->tensor_cores;
    spoil_strides(&c);
    memcpy(p->arguments, &c, sizeof c);
}

static void fill(const image_call *c, dnn_problem *ret)
{
    static const char *const names[] = {"cuDNN's convolution, backward to data",
                                        "cuDNN's convolution, backward to weights",
                                        "cuDNN's convolution"};
    _Static_assert(sizeof *c <= DNN_CALL_BYTES, "it fits");
    ret->name = names[c->makes];
    ret->workspace = c->workspace_bytes;
    ret->n_tensors = BOUND;
    ret->is_float32 = c->of[c->makes == IMAGE_X ? IMAGE_W : IMAGE_X].type == DNN_F32;
    ret->bind = bind;
    ret->compute = image_convolve;
    ret->bytes = sizeof *c;
    memcpy(ret->arguments, c, sizeof *c);
}

static bool is_known_type(unsigned type)
{
    return type == DNN_F32 || type == DNN_F16 || type == DNN_BF16;
}

/* A graph that breaks a rule is a fault, one of a form nobody plays is none. */
static bool take_operation(image_call *c, const struct operation *known, dnn_desc operation,
                           dnn_problem *ret)
{
    dnn_desc steps = told_part(operation, known->steps);
    int64_t rank = 0;
    for (int i = 0; i < IMAGE_PARTS; i++) {
        ret->tensors[i] = told_part(operation, known->parts[i]);
        rank = i && rank_of(ret->tensors[i]) != rank ? -1 : rank_of(ret->tensors[i]);
    }
    const char *wrong = rank < 0 ? "tensors of several ranks" : wrong_steps(steps, rank);
    if (!wrong) {
        for (int i = 0; i < IMAGE_PARTS; i++)
            c->of[i] = image_of(ret->tensors[i]);
        c->groups = c->of[IMAGE_X].channels / c->of[IMAGE_W].channels;
        take_steps(steps, DNN_CONV_PADS_BEGIN, 0, c->pad);
        take_steps(steps, DNN_CONV_STRIDES, 1, c->stride);
        take_steps(steps, DNN_CONV_DILATIONS, 1, c->dilation);
        wrong = wrong_sizes(c);
        wrong = wrong ? wrong : wrong_axes(c, steps);
    }
    if (wrong)
        emu_fault("cuDNN: %s", wrong);
    float alpha = told_float(operation, known->alpha), beta = told_float(operation, known->beta);
    return !wrong && alpha == 1.0f && beta == 0.0f;
}

bool dnn_conv_of(const dnn_desc operations[], int64_t n, dnn_problem *ret)
{
    image_call c = {.makes = IMAGE_X, .workspace_bytes = WORKSPACE};
    while (c.makes < IMAGE_PARTS && told_kind(operations[0]) != operations_known[c.makes].kind)
        c.makes++;
    if (c.makes == IMAGE_PARTS || n > 2 ||
        !take_operation(&c, &operations_known[c.makes], operations[0], ret))
        return false;
    unsigned factor = c.of[c.makes == IMAGE_X ? IMAGE_W : IMAGE_X].type;
    unsigned other = c.of[c.makes == IMAGE_Y ? IMAGE_W : IMAGE_Y].type;
    dnn_desc sum = ret->tensors[c.makes];
    bool fits = n == 1 ? c.of[c.makes].type == factor && !told_flag(sum, DNN_TENSOR_IS_VIRTUAL)
                       : told_kind(operations[1]) == DNN_OP_POINTWISE &&
                             take_end(&c, operations[1], sum, ret);
    if (!fits || factor != other || !is_known_type(factor) || !is_known_type(c.of[c.makes].type))
        return false;
    fill(&c, ret);
    return true;
}
