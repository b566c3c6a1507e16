#include "differential/grow.h"

/* --- sequences --- */

void grow_recurrent(sketch *s)
{
    static const struct {
        const char *type;
        int64_t gates;
    } rows[] = {{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}};
    static const char *const directions[] = {"forward", "reverse", "bidirectional"};
    int64_t r = dice_int(&s->dice, 0, 2), direction = dice_int(&s->dice, 0, 2),
            n = direction == 2 ? 2 : 1;
    int64_t steps = dice_int(&s->dice, 1, 4), batch = dice_int(&s->dice, 1, 3);
    int64_t features = dice_int(&s->dice, 1, 4), hidden = dice_int(&s->dice, 1, 4),
            g = rows[r].gates * hidden;
    int32_t x = grow_weight_of(s, 3, steps, batch, features);
    x = dice_chance(&s->dice, 50) ? sketch_call(s, "Tanh", x, NO_TERM, NO_TERM) : x;
    int32_t in[8] = {x,
                     grow_weight_of(s, 3, n, g, features),
                     grow_weight_of(s, 3, n, g, hidden),
                     NO_TERM,
                     NO_TERM,
                     NO_TERM,
                     NO_TERM,
                     NO_TERM};
    int n_in = 3;
    if (dice_chance(&s->dice, 60)) {
        in[3] = grow_weight_of(s, 2, n, 2 * g);
        n_in = 4;
    }
    if (dice_chance(&s->dice, 25)) {
        double lengths[3];
        for (int64_t i = 0; i < batch; i++)
            lengths[i] = (double)dice_int(&s->dice, 1, steps);
        in[4] = dice_chance(&s->dice, 50)
                    ? sketch_fed(s, DT_I32, &(graph_shape){1, {batch}}, lengths)
                    : sketch_const(s, DT_I32, &(graph_shape){1, {batch}}, lengths);
        n_in = 5;
    }
    if (dice_chance(&s->dice, 40)) {
        in[5] = grow_weight_of(s, 3, n, batch, hidden);
        n_in = 6;
        if (r == 0 && dice_chance(&s->dice, 60)) {
            in[6] = grow_weight_of(s, 3, n, batch, hidden);
            n_in = 7;
        }
    }
    sketch_begin(s, rows[r].type);
    for (int i = 0; i < n_in; i++)
        sketch_in(s, in[i]);
    sketch_int(s, "hidden_size", hidden);
    if (direction || dice_chance(&s->dice, 30))
        sketch_string(s, "direction", directions[direction]);
    if (r == 1 && dice_chance(&s->dice, 60))
        sketch_int(s, "linear_before_reset", 1);
    int32_t out[3];
    sketch_end(s, (int32_t)dice_int(&s->dice, 1, r == 0 ? 3 : 2), out);
}

void grow_attention(sketch *s)
{
    int64_t batch = dice_int(&s->dice, 1, 2), groups = dice_int(&s->dice, 1, 2),
            repeat = dice_int(&s->dice, 1, 2);
    int64_t heads = groups * repeat, queries = dice_int(&s->dice, 1, 4),
            keys = dice_int(&s->dice, 1, 4);
    int64_t width = dice_int(&s->dice, 1, 4),
            out_width = dice_chance(&s->dice, 70) ? width : dice_int(&s->dice, 1, 4);
    bool side_by_side = dice_chance(&s->dice, 40);
    int32_t q, k, v, mask = NO_TERM;
    if (side_by_side) {
        q = grow_weight_of(s, 3, batch, queries, heads * width);
        k = grow_weight_of(s, 3, batch, keys, groups * width);
        v = grow_weight_of(s, 3, batch, keys, groups * out_width);
    } else {
        q = grow_weight_of(s, 4, batch, heads, queries, width);
        k = grow_weight_of(s, 4, batch, groups, keys, width);
        v = grow_weight_of(s, 4, batch, groups, keys, out_width);
    }
    q = dice_chance(&s->dice, 40) ? sketch_call(s, "Tanh", q, NO_TERM, NO_TERM) : q;
    if (dice_chance(&s->dice, 40)) {
        graph_shape shape = {2, {queries, keys}};
        double values[16];
        bool is_bool = dice_chance(&s->dice, 50);
        for (int64_t i = 0; i < queries * keys; i++)
            values[i] =
                is_bool ? i % keys == 0 || dice_chance(&s->dice, 60) : dice_normal(&s->dice);
        mask = is_bool                     ? sketch_fed(s, DT_BOOL, &shape, values)
               : dice_chance(&s->dice, 50) ? sketch_fed(s, DT_F32, &shape, values)
                                           : sketch_weight(s, &shape, values);
    }
    int32_t past_k = NO_TERM, past_v = NO_TERM;
    if (mask == NO_TERM && dice_chance(&s->dice, 20)) {
        int64_t past = dice_int(&s->dice, 1, 3);
        past_k = grow_weight_of(s, 4, batch, groups, past, width);
        past_v = grow_weight_of(s, 4, batch, groups, past, out_width);
    }
    sketch_begin(s, "Attention");
    sketch_in(s, q);
    sketch_in(s, k);
    sketch_in(s, v);
    if (mask != NO_TERM || past_k != NO_TERM)
        sketch_in(s, mask);
    if (past_k != NO_TERM) {
        sketch_in(s, past_k);
        sketch_in(s, past_v);
    }
    if (side_by_side) {
        sketch_int(s, "q_num_heads", heads);
        sketch_int(s, "kv_num_heads", groups);
    }
    if (dice_chance(&s->dice, 35))
        sketch_int(s, "is_causal", 1);
    if (dice_chance(&s->dice, 35))
        sketch_float(s, "scale", dice_real(&s->dice, 0.1, 1.5));
    if (dice_chance(&s->dice, 15))
        sketch_float(s, "softcap", dice_real(&s->dice, 0.5, 3));
    int32_t out[4];
    sketch_end(s, past_k == NO_TERM ? 1 : 3, out);
}

void grow_rotary(sketch *s)
{
    int64_t batch = dice_int(&s->dice, 1, 2), heads = dice_int(&s->dice, 1, 3),
            n = dice_int(&s->dice, 1, 4);
    int64_t width = 2 * dice_int(&s->dice, 1, 3),
            part = dice_chance(&s->dice, 25) && width > 2 ? 2 : width;
    bool side_by_side = dice_chance(&s->dice, 40);
    int32_t x = side_by_side ? grow_weight_of(s, 3, batch, n, heads * width)
                             : grow_weight_of(s, 4, batch, heads, n, width);
    double angles[2][2 * 4 * 3];
    graph_shape shape = {3, {batch, n, part / 2}};
    for (int64_t i = 0; i < batch * n * part / 2; i++) {
        angles[0][i] = dice_real(&s->dice, -1, 1);
        angles[1][i] = dice_real(&s->dice, -1, 1);
    }
    int32_t cosine = sketch_fed(s, DT_F32, &shape, angles[0]),
            sine = sketch_fed(s, DT_F32, &shape, angles[1]);
    sketch_begin(s, "RotaryEmbedding");
    sketch_in(s, x);
    sketch_in(s, cosine);
    sketch_in(s, sine);
    if (side_by_side || dice_chance(&s->dice, 20))
        sketch_int(s, "num_heads", heads);
    if (part != width)
        sketch_int(s, "rotary_embedding_dim", part);
    if (dice_chance(&s->dice, 40))
        sketch_int(s, "interleaved", 1);
    sketch_end_1(s);
}

/* --- signals --- */

void grow_dft(sketch *s)
{
    bool is_real = dice_chance(&s->dice, 50), by_input = s->opset >= 20,
         is_inverse = !is_real && dice_chance(&s->dice, 40);
    int64_t batch = dice_int(&s->dice, 1, 2), n = dice_int(&s->dice, 1, 6),
            m = dice_int(&s->dice, 1, 4);
    int32_t x = grow_weight_of(s, 4, batch, n, m, (int64_t)(is_real ? 1 : 2));
    int64_t axis = dice_int(&s->dice, 1, 2);
    int32_t length =
        dice_chance(&s->dice, 30) ? sketch_const_int(s, dice_int(&s->dice, 1, 6)) : NO_TERM;
    int32_t at =
        by_input ? sketch_const_int(s, dice_chance(&s->dice, 40) ? axis - 4 : axis) : NO_TERM;
    sketch_begin(s, "DFT");
    sketch_in(s, x);
    if (length != NO_TERM || at != NO_TERM)
        sketch_in(s, length);
    if (at != NO_TERM)
        sketch_in(s, at);
    else
        sketch_int(s, "axis", axis);
    if (is_inverse)
        sketch_int(s, "inverse", 1);
    if (is_real && dice_chance(&s->dice, 50))
        sketch_int(s, "onesided", 1);
    sketch_end_1(s);
}

void grow_stft(sketch *s)
{
    int64_t frame = dice_int(&s->dice, 2, 4), n = frame + dice_int(&s->dice, 0, 5);
    int32_t x = grow_weight_of(s, 3, dice_int(&s->dice, 1, 2), n, (int64_t)1);
    int32_t step = sketch_const_int(s, dice_int(&s->dice, 1, 3)),
            length = sketch_const_int(s, frame);
    int32_t weights = dice_chance(&s->dice, 60) ? grow_weight_of(s, 1, frame) : NO_TERM;
    sketch_begin(s, "STFT");
    sketch_in(s, x);
    sketch_in(s, step);
    sketch_in(s, weights);
    if (weights == NO_TERM || dice_chance(&s->dice, 50))
        sketch_in(s, length);
    if (dice_chance(&s->dice, 50))
        sketch_int(s, "onesided", dice_int(&s->dice, 0, 1));
    sketch_end_1(s);
}

void grow_col_2_im(sketch *s)
{
    int64_t size[2], block[2], strides[2], dilations[2], pads[4] = {0}, places = 1;
    for (int i = 0; i < 2; i++) {
        size[i] = dice_int(&s->dice, 2, 5);
        block[i] = dice_int(&s->dice, 1, 2);
        strides[i] = dice_int(&s->dice, 1, 2);
        dilations[i] = dice_int(&s->dice, 1, 2);
        pads[i] = dice_int(&s->dice, 0, 1);
        pads[2 + i] = dice_int(&s->dice, 0, 1);
        int64_t room = size[i] + pads[i] + pads[2 + i] - (block[i] - 1) * dilations[i] - 1;
        if (room < 0)
            return;
        places *= room / strides[i] + 1;
    }
    int64_t channels = dice_int(&s->dice, 1, 2);
    int32_t x =
        grow_weight_of(s, 3, dice_int(&s->dice, 1, 2), channels * block[0] * block[1], places);
    int32_t image_shape = sketch_const_ints(s, size, 2),
            block_shape = sketch_const_ints(s, block, 2);
    sketch_begin(s, "Col2Im");
    sketch_in(s, x);
    sketch_in(s, image_shape);
    sketch_in(s, block_shape);
    sketch_ints(s, "strides", strides, 2);
    sketch_ints(s, "dilations", dilations, 2);
    sketch_ints(s, "pads", pads, 4);
    sketch_end_1(s);
}
