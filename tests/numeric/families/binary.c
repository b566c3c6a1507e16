/* Operators of one to three operands that broadcast, over the types they take. */
#include "numeric/support_cases_rows.h"
#include "numeric/support_reference_ops.h"

#include <math.h>

static double cast(double x, dtype to)
{
    if (to == DT_BOOL)
        return x != 0;
    return to == DT_F32 ? x : trunc(x);
}

static double divide(double a, double b, dtype t)
{
    if (t == DT_F32)
        return a / b;
    return b == 0 ? 0 : trunc(a / b);
}

static double modulo(double a, double b, dtype t, bool truncates)
{
    if (t != DT_F32 && b == 0)
        return 0;
    return truncates ? fmod(a, b) : a - floor(a / b) * b;
}

static double wrap(double x, dtype t)
{
    return t == DT_U8 ? x - 256 * floor(x / 256) : x;
}

static double arithmetic(graph_op op, double a, double b, dtype t, const void *attr)
{
    switch (op) {
    case OP_ADD:
        return a + b;
    case OP_SUB:
        return a - b;
    case OP_MUL:
        return a * b;
    case OP_DIV:
        return divide(a, b, t);
    case OP_MIN:
        return fmin(a, b);
    case OP_MAX:
        return fmax(a, b);
    case OP_MOD:
        return modulo(a, b, t, ((const mod_attr *)attr)->fmod);
    case OP_POW:
        return pow(a, b);
    case OP_PRELU:
        return a < 0 ? b * a : a;
    case OP_BITWISE_AND:
        return (double)((int64_t)a & (int64_t)b);
    case OP_BITWISE_OR:
        return (double)((int64_t)a | (int64_t)b);
    case OP_BITWISE_XOR:
        return (double)((int64_t)a ^ (int64_t)b);
    case OP_SIGMOID_CROSS_ENTROPY:
        return -b * log(1 / (1 + exp(-a))) - (1 - b) * log(1 - 1 / (1 + exp(-a)));
    default:
        BUG("the reference knows no %s", graph_op_of(op)->name);
    }
}

static double truth(graph_op op, double a, double b, const void *attr)
{
    const is_inf_attr *inf = attr;
    switch (op) {
    case OP_EQUAL:
        return a == b;
    case OP_LESS:
        return a < b;
    case OP_LESS_OR_EQUAL:
        return a <= b;
    case OP_GREATER:
        return a > b;
    case OP_GREATER_OR_EQUAL:
        return a >= b;
    case OP_AND:
        return a != 0 && b != 0;
    case OP_OR:
        return a != 0 || b != 0;
    case OP_XOR:
        return (a != 0) != (b != 0);
    case OP_NOT:
        return a == 0;
    case OP_IS_NAN:
        return isnan(a);
    default:
        return isinf(a) && !(inf->only_positive && a < 0) && !(inf->only_negative && a > 0);
    }
}

static void broadcast(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                      const void *attr)
{
    int64_t at[GRAPH_RANK] = {0};
    for (int64_t i = 0; i < out->n; i++, ref_advance(&out->shape, at)) {
        double x[3] = {0};
        for (int32_t k = 0; k < n_in; k++)
            x[k] = in[k].x[ref_broadcast_from(&in[k].shape, &out->shape, at)];
        if (op == OP_WHERE)
            out->x[i] = x[0] != 0 ? x[1] : x[2];
        else if (op == OP_CAST)
            out->x[i] = cast(x[0], out->type);
        else if (out->type == DT_BOOL)
            out->x[i] = truth(op, x[0], x[1], attr);
        else
            out->x[i] = wrap(arithmetic(op, x[0], x[1], out->type, attr), out->type);
    }
}

#define BROADCASTS(family)                                                                         \
    void ref_##family(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,      \
                      const void *attr)                                                            \
    {                                                                                              \
        broadcast(op, in, n_in, out, attr);                                                        \
    }
BROADCASTS(binary)
BROADCASTS(compare)
BROADCASTS(where)
BROADCASTS(cast)

/* --- cases --- */

#define BYTES(...)                                                                                 \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_COUNT, DT_U8                                                      \
    }

#define STRANGE(...)                                                                               \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_STRANGE                                                           \
    }

#define NUMBER(number)                                                                             \
    {                                                                                              \
        .shape = {.rank = 0}, .constant = &(const float)                                           \
        {                                                                                          \
            number                                                                                 \
        }                                                                                          \
    }

#define X_SCALAR SCALAR
#define UNIT_SCALAR                                                                                \
    {                                                                                              \
        {.rank = 0}, FILL_UNIT                                                                     \
    }

/* The broadcasts of a binary operator; Y and Z fill the operands. */
#define BINARY(ID, Y, Z, ...)                                                                      \
    CASE(ID, "equal shapes", 2, IN(Y(4, 5), Z(4, 5)), __VA_ARGS__),                                \
        CASE(ID, "odd length", 2, IN(Y(1003), Z(1003)), __VA_ARGS__),                              \
        CASE(ID, "a row", 2, IN(Y(2, 3, 17), Z(17)), __VA_ARGS__),                                 \
        CASE(ID, "a channel", 2, IN(Y(2, 3, 4, 5), Z(3, 1, 1)), __VA_ARGS__),                      \
        CASE(ID, "a column", 2, IN(Y(2, 3, 4), Z(3, 1)), __VA_ARGS__),                             \
        CASE(ID, "both ways", 2, IN(Y(2, 1, 4), Z(3, 1)), __VA_ARGS__),                            \
        CASE(ID, "first is smaller", 2, IN(Y(5), Z(2, 3, 5)), __VA_ARGS__),                        \
        CASE(ID, "one element", 2, IN(Y(3, 7), Z(1)), __VA_ARGS__),                                \
        CASE(ID, "scalar", 2, IN(Y(3, 7), Z##_SCALAR), __VA_ARGS__),                               \
        CASE(ID, "rank 5", 2, IN(Y(2, 1, 3, 2, 4), Z(2, 3, 1, 2, 1)), __VA_ARGS__),                \
        CASE(ID, "rank 8", 2, IN(Y(1, 2, 1, 3, 1, 2, 1, 2), Z(2, 1, 3, 1, 2, 1, 2, 1)),            \
             __VA_ARGS__),                                                                         \
        CASE(ID, "long", 2, IN(Y(5, 8191), Z(5, 8191)), __VA_ARGS__),                              \
        CASE(ID, "long rows", 2, IN(Y(40, 1027), Z(1027)), __VA_ARGS__),                           \
        CASE(ID, "rows in pieces", 2, IN(Y(2, 20011), Z(2, 1)), __VA_ARGS__)

/* Another function of the same loops. */
#define FEW(ID, what, Y, Z, ...)                                                                   \
    CASE(ID, what "equal shapes", 2, IN(Y(2, 17, 3, 4), Z(2, 17, 3, 4)), __VA_ARGS__),             \
        CASE(ID, what "a row", 2, IN(Y(2, 3, 17), Z(17)), __VA_ARGS__),                            \
        CASE(ID, what "both ways", 2, IN(Y(2, 1, 4), Z(3, 1)), __VA_ARGS__),                       \
        CASE(ID, what "first is smaller", 2, IN(Y(5), Z(2, 3, 5)), __VA_ARGS__)

#define WHOLES(ID, ...)                                                                            \
    FEW(ID, "int64, ", INTS, INTS, __VA_ARGS__), FEW(ID, "int32, ", INTS32, INTS32, __VA_ARGS__),  \
        FEW(ID, "bytes, ", BYTES, BYTES, __VA_ARGS__)

#define CAST_TO(what, Y)                                                                           \
    CASE(CAST, what "float32", 1, IN(Y(3, 17)), .attr = ATTR(cast_attr, .to = DT_F32)),            \
        CASE(CAST, what "int64", 1, IN(Y(3, 17)), .attr = ATTR(cast_attr, .to = DT_I64)),          \
        CASE(CAST, what "int32", 1, IN(Y(3, 17)), .attr = ATTR(cast_attr, .to = DT_I32)),          \
        CASE(CAST, what "bool", 1, IN(Y(3, 17)), .attr = ATTR(cast_attr, .to = DT_BOOL))

#define CHOICE(what, Y)                                                                            \
    CASE(WHERE, what "equal shapes", 3, IN(BITS(3, 17), Y(3, 17), Y(3, 17))),                      \
        CASE(WHERE, what "one value", 3, IN(BITS(2, 1, 5, 5), Y(2, 3, 5, 5), Y(1))),               \
        CASE(WHERE, what "first value", 3, IN(BITS(5, 7), Y(1), Y(2, 5, 7))),                      \
        CASE(WHERE, what "condition of a row", 3, IN(BITS(7), Y(5, 7), Y(5, 1))),                  \
        CASE(WHERE, what "all grow", 3, IN(BITS(3, 1, 1), Y(4, 1), Y(5)))

static const op_case binary_rows[] = {
    BINARY(ADD, X, X, .attr = NULL),
    BINARY(SUB, X, X, .attr = NULL),
    BINARY(MUL, X, X, .attr = NULL),
    BINARY(DIV, X, POSITIVE, .attr = NULL),
    FEW(MAX, "", X, X, .attr = NULL),
    FEW(MAX, "ties, ", WHOLE, WHOLE, .attr = NULL),
    FEW(MIN, "", X, X, .attr = NULL),
    FEW(MIN, "ties, ", WHOLE, WHOLE, .attr = NULL),
    FEW(MOD, "", OFF_ZERO, POSITIVE, .attr = ATTR(mod_attr, .fmod = true)),
    WHOLES(ADD, .attr = NULL),
    WHOLES(SUB, .attr = NULL),
    WHOLES(MUL, .attr = NULL),
    WHOLES(DIV, .attr = NULL),
    WHOLES(MIN, .attr = NULL),
    WHOLES(MAX, .attr = NULL),
    WHOLES(MOD, .attr = ATTR(mod_attr, .fmod = false)),
    WHOLES(BITWISE_AND, .attr = NULL),
    WHOLES(BITWISE_OR, .attr = NULL),
    WHOLES(BITWISE_XOR, .attr = NULL),
    FEW(MOD, "sign of the first, ", INTS, INTS, .attr = ATTR(mod_attr, .fmod = true)),
    FEW(POW, "", POSITIVE, X, .attr = NULL),
    CASE(POW, "squares", 2, IN(X(2, 17, 3, 4), NUMBER(2))),
    CASE(POW, "cubes", 2, IN(X(1003), NUMBER(3))),
    CASE(POW, "roots", 2, IN(POSITIVE(1003), NUMBER(0.5f))),
    CASE(POW, "inverses", 2, IN(POSITIVE(3, 5), NUMBER(-1))),
    CASE(POW, "inverse roots", 2, IN(POSITIVE(3, 5), NUMBER(-0.5f))),
    CASE(POW, "itself", 2, IN(X(3, 5), NUMBER(1))),
    CASE(POW, "ones", 2, IN(X(3, 5), NUMBER(0))),
    CASE(POW, "fourth", 2, IN(X(3, 5), NUMBER(4))),
    CASE(POW, "1.7", 2, IN(POSITIVE(3, 5), NUMBER(1.7f))),
    CASE(PRELU, "equal shapes", 2, IN(OFF_ZERO(3, 17), X(3, 17))),
    CASE(PRELU, "a channel", 2, IN(OFF_ZERO(2, 17, 3, 4), X(17, 1, 1))),
    CASE(PRELU, "one slope", 2, IN(OFF_ZERO(5, 1003), X(1))),
    CASE(SIGMOID_CROSS_ENTROPY, "equal shapes", 2, IN(X(2, 17, 3, 4), UNIT(2, 17, 3, 4))),
    CASE(SIGMOID_CROSS_ENTROPY, "long", 2, IN(X(1003), UNIT(1003))),
    CASE(SIGMOID_CROSS_ENTROPY, "one target", 2, IN(X(5, 7), UNIT_SCALAR)),
};
CASES(binary);

static const op_case compare_rows[] = {
    FEW(LESS, "", WHOLE, WHOLE, .attr = NULL),
    CASE(LESS, "long", 2, IN(WHOLE(3, 20011), WHOLE(3, 20011))),
    CASE(LESS, "rows in pieces", 2, IN(WHOLE(3, 20011), WHOLE(3, 1))),
    CASE(LESS, "rank 8", 2, IN(WHOLE(1, 2, 1, 3, 1, 2, 1, 2), WHOLE(2, 1, 3, 1, 2, 1, 2, 1))),
    FEW(EQUAL, "", WHOLE, WHOLE, .attr = NULL),
    FEW(LESS_OR_EQUAL, "", WHOLE, WHOLE, .attr = NULL),
    FEW(GREATER, "", WHOLE, WHOLE, .attr = NULL),
    FEW(GREATER_OR_EQUAL, "", WHOLE, WHOLE, .attr = NULL),
    WHOLES(LESS, .attr = NULL),
    WHOLES(EQUAL, .attr = NULL),
    WHOLES(LESS_OR_EQUAL, .attr = NULL),
    WHOLES(GREATER, .attr = NULL),
    WHOLES(GREATER_OR_EQUAL, .attr = NULL),
    FEW(EQUAL, "bits, ", BITS, BITS, .attr = NULL),
    FEW(AND, "", BITS, BITS, .attr = NULL),
    FEW(OR, "", BITS, BITS, .attr = NULL),
    FEW(XOR, "", BITS, BITS, .attr = NULL),
    CASE(NOT, "bits", 1, IN(BITS(5, 7))),
    CASE(IS_NAN, "", 1, IN(STRANGE(3, 17))),
    CASE(IS_INF, "either", 1, IN(STRANGE(3, 17)),
         .attr = ATTR(is_inf_attr, .only_positive = false)),
    CASE(IS_INF, "positive", 1, IN(STRANGE(3, 17)),
         .attr = ATTR(is_inf_attr, .only_positive = true)),
    CASE(IS_INF, "negative", 1, IN(STRANGE(3, 17)),
         .attr = ATTR(is_inf_attr, .only_negative = true)),
    CASE(IS_INF, "neither", 1, IN(STRANGE(3, 17)),
         .attr = ATTR(is_inf_attr, .only_positive = true, .only_negative = true)),
};
CASES(compare);

static const op_case where_rows[] = {
    CHOICE("", X),
    CHOICE("int64, ", INTS),
    CHOICE("int32, ", INTS32),
    CHOICE("bits, ", BITS),
    CASE(WHERE, "long", 3, IN(BITS(3, 20011), X(3, 20011), X(1))),
};
CASES(where);

static const op_case cast_rows[] = {
    CAST_TO("float32 to ", X),
    CAST_TO("int64 to ", INTS),
    CAST_TO("int32 to ", INTS32),
    CAST_TO("bytes to ", BYTES),
    CAST_TO("bits to ", BITS),
    CASE(CAST, "float32 to bytes", 1, IN(POSITIVE(3, 17)), .attr = ATTR(cast_attr, .to = DT_U8)),
    CASE(CAST, "bits to bytes", 1, IN(BITS(3, 17)), .attr = ATTR(cast_attr, .to = DT_U8)),
};
CASES(cast);
