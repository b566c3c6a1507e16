/* Reductions over axes, and what walks along one. */
#include "numeric/support_cases_rows.h"

#define ARG(...) .attr = ATTR(arg_attr, __VA_ARGS__)
#define CUM(...) .attr = ATTR(cum_sum_attr, __VA_ARGS__)

/* X fills the operand. */
#define REDUCTION(ID, X)                                                                           \
    CASE(ID, "all", 1, IN(X(3, 4, 5)), REDUCE(.drop_dims = true)),                                 \
        CASE(ID, "all, dimensions kept", 1, IN(X(3, 4, 5)), REDUCE(.n_axes = 0)),                  \
        CASE(ID, "rank 1", 1, IN(X(1003)), REDUCE(.axes = {0}, .n_axes = 1)),                      \
        CASE(ID, "first axis", 1, IN(X(6, 17)), REDUCE(.axes = {0}, .n_axes = 1)),                 \
        CASE(ID, "last axis dropped", 1, IN(X(6, 17)),                                             \
             REDUCE(.axes = {-1}, .n_axes = 1, .drop_dims = true)),                                \
        CASE(ID, "middle of rank 4", 1, IN(X(2, 3, 4, 5)),                                         \
             REDUCE(.axes = {1, 2}, .n_axes = 2, .drop_dims = true)),                              \
        CASE(ID, "two apart", 1, IN(X(2, 18, 4, 5)), REDUCE(.axes = {3, 1}, .n_axes = 2)),         \
        CASE(ID, "rank 5", 1, IN(X(2, 3, 2, 3, 2)),                                                \
             REDUCE(.axes = {0, 2, -1}, .n_axes = 3, .drop_dims = true)),                          \
        CASE(ID, "long, all", 1, IN(X(3, 9001)), REDUCE(.drop_dims = true)),                       \
        CASE(ID, "long columns", 1, IN(X(300, 130)), REDUCE(.axes = {0}, .n_axes = 1)),            \
        CASE(ID, "long rows", 1, IN(X(130, 300)), REDUCE(.axes = {1}, .n_axes = 1))

/* The same walk with another function. */
#define SHORT(ID, what, X)                                                                         \
    CASE(ID, what "all", 1, IN(X(3, 4, 5)), REDUCE(.drop_dims = true)),                            \
        CASE(ID, what "nothing", 1, IN(X(3, 4, 5)), REDUCE(.none = true)),                         \
        CASE(ID, what "middle", 1, IN(X(2, 3, 40)), REDUCE(.axes = {1}, .n_axes = 1)),             \
        CASE(ID, what "two apart", 1, IN(X(3, 2, 7)),                                              \
             REDUCE(.axes = {-1, 0}, .n_axes = 2, .drop_dims = true)),                             \
        CASE(ID, what "columns", 1, IN(X(9, 130)), REDUCE(.axes = {0}, .n_axes = 1)),              \
        CASE(ID, what "rows", 1, IN(X(13, 33)),                                                    \
             REDUCE(.axes = {1}, .n_axes = 1, .drop_dims = true)),                                 \
        CASE(ID, what "rank 5", 1, IN(X(2, 3, 2, 2, 3)),                                           \
             REDUCE(.axes = {1, 3}, .n_axes = 2, .drop_dims = true))

#define WHOLES(ID) SHORT(ID, "int64, ", INTS), SHORT(ID, "int32, ", INTS32)

#define PLACES(ID)                                                                                 \
    CASE(ID, "rows", 1, IN(X(13, 33)), ARG(.axis = -1)),                                           \
        CASE(ID, "columns", 1, IN(X(33, 13)), ARG(.axis = 0, .drop_dims = true)),                  \
        CASE(ID, "images", 1, IN(X(2, 5, 3, 4)), ARG(.axis = 1)),                                  \
        CASE(ID, "of alike the first", 1, IN(INTS(4, 33)), ARG(.axis = 1)),                        \
        CASE(ID, "of alike the last", 1, IN(INTS32(4, 33)), ARG(.axis = 1, .last = true)),         \
        CASE(ID, "one", 1, IN(X(4, 1)), ARG(.axis = 1))

static const op_case rows[] = {
    REDUCTION(REDUCE_SUM, X),
    REDUCTION(REDUCE_MEAN, X),
    REDUCTION(REDUCE_MAX, DISTINCT),
    REDUCTION(REDUCE_LOG_SUM_EXP, X),
    SHORT(REDUCE_SUM, "", X),
    SHORT(REDUCE_MEAN, "", X),
    SHORT(REDUCE_MIN, "", DISTINCT),
    SHORT(REDUCE_PROD, "", POSITIVE),
    SHORT(REDUCE_L1, "", OFF_ZERO),
    SHORT(REDUCE_L2, "", X),
    SHORT(REDUCE_SUM_SQUARE, "", X),
    SHORT(REDUCE_LOG_SUM, "", POSITIVE),
    WHOLES(REDUCE_SUM),
    WHOLES(REDUCE_MAX),
    WHOLES(REDUCE_MIN),
    CASE(REDUCE_PROD, "int64", 1, IN(INTS(4, 9)), REDUCE(.axes = {1}, .n_axes = 1)),
    CASE(REDUCE_PROD, "int32", 1, IN(INTS32(5, 4)), REDUCE(.axes = {0}, .n_axes = 1)),
    CASE(REDUCE_MAX, "ties", 1, IN(WHOLE(4, 3)), REDUCE(.axes = {1}, .n_axes = 1)),
    CASE(REDUCE_PROD, "zeros", 1, IN(WHOLE(12, 5)), REDUCE(.axes = {1}, .n_axes = 1)),
    CASE(REDUCE_PROD, "columns with zeros", 1, IN(WHOLE(5, 12)),
         REDUCE(.axes = {0}, .n_axes = 1, .drop_dims = true)),

    PLACES(ARG_MAX),
    PLACES(ARG_MIN),
    CASE(HARDMAX, "rows", 1, IN(DISTINCT(13, 33)), AXIS(-1)),
    CASE(HARDMAX, "channels", 1, IN(DISTINCT(2, 5, 3, 4)), AXIS(1)),
    CASE(CUM_SUM, "rows", 1, IN(X(13, 33)), CUM(.axis = -1)),
    CASE(CUM_SUM, "columns", 1, IN(X(33, 13)), CUM(.axis = 0)),
    CASE(CUM_SUM, "exclusive", 1, IN(X(2, 5, 3)), CUM(.axis = 1, .exclusive = true)),
    CASE(CUM_SUM, "reverse", 1, IN(X(2, 5, 3)), CUM(.axis = 1, .reverse = true)),
    CASE(CUM_SUM, "both", 1, IN(X(2, 5, 3)), CUM(.axis = 1, .exclusive = true, .reverse = true)),
    CASE(CUM_SUM, "int64", 1, IN(INTS(4, 9)), CUM(.axis = 1, .exclusive = true)),
    CASE(CUM_SUM, "int32", 1, IN(INTS32(4, 9)), CUM(.axis = 1, .reverse = true)),
    CASE(CUM_SUM, "one", 1, IN(X(4, 1)), CUM(.axis = 1, .exclusive = true)),
};

const case_table cases_reduce = {rows, sizeof rows / sizeof *rows};
