/*
 * Patterns that exporters write out, and their near misses. What fuse/ matches must mean the same
 * as what it replaces; with one operand, axis, number or reader changed it must not be matched, or
 * still mean the same.
 */
#include "differential/grow.h"

#include <math.h>
#include <string.h>

static bool rarely(sketch *s)
{
    return dice_chance(&s->dice, 7);
}

/* A number as it should be, or, rarely, another one; as a constant of a scalar or of one element.
 */
static int32_t number(sketch *s, double x)
{
    static const double off[] = {0.5, 2.0, 1.001, 1.1, -1.0, 1.00001};
    return sketch_const_float(s, rarely(s) ? x * DICE_OF(&s->dice, off) : x);
}

/* Of something commutative the operands in some order. */
static int32_t either(sketch *s, const char *type, int32_t a, int32_t b)
{
    if (a == NO_TERM || b == NO_TERM)
        return NO_TERM;
    return dice_chance(&s->dice, 50) ? sketch_call(s, type, a, b, NO_TERM)
                                     : sketch_call(s, type, b, a, NO_TERM);
}

/* x, or rarely another value in its place. */
static int32_t same(sketch *s, int32_t x)
{
    return x != NO_TERM && rarely(s) ? grow_partner(s, x, true) : x;
}

static int32_t call(sketch *s, const char *type, int32_t x)
{
    return x == NO_TERM ? NO_TERM : sketch_call(s, type, x, NO_TERM, NO_TERM);
}

static int32_t call_2(sketch *s, const char *type, int32_t a, int32_t b)
{
    return a == NO_TERM || b == NO_TERM ? NO_TERM : sketch_call(s, type, a, b, NO_TERM);
}

/* times k, or divided by its inverse */
static int32_t scaled(sketch *s, int32_t x, double k)
{
    return dice_chance(&s->dice, 60) ? either(s, "Mul", x, number(s, k))
                                     : call_2(s, "Div", x, number(s, 1 / k));
}

static int32_t transposed(sketch *s, int32_t x, const int64_t *perm, int64_t n)
{
    if (x == NO_TERM)
        return NO_TERM;
    sketch_begin(s, "Transpose");
    sketch_in(s, x);
    sketch_ints(s, "perm", perm, n);
    return sketch_end_1(s);
}

static int32_t reshaped(sketch *s, int32_t x, const int64_t *dims, int64_t n)
{
    return call_2(s, "Reshape", x, sketch_const_ints(s, dims, n));
}

/* --- linear layers --- */

static int32_t linear(sketch *s, int32_t x, int64_t features)
{
    if (x == NO_TERM)
        return NO_TERM;
    const graph_shape shape = *grow_shape_of(s, x);
    int64_t inner = shape.dim[shape.rank - 1];
    bool turns = dice_chance(&s->dice, 40);
    int32_t w =
        turns ? grow_weight_of(s, 2, features, inner) : grow_weight_of(s, 2, inner, features);
    if (turns)
        w = transposed(s, w, (int64_t[]){1, 0}, 2);
    int32_t y = call_2(s, "MatMul", x, w), b;
    if (y == NO_TERM || dice_chance(&s->dice, 20))
        return y;
    graph_shape bias = {1, {features}};
    if (dice_chance(&s->dice, 25)) {
        bias = *grow_shape_of(s, y);
        for (int32_t i = 0; i < bias.rank; i++)
            bias.dim[i] = dice_chance(&s->dice, 40) ? 1 : bias.dim[i];
    }
    b = grow_weight(s, &bias, ANY);
    int32_t sum = rarely(s) ? call_2(s, "Sub", y, b) : either(s, "Add", y, b);
    if (rarely(s))
        either(s, "Mul", y, y); /* read elsewhere too */
    return sum;
}

void grow_linear(sketch *s)
{
    int32_t x = grow_any(s, 1, 4);
    int32_t y = linear(s, x, dice_int(&s->dice, 1, 6));
    if (dice_chance(&s->dice, 30))
        linear(s, y, dice_int(&s->dice, 1, 4));
}

/* What treats all rows alike, between linear layers. */
void grow_rows(sketch *s)
{
    static const char *const each[] = {"Relu", "Tanh", "Sigmoid", "Gelu", "Identity", "Dropout"};
    int32_t first = grow_any(s, 2, 4);
    int32_t x = linear(s, first, dice_int(&s->dice, 1, 5));
    for (int64_t n = dice_int(&s->dice, 1, 3); n > 0 && x != NO_TERM; n--) {
        const char *type = DICE_OF(&s->dice, each);
        if (strcmp(type, "Gelu") == 0 && s->opset < 20)
            type = "Tanh";
        if (dice_chance(&s->dice, 30))
            x = either(s, "Add", x, dice_chance(&s->dice, 50) ? x : grow_partner(s, x, true));
        else
            x = call(s, type, x);
    }
    linear(s, x, dice_int(&s->dice, 1, 4));
}

/* --- Gelu --- */

void grow_gelu_by_erf(sketch *s)
{
    int32_t x = grow_any(s, 0, 4);
    int32_t e = call(s, rarely(s) ? "Tanh" : "Erf", scaled(s, same(s, x), sqrt(0.5)));
    int32_t inner =
        rarely(s) ? call_2(s, "Sub", number(s, 1), e) : either(s, "Add", e, number(s, 1));
    int32_t y;
    switch (dice_int(&s->dice, 0, 2)) {
    case 0:
        y = scaled(s, either(s, "Mul", same(s, x), inner), 0.5);
        break;
    case 1:
        y = either(s, "Mul", scaled(s, same(s, x), 0.5), inner);
        break;
    default:
        y = either(s, "Mul", same(s, x), scaled(s, inner, 0.5));
        break;
    }
    if (rarely(s))
        either(s, "Add", inner, e);
    if (rarely(s))
        call(s, "Tanh", y);
}

void grow_gelu_by_tanh(sketch *s)
{
    int32_t x = grow_any(s, 0, 4);
    int32_t cube = dice_chance(&s->dice, 50)
                       ? call_2(s, "Pow", x, number(s, 3))
                       : either(s, "Mul", either(s, "Mul", x, same(s, x)), same(s, x));
    int32_t sum = either(s, "Add", same(s, x), scaled(s, cube, 0.044715));
    int32_t t = call(s, rarely(s) ? "Erf" : "Tanh", scaled(s, sum, sqrt(2 / M_PI)));
    int32_t inner = either(s, "Add", t, number(s, 1));
    int32_t y = dice_chance(&s->dice, 50) ? either(s, "Mul", scaled(s, same(s, x), 0.5), inner)
                                          : scaled(s, either(s, "Mul", same(s, x), inner), 0.5);
    if (rarely(s))
        either(s, "Add", y, sum);
}

/* --- norms --- */

static int32_t mean(sketch *s, int32_t x, const int64_t *axes, int64_t n, bool keep)
{
    if (x == NO_TERM)
        return NO_TERM;
    sketch_begin(s, rarely(s) ? "ReduceSum" : "ReduceMean");
    bool is_sum = strcmp(s->draft.proto->op_type, "ReduceSum") == 0;
    sketch_in(s, x);
    grow_axes(s, axes, n, is_sum ? 13 : 18);
    if (!keep || dice_chance(&s->dice, 50))
        sketch_int(s, "keepdims", keep);
    return sketch_end_1(s);
}

void grow_layer_norm_written_out(sketch *s)
{
    int32_t x = grow_any(s, 1, 4);
    if (x == NO_TERM)
        return;
    const graph_shape shape = *grow_shape_of(s, x);
    int64_t axes[GRAPH_RANK], other[GRAPH_RANK], n = 1;
    axes[0] = dice_chance(&s->dice, 50) ? -1 : shape.rank - 1;
    if (dice_chance(&s->dice, 30))
        n = grow_some_axes(s, shape.rank, axes);
    memcpy(other, axes, sizeof axes);
    if (rarely(s))
        other[0] = grow_axis(s, shape.rank);
    int32_t centred = call_2(s, "Sub", x, mean(s, same(s, x), axes, n, true));
    int32_t again =
        dice_chance(&s->dice, 15) ? call_2(s, "Sub", x, mean(s, x, other, n, true)) : centred;
    int32_t square = dice_chance(&s->dice, 50) ? call_2(s, "Pow", again, number(s, 2))
                                               : call_2(s, "Mul", again, again);
    int32_t var = mean(s, square, other, n, !rarely(s));
    int32_t dev =
        call(s, "Sqrt", either(s, "Add", var, number(s, dice_chance(&s->dice, 50) ? 1e-5 : 0.01)));
    int32_t y = dice_chance(&s->dice, 75) ? call_2(s, "Div", centred, dev)
                                          : either(s, "Mul", centred, call(s, "Reciprocal", dev));
    if (y == NO_TERM)
        return;
    graph_shape tail = {1, {shape.dim[shape.rank - 1]}};
    int32_t scale =
        dice_chance(&s->dice, 75) ? grow_weight(s, &tail, ANY) : grow_partner(s, y, true);
    int32_t shift =
        dice_chance(&s->dice, 75) ? grow_weight(s, &tail, ANY) : grow_partner(s, y, true);
    y = dice_chance(&s->dice, 85) ? either(s, "Mul", y, scale) : y;
    if (dice_chance(&s->dice, 85))
        either(s, "Add", y, shift);
    if (rarely(s))
        call(s, "Neg", dev);
}

/* --- attention --- */

/* Along another axis a line may be masked as a whole: its derivative is lost in the numbers. */
static int32_t softmax(sketch *s, int32_t x, bool is_masked)
{
    if (x == NO_TERM)
        return NO_TERM;
    int32_t rank = grow_shape_of(s, x)->rank;
    sketch_begin(s, "Softmax");
    sketch_in(s, x);
    sketch_int(s, "axis",
               !is_masked && rarely(s)     ? rank - 2
               : dice_chance(&s->dice, 50) ? -1
                                           : rank - 1);
    return sketch_end_1(s);
}

typedef struct mask_of {
    int64_t queries, keys;
    graph_shape scores;
} mask_of;

/* Whether a query may look at a key: those up to itself (with a rare exception), or by chance, but
 * always one. */
static void draw_sight(sketch *s, const mask_of *m, bool *ret)
{
    bool causal = dice_chance(&s->dice, 60);
    for (int64_t i = 0; i < m->queries * m->keys; i++)
        ret[i] =
            causal ? i % m->keys <= i / m->keys : i % m->keys == 0 || dice_chance(&s->dice, 60);
    int64_t at = dice_int(&s->dice, 0, m->queries * m->keys - 1);
    if (rarely(s) && at % m->keys != 0)
        ret[at] = !ret[at];
}

static graph_shape mask_shape(sketch *s, const mask_of *m)
{
    graph_shape shape = {2, {m->queries, m->keys}};
    if (dice_chance(&s->dice, 40)) {
        int32_t more = m->scores.rank - 2;
        shape = (graph_shape){.rank = more + 2};
        for (int32_t i = 0; i < more; i++)
            shape.dim[i] = 1;
        shape.dim[more] = m->queries;
        shape.dim[more + 1] = m->keys;
    }
    return shape;
}

static double hiding(sketch *s)
{
    static const double some[] = {-INFINITY, -3.4028234663852886e38, -1e9, -10000.0, -1.0};
    return some[dice_int(&s->dice, 0, rarely(s) ? 4 : 2)];
}

/* Added to scores: what is known, hides or not; or something that moves. */
static int32_t with_added(sketch *s, int32_t scores, const mask_of *m)
{
    bool sight[64];
    double values[64];
    if (m->queries * m->keys > 64 || scores == NO_TERM)
        return NO_TERM;
    if (dice_chance(&s->dice, 30))
        return either(s, "Add", scores, grow_partner(s, scores, dice_chance(&s->dice, 75)));
    draw_sight(s, m, sight);
    double hidden = hiding(s);
    for (int64_t i = 0; i < m->queries * m->keys; i++)
        values[i] = sight[i] ? 0 : hidden;
    graph_shape shape = mask_shape(s, m);
    int32_t mask = grow_const_or_fed(s, 70, DT_F32, &shape, values);
    return either(s, "Add", scores, mask);
}

static int32_t with_chosen(sketch *s, int32_t scores, const mask_of *m)
{
    bool sight[64], turned = dice_chance(&s->dice, 50);
    double values[64];
    if (m->queries * m->keys > 64 || scores == NO_TERM)
        return NO_TERM;
    draw_sight(s, m, sight);
    for (int64_t i = 0; i < m->queries * m->keys; i++)
        values[i] = sight[i] != turned;
    graph_shape shape = mask_shape(s, m);
    int32_t c = grow_const_or_fed(s, 60, DT_BOOL, &shape, values);
    if (dice_chance(&s->dice, 20)) {
        c = call(s, "Not", c);
        turned = !turned;
    }
    int32_t hidden = sketch_const_float(s, hiding(s));
    return turned ? sketch_call(s, "Where", c, hidden, scores)
                  : sketch_call(s, "Where", c, scores, hidden);
}

/* 0 for a row that looks at nothing */
static int32_t without_nan(sketch *s, int32_t p)
{
    int32_t c = call(s, "IsNaN", p);
    return c == NO_TERM ? NO_TERM : sketch_call(s, "Where", c, number(s, 0), p);
}

/* softmax(q k^T scale + mask) v, of q, k and v that are there */
static int32_t products(sketch *s, int32_t q, int32_t k, int32_t v, bool k_is_turned)
{
    static const int64_t swap_3[] = {0, 2, 1}, swap_4[] = {0, 1, 3, 2};
    if (q == NO_TERM || k == NO_TERM || v == NO_TERM)
        return NO_TERM;
    const graph_shape shape = *grow_shape_of(s, q);
    double scale = dice_chance(&s->dice, 60) ? 1 / sqrt((double)shape.dim[shape.rank - 1])
                                             : dice_real(&s->dice, rarely(s) ? -1 : 0.2, 1.5);
    int64_t place = dice_int(&s->dice, 0, 4);
    if (!k_is_turned)
        k = transposed(s, k, shape.rank == 3 ? swap_3 : swap_4, shape.rank);
    q = place == 0 || place == 3 ? scaled(s, q, place == 3 ? sqrt(scale > 0 ? scale : 1) : scale)
                                 : q;
    k = place == 1 || place == 3 ? scaled(s, k, place == 3 ? sqrt(scale > 0 ? scale : 1) : scale)
                                 : k;
    int32_t scores = call_2(s, "MatMul", q, k);
    if (scores == NO_TERM)
        return NO_TERM;
    if (rarely(s))
        either(s, "Mul", scores, scores);
    mask_of m = {.scores = *grow_shape_of(s, scores)};
    m.queries = m.scores.dim[m.scores.rank - 2];
    m.keys = m.scores.dim[m.scores.rank - 1];
    scores = place == 2 ? scaled(s, scores, scale) : scores;
    s->has_masks = true;
    int64_t masking = dice_int(&s->dice, 0, 2);
    scores = masking == 1   ? with_added(s, scores, &m)
             : masking == 2 ? with_chosen(s, scores, &m)
                            : scores;
    scores = scores != NO_TERM && rarely(s) ? scaled(s, scores, 0.5) : scores;
    int32_t p = softmax(s, scores, masking != 0);
    s->has_masks = false;
    if (p != NO_TERM && dice_chance(&s->dice, 20))
        p = without_nan(s, p);
    if (p != NO_TERM && dice_chance(&s->dice, 20))
        p = call(s, "Dropout", p);
    int32_t y = call_2(s, "MatMul", p, v);
    if (rarely(s))
        call(s, "Neg", p);
    return y;
}

void grow_scaled_products(sketch *s)
{
    bool by_heads = dice_chance(&s->dice, 60);
    int64_t batch = dice_int(&s->dice, 1, 2), heads = dice_int(&s->dice, 1, 3),
            width = dice_int(&s->dice, 1, 4);
    int64_t queries = dice_int(&s->dice, 1, 4),
            keys = dice_chance(&s->dice, 60) ? queries : dice_int(&s->dice, 1, 4);
    int64_t out = dice_chance(&s->dice, 70) ? width : dice_int(&s->dice, 1, 4);
    int64_t kv_batch = rarely(s) ? 1 : batch;
    bool is_turned = dice_chance(&s->dice, 25);
    int64_t rows = is_turned ? width : keys, columns = is_turned ? keys : width;
    int32_t q, k, v;
    if (by_heads) {
        q = grow_weight_of(s, 4, batch, heads, queries, width);
        k = grow_weight_of(s, 4, kv_batch, heads, rows, columns);
        v = grow_weight_of(s, 4, kv_batch, heads, keys, out);
    } else {
        q = grow_weight_of(s, 3, batch, queries, width);
        k = grow_weight_of(s, 3, kv_batch, rows, columns);
        v = grow_weight_of(s, 3, kv_batch, keys, out);
    }
    if (dice_chance(&s->dice, 40))
        q = call(s, "Tanh", q);
    if (rarely(s) && queries == keys && width == out && !is_turned)
        k = v;
    products(s, q, k, v, is_turned);
}

/* --- heads that lie side by side --- */

static int32_t apart(sketch *s, int32_t x, int64_t heads, int64_t width, bool turned)
{
    static const int64_t to_heads[] = {0, 2, 1, 3}, to_keys[] = {0, 2, 3, 1},
                         other[] = {1, 2, 0, 3};
    if (x == NO_TERM)
        return NO_TERM;
    const graph_shape shape = *grow_shape_of(s, x);
    int64_t dims[] = {dice_chance(&s->dice, 30) ? 0 : shape.dim[0], shape.dim[1], heads, width};
    int32_t y = reshaped(s, x, dims, 4);
    return transposed(s, y, turned ? to_keys : rarely(s) ? other : to_heads, 4);
}

void grow_heads(sketch *s)
{
    int64_t batch = dice_int(&s->dice, 1, 2), n = dice_int(&s->dice, 1, 4),
            heads = dice_int(&s->dice, 1, 3);
    int64_t width = dice_int(&s->dice, 1, 3), all = heads * width;
    int32_t x = grow_weight_of(s, 3, batch, n, dice_int(&s->dice, 1, 4)), in[3];
    bool packed = dice_chance(&s->dice, 50), turned = dice_chance(&s->dice, 40);
    if (packed) {
        int32_t whole = linear(s, x, 3 * all);
        sketch_begin(s, "Split");
        sketch_in(s, whole);
        if (dice_chance(&s->dice, 50) || s->opset >= 18)
            sketch_in(s, sketch_const_ints(s, (int64_t[]){all, all, all}, 3));
        sketch_int(s, "axis", dice_chance(&s->dice, 50) ? -1 : 2);
        if (whole == NO_TERM || !sketch_end(s, 3, in))
            return;
        if (rarely(s)) {
            int32_t first = in[0];
            in[0] = in[1];
            in[1] = first;
        }
    } else {
        for (int i = 0; i < 3; i++)
            in[i] = linear(s, x, all);
    }
    int32_t q = apart(s, in[0], heads, width, false), k = apart(s, in[1], heads, width, turned);
    int32_t y = products(s, q, k, apart(s, in[2], heads, width, false), turned);
    if (y == NO_TERM || grow_shape_of(s, y)->rank != 4)
        return;
    y = transposed(s, y, rarely(s) ? (int64_t[]){0, 1, 2, 3} : (int64_t[]){0, 2, 1, 3}, 4);
    y = reshaped(s, y, (int64_t[]){batch, n, dice_chance(&s->dice, 50) ? -1 : all}, 3);
    if (y != NO_TERM && dice_chance(&s->dice, 50))
        linear(s, y, dice_int(&s->dice, 1, 4));
}

/* --- GlobalAveragePool --- */

void grow_mean_of_planes(sketch *s)
{
    int32_t x = grow_any(s, 3, 5);
    if (x == NO_TERM)
        return;
    int32_t rank = grow_shape_of(s, x)->rank;
    int64_t axes[GRAPH_RANK], n = 0;
    for (int32_t i = 2; i < rank; i++)
        axes[n++] = dice_chance(&s->dice, 50) ? i : i - rank;
    if (rarely(s))
        axes[0] = grow_axis(s, rank);
    if (n > 1 && rarely(s))
        n--;
    mean(s, x, axes, n, dice_chance(&s->dice, 75));
}
