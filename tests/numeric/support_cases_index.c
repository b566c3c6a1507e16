/* Picks and puts by index. */
#include "numeric/support_cases_rows.h"

#define GATHER_(a) .attr = ATTR(gather_attr, .axis = a)
#define ALONG(...) .attr = ATTR(index_attr, .axis = __VA_ARGS__)
#define BATCH_(n)  .attr = ATTR(index_attr, .batch_dims = n)
#define BY(r)      .attr = ATTR(index_attr, .reduction = SCATTER_##r)
#define HOT(...)   .attr = ATTR(one_hot_attr, __VA_ARGS__)
#define TOP(...)   .attr = ATTR(top_k_attr, __VA_ARGS__)
#define NARROW(...)                                                                                \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_INDEX, DT_I32                                                     \
    }
#define WHOLE(...)                                                                                 \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_WHOLE, DT_F32                                                     \
    }

static const op_case rows[] = {
    CASE(GATHER, "an embedding", 2, IN(X(11, 6), INDICES(3, 5)), GATHER_(0)),
    CASE(GATHER, "a wide table", 2, IN(X(130, 300), INDICES(4, 65)), GATHER_(0)),
    CASE(GATHER, "a long table, one column", 2, IN(X(30011, 1), INDICES(33, 1)), GATHER_(0)),
    CASE(GATHER, "a long narrow table", 2, IN(X(5003, 7), INDICES(2, 70)), GATHER_(0)),
    CASE(GATHER, "one index", 2, IN(X(5, 4), INDEX), GATHER_(0)),
    CASE(GATHER, "one index of the last axis", 2, IN(X(3, 4, 5), INDEX), GATHER_(-1)),
    CASE(GATHER, "columns", 2, IN(X(3, 17), INDICES(9)), GATHER_(1)),
    CASE(GATHER, "a middle axis", 2, IN(X(2, 5, 3, 4), INDICES(2, 3)), GATHER_(-3)),
    CASE(GATHER, "vector", 2, IN(X(13), INDICES(2, 3, 2)), GATHER_(0)),
    CASE(GATHER, "channels", 2, IN(X(2, 19, 3, 3), INDICES(6)), GATHER_(1)),
    CASE(GATHER, "many outer", 2, IN(X(300, 9, 17), INDICES(5)), GATHER_(1)),
    CASE(GATHER, "int32 indices", 2, IN(X(9, 4), NARROW(5)), GATHER_(0)),
    CASE(GATHER, "whole numbers", 2, IN(INTS(9, 4), INDICES(5)), GATHER_(1)),
    CASE(GATHER, "bits", 2, IN(BITS(9), INDICES(5)), GATHER_(0)),

    CASE(GATHER_ELEMENTS, "rows", 2, IN(X(5, 4), INDICES(3, 4)), ALONG(0)),
    CASE(GATHER_ELEMENTS, "columns", 2, IN(X(5, 4), INDICES(5, 9)), ALONG(-1)),
    CASE(GATHER_ELEMENTS, "fewer rows than there are", 2, IN(X(5, 4), INDICES(3, 2)), ALONG(1)),
    CASE(GATHER_ELEMENTS, "a middle axis", 2, IN(X(2, 7, 3), NARROW(2, 5, 3)), ALONG(1)),
    CASE(GATHER_ELEMENTS, "vector", 2, IN(X(7), INDICES(40)), ALONG(0)),
    CASE(GATHER_ELEMENTS, "long", 2, IN(X(120, 333), INDICES(120, 200)), ALONG(1)),
    CASE(GATHER_ELEMENTS, "whole numbers", 2, IN(INTS(5, 4), INDICES(3, 4)), ALONG(0)),
    CASE(GATHER_ND, "elements", 2, IN(X(3, 4), INDICES(5, 2))),
    CASE(GATHER_ND, "rows", 2, IN(X(6, 4), INDICES(2, 3, 1))),
    CASE(GATHER_ND, "one slice", 2, IN(X(3, 4, 5, 2), INDICES(2))),
    CASE(GATHER_ND, "a batch", 2, IN(X(3, 4, 5), INDICES(3, 2, 1)), BATCH_(1)),
    CASE(GATHER_ND, "a batch of two axes", 2, IN(X(2, 3, 4, 5), INDICES(2, 3, 2)), BATCH_(2)),
    CASE(GATHER_ND, "long", 2, IN(X(40, 30, 70), NARROW(300, 2))),
    CASE(GATHER_ND, "bits", 2, IN(BITS(3, 4), INDICES(5, 2))),
    CASE(SCATTER_ELEMENTS, "rows", 3, IN(X(5, 4), INDICES(3, 4), X(3, 4)), ALONG(0)),
    CASE(SCATTER_ELEMENTS, "columns", 3, IN(X(5, 9), INDICES(4, 6), X(4, 6)), ALONG(-1)),
    CASE(SCATTER_ELEMENTS, "added", 3, IN(X(5, 4), INDICES(9, 4), X(9, 4)),
         ALONG(0, .reduction = SCATTER_ADD)),
    CASE(SCATTER_ELEMENTS, "examples of a batch", 3, IN(X(4, 7), INDICES(4, 3), X(4, 3)), ALONG(1)),
    CASE(SCATTER_ELEMENTS, "added, long", 3, IN(X(40, 300), INDICES(40, 700), X(40, 700)),
         ALONG(1, .reduction = SCATTER_ADD)),
    CASE(SCATTER_ELEMENTS, "whole numbers added", 3, IN(INTS(5), INDICES(9), INTS(9)),
         ALONG(0, .reduction = SCATTER_ADD)),
    CASE(SCATTER_ELEMENTS, "bits", 3, IN(BITS(5, 3), INDICES(2, 3), BITS(2, 3)), ALONG(0)),
    CASE(SCATTER_ND, "elements", 3, IN(X(3, 4), INDICES(5, 2), X(5))),
    CASE(SCATTER_ND, "rows", 3, IN(X(7, 4), INDICES(2, 3, 1), X(2, 3, 4))),
    CASE(SCATTER_ND, "examples of a batch", 3, IN(X(4, 5), INDICES(4, 2, 1), X(4, 2)), BATCH_(1)),
    CASE(SCATTER_ND, "rows added", 3, IN(X(4, 5), INDICES(9, 1), X(9, 5)), BY(ADD)),
    CASE(SCATTER_ND, "long rows added", 3, IN(X(40, 300), NARROW(90, 1), X(90, 300)), BY(ADD)),
    CASE(SCATTER_ELEMENTS, "multiplied", 3, IN(X(5, 4), INDICES(7, 4), X(7, 4)),
         ALONG(0, .reduction = SCATTER_MUL)),
    CASE(SCATTER_ELEMENTS, "largest", 3, IN(X(5, 4), INDICES(7, 4), X(7, 4)),
         ALONG(0, .reduction = SCATTER_MAX)),
    CASE(SCATTER_ELEMENTS, "zeros multiplied", 3, IN(WHOLE(4, 9), INDICES(7, 9), WHOLE(7, 9)),
         ALONG(0, .reduction = SCATTER_MUL)),
    CASE(SCATTER_ND, "multiplied", 3, IN(X(5, 4), INDICES(6, 1), X(6, 4)), BY(MUL)),
    CASE(SCATTER_ND, "smallest", 3, IN(X(5, 4), INDICES(9, 2), X(9)), BY(MIN)),
    CASE(SCATTER_ND, "largest of whole numbers", 3, IN(INTS(5), INDICES(9, 1), INTS(9)), BY(MAX)),
    CASE(SCATTER_ND, "smallest of int32", 3, IN(INTS32(5), INDICES(9, 1), INTS32(9)), BY(MIN)),
    CASE(SCATTER_ND, "whole numbers multiplied", 3, IN(INTS(5), INDICES(9, 1), INTS(9)), BY(MUL)),
    CASE(SCATTER_ND, "int32 added", 3, IN(INTS32(4, 5), INDICES(9, 1), INTS32(9, 5)), BY(ADD)),

    CASE(ONE_HOT, "last axis", 1, IN(INTS(3, 4)), HOT(.axis = -1, .depth = 5, .on = 1)),
    CASE(ONE_HOT, "first axis", 1, IN(INTS32(3, 4)),
         HOT(.axis = 0, .depth = 4, .off = 2, .on = -3)),
    CASE(ONE_HOT, "middle axis, floats", 1, IN(WHOLE(2, 3)),
         HOT(.axis = 1, .depth = 3, .on = 1, .type = DT_I64)),
    CASE(ONE_HOT, "bits", 1, IN(INTS(300)), HOT(.axis = 1, .depth = 70, .on = 1, .type = DT_BOOL)),
    CASE(ONE_HOT, "int32", 1, IN(INTS(7)), HOT(.axis = 1, .depth = 6, .on = 9, .type = DT_I32)),
    CASE(TOP_K, "none", 1, IN(DISTINCT(3, 9)), TOP(.axis = -1)),
    CASE(TOP_K, "largest", 1, IN(DISTINCT(3, 11)), TOP(.axis = -1, .k = 4)),
    CASE(TOP_K, "smallest", 1, IN(DISTINCT(3, 11)), TOP(.axis = 1, .k = 4, .smallest = true)),
    CASE(TOP_K, "first axis", 1, IN(DISTINCT(11, 3)), TOP(.axis = 0, .k = 5)),
    CASE(TOP_K, "all, a middle axis", 1, IN(DISTINCT(2, 7, 3)), TOP(.axis = 1, .k = 7)),
    CASE(TOP_K, "one of a long row", 1, IN(DISTINCT(3, 5001)), TOP(.axis = 1, .k = 1)),
    CASE(TOP_K, "many of a long row", 1, IN(DISTINCT(2, 3001)), TOP(.axis = 1, .k = 500)),
    CASE(TOP_K, "ties", 1, IN(INTS(4, 33)), TOP(.axis = 1, .k = 9)),
    CASE(TOP_K, "ties, smallest", 1, IN(INTS32(33, 4)), TOP(.axis = 0, .k = 9, .smallest = true)),
};

const case_table cases_index = {rows, sizeof rows / sizeof *rows};
