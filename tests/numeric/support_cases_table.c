/* Everything that has no table of its own. */
#include "numeric/support_cases_rows.h"

#define ALONG(ID)                                                                                  \
    CASE(ID, "rank 1", 1, IN(X(7)), AXIS(0)), CASE(ID, "last axis", 1, IN(X(5, 33)), AXIS(-1)),    \
        CASE(ID, "first axis", 1, IN(X(5, 6)), AXIS(0)),                                           \
        CASE(ID, "channels", 1, IN(X(2, 19, 4, 3)), AXIS(1)),                                      \
        CASE(ID, "rank 5", 1, IN(X(2, 3, 4, 2, 3)), AXIS(-2)),                                     \
        CASE(ID, "one class", 1, IN(X(4, 1)), AXIS(1)),                                            \
        CASE(ID, "long", 1, IN(X(70, 333)), AXIS(1)),                                              \
        CASE(ID, "long columns", 1, IN(X(3, 257, 40)), AXIS(1))

static const op_case rows[] = {
    CASE(GEMM, "plain", 2, IN(X(4, 5), X(5, 6))),
    CASE(GEMM, "bias row", 3, IN(X(4, 5), X(5, 6), X(6))),
    CASE(GEMM, "a linear layer", 3, IN(X(8, 129), X(33, 129), X(33)),
         GEMM_(GEMM_UNSCALED, .trans_b = true)),
    CASE(GEMM, "batch 1", 3, IN(X(1, 40), X(10, 40), X(10)), GEMM_(GEMM_UNSCALED, .trans_b = true)),
    CASE(GEMM, "a transposed, bias column", 3, IN(X(17, 3), X(17, 5), X(3, 1)),
         GEMM_(GEMM_UNSCALED, .trans_a = true)),
    CASE(GEMM, "both transposed, factors", 3, IN(X(7, 4), X(5, 7), X(1, 5)),
         GEMM_(.trans_a = true, .trans_b = true, .alpha = 0.5f, .beta = -2)),
    CASE(GEMM, "scalar bias", 3, IN(X(3, 1), X(1, 4), SCALAR), GEMM_(.alpha = 1, .beta = 3)),
    CASE(GEMM, "blocks", 3, IN(X(130, 300), X(300, 70), X(70))),
    CASE(GEMM, "tall, a transposed", 2, IN(X(257, 1025), X(257, 19)),
         GEMM_(GEMM_UNSCALED, .trans_a = true)),
    CASE(GEMM, "no product", 3, IN(X(4, 5), X(5, 6), X(6)), GEMM_(.alpha = 0, .beta = 2)),
    CASE(GEMM, "no bias", 3, IN(X(4, 5), X(5, 6), X(6)), GEMM_(.alpha = 0.5f, .beta = 0)),
    CASE(GEMM, "full bias", 3, IN(X(65, 17), X(17, 3), X(65, 3)), GEMM_(.alpha = 2, .beta = 1)),

    CASE(MATMUL, "matrices", 2, IN(X(3, 17), X(17, 5))),
    CASE(MATMUL, "equal batches", 2, IN(X(2, 3, 4), X(2, 4, 5))),
    CASE(MATMUL, "second has no batch", 2, IN(X(2, 3, 4), X(4, 5))),
    CASE(MATMUL, "first has no batch", 2, IN(X(3, 4), X(2, 4, 5))),
    CASE(MATMUL, "batches broadcast", 2, IN(X(2, 1, 3, 4), X(5, 4, 2))),
    CASE(MATMUL, "transposed", 2, IN(X(2, 4, 3), X(2, 5, 4)),
         .attr = ATTR(matmul_attr, .trans_a = true, .trans_b = true)),
    CASE(MATMUL, "two vectors", 2, IN(X(7), X(7))),
    CASE(MATMUL, "vector and matrices", 2, IN(X(4), X(2, 4, 5))),
    CASE(MATMUL, "matrices and vector", 2, IN(X(2, 3, 4), X(4))),
    CASE(MATMUL, "rank 5", 2, IN(X(2, 1, 2, 3, 4), X(2, 3, 1, 4, 2))),

    UNARY(IDENTITY, "", X, .attr = NULL),

    ALONG(SOFTMAX),
    ALONG(LOG_SOFTMAX),

    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "mean", 2, IN(X(8, 10), LABELS(8)),
         LOSS(.reduction = SCE_MEAN)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "sum", 2, IN(X(5, 17), LABELS(5)), LOSS(.reduction = SCE_SUM)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "none", 2, IN(X(5, 7), LABELS(5)),
         LOSS(.reduction = SCE_NONE)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "int32 labels", 3, IN(X(5, 7, 3), LABELS32(5, 3), POSITIVE(7)),
         LOSS(.reduction = SCE_SUM)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "batch 1", 2, IN(X(1, 3), LABELS(1)),
         LOSS(.reduction = SCE_MEAN)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "many classes", 2, IN(X(70, 333), LABELS(70)),
         LOSS(.reduction = SCE_MEAN)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "many rows", 2, IN(X(9001, 3), LABELS(9001)),
         LOSS(.reduction = SCE_MEAN)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "weights", 3, IN(X(6, 4), LABELS(6), POSITIVE(4)),
         LOSS(.reduction = SCE_MEAN)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "ignored label", 2, IN(X(8, 5), LABELS(8)),
         LOSS(.reduction = SCE_MEAN, .has_ignore_index = true, .ignore_index = -100)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "ignored class", 2, IN(X(8, 5), LABELS(8)),
         LOSS(.reduction = SCE_SUM, .has_ignore_index = true, .ignore_index = 2)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "images, weights, ignored label", 3,
         IN(X(2, 5, 3, 4), LABELS(2, 3, 4), POSITIVE(5)),
         LOSS(.reduction = SCE_MEAN, .has_ignore_index = true, .ignore_index = -1)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "images, none, weights", 3,
         IN(X(2, 5, 3), LABELS(2, 3), POSITIVE(5)), LOSS(.reduction = SCE_NONE)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "given, weights, ignored label", 3,
         IN(X(6, 5), LABELS(6), POSITIVE(5)),
         LOSS(.log_probs = true, .reduction = SCE_MEAN, .has_ignore_index = true,
              .ignore_index = -1)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "given, images, none", 2, IN(X(2, 5, 3, 2), LABELS(2, 3, 2)),
         LOSS(.log_probs = true, .reduction = SCE_NONE)),

    CASE(ACCURACY, "rows", 2, IN(X(70, 7), LABELS(70))),
    CASE(ACCURACY, "logits", 2, IN(X(33, 1), LABELS(33))),
    CASE(ACCURACY, "many rows, ignored label", 2, IN(X(5000, 3), LABELS(5000)),
         COUNT_(.has_ignore_index = true, .ignore_index = -100)),
    CASE(ACCURACY, "images, ignored class", 2, IN(X(3, 4, 5, 7), LABELS(3, 5, 7)),
         COUNT_(.has_ignore_index = true, .ignore_index = 2)),
    CASE(ACCURACY, "spans", 2, IN(X(3, 9, 2), LABELS(3, 2))),

    CASE(DROPOUT, "half", 2, IN(X(4, 33), BATCH),
         .attr = ATTR(dropout_attr, .ratio = 0.5f, .seed = 7, .stream = 3)),
    CASE(DROPOUT, "a third of images", 2, IN(X(2, 17, 5, 3), BATCH),
         .attr = ATTR(dropout_attr, .ratio = 1.0f / 3, .seed = 8, .stream = 1)),
    CASE(DROPOUT, "long", 2, IN(X(3, 6007), BATCH),
         .attr = ATTR(dropout_attr, .ratio = 0.1f, .seed = 9, .stream = 1)),
    CASE(RANDOM, "uniform", 1, IN(BATCH),
         .attr = ATTR(random_attr, .shape = {2, {5, 67}}, .shift = -2, .scale = 3, .seed = 7)),
    CASE(RANDOM, "one number", 1, IN(BATCH), .attr = ATTR(random_attr, .scale = 1, .stream = 4)),
    CASE(RANDOM, "normal", 1, IN(BATCH),
         .attr = ATTR(random_attr, .shape = {3, {3, 5, 7}}, .kind = RANDOM_NORMAL, .shift = 1,
                      .scale = 0.5f, .seed = 8, .stream = 1)),
    CASE(RANDOM, "many", 1, IN(BATCH),
         .attr = ATTR(random_attr, .shape = {2, {9, 6007}}, .kind = RANDOM_NORMAL, .scale = 1)),
    CASE(DROPOUT, "nothing", 2, IN(X(5), BATCH), .attr = ATTR(dropout_attr, .ratio = 0)),

};

const case_table cases_general = {rows, sizeof rows / sizeof *rows};
