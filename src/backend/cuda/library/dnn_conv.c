#include "backend/cuda/library/dnn_conv.h"

#include "backend/cuda/library/dnn_operations.h"

enum { AXES_FEWEST = 2 }; /* of an image that cuDNN takes */

typedef struct conv_graph {
    dnn_graph *g;
    const conv_task *task;
    conv_part makes;
    int axes; /* the last ones of the task's */
} conv_graph;

static bool is_first_axis_used(const conv_task *t)
{
    return t->in[0] != 1 || t->out[0] != 1 || t->kernel[0] != 1;
}

/* --- tensors --- */

static unsigned type_of(dtype t)
{
    return t == DT_BF16 ? DNN_BF16 : t == DT_F16 ? DNN_F16 : DNN_F32;
}

static dnn_form form_of(const conv_graph *c, conv_part part)
{
    const conv_task *t = c->task;
    const conv_operand *o = part == PART_X ? &t->x : part == PART_W ? &t->w : &t->y;
    const int32_t *positions = part == PART_X ? t->in : part == PART_W ? t->kernel : t->out;
    dnn_form f = {.type = type_of(o->type), .rank = 2 + c->axes};
    f.size[0] = part == PART_W ? t->maps : t->batch;
    f.size[1] = part == PART_Y ? t->maps : part == PART_X ? t->channels : t->channels / t->groups;
    f.stride[0] = o->at.outer;
    f.stride[1] = o->at.channel;
    int64_t stride = o->at.position;
    for (int axis = 1; axis <= c->axes; axis++) {
        int64_t size = positions[SPATIAL - axis];
        f.size[f.rank - axis] = size;
        f.stride[f.rank - axis] = stride;
        stride *= size;
    }
    return f;
}

/* [1, channels, 1, ..] */
static dnn_form bias_form(const conv_graph *c, const dnn_form *made)
{
    dnn_form f = {.type = type_of(c->task->end.c_type), .rank = made->rank};
    for (int i = 0; i < f.rank; i++) {
        f.size[i] = i == 1 ? made->size[1] : 1;
        f.stride[i] = i == 1 ? 1 : made->size[1];
    }
    return f;
}

/* --- operations --- */

/* What lies behind an image: as much as in front where that comes to the same. */
static int64_t pad_behind(const conv_task *t, int i)
{
    int64_t reach = (int64_t)(t->kernel[i] - 1) * t->dilation[i] + 1;
    int64_t needed = (int64_t)(t->out[i] - 1) * t->stride[i] + reach - t->in[i] - t->pad[i];
    if (needed <= t->pad[i] && t->pad[i] < needed + t->stride[i])
        return t->pad[i];
    return needed > 0 ? needed : 0;
}

static dnn_desc describe_steps(const conv_graph *c)
{
    const conv_task *t = c->task;
    int64_t n = c->axes, begin[SPATIAL], end[SPATIAL], stride[SPATIAL], dilation[SPATIAL];
    for (int i = 0; i < c->axes; i++) {
        int from = SPATIAL - c->axes + i;
        begin[i] = t->pad[from];
        end[i] = pad_behind(t, from);
        stride[i] = t->stride[from];
        dilation[i] = t->dilation[from];
    }
    return dnn_make(
        c->g, DNN_CONV,
        DNN_ATTRIBUTES(
            {DNN_CONV_TYPE, DNN_IS_TYPE, 1, &(unsigned){DNN_F32}},
            {DNN_CONV_MODE, DNN_IS_CONV_MODE, 1, &(unsigned){DNN_CROSS_CORRELATION}},
            {DNN_CONV_AXES, DNN_IS_INT64, 1, &n}, {DNN_CONV_PADS_BEGIN, DNN_IS_INT64, n, begin},
            {DNN_CONV_PADS_END, DNN_IS_INT64, n, end}, {DNN_CONV_STRIDES, DNN_IS_INT64, n, stride},
            {DNN_CONV_DILATIONS, DNN_IS_INT64, n, dilation}));
}

static void add_convolution(const conv_graph *c, const dnn_desc parts[PARTS])
{
    static const struct {
        unsigned operation, steps, x, w, y, alpha, beta;
    } names[PARTS] = {
        [PART_Y] = {DNN_OP_CONV, DNN_OP_CONV_CONV, DNN_OP_CONV_X, DNN_OP_CONV_W, DNN_OP_CONV_Y,
                    DNN_OP_CONV_ALPHA, DNN_OP_CONV_BETA},
        [PART_X] = {DNN_OP_CONV_BWD_DATA, DNN_OP_CONV_BWD_DATA_CONV, DNN_OP_CONV_BWD_DATA_DX,
                    DNN_OP_CONV_BWD_DATA_W, DNN_OP_CONV_BWD_DATA_DY, DNN_OP_CONV_BWD_DATA_ALPHA,
                    DNN_OP_CONV_BWD_DATA_BETA},
        [PART_W] = {DNN_OP_CONV_BWD_WEIGHTS, DNN_OP_CONV_BWD_WEIGHTS_CONV,
                    DNN_OP_CONV_BWD_WEIGHTS_X, DNN_OP_CONV_BWD_WEIGHTS_DW,
                    DNN_OP_CONV_BWD_WEIGHTS_DY, DNN_OP_CONV_BWD_WEIGHTS_ALPHA,
                    DNN_OP_CONV_BWD_WEIGHTS_BETA},
    };
    const dnn_desc steps = describe_steps(c);
    dnn_operation(c->g, names[c->makes].operation,
                  DNN_ATTRIBUTES({names[c->makes].steps, DNN_IS_DESCRIPTOR, 1, &steps},
                                 {names[c->makes].x, DNN_IS_DESCRIPTOR, 1, &parts[PART_X]},
                                 {names[c->makes].w, DNN_IS_DESCRIPTOR, 1, &parts[PART_W]},
                                 {names[c->makes].y, DNN_IS_DESCRIPTOR, 1, &parts[PART_Y]},
                                 {names[c->makes].alpha, DNN_IS_FLOAT, 1, &(float){1.0f}},
                                 {names[c->makes].beta, DNN_IS_FLOAT, 1, &(float){0.0f}}));
}

/* The bias, if there is one, and rounding to the type of what is made. */
static void add_end(const conv_graph *c, dnn_desc sum, const dnn_form *made)
{
    bool adds = c->task->end.c != NULL;
    const dnn_form row = bias_form(c, made);
    dnn_desc bias = adds ? dnn_operand(c->g, PARTS, &row) : NULL;
    dnn_desc result = dnn_operand(c->g, (int)c->makes, made);
    dnn_pointwise(c->g, adds ? DNN_ADD : DNN_IDENTITY, DNN_F32, (dnn_desc[3]){sum, bias}, result);
}

status dnn_conv_plan(backend_program *p, const conv_task *t, conv_part makes, dnn_graph **ret,
                     error *err)
{
    conv_graph c = {.g = dnn_begin(p), .task = t, .makes = makes};
    c.axes = is_first_axis_used(t) ? SPATIAL : AXES_FEWEST;
    dnn_desc parts[PARTS];
    dnn_form made = form_of(&c, makes), sum = made;
    sum.type = DNN_F32;
    bool has_end =
        t->end.c || (t->kind != TILE_F32 && t->kind != TILE_TF32 && made.type == DNN_F32);
    for (conv_part part = PART_X; part < PARTS; part++) {
        dnn_form form = form_of(&c, part);
        parts[part] =
            has_end && part == makes ? dnn_between(c.g, &sum) : dnn_operand(c.g, (int)part, &form);
    }
    add_convolution(&c, parts);
    if (has_end)
        add_end(&c, parts[makes], &made);
    TRY(dnn_plan(c.g, t->kind == TILE_F32, err));
    *ret = c.g;
    return OK;
}
