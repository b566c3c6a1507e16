#include "differential/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct op_row {
    const char *type;
    int64_t opset;
} op_row;

void grow_unary(sketch *s)
{
    static const op_row rows[] = {
        {"Abs", 9},        {"Neg", 9},   {"Exp", 9},        {"Relu", 9},   {"Sigmoid", 9},
        {"Tanh", 9},       {"Erf", 9},   {"Sin", 9},        {"Cos", 9},    {"Tan", 9},
        {"Atan", 9},       {"Sinh", 9},  {"Cosh", 9},       {"Asinh", 9},  {"Softplus", 9},
        {"Softsign", 9},   {"Floor", 9}, {"Ceil", 9},       {"Round", 11}, {"Sign", 9},
        {"HardSwish", 14}, {"Mish", 18}, {"Reciprocal", 9}, {"Sqrt", 9},   {"Log", 9},
        {"Identity", 9},
    };
    const op_row *r = &DICE_OF(&s->dice, rows);
    if (s->opset >= r->opset)
        sketch_call(s, r->type, grow_any(s, 0, 5), NO_TERM, NO_TERM);
}

void grow_unary_in_domain(sketch *s)
{
    static const struct {
        const char *type;
        domain d;
    } rows[] = {{"Log", POSITIVE}, {"Sqrt", POSITIVE}, {"Reciprocal", POSITIVE}, {"Asin", INSIDE},
                {"Acos", INSIDE},  {"Atanh", INSIDE},  {"Acosh", ABOVE_ONE}};
    int64_t i = dice_int(&s->dice, 0, COUNT_OF(rows) - 1);
    int32_t x;
    if (dice_chance(&s->dice, 50)) {
        graph_shape shape = grow_shape(s, 0, 4);
        x = grow_weight(s, &shape, rows[i].d);
    } else {
        static const char *const before[] = {
            [POSITIVE] = "Softplus", [INSIDE] = "Tanh", [ABOVE_ONE] = "Exp"};
        x = sketch_call(s, before[rows[i].d], grow_any(s, 0, 4), NO_TERM, NO_TERM);
    }
    sketch_call(s, rows[i].type, x, NO_TERM, NO_TERM);
}

void grow_unary_with_numbers(sketch *s)
{
    static const struct {
        const char *type, *numbers[2];
        int64_t opset;
    } rows[] = {{"LeakyRelu", {"alpha"}, 9},
                {"Elu", {"alpha"}, 9},
                {"Selu", {"alpha", "gamma"}, 9},
                {"Celu", {"alpha"}, 12},
                {"HardSigmoid", {"alpha", "beta"}, 9},
                {"ThresholdedRelu", {"alpha"}, 10},
                {"Shrink", {"lambd", "bias"}, 9},
                {"Swish", {"alpha"}, 24},
                {"Gelu", {NULL}, 20}};
    int64_t i = dice_int(&s->dice, 0, COUNT_OF(rows) - 1);
    int32_t x = grow_any(s, 0, 5);
    if (s->opset < rows[i].opset)
        return;
    sketch_begin(s, rows[i].type);
    sketch_in(s, x);
    for (int k = 0; k < 2 && rows[i].numbers[k]; k++)
        if (dice_chance(&s->dice, 60))
            sketch_float(s, rows[i].numbers[k], dice_real(&s->dice, 0.1, 1.2));
    if (strcmp(rows[i].type, "Gelu") == 0 && dice_chance(&s->dice, 60))
        sketch_string(s, "approximate", dice_chance(&s->dice, 70) ? "tanh" : "none");
    sketch_end_1(s);
}

void grow_binary(sketch *s)
{
    static const char *const types[] = {"Add", "Add", "Sub", "Mul", "Mul", "Div", "Mod"};
    const char *type = DICE_OF(&s->dice, types);
    int32_t x = grow_any(s, 0, 5);
    if (x == NO_TERM)
        return;
    int32_t y = dice_chance(&s->dice, 15)   ? x
                : dice_chance(&s->dice, 20) ? sketch_const_float(s, dice_real(&s->dice, -2, 2))
                                            : grow_partner(s, x, false);
    bool turned = dice_chance(&s->dice, 50), is_mod = strcmp(type, "Mod") == 0;
    if (is_mod && s->opset < 10)
        return;
    sketch_begin(s, type);
    sketch_in(s, turned ? y : x);
    sketch_in(s, turned ? x : y);
    if (is_mod)
        sketch_int(s, "fmod", 1);
    sketch_end_1(s);
}

void grow_pow(sketch *s)
{
    static const double exponents[] = {2, 3, 0.5, -1, 1, 0, 4, 1.5, -2, -0.5, 1.0 / 3};
    int32_t x = grow_any(s, 0, 4);
    if (dice_chance(&s->dice, 60)) {
        sketch_call(s, "Pow", x, sketch_const_float(s, DICE_OF(&s->dice, exponents)), NO_TERM);
        return;
    }
    graph_shape shape = grow_shape(s, 0, 3);
    int32_t base = grow_weight(s, &shape, POSITIVE);
    if (base != NO_TERM)
        sketch_call(s, "Pow", base, grow_partner(s, base, false), NO_TERM);
}

void grow_variadic(sketch *s)
{
    static const char *const types[] = {"Sum", "Mean", "Max", "Min"};
    int64_t n = dice_int(&s->dice, 1, 4);
    int32_t in[4];
    in[0] = grow_any(s, 0, 4);
    for (int64_t i = 1; i < n && in[0] != NO_TERM; i++)
        in[i] = grow_partner(s, in[0], true);
    if (in[0] == NO_TERM)
        return;
    sketch_begin(s, DICE_OF(&s->dice, types));
    for (int64_t i = 0; i < n; i++)
        sketch_in(s, in[i]);
    sketch_end_1(s);
}

void grow_clip(sketch *s)
{
    int32_t x = grow_any(s, 0, 4);
    double low = dice_real(&s->dice, -1, 0), high = dice_real(&s->dice, 0, 1);
    bool has_low = dice_chance(&s->dice, 70), has_high = dice_chance(&s->dice, 70);
    int32_t min = NO_TERM, max = NO_TERM;
    if (s->opset >= 11) {
        graph_shape scalar = {.rank = 0};
        min = has_low ? sketch_const(s, DT_F32, &scalar, &low) : NO_TERM;
        max = has_high ? sketch_const(s, DT_F32, &scalar, &high) : NO_TERM;
    }
    sketch_begin(s, "Clip");
    sketch_in(s, x);
    if (s->opset >= 11 && (has_low || has_high))
        sketch_in(s, min);
    if (s->opset >= 11 && has_high)
        sketch_in(s, max);
    if (s->opset < 11 && has_low)
        sketch_float(s, "min", low);
    if (s->opset < 11 && has_high)
        sketch_float(s, "max", high);
    sketch_end_1(s);
}

void grow_prelu(sketch *s)
{
    int32_t x = grow_any(s, 1, 4);
    if (x != NO_TERM)
        sketch_call(s, "PRelu", x, grow_partner(s, x, true), NO_TERM);
}

/* A condition of x's shape, or of one that broadcasts with it. */
static int32_t condition(sketch *s, int32_t x)
{
    static const op_row rows[] = {
        {"Less", 9}, {"Greater", 9}, {"LessOrEqual", 12}, {"GreaterOrEqual", 12}, {"Equal", 11}};
    const op_row *r = &DICE_OF(&s->dice, rows);
    if (dice_chance(&s->dice, 40)) {
        graph_shape shape = *grow_shape_of(s, x);
        double bits[1024];
        int64_t n = graph_shape_elements(&shape);
        for (int64_t i = 0; i < n && i < 1024; i++)
            bits[i] = dice_chance(&s->dice, 50);
        if (n > 1024)
            return NO_TERM;
        return dice_chance(&s->dice, 50) ? sketch_fed(s, DT_BOOL, &shape, bits)
                                         : sketch_const(s, DT_BOOL, &shape, bits);
    }
    if (s->opset < r->opset)
        return NO_TERM;
    return sketch_call(s, r->type, x,
                       dice_chance(&s->dice, 50) ? sketch_const_float(s, dice_real(&s->dice, -1, 1))
                                                 : grow_partner(s, x, true),
                       NO_TERM);
}

void grow_where(sketch *s)
{
    int32_t x = grow_any(s, 0, 4);
    if (x == NO_TERM)
        return;
    int32_t c = condition(s, x);
    if (c == NO_TERM)
        return;
    int32_t y = dice_chance(&s->dice, 30) ? sketch_const_float(s, dice_real(&s->dice, -2, 2))
                                          : grow_partner(s, x, false);
    bool turned = dice_chance(&s->dice, 50);
    sketch_call(s, "Where", c, turned ? y : x, turned ? x : y);
}

void grow_logic(sketch *s)
{
    static const char *const types[] = {"And", "Or", "Xor"};
    int32_t a = grow_old(s, DT_BOOL, 0, 4), x = grow_any(s, 0, 4);
    if (x == NO_TERM)
        return;
    a = a == NO_TERM ? condition(s, x) : a;
    if (a == NO_TERM)
        return;
    int32_t y = dice_chance(&s->dice, 40)
                    ? sketch_call(s, "Not", a, NO_TERM, NO_TERM)
                    : sketch_call(s, DICE_OF(&s->dice, types), a, condition(s, x), NO_TERM);
    if (y == NO_TERM)
        return;
    sketch_begin(s, "Cast");
    sketch_in(s, y);
    sketch_int(s, "to", 1);
    sketch_end_1(s);
}

static int32_t cast(sketch *s, int32_t x, int64_t to)
{
    sketch_begin(s, "Cast");
    sketch_in(s, x);
    sketch_int(s, "to", to);
    return sketch_end_1(s);
}

/* To integers or bools and back, or to what it is. */
void grow_cast(sketch *s)
{
    static const int64_t types[] = {1, 6, 7, 9};
    int32_t x = grow_any(s, 0, 4);
    int32_t y = x == NO_TERM ? NO_TERM : cast(s, x, DICE_OF(&s->dice, types));
    if (y == NO_TERM)
        return;
    if (s->opset >= 15 && dice_chance(&s->dice, 40))
        sketch_call(s, "CastLike", y, x, NO_TERM);
    else
        cast(s, y, 1);
}

/* Arithmetic of constants, which the import does itself, that ends in data. */
void grow_known_numbers(sketch *s)
{
    static const char *const types[] = {"Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"};
    int32_t a = sketch_const_float(s, dice_real(&s->dice, 0.5, 2));
    for (int i = 0; i < 2 && a != NO_TERM; i++)
        a = dice_chance(&s->dice, 30)
                ? sketch_call(s, dice_chance(&s->dice, 50) ? "Sqrt" : "Neg", a, NO_TERM, NO_TERM)
                : sketch_call(s, DICE_OF(&s->dice, types), a,
                              sketch_const_float(s, dice_real(&s->dice, 0.5, 2)), NO_TERM);
    int32_t x = grow_any(s, 0, 4);
    if (a != NO_TERM && s->terms[a].n == 1 && isfinite(s->terms[a].x[POINT_HERE][0]))
        sketch_call(s, dice_chance(&s->dice, 50) ? "Mul" : "Add", x, a, NO_TERM);
}
