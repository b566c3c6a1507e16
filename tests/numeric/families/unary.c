/* Operators of one tensor, element by element: unary.def and Neg. With libm. */
#include "numeric/support_cases_rows.h"
#include "numeric/support_reference_ops.h"

#include <math.h>

static double gelu(double x, bool by_tanh)
{
    if (by_tanh)
        return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    return 0.5 * x * (1 + erf(x / sqrt(2)));
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double shrink(double x, double lambda, double bias)
{
    if (x < -lambda)
        return x + bias;
    return x > lambda ? x - bias : 0;
}

static double with_numbers(graph_op op, double x, double alpha, double beta)
{
    switch (op) {
    case OP_SWISH:
        return x * sigmoid(alpha * x);
    case OP_LEAKY_RELU:
        return x < 0 ? alpha * x : x;
    case OP_THRESHOLDED_RELU:
        return x > alpha ? x : 0;
    case OP_ELU:
        return x < 0 ? alpha * (exp(x) - 1) : x;
    case OP_SELU:
        return x <= 0 ? beta * (alpha * exp(x) - alpha) : beta * x;
    case OP_CELU:
        return fmax(0, x) + fmin(0, alpha * (exp(x / alpha) - 1));
    case OP_HARD_SIGMOID:
        return fmax(0, fmin(1, alpha * x + beta));
    case OP_CLIP:
        return fmin(beta, fmax(alpha, x));
    case OP_SHRINK:
        return shrink(x, alpha, beta);
    default:
        BUG("the reference knows no %s", graph_op_of(op)->name);
    }
}

static double of_libm(graph_op op, double x)
{
    switch (op) {
    case OP_EXP:
        return exp(x);
    case OP_LOG:
        return log(x);
    case OP_SQRT:
        return sqrt(x);
    case OP_ERF:
        return erf(x);
    case OP_SIN:
        return sin(x);
    case OP_COS:
        return cos(x);
    case OP_TAN:
        return tan(x);
    case OP_ASIN:
        return asin(x);
    case OP_ACOS:
        return acos(x);
    case OP_ATAN:
        return atan(x);
    case OP_SINH:
        return sinh(x);
    case OP_COSH:
        return cosh(x);
    case OP_TANH:
        return tanh(x);
    case OP_ASINH:
        return asinh(x);
    case OP_ACOSH:
        return acosh(x);
    case OP_ATANH:
        return atanh(x);
    case OP_ABS:
        return fabs(x);
    case OP_FLOOR:
        return floor(x);
    case OP_CEIL:
        return ceil(x);
    case OP_ROUND:
        return nearbyint(x);
    default:
        BUG("the reference knows no %s", graph_op_of(op)->name);
    }
}

static double of_one(graph_op op, double x, const void *attr)
{
    switch (op) {
    case OP_NEG:
        return -x;
    case OP_RECIPROCAL:
        return 1 / x;
    case OP_SIGN:
        return (x > 0) - (x < 0);
    case OP_RELU:
        return x > 0 ? x : 0;
    case OP_SIGMOID:
        return sigmoid(x);
    case OP_GELU:
        return gelu(x, ((const gelu_attr *)attr)->tanh);
    case OP_SOFTPLUS:
        return log(exp(x) + 1);
    case OP_SOFTSIGN:
        return x / (1 + fabs(x));
    case OP_MISH:
        return x * tanh(log(exp(x) + 1));
    case OP_HARD_SWISH:
        return x * fmax(0, fmin(1, x / 6 + 0.5));
    default:
        break;
    }
    const unary_attr *a = attr;
    return a ? with_numbers(op, x, (double)a->alpha, (double)a->beta) : of_libm(op, x);
}

void ref_unary(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
               const void *attr)
{
    (void)n_in;
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] = of_one(op, in->x[i], attr);
}

/* --- cases --- */

#define NUMBERS(...) .attr = ATTR(unary_attr, __VA_ARGS__)
/* The loop is the others' with another function. */
#define SHORT(ID, what, Y, ...)                                                                    \
    CASE(ID, what "images", 1, IN(Y(2, 17, 4, 5)), __VA_ARGS__),                                   \
        CASE(ID, what "odd length", 1, IN(Y(1003)), __VA_ARGS__)

static const op_case unary_rows[] = {
    UNARY(RELU, "", OFF_ZERO, .attr = NULL),
    UNARY(SIGMOID, "", X, .attr = NULL),
    UNARY(TANH, "", X, .attr = NULL),
    UNARY(GELU, "erf, ", X, .attr = NULL),
    UNARY(GELU, "tanh, ", X, .attr = ATTR(gelu_attr, .tanh = true)),
    UNARY(NEG, "", X, .attr = NULL),
    UNARY(EXP, "", X, .attr = NULL),
    SHORT(SWISH, "", X, NUMBERS(.alpha = 1)),
    SHORT(SWISH, "1.7, ", X, NUMBERS(.alpha = 1.7f)),
    SHORT(MISH, "", X, .attr = NULL),
    SHORT(SOFTPLUS, "", X, .attr = NULL),
    SHORT(SOFTSIGN, "", X, .attr = NULL),
    SHORT(LEAKY_RELU, "", OFF_ZERO, NUMBERS(.alpha = 0.01f)),
    SHORT(THRESHOLDED_RELU, "", OFF_ZERO, NUMBERS(.alpha = 0.15f)),
    SHORT(ELU, "", OFF_ZERO, NUMBERS(.alpha = 1.5f)),
    SHORT(SELU, "", OFF_ZERO, NUMBERS(.alpha = 1.67326324f, .beta = 1.05070099f)),
    SHORT(CELU, "", OFF_ZERO, NUMBERS(.alpha = 0.6f)),
    SHORT(HARD_SIGMOID, "", OFF_ZERO, NUMBERS(.alpha = 0.2f, .beta = 0.5f)),
    SHORT(HARD_SIGMOID, "at both ends, ", OFF_ZERO, NUMBERS(.alpha = 1.8f, .beta = 0.7f)),
    SHORT(HARD_SWISH, "", X, .attr = NULL),
    SHORT(CLIP, "", OFF_ZERO, NUMBERS(.alpha = -0.1f, .beta = 6)),
    SHORT(CLIP, "open above, ", OFF_ZERO, NUMBERS(.alpha = 0.1f, .beta = INFINITY)),
    SHORT(SHRINK, "", OFF_ZERO, NUMBERS(.alpha = 0.1f)),
    SHORT(SHRINK, "bias, ", X, NUMBERS(.alpha = 0.5f, .beta = 1.5f)),
    SHORT(ABS, "", OFF_ZERO, .attr = NULL),
    SHORT(LOG, "", POSITIVE, .attr = NULL),
    SHORT(SQRT, "", POSITIVE, .attr = NULL),
    SHORT(RECIPROCAL, "", POSITIVE, .attr = NULL),
    SHORT(ERF, "", X, .attr = NULL),
    SHORT(SIN, "", X, .attr = NULL),
    SHORT(COS, "", X, .attr = NULL),
    SHORT(TAN, "", UNIT, .attr = NULL),
    SHORT(ASIN, "", UNIT, .attr = NULL),
    SHORT(ACOS, "", UNIT, .attr = NULL),
    SHORT(ATAN, "", X, .attr = NULL),
    SHORT(SINH, "", X, .attr = NULL),
    SHORT(COSH, "", X, .attr = NULL),
    SHORT(ASINH, "", X, .attr = NULL),
    SHORT(ACOSH, "", ABOVE_1, .attr = NULL),
    SHORT(ATANH, "", UNIT, .attr = NULL),
    SHORT(SIGN, "", OFF_ZERO, .attr = NULL),
    SHORT(FLOOR, "", X, .attr = NULL),
    SHORT(CEIL, "", X, .attr = NULL),
    SHORT(ROUND, "", X, .attr = NULL),
};
CASES(unary);
