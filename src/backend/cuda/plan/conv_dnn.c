/*
 * Convolutions by cuDNN: how their parts are laid out for it. Halves are read and made with their
 * channels last, for tensor cores; float32 as it lies, unless an image lies so already. What lies
 * otherwise is turned, before the graph runs or behind it.
 */
#include "backend/cuda/kernels/binary.h"
#include "backend/cuda/kernels/channels_last.h"
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
status conv_plan_dnn(backend_program *p, conv_state *s, error *err)
{
    set_layouts(s);
    conv_task t = s->task;
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
    if (l->turns)
        launch_channels_last(c->stream, result, y, made, l->outer, l->positions, l->channels);
    if (s->bias_over.rank)
        launch_binary(c->stream, BINARY_add, (launch_types){LAUNCH_F32}, y, y, bias, &s->bias_over);
    return OK;
}
