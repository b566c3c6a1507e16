/* Operators of one tensor, element by element: unary.def and Neg. */
#include "numeric/support_cases_rows.h"

#include <math.h>

#define NUMBERS(...) .attr = ATTR(unary_attr, __VA_ARGS__)

/* The loop is the others' with another function. */
#define SHORT(ID, what, Y, ...)                                                                    \
    CASE(ID, what "images", 1, IN(Y(2, 17, 4, 5)), __VA_ARGS__),                                   \
        CASE(ID, what "odd length", 1, IN(Y(1003)), __VA_ARGS__)

static const op_case rows[] = {
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

const case_table cases_unary = {rows, sizeof rows / sizeof *rows};
