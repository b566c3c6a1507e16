/*
 * swin_t: a transformer whose tokens look at each other within windows, which every second block shifts. With
 * torchvision's names and first weights. Liu, Lin, Cao, Hu, Wei, Zhang, Lin, Guo: Swin Transformer, 2021.
 *
 * Between blocks the net's end is [batch * height * width, channels].
 */
#include "model/blocks.h"
#include "model/builders.h"
#include "model/tokens.h"

enum { STAGES = 4 };

static const double epsilon = 1e-5;
static const float apart = -100.0f; /* added where tokens are no neighbours, as in the authors' */

/* The tokens of an image. */
typedef struct grid {
    int64_t height, width;
} grid;

typedef struct swin {
    int64_t window, heads;      /* ... of the stage */
    grid grid;
    double stochastic_depth;
    int64_t n_blocks, block;    /* of all stages, and the one being built */
} swin;

/* Windows over a grid, which zeros make fit, and which is rolled by the shift. */
typedef struct windows {
    grid padded, shift;
    int64_t n, tokens;          /* windows of an image, and tokens of a window */
} windows;

static int64_t multiple_of(int64_t unit, int64_t size)
{
    return (size + unit - 1) / unit * unit;
}

/* One window that has all is not shifted. */
static windows windows_of(const swin *s, bool shifts)
{
    windows w = {.padded = {multiple_of(s->window, s->grid.height), multiple_of(s->window, s->grid.width)}};
    w.shift.height = shifts && w.padded.height > s->window ? s->window / 2 : 0;
    w.shift.width = shifts && w.padded.width > s->window ? s->window / 2 : 0;
    w.tokens = s->window * s->window;
    w.n = w.padded.height * w.padded.width / w.tokens;
    return w;
}

/* --- which token stands where --- */

/* Row and column of the i-th place, window by window, in the rolled grid. */
static grid place_of(const swin *s, const windows *w, int64_t i)
{
    int64_t across = w->padded.width / s->window, window = i / w->tokens, k = i % w->tokens;
    return (grid){window / across * s->window + k / s->window, window % across * s->window + k % s->window};
}

/* The token that stands there; behind the last one where it is a zero. */
static int64_t token_at(const swin *s, const windows *w, int64_t i)
{
    grid at = place_of(s, w, i);
    int64_t row = (at.height + w->shift.height) % w->padded.height;
    int64_t column = (at.width + w->shift.width) % w->padded.width;
    bool is_zero = row >= s->grid.height || column >= s->grid.width;
    return is_zero ? s->grid.height * s->grid.width : row * s->grid.width + column;
}

/* Of each place its token, and of each token its place. */
static status orders(net *n, const swin *s, const windows *w, graph_val *ret_tokens, graph_val *ret_places, error *err)
{
    const int64_t n_places = w->n * w->tokens, n_tokens = s->grid.height * s->grid.width;
    int64_t *token = arena_alloc(graph_arena(n->g), (size_t)n_places * sizeof *token);
    int64_t *place = arena_alloc(graph_arena(n->g), (size_t)(n_tokens + 1) * sizeof *place);
    for (int64_t i = 0; i < n_places; i++)
        place[token[i] = token_at(s, w, i)] = i;
    TRY(graph_const(n->g, NULL, DT_I64, (graph_shape){1, {n_places}}, token, ret_tokens, err));
    return graph_const(n->g, NULL, DT_I64, (graph_shape){1, {n_tokens}}, place, ret_places, err);
}

/* --- what is added to scores --- */

/* By how far two tokens of a window are apart: [1, heads, tokens, tokens] */
static status position_bias(net *n, const swin *s, const windows *w, const char *attention, graph_val *ret, error *err)
{
    const int64_t tokens = w->tokens, side = 2 * s->window - 1;
    const tensor_decl table = {.rank = 2,
                               .dim = {side * side, s->heads},
                               .kind = TENSOR_TRAINABLE,
                               .init = {.kind = INIT_NORMAL, .b = 0.02f},
                               .decay = true};
    int64_t *row = arena_alloc(graph_arena(n->g), (size_t)(tokens * tokens) * sizeof *row);
    graph_val in[2];
    for (int64_t i = 0; i < tokens; i++)
        for (int64_t j = 0; j < tokens; j++)
            row[i * tokens + j] = (i / s->window - j / s->window + s->window - 1) * side +
                                  (i % s->window - j % s->window + s->window - 1);
    TRY(net_param(n, attention, "relative_position_bias_table", table, &in[0], err));
    TRY(graph_const(n->g, NULL, DT_I64, (graph_shape){1, {tokens * tokens}}, row, &in[1], err));
    TRY(graph_add_1(n->g, OP_GATHER, NULL, in, 2, &(gather_attr){.axis = 0}, ret, err));
    TRY(graph_add_1(n->g, OP_TRANSPOSE, NULL, ret, 1, &(transpose_attr){.perm = {1, 0}}, ret, err));
    return net_reshape(n, *ret, (graph_shape){4, {1, s->heads, tokens, tokens}}, ret, err);
}

/* Which of the three parts of an axis: those that the roll has brought together are no neighbours. */
static int64_t part_of(int64_t at, int64_t size, int64_t window, int64_t shift)
{
    return !shift || at < size - window ? 0 : at < size - shift ? 1 : 2;
}

static int64_t region_of(const swin *s, const windows *w, int64_t place)
{
    grid at = place_of(s, w, place);
    return 3 * part_of(at.height, w->padded.height, s->window, w->shift.height) +
           part_of(at.width, w->padded.width, s->window, w->shift.width);
}

/* [windows, 1, tokens, tokens] */
static status region_mask(net *n, const swin *s, const windows *w, graph_val *ret, error *err)
{
    const int64_t t = w->tokens;
    float *mask = arena_alloc(graph_arena(n->g), (size_t)(w->n * t * t) * sizeof *mask);
    for (int64_t i = 0; i < w->n * t; i++)
        for (int64_t j = 0; j < t; j++)
            mask[i * t + j] = region_of(s, w, i) == region_of(s, w, i / t * t + j) ? 0.0f : apart;
    return graph_const(n->g, NULL, DT_F32, (graph_shape){4, {w->n, 1, t, t}}, mask, ret, err);
}

/* Broadcast to [batch * windows, heads, tokens, tokens]. */
static status scores_bias(net *n, const swin *s, const windows *w, const char *attention, graph_val *ret, error *err)
{
    const int64_t batch = n->request->batch_size, t = w->tokens;
    const graph_shape each = {5, {1, w->n, s->heads, t, t}}, all = {5, {batch, w->n, s->heads, t, t}};
    graph_val in[2];
    TRY(position_bias(n, s, w, attention, &in[0], err));
    *ret = in[0];
    if (!w->shift.height && !w->shift.width)
        return OK;
    TRY(region_mask(n, s, w, &in[1], err));
    TRY(graph_add_1(n->g, OP_ADD, NULL, in, 2, NULL, ret, err));
    TRY(net_reshape(n, *ret, each, ret, err));
    TRY(graph_add_1(n->g, OP_EXPAND, NULL, ret, 1, &(shape_attr){.shape = all}, ret, err));
    return net_reshape(n, *ret, (graph_shape){4, {batch * w->n, s->heads, t, t}}, ret, err);
}

/* --- blocks --- */

/* Rows of an image by their numbers; the end is [batch * rows, channels], `from` of an image, and becomes `to`. */
static status reorder(net *n, graph_val numbers, int64_t from, int64_t to, error *err)
{
    const int64_t batch = n->request->batch_size, channels = net_shape(n)->dim[1];
    graph_val in[2] = {n->end, numbers};
    TRY(net_reshape(n, n->end, (graph_shape){3, {batch, from, channels}}, &in[0], err));
    if (to > from) /* zeros, as the row behind the last one */
        TRY(graph_add_1(n->g, OP_PAD, NULL, in, 1, &(pad_attr){.mode = PAD_CONSTANT, .pads = {[4] = 1}}, &in[0], err));
    TRY(graph_add_1(n->g, OP_GATHER, NULL, in, 2, &(gather_attr){.axis = 1}, &n->end, err));
    return net_reshape(n, n->end, (graph_shape){2, {batch * to, channels}}, &n->end, err);
}

static status attend(net *n, const swin *s, const char *name, bool shifts, error *err)
{
    const windows w = windows_of(s, shifts);
    const int64_t tokens = s->grid.height * s->grid.width, places = w.n * w.tokens, channels = net_shape(n)->dim[1];
    attention_layer l = {.heads = s->heads, .tokens = w.tokens};
    graph_val token_of, place;
    TRY(net_check_heads(n, channels, s->heads, err));
    TRY(orders(n, s, &w, &token_of, &place, err));
    TRY(scores_bias(n, s, &w, name, &l.mask, err));
    TRY(reorder(n, token_of, tokens, places, err));
    TRY(net_linear(n, net_below(n, name, "qkv"), 3 * channels, true, err));
    TRY(net_attention(n, name, &l, err));
    TRY(net_linear(n, net_below(n, name, "proj"), channels, true, err));
    return reorder(n, place, places, tokens, err);
}

static status feed_forward(net *n, const char *name, error *err)
{
    const int64_t channels = net_shape(n)->dim[1];
    n->init = NET_XAVIER;
    n->bias_deviation = 1e-6;
    TRY(net_linear(n, net_below(n, name, "0"), 4 * channels, true, err));
    TRY(net_activation(n, net_below(n, name, "1"), "gelu", err));
    TRY(net_linear(n, net_below(n, name, "3"), channels, true, err));
    n->init = NET_NORMAL;
    n->bias_deviation = 0.0;
    return OK;
}

static status add_block(net *n, swin *s, const char *name, bool shifts, error *err)
{
    const double last = (double)s->n_blocks - 1.0;
    const double p = last > 0 ? s->stochastic_depth * (double)s->block / last : 0.0;
    graph_val before = n->end;
    s->block++;
    TRY(net_layer_norm(n, net_below(n, name, "norm1"), epsilon, err));
    TRY(attend(n, s, net_below(n, name, "attn"), shifts, err));
    TRY(net_close_residual(n, net_below(n, name, "attn"), p, before, err));
    before = n->end;
    TRY(net_layer_norm(n, net_below(n, name, "norm2"), epsilon, err));
    TRY(feed_forward(n, net_below(n, name, "mlp"), err));
    return net_close_residual(n, net_below(n, name, "mlp"), p, before, err);
}

/* --- stages --- */

/* Four neighbours become one token; an odd row or column more is zeros. */
static status merge_patches(net *n, swin *s, const char *name, error *err)
{
    const int64_t batch = n->request->batch_size, channels = net_shape(n)->dim[1];
    const int64_t h = s->grid.height, w = s->grid.width;
    const grid half = {(h + 1) / 2, (w + 1) / 2};
    TRY(net_reshape(n, n->end, (graph_shape){4, {batch, h, w, channels}}, &n->end, err));
    if (h % 2 || w % 2)
        TRY(graph_add_1(n->g, OP_PAD, NULL, &n->end, 1,
                        &(pad_attr){.mode = PAD_CONSTANT, .pads = {[5] = h % 2, [6] = w % 2}}, &n->end, err));
    TRY(net_reshape(n, n->end, (graph_shape){6, {batch, half.height, 2, half.width, 2, channels}}, &n->end, err));
    TRY(graph_add_1(n->g, OP_TRANSPOSE, NULL, &n->end, 1, &(transpose_attr){.perm = {0, 1, 3, 4, 2, 5}}, &n->end, err));
    TRY(net_reshape(n, n->end, (graph_shape){2, {batch * half.height * half.width, 4 * channels}}, &n->end, err));
    s->grid = half;
    TRY(net_layer_norm(n, net_below(n, name, "norm"), epsilon, err));
    return net_linear(n, net_below(n, name, "reduction"), 2 * channels, false, err);
}

static status add_stages(net *n, const config *model, swin *s, error *err)
{
    arena *a = graph_arena(n->g);
    const json_t *depths = config_json(model, "depths"), *heads = config_json(model, "num_heads");
    for (size_t i = 0; i < STAGES; i++)
        s->n_blocks += json_integer_value(json_array_get(depths, i));
    for (size_t i = 0; i < STAGES; i++) {
        const int64_t depth = json_integer_value(json_array_get(depths, i));
        s->heads = json_integer_value(json_array_get(heads, i));
        for (int64_t b = 0; b < depth; b++)
            TRY(add_block(n, s, arena_printf(a, "features.%zu.%lld", 2 * i + 1, (long long)b), b % 2 == 1, err));
        if (i + 1 < STAGES)
            TRY(merge_patches(n, s, arena_printf(a, "features.%zu", 2 * i + 2), err));
    }
    return OK;
}

status build_swin(net *n, const config *model, net_outputs *ret, error *err)
{
    const conv_layer patches = {
        .filters = config_int(model, "width"), .kernel = 4, .stride = 4, .groups = 1, .bias = true};
    const reduce_attr over_tokens = {.axes = {1}, .n_axes = 1, .drop_dims = true};
    swin s = {.window = config_int(model, "window"), .stochastic_depth = config_f64(model, "stochastic_depth_prob")};
    graph_shape planes;
    TRY(net_image_input(n, err));
    TRY(net_conv(n, "features.0.0", &patches, err));
    s.grid = (grid){net_shape(n)->dim[2], net_shape(n)->dim[3]};
    TRY(net_rows_of_pixels(n, &planes, err));
    n->init = NET_NORMAL;
    n->deviation = 0.02;
    TRY(net_layer_norm(n, "features.0.2", epsilon, err));
    TRY(add_stages(n, model, &s, err));
    TRY(net_layer_norm(n, "norm", epsilon, err));
    const graph_shape tokens = {3, {planes.dim[0], s.grid.height * s.grid.width, net_shape(n)->dim[1]}};
    TRY(net_reshape(n, n->end, tokens, &n->end, err));
    TRY(graph_add_1(n->g, OP_REDUCE_MEAN, "avgpool", &n->end, 1, &over_tokens, &n->end, err));
    return net_scores(n, "head", ret, err);
}
