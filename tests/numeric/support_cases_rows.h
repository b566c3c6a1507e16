/* How a row of a table of cases is written. For the tables alone, families/. */
#ifndef TEQUIO_TESTS_NUMERIC_SUPPORT_CASES_ROWS_H
#define TEQUIO_TESTS_NUMERIC_SUPPORT_CASES_ROWS_H

#include "numeric/support_cases.h"
#include "support/window_attrs.h"

#include <stddef.h>

#define COUNT(...) ((int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
#define SHAPE(...)                                                                                 \
    {                                                                                              \
        .rank = COUNT(__VA_ARGS__), .dim = { __VA_ARGS__ }                                         \
    }
#define X(...)                                                                                     \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_NORMAL                                                            \
    }
#define POSITIVE(...)                                                                              \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_POSITIVE                                                          \
    }
#define OFF_ZERO(...)                                                                              \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_OFF_ZERO                                                          \
    }
#define UNIT(...)                                                                                  \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_UNIT                                                              \
    }
#define ABOVE_1(...)                                                                               \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_ABOVE_1                                                           \
    }
#define DISTINCT(...)                                                                              \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_DISTINCT                                                          \
    }
#define LABELS(...)                                                                                \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_LABEL, DT_I64                                                     \
    }
#define LABELS32(...)                                                                              \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_LABEL, DT_I32                                                     \
    }
#define WHOLE(...)                                                                                 \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_WHOLE, DT_F32                                                     \
    }
#define INTS(...)                                                                                  \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_WHOLE, DT_I64                                                     \
    }
#define INTS32(...)                                                                                \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_WHOLE, DT_I32                                                     \
    }
#define BITS(...)                                                                                  \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_BIT, DT_BOOL                                                      \
    }
#define INDICES(...)                                                                               \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_INDEX, DT_I64                                                     \
    }
#define INDEX                                                                                      \
    {                                                                                              \
        {.rank = 0}, FILL_INDEX, DT_I64                                                            \
    }
#define BATCH                                                                                      \
    {                                                                                              \
        SHAPE(1), FILL_BATCH, DT_I64                                                               \
    }
#define ABSENT                                                                                     \
    {                                                                                              \
        {                                                                                          \
            .rank = GRAPH_NONE                                                                     \
        }                                                                                          \
    }
#define SCALAR                                                                                     \
    {                                                                                              \
        {.rank = 0}, FILL_NORMAL                                                                   \
    }
#define POSITIVE_SCALAR                                                                            \
    {                                                                                              \
        {.rank = 0}, FILL_POSITIVE                                                                 \
    }

#define ATTR(type, ...)                                                                            \
    &(const type)                                                                                  \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* One row: operator, what is special, number of operands, operands and attributes. */
#define CASE(ID, what, n, ...)                                                                     \
    {                                                                                              \
        .name = #ID " " what, .op = OP_##ID, .n_in = n, __VA_ARGS__                                \
    }
#define IN(...)      .in = {__VA_ARGS__}
#define CONV_(...)   .attr = &CONV_ATTR(__VA_ARGS__)
#define POOL(...)    .attr = &POOL_ATTR(__VA_ARGS__)
#define AXIS(a)      .attr = ATTR(axis_attr, .axis = a)
#define GEMM_(...)   .attr = ATTR(gemm_attr, __VA_ARGS__)
#define LOSS(...)    .attr = ATTR(sce_attr, __VA_ARGS__)
#define COUNT_(...)  .attr = ATTR(accuracy_attr, __VA_ARGS__)
#define NORM(...)    .attr = ATTR(batch_norm_attr, __VA_ARGS__)
#define REDUCE(...)  .attr = ATTR(reduce_attr, __VA_ARGS__)
#define GROUPS_(...) .attr = ATTR(group_norm_attr, __VA_ARGS__)
#define LRN_(...)    .attr = ATTR(lrn_attr, __VA_ARGS__)

/* The cases of a family of ops.def, <family>_rows. */
#define CASES(family)                                                                              \
    const case_table cases_##family = {family##_rows, sizeof family##_rows / sizeof *family##_rows}

/* One operand in the shapes that kernels take apart; Y fills it. */
#define UNARY(ID, what, Y, ...)                                                                    \
    CASE(ID, what "one element", 1, IN(Y(1)), __VA_ARGS__),                                        \
        CASE(ID, what "rank 2", 1, IN(Y(3, 5)), __VA_ARGS__),                                      \
        CASE(ID, what "rank 4", 1, IN(Y(2, 17, 4, 5)), __VA_ARGS__),                               \
        CASE(ID, what "rank 5", 1, IN(Y(2, 3, 2, 3, 2)), __VA_ARGS__),                             \
        CASE(ID, what "odd length", 1, IN(Y(1003)), __VA_ARGS__),                                  \
        CASE(ID, what "long", 1, IN(Y(5, 8191)), __VA_ARGS__)

#endif
