/*
 * Convolutions by cuDNN: how their parts are laid out for it. Halves are read and made with their
 * channels last, for tensor cores; float32 as it lies, unless an image lies so already. What lies
 * otherwise is turned, before the graph runs or behind it.
 *
 * Gradients of weights in float32, of halves in an odd number of channels, cuDNN 9.19 has no engine for: an image of
 * three channels is copied with a fourth of zeros, whose gradients are left out of the result.
 */
#include "backend/cuda/kernels/binary.h"
#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/channels_last.h"
#include "backend/cuda/kernels/move.h"
#include "backend/cuda/plan/conv.h"

static void set_layouts(conv_state *s)
{
    bool last = dtype_is_half(s->factor);
    for (conv_part part = PART_X; part < PARTS; part++)
        last |= s->part[part].last;
    for (conv_part part = PART_X; part < PARTS; part++) {
        conv_extent *l = &s->part[part];
        bool is_made = part == s->makes;
        l->turns = (last && !l->last) || (!is_made && conv_has_to_round(s, part));
        conv_set_layout(conv_operand_of(&s->task, part), l, is_made ? s->made : s->factor);
    }
}

static axes axes_of_bias(const conv_extent *made)
{
    int64_t channels = made->channels, positions = made->positions;
    axes over = {.rank = 0};
    axes_add(&over, 2, made->outer, (int64_t[]){channels * positions, 0});
    if (made->last)
        axes_add(&over, 2, positions, (int64_t[]){channels, 0});
    axes_add(&over, 2, channels, (int64_t[]){made->last ? 1 : positions, 1});
    if (!made->last)
        axes_add(&over, 2, positions, (int64_t[]){1, 0});
    axes_end(&over, 2);
    return over;
}

/* Engines for exact matmuls of float32 add nothing to their sums. */
static status plan_graph(backend_program *p, conv_state *s, error *err)
{
    set_layouts(s);
    conv_task t = s->task;
    t.channels += s->pads;
    if (t.end.c && !dtype_is_half(s->factor)) {
        t.end.c = NULL;
        s->bias_over = axes_of_bias(&s->part[s->makes]);
    }
    conv_operand *made = conv_operand_of(&t, s->makes);
    made->type = s->made;
    status st = dnn_conv_plan(p, &t, s->makes, &s->dnn, err);
    if (st != OK) {
        s->part[s->makes].turns = false;
        s->made = s->result;
        s->bias_over.rank = 0;
    }
    return st;
}

static void pad(conv_state *s, bool pads)
{
    s->pads = pads;
    s->part[PART_X].channels = s->part[PART_W].channels = s->task.channels + pads;
}

static status plan_padded(backend_program *p, conv_state *s, error *err)
{
    pad(s, true);
    status st = plan_graph(p, s, err);
    if (st == OK)
        s->part[PART_X].turns = true;
    else
        pad(s, false);
    return st;
}

status conv_plan_dnn(backend_program *p, conv_state *s, error *err)
{
    bool is_odd = s->makes == PART_W && dtype_is_half(s->factor) && s->task.groups == 1 &&
                  s->task.channels % 2 == 1;
    error why = ERROR_INIT;
    status st = plan_graph(p, s, &why);
    if (st == E_UNSUPPORTED && is_odd && plan_padded(p, s, NULL) == OK)
        st = OK;
    else if (st != OK)
        return FAIL(err, st, "%s", why.text);
    error_clear(&why);
    return st;
}

status conv_pad_image(const conv_state *s, const cuda_call *c, const void *x, void **ret, error *err)
{
    const conv_extent *l = &s->part[PART_X];
    int64_t channels = s->task.channels, wide = l->channels, positions = l->positions;
    size_t element = dtype_bytes(s->factor);
    axes over = {.rank = 0};
    void *to = (char *)c->scratch + l->at;
    axes_add(&over, 2, l->outer, (int64_t[]){positions * wide, positions * channels});
    axes_add(&over, 2, positions, (int64_t[]){wide, l->last ? channels : 1});
    axes_add(&over, 2, channels, (int64_t[]){1, l->last ? 1 : positions});
    axes_end(&over, 2);
    TRY_CUDA(cudaMemsetAsync(to, 0, (size_t)(l->outer * positions * wide) * element, c->stream), "clearing", err);
    launch_move(c->stream, element, to, x, &over);
    *ret = to;
    return OK;
}

/* To [maps, channels, positions]. */
static void leave_weights(const conv_state *s, const cuda_call *c, void *to, const void *made)
{
    const conv_extent *l = &s->part[PART_W];
    int64_t channels = s->task.channels, positions = l->positions;
    axes over = {.rank = 0};
    axes_add(&over, 2, l->outer, (int64_t[]){channels * positions, l->channels * positions});
    axes_add(&over, 2, channels, (int64_t[]){positions, 1});
    axes_add(&over, 2, positions, (int64_t[]){1, l->channels});
    axes_end(&over, 2);
    launch_move(c->stream, sizeof(float), to, made, &over);
}

status conv_run_dnn(const conv_state *s, const cuda_call *c, const void *first, const void *second,
                    const void *bias, error *err)
{
    const conv_extent *l = &s->part[s->makes];
    const launch_types result = {.y = cuda_launch_type(s->result), .a = cuda_launch_type(s->made)};
    void *y = c->out[0], *made = l->turns ? (char *)c->scratch + l->at : y;
    void *operands[PARTS + 1];
    operands[s->first] = (void *)(uintptr_t)first;
    operands[s->second] = (void *)(uintptr_t)second;
    operands[s->makes] = made;
    operands[PARTS] = (void *)(uintptr_t)bias;
    TRY(dnn_run(s->dnn, operands, (char *)c->scratch + s->rest, err));
    if (s->pads)
        leave_weights(s, c, y, made);
    else if (l->turns)
        launch_channels_last(c->stream, result, y, made, l->outer, l->positions, l->channels);
    if (s->bias_over.rank)
        launch_binary(c->stream, BINARY_add, (launch_types){LAUNCH_F32}, y, y, bias, &s->bias_over);
    return OK;
}
