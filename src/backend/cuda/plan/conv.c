/*
 * Convolutions and their gradients. Kernels of one position that touch every position once are
 * matrix products, and gradients of their weights are so too where they pass over positions: cuDNN cuts
 * no such sum into pieces. Others are cuDNN's where its library is there and takes them, and otherwise
 * ours. Weights come as ONNX has them, channel by channel, images so or with their channels last.
 * Where kernels read faster otherwise, and to round weights to halves, a factor is first copied
 * into scratch with its channels last.
 */
#include "backend/cuda/plan/conv.h"
#include "backend/cuda/plan/move.h"

#include "backend/cuda/kernels/cast.h"
#include "backend/cuda/kernels/channels_last.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/log.h"
#include "graph/plan.h"
#include "graph/window.h"

static int64_t volume(const int32_t size[SPATIAL])
{
    return (int64_t)size[0] * size[1] * size[2];
}

/* --- runs --- */

/* The positions of x that a kernel of one looks at, with their channels last. */
static void gather_image(const conv_state *s, const cuda_call *c, const void *x, void *to)
{
    const conv_task *t = &s->task;
    const conv_extent *l = &s->part[PART_X];
    int64_t in = volume(t->in), channels = l->channels;
    int64_t wide = channels * l->positions, run = l->last ? channels : 1;
    axes over = {.rank = 0};
    axes_add(&over, 2, l->outer, (int64_t[]){wide, channels * in});
    for (int i = 0; i < SPATIAL; i++) {
        wide /= t->out[i];
        in /= t->in[i];
        axes_add(&over, 2, t->out[i], (int64_t[]){wide, t->stride[i] * in * run});
    }
    axes_add(&over, 2, channels, (int64_t[]){1, l->last ? 1 : volume(t->in)});
    axes_end(&over, 2);
    cuda_move(c->stream, &over, s->factor, to, x);
}

/* The factor as the kernels will read it; turns it if it is to be. */
static status factor_at(const conv_state *s, conv_part part, const cuda_call *c, int input, void **ret,
                        error *err)
{
    const conv_extent *l = &s->part[part];
    *ret = (void *)(uintptr_t)c->in[input];
    if (!l->turns)
        return OK;
    if (s->pads && part == PART_X)
        return conv_pad_image(s, c, c->in[input], ret, err);
    void *transposed = (char *)c->scratch + l->at;
    launch_type factor = cuda_launch_type(s->factor);
    launch_types t = {.y = factor, .a = l->rounded ? factor : LAUNCH_F32};
    if (s->gathers && part == PART_X)
        gather_image(s, c, c->in[input], transposed);
    else if (l->last)
        launch_round(c->stream, t, transposed, c->in[input], l->outer * l->channels * l->positions);
    else
        launch_channels_last(c->stream, t, transposed, c->in[input], l->outer, l->channels,
                             l->positions);
    *ret = transposed;
    return OK;
}

static void run_tiles(const conv_state *s, const cuda_call *c, const void *first,
                      const void *second, const void *bias)
{
    conv_task t = s->task;
    conv_operand_of(&t, s->first)->data = (void *)(uintptr_t)first;
    conv_operand_of(&t, s->second)->data = (void *)(uintptr_t)second;
    conv_operand_of(&t, s->makes)->data = c->out[0];
    t.end.c = bias;
    t.cut.parts = (float *)((char *)c->scratch + s->rest);
    if (s->makes == PART_Y)
        launch_conv(c->stream, &t);
    else if (s->makes == PART_X)
        launch_conv_bwd_data(c->stream, &t);
    else
        launch_conv_bwd_weights(c->stream, &t);
}

static status run_conv(const cuda_node *n, const cuda_call *c, error *err)
{
    const conv_state *s = n->state;
    const void *bias = n->node->n_in > 2 ? c->in[2] : NULL;
    void *first, *second;
    TRY(factor_at(s, s->first, c, 0, &first, err));
    TRY(factor_at(s, s->second, c, 1, &second, err));
    char *rest = (char *)c->scratch + s->rest;
    if (s->is_matmul) {
        matmul_operands o = {.a = s->a == s->first ? first : second,
                                  .b = s->b == s->first ? first : second,
                                  .c = bias,
                                  .y = c->out[0]};
        TRY(cuda_matmul_run(&s->matmul, c->stream, &o, rest, err));
    } else if (s->dnn) {
        TRY(conv_run_dnn(s, c, first, second, bias, err));
    } else {
        run_tiles(s, c, first, second, bias);
    }
    if (s->bias.cut.pieces) {
        conv_task t = s->bias;
        t.y.data = (void *)(uintptr_t)c->in[1];
        t.cut.parts = (float *)rest;
        launch_conv_bwd_bias(c->stream, &t, c->out[1]);
    }
    return OK;
}

/* --- what a convolution is to the kernels --- */

#define COUNT_LIMIT ((INT64_C(1) << 31) - 1024)

static status check_count(int64_t count, const char *what, error *err)
{
    if (count >= 0 && count < COUNT_LIMIT)
        return OK;
    return FAIL(err, E_UNSUPPORTED, "%lld %s are too many for its kernels, which count to %lld",
                (long long)count, what, (long long)COUNT_LIMIT);
}

static status set_axes(conv_task *t, const window *w, error *err)
{
    for (int32_t i = 0; i < SPATIAL; i++) {
        int64_t reach = (w->kernel[i] - 1) * w->dilation[i];
        TRY(check_count(w->in[i], "positions of an axis", err));
        TRY(check_count(w->out[i], "positions of an axis", err));
        TRY(check_count(w->kernel[i], "positions of a kernel", err));
        TRY(check_count(w->stride[i], "positions of a stride", err));
        TRY(check_count(w->dilation[i], "positions of a dilation", err));
        TRY(check_count(w->begin[i], "positions of a pad", err));
        TRY(check_count(w->in[i] + w->begin[i] + reach, "positions of a padded axis", err));
        TRY(check_count((w->out[i] - 1) * w->stride[i] + reach, "positions of a padded axis", err));
        t->in[i] = (int32_t)w->in[i];
        t->out[i] = (int32_t)w->out[i];
        t->kernel[i] = (int32_t)w->kernel[i];
        t->stride[i] = (int32_t)w->stride[i];
        t->dilation[i] = (int32_t)w->dilation[i];
        t->pad[i] = (int32_t)w->begin[i];
    }
    return OK;
}

static conv_extent extent_of(int64_t outer, int64_t channels, const int32_t positions[SPATIAL])
{
    return (conv_extent){.outer = outer, .channels = channels, .positions = volume(positions)};
}

/* Which type is multiplied, input 0 says; images are rounded before, weights are not. */
static status describe(conv_state *s, const cuda_node *n, error *err)
{
    window w = window_of(n->program->g, n->node);
    conv_task *t = &s->task;
    s->factor = cuda_in(n, 0)->dtype;
    s->result = s->makes == PART_W ? DT_F32 : cuda_out_storage(n, 0).type;
    s->made = s->result;
    if (s->makes == PART_W && dtype_is_half(s->factor) && graph_has_half_weight_gradients(n->program->g))
        s->made = s->factor;
    TRY(cuda_matmul_kind(n->program, s->factor, &t->kind, err));
    t->batch = w.x.dim[0];
    t->groups = ((const conv_attr *)n->node->attr)->group;
    t->channels = w.x.dim[1];
    t->maps = w.w.dim[0];
    t->end.alpha = 1.0f;
    TRY(set_axes(t, &w, err));
    int64_t taps = volume(t->kernel);
    s->part[PART_X] = extent_of(t->batch, t->channels, t->in);
    s->part[PART_W] = extent_of(t->maps, t->channels / t->groups, t->kernel);
    s->part[PART_Y] = extent_of(t->batch, t->maps, t->out);
    s->part[s->first].rounded = dtype_is_half(s->factor);
    s->part[s->first].last = cuda_in_storage(n, 0).channels_last;
    s->part[s->second].last = cuda_in_storage(n, 1).channels_last;
    s->part[s->makes].last = s->makes != PART_W && cuda_out_storage(n, 0).channels_last;
    s->part[s->second].rounded = dtype_is_half(cuda_in(n, 1)->dtype);
    TRY(check_count(t->batch * volume(t->in), "positions", err));
    TRY(check_count(t->batch * volume(t->out), "positions", err));
    TRY(check_count(t->channels / t->groups * taps, "weights of a map", err));
    return check_count(t->maps / t->groups * taps, "weights of a channel", err);
}

/* What is made, as a matrix for each group, and the length of its sums. */
typedef struct conv_matrix {
    int64_t rows, columns, k;
} conv_matrix;

static conv_matrix matrix_of(const conv_state *s)
{
    const conv_task *t = &s->task;
    int64_t channels = t->channels / t->groups, maps = t->maps / t->groups;
    int64_t taps = volume(t->kernel), outs = t->batch * volume(t->out);
    if (s->makes == PART_Y)
        return (conv_matrix){outs, maps, channels * taps};
    if (s->makes == PART_X)
        return (conv_matrix){t->batch * volume(t->in), channels, maps * taps};
    return (conv_matrix){maps, channels * taps, outs};
}

/* --- as tiles --- */

enum {
    TILE = 64,
    VECTOR = 16,   /* bytes of neighbouring channels that are read at once */
    FEW = 8,       /* of a group's channels: a tile of 64 would be empty for the most part */
    PIECE = 256,   /* factors of a sum's piece, at least */
    THREADS = 256, /* of a block that makes an element a thread */
};

/* Weights lie as the image does that is gathered; that is x, but y where x is made. */
static void choose_turns(conv_state *s)
{
    const conv_task *t = &s->task;
    const conv_extent *first = &s->part[s->first];
    int64_t gathered = (s->makes == PART_X ? t->maps : t->channels) / t->groups;
    bool fits = !t->direct && gathered * (int64_t)dtype_bytes(s->factor) % VECTOR == 0;
    s->part[s->first].turns = (fits && !first->last) || conv_has_to_round(s, s->first);
    s->part[s->second].turns = (fits && s->second == PART_W) || conv_has_to_round(s, s->second);
}

static int64_t blocks_of(const conv_state *s)
{
    conv_matrix m = matrix_of(s);
    int64_t groups = s->task.groups;
    if (!s->task.direct)
        return (m.rows + TILE - 1) / TILE * ((m.columns + TILE - 1) / TILE) * groups;
    if (s->makes == PART_W)
        return m.rows * m.columns * groups;
    return (m.rows * m.columns * groups + THREADS - 1) / THREADS;
}

static status plan_tiles(conv_state *s, error *err)
{
    conv_task *t = &s->task;
    conv_matrix m = matrix_of(s);
    t->direct = t->groups > 1 && (s->makes == PART_W ? m.rows : m.columns) < FEW;
    choose_turns(s);
    for (conv_part part = PART_X; part < PARTS; part++)
        conv_set_layout(conv_operand_of(t, part), &s->part[part], s->factor);
    conv_operand_of(t, s->makes)->type = s->result;
    t->cut.pieces =
        t->direct && s->makes != PART_W ? 1 : cuda_matmul_pieces(blocks_of(s), m.k, PIECE);
    return check_count(blocks_of(s), "blocks", err);
}

/* --- as a matmul --- */

static bool is_matmul(const conv_state *s)
{
    const conv_task *t = &s->task;
    for (int i = 0; i < SPATIAL; i++) {
        bool passes_over = t->stride[i] != 1 || t->in[i] != t->out[i];
        bool is_inside = t->pad[i] == 0 && (t->out[i] - 1) * t->stride[i] < t->in[i];
        if (t->kernel[i] != 1 || !is_inside || (passes_over && s->makes != PART_W))
            return false;
    }
    return t->groups == 1;
}

/* [channels, positions] for each image, or [positions, channels], for all of them where they are
 * neighbours. */
static tile_matrix image_of(const conv_extent *l, bool by_position)
{
    bool last = conv_is_channels_last(l);
    int64_t channel = last ? 1 : l->positions, position = last ? l->channels : 1;
    return (tile_matrix){.row = by_position ? position : channel,
                         .column = by_position ? channel : position,
                         .batch = l->channels * l->positions};
}

/* w [maps, channels], or the other way round. */
static tile_matrix weights_of(const conv_task *t, bool transposed)
{
    return (tile_matrix){.row = transposed ? 1 : t->channels,
                         .column = transposed ? t->channels : 1};
}

/* y or dx, channels last: [positions of all images, channels] of what it is made of and the
 * weights.
 */
static void multiply_last(conv_state *s, gemm_task *g, conv_part image)
{
    s->part[image].turns |= !s->part[image].last;
    s->a = image;
    s->b = PART_W;
    g->m = s->part[image].outer * s->part[image].positions;
    g->n = s->part[s->makes].channels;
    g->k = s->part[image].channels;
    g->a = image_of(&s->part[image], true);
    g->b = weights_of(&s->task, s->makes == PART_Y);
}

/* y or dx, channel by channel, of each image. */
static void multiply_each(conv_state *s, gemm_task *g, conv_part image)
{
    s->a = PART_W;
    s->b = image;
    g->batches = s->task.batch;
    g->m = s->part[s->makes].channels;
    g->n = s->part[image].positions;
    g->k = s->part[image].channels;
    g->a = weights_of(&s->task, s->makes == PART_X);
    g->b = image_of(&s->part[image], false);
    g->end.c_row = g->end.c_column;
    g->end.c_column = 0;
}

/* dw is a sum over all images, whose positions must be neighbours. */
static void multiply_weights(conv_state *s, gemm_task *g)
{
    s->gathers = s->part[PART_X].positions != s->part[PART_Y].positions;
    s->part[PART_X].positions = s->part[PART_Y].positions;
    s->part[PART_X].turns |= s->gathers || !s->part[PART_X].last;
    s->part[PART_Y].turns |= !s->part[PART_Y].last;
    s->a = PART_Y;
    s->b = PART_X;
    g->m = s->task.maps;
    g->n = s->task.channels;
    g->k = s->task.batch * s->part[PART_X].positions;
    g->a = image_of(&s->part[PART_Y], false);
    g->b = image_of(&s->part[PART_X], true);
}

static status plan_matmul(backend_program *p, conv_state *s, error *err)
{
    const conv_task *t = &s->task;
    gemm_task g = {.kind = t->kind, .batches = 1, .y_type = s->result, .end = t->end};
    s->part[s->first].turns = conv_has_to_round(s, s->first);
    s->part[s->second].turns = conv_has_to_round(s, s->second);
    if (s->makes == PART_W)
        multiply_weights(s, &g);
    else
        (s->part[s->makes].last ? multiply_last : multiply_each)(s, &g, s->first);
    g.y_row = g.n;
    g.y_batch = g.m * g.n;
    s->is_matmul = true;
    return cuda_matmul_plan(p, &g, PLAN_ALIGN, &s->matmul, err);
}

/* --- plans --- */

static size_t reserve(size_t *end, size_t bytes)
{
    size_t at = *end;
    *end += (bytes + PLAN_ALIGN - 1) / PLAN_ALIGN * PLAN_ALIGN;
    return at;
}

static size_t sums_bytes(const conv_state *s)
{
    conv_matrix m = matrix_of(s);
    const conv_task *b = &s->bias;
    int64_t sums =
        s->is_matmul ? 0 : tile_parts(s->task.cut.pieces, s->task.groups, m.rows, m.columns);
    int64_t of_bias = tile_parts(b->cut.pieces, 1, b->maps, 1);
    size_t bytes = (size_t)(sums > of_bias ? sums : of_bias) * sizeof(float);
    size_t library = s->is_matmul ? s->matmul.scratch_bytes
                     : s->dnn     ? dnn_scratch_bytes(s->dnn)
                                  : 0;
    return library > bytes ? library : bytes;
}

static status reserve_scratch(conv_state *s, size_t *ret, error *err)
{
    size_t end = 0;
    for (conv_part part = PART_X; part < PARTS; part++) {
        conv_extent *l = &s->part[part];
        if (!l->turns)
            continue;
        TRY(check_count(l->outer * ((l->channels + 31) / 32) * ((l->positions + 31) / 32), "blocks",
                        err));
        size_t element = dtype_bytes(part == s->makes ? s->made : s->factor);
        l->at = reserve(&end, (size_t)(l->outer * l->channels * l->positions) * element);
    }
    s->rest = end;
    *ret = end + sums_bytes(s);
    return OK;
}

/* The sums of dy by maps, as it came. */
static void plan_bias_sums(conv_state *s)
{
    s->bias = s->task;
    conv_extent own = extent_of(s->task.batch, s->task.maps, s->task.out);
    own.rounded = s->part[PART_Y].rounded;
    own.last = s->part[PART_Y].last;
    conv_set_layout(&s->bias.y, &own, s->factor);
    s->bias.cut.pieces =
        cuda_matmul_pieces(s->task.maps, s->task.batch * volume(s->task.out), PIECE);
}

static status plan_kernels(cuda_node *n, conv_state *s, error *err)
{
    if (is_matmul(s)) {
        TRY(plan_matmul(n->program, s, err));
        cuda_node_by(n, "cuBLASLt", s->matmul.why);
        return OK;
    }
    error why = ERROR_INIT;
    status st = conv_plan_dnn(n->program, s, &why);
    cuda_node_by(n, "cuDNN", st == OK ? NULL : why.text);
    if (st == OK)
        return OK;
    if (st != E_UNSUPPORTED)
        return FAIL(err, st, "%s", why.text);
    LOG_D("CONV", "node=%s by=tiles %s", n->node->name, why.text);
    return plan_tiles(s, err);
}

/* What the node makes of what. */
static conv_state state_of(const cuda_node *n)
{
    switch (n->node->op) {
    case OP_CONV:
        return (conv_state){.first = PART_X, .second = PART_W, .makes = PART_Y};
    case OP_CONV_BWD_WEIGHTS:
        return (conv_state){.first = PART_X, .second = PART_Y, .makes = PART_W};
    default: /* ConvTranspose is the gradient of a convolution for its data, and a bias */
        return (conv_state){.first = PART_Y, .second = PART_W, .makes = PART_X};
    }
}

static status begin(conv_state *s, const cuda_node *n, error *err)
{
    *s = state_of(n);
    TRY(describe(s, n, err));
    const graph_value *bias = s->makes != PART_W ? cuda_in(n, 2) : NULL;
    if (bias)
        s->task.end =
            (tile_end){.alpha = 1.0f, .beta = 1.0f, .c = bias, .c_type = DT_F32, .c_column = 1};
    return OK;
}

void cuda_conv_ask(cuda_node *n)
{
    conv_state s;
    status st = begin(&s, n, NULL);
    if (st == OK && !is_matmul(&s))
        st = conv_plan_dnn(n->program, &s, NULL);
    BUG_ON(st == OK && s.dnn);
}

static status plan_node(cuda_node *n)
{
    conv_state *s = cuda_node_alloc(n, sizeof *s);
    TRY(begin(s, n, n->err));
    TRY(plan_kernels(n, s, n->err));
    if (s->makes == PART_W && cuda_out(n, 1))
        plan_bias_sums(s);
    n->body = run_conv;
    n->state = s;
    return reserve_scratch(s, &n->scratch_bytes, n->err);
}

status cuda_plan_conv(cuda_node *n)
{
    return plan_node(n);
}

status cuda_plan_conv_bwd_data(cuda_node *n)
{
    return plan_node(n);
}

status cuda_plan_conv_transpose(cuda_node *n)
{
    return plan_node(n);
}

status cuda_plan_conv_bwd_weights(cuda_node *n)
{
    return plan_node(n);
}
