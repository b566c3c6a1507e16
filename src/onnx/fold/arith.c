/* Folds of elementwise operators. */
#include "common/base/detmath.h"
#include "onnx/fold/fold.h"

#include <string.h>

typedef enum binary {
    B_ADD,
    B_SUB,
    B_MUL,
    B_DIV,
    B_POW,
    B_MOD,
    B_FMOD,
    B_MIN,
    B_MAX,
    B_EQUAL,
    B_LESS,
    B_LESS_EQUAL,
    B_GREATER,
    B_GREATER_EQUAL,
    B_AND,
    B_OR,
    B_XOR
} binary;

static int64_t power(int64_t base, int64_t exponent)
{
    uint64_t y = 1, b = (uint64_t)base;
    for (; exponent > 0; exponent >>= 1, b *= b)
        y *= exponent & 1 ? b : 1;
    return (int64_t)y;
}

/* b is not 0; INT64_MIN / -1 wraps. */
static int64_t quotient(int64_t a, int64_t b)
{
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t remainder_of(int64_t a, int64_t b, bool sign_of_divisor)
{
    int64_t r = b == -1 ? 0 : a % b;
    return sign_of_divisor && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t on_ints(binary op, int64_t a, int64_t b)
{
    switch (op) {
    case B_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case B_SUB:
        return (int64_t)((uint64_t)a - (uint64_t)b);
    case B_MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case B_DIV:
        return quotient(a, b);
    case B_MOD:
        return remainder_of(a, b, true);
    case B_FMOD:
        return remainder_of(a, b, false);
    case B_POW:
        return power(a, b);
    case B_MIN:
        return a < b ? a : b;
    case B_MAX:
        return a > b ? a : b;
    case B_EQUAL:
        return a == b;
    case B_LESS:
        return a < b;
    case B_LESS_EQUAL:
        return a <= b;
    case B_GREATER:
        return a > b;
    case B_GREATER_EQUAL:
        return a >= b;
    case B_AND:
        return a && b;
    case B_OR:
        return a || b;
    default:
        return !a != !b;
    }
}

static double on_floats(binary op, double a, double b)
{
    switch (op) {
    case B_ADD:
        return a + b;
    case B_SUB:
        return a - b;
    case B_MUL:
        return a * b;
    case B_DIV:
        return a / b;
    case B_POW:
        return b == 2.0 ? a * a : b == 0.5 ? det_sqrt(a) : det_pow(a, b);
    case B_MIN:
        return a < b ? a : b;
    case B_MAX:
        return a > b ? a : b;
    case B_EQUAL:
        return a == b;
    case B_LESS:
        return a < b;
    case B_LESS_EQUAL:
        return a <= b;
    case B_GREATER:
        return a > b;
    default:
        return a >= b;
    }
}

static bool divides(binary op)
{
    return op == B_DIV || op == B_MOD || op == B_FMOD;
}

static status apply(binary op, const host_tensor *a, const host_tensor *b, host_tensor *y,
                    error *err)
{
    for (int64_t i = 0; i < y->n; i++) {
        int64_t at_a = host_broadcast_at(&a->shape, &y->shape, i);
        int64_t at_b = host_broadcast_at(&b->shape, &y->shape, i);
        if (host_is_float(a)) {
            host_set(y, i, on_floats(op, host_get(a, at_a), host_get(b, at_b)));
            continue;
        }
        int64_t right = host_get_int(b, at_b);
        if (right == 0 && divides(op))
            return FAIL(err, E_DATA, "it divides an integer by zero");
        host_set_int(y, i, on_ints(op, host_get_int(a, at_a), right));
    }
    return OK;
}

static status onnx_fold_binary(call *c, binary op, bool to_bool, error *err)
{
    const host_tensor *a, *b;
    host_tensor *y;
    graph_shape shape;
    TRY(onnx_fold_input(c, 0, &a, err));
    TRY(onnx_fold_input(c, 1, &b, err));
    if (op != B_POW && a->dtype != b->dtype)
        return FAIL(err, E_DATA, "its inputs are %s and %s, must be of one type",
                    dtype_name(a->dtype), dtype_name(b->dtype));
    if (host_is_float(a) && (op == B_MOD || op == B_FMOD || op >= B_AND))
        return OK;
    if (op == B_POW && host_is_float(a) != host_is_float(b))
        return OK;
    host_tensor right = *b;
    TRY(call_align(c, &a->shape, &right.shape, err));
    TRY(onnx_fold_broadcast(&a->shape, &right.shape, &shape, err));
    TRY(onnx_fold_result(c, to_bool ? DT_BOOL : a->dtype, &shape, &y, err));
    return y ? apply(op, a, &right, y, err) : OK;
}

#define FOLD_BINARY(name, op, to_bool)                                                             \
    status name(call *c, error *err)                                                               \
    {                                                                                              \
        return onnx_fold_binary(c, op, to_bool, err);                                              \
    }
FOLD_BINARY(onnx_fold_add, B_ADD, false)
FOLD_BINARY(onnx_fold_sub, B_SUB, false)
FOLD_BINARY(onnx_fold_mul, B_MUL, false)
FOLD_BINARY(onnx_fold_div, B_DIV, false)
FOLD_BINARY(onnx_fold_pow, B_POW, false)
FOLD_BINARY(onnx_fold_equal, B_EQUAL, true)
FOLD_BINARY(onnx_fold_less, B_LESS, true)
FOLD_BINARY(onnx_fold_less_equal, B_LESS_EQUAL, true)
FOLD_BINARY(onnx_fold_greater, B_GREATER, true)
FOLD_BINARY(onnx_fold_greater_equal, B_GREATER_EQUAL, true)
FOLD_BINARY(onnx_fold_and, B_AND, true)
FOLD_BINARY(onnx_fold_or, B_OR, true)
FOLD_BINARY(onnx_fold_xor, B_XOR, true)

status onnx_fold_mod(call *c, error *err)
{
    return onnx_fold_binary(c, call_int(c, "fmod") ? B_FMOD : B_MOD, false, err);
}

/* Min and Max take any number; more than two are left to the run. */
static status onnx_fold_extreme(call *c, binary op, error *err)
{
    if (c->n_in == 1)
        return call_return_input(c, 0, 0, err);
    return c->n_in == 2 ? onnx_fold_binary(c, op, false, err) : OK;
}

status onnx_fold_min(call *c, error *err)
{
    return onnx_fold_extreme(c, B_MIN, err);
}

status onnx_fold_max(call *c, error *err)
{
    return onnx_fold_extreme(c, B_MAX, err);
}

static double rounded(double x, const char *how)
{
    if (!(x > -9007199254740992.0 && x < 9007199254740992.0))
        return x;
    double whole = (double)(int64_t)x;
    if (*how == 'F')
        return whole > x ? whole - 1 : whole;
    return whole < x ? whole + 1 : whole;
}

/* Operators of one input: how is the first letters of the operator's name. */
static status onnx_fold_unary(call *c, error *err)
{
    const host_tensor *x;
    host_tensor *y;
    const char *type = c->node->op_type;
    bool to_bool = strcmp(type, "Not") == 0;
    TRY(onnx_fold_input(c, 0, &x, err));
    TRY(onnx_fold_result(c, to_bool ? DT_BOOL : x->dtype, &x->shape, &y, err));
    for (int64_t i = 0; y && i < y->n; i++) {
        if (to_bool)
            host_set_int(y, i, !host_get_int(x, i));
        else if (!host_is_float(x)) {
            int64_t v = host_get_int(x, i);
            host_set_int(y, i, *type == 'N' || v < 0 ? (int64_t)(0 - (uint64_t)v) : v);
        } else {
            double v = host_get(x, i);
            host_set(y, i,
                     *type == 'N'   ? -v
                     : *type == 'A' ? (v < 0 ? -v : v)
                     : *type == 'S' ? det_sqrt(v)
                                    : rounded(v, type));
        }
    }
    return OK;
}

status onnx_fold_neg(call *c, error *err)
{
    return onnx_fold_unary(c, err);
}

status onnx_fold_abs(call *c, error *err)
{
    return onnx_fold_unary(c, err);
}

status onnx_fold_not(call *c, error *err)
{
    return onnx_fold_unary(c, err);
}

/* Of floats only. */
status onnx_fold_rounding(call *c, error *err)
{
    const host_tensor *x;
    TRY(onnx_fold_input(c, 0, &x, err));
    return host_is_float(x) ? onnx_fold_unary(c, err) : OK;
}

/* Of x, what is taken of it or of two bounds; NaN stays. */
static double between(double x, double low, double high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

status onnx_fold_sign(call *c, error *err)
{
    const host_tensor *x;
    host_tensor *y;
    TRY(onnx_fold_input(c, 0, &x, err));
    TRY(onnx_fold_result(c, x->dtype, &x->shape, &y, err));
    for (int64_t i = 0; y && i < y->n; i++) {
        double v = host_get(x, i);
        host_set(y, i, v != v ? v : (v > 0) - (v < 0));
    }
    return OK;
}

static status clip(call *c, const host_tensor *low, const host_tensor *high, error *err)
{
    const host_tensor *x;
    host_tensor *y;
    TRY(onnx_fold_input(c, 0, &x, err));
    TRY(onnx_fold_result(c, x->dtype, &x->shape, &y, err));
    for (int64_t i = 0; y && i < y->n; i++) {
        int64_t v = host_is_float(x) ? 0 : host_get_int(x, i);
        if (host_is_float(x)) {
            host_set(y, i, between(host_get(x, i), low ? host_get(low, 0) : -__builtin_inf(),
                                   high ? host_get(high, 0) : __builtin_inf()));
            continue;
        }
        v = low && v < host_get_int(low, 0) ? host_get_int(low, 0) : v;
        host_set_int(y, i, high && v > host_get_int(high, 0) ? host_get_int(high, 0) : v);
    }
    return OK;
}

/* Before opset 11 bounds were attributes: left to the run. The upper bound has the last word. */
status onnx_fold_clip(call *c, error *err)
{
    const host_tensor *low, *high;
    TRY(call_known(c, 1, &low, err));
    TRY(call_known(c, 2, &high, err));
    if (c->version < 11 || (low && low->n != 1) || (high && high->n != 1))
        return OK;
    return clip(c, low, high, err);
}

status onnx_fold_relu(call *c, error *err)
{
    return clip(c, host_int(c->im->a, 0), NULL, err);
}

status onnx_fold_where(call *c, error *err)
{
    const host_tensor *test, *a, *b;
    host_tensor *y;
    graph_shape shape;
    TRY(onnx_fold_input(c, 0, &test, err));
    TRY(onnx_fold_input(c, 1, &a, err));
    TRY(onnx_fold_input(c, 2, &b, err));
    if (a->dtype != b->dtype)
        return FAIL(err, E_DATA, "it chooses between %s and %s, must be of one type",
                    dtype_name(a->dtype), dtype_name(b->dtype));
    TRY(onnx_fold_broadcast(&a->shape, &b->shape, &shape, err));
    TRY(onnx_fold_broadcast(&test->shape, &shape, &shape, err));
    TRY(onnx_fold_result(c, a->dtype, &shape, &y, err));
    for (int64_t i = 0; y && i < y->n; i++) {
        bool yes = host_get_int(test, host_broadcast_at(&test->shape, &shape, i)) != 0;
        const host_tensor *from = yes ? a : b;
        host_copy(y, i, from, host_broadcast_at(&from->shape, &shape, i));
    }
    return OK;
}
