/* What transformers are made of: normalisation of rows, attention. */
#include "numeric/support_cases_rows.h"

#define ROWS(...)       .attr = ATTR(row_norm_attr, __VA_ARGS__)
#define ROTARY(...)     .attr = ATTR(rotary_attr, __VA_ARGS__)
#define ATTENTION_(...) .attr = ATTR(attention_attr, __VA_ARGS__)
#define TO(type)        .attr = ATTR(cast_attr, .to = type)

static const op_case rows[] = {
    CASE(LAYER_NORMALIZATION, "a sentence", 3, IN(X(2, 5, 64), X(64), X(64)), ROWS(.axis = -1)),
    CASE(LAYER_NORMALIZATION, "odd width, no bias", 2, IN(X(7, 37), X(37)), ROWS(.axis = 1)),
    CASE(LAYER_NORMALIZATION, "three columns", 3, IN(X(4, 3), X(3), X(3)),
         ROWS(.axis = -1, .epsilon = 1e-2f)),
    CASE(LAYER_NORMALIZATION, "two axes", 3, IN(X(3, 2, 5, 7), X(5, 7), X(5, 7)), ROWS(.axis = 2)),
    CASE(LAYER_NORMALIZATION, "everything", 3, IN(X(3, 11), X(3, 11), X(3, 11)), ROWS(.axis = 0)),
    CASE(LAYER_NORMALIZATION, "many rows", 3, IN(X(3, 700, 85), X(85), X(85)), ROWS(.axis = 2)),
    CASE(LAYER_NORMALIZATION, "wide", 3, IN(X(9, 1031), X(1031), X(1031)), ROWS(.axis = 1)),
    CASE(RMS_NORMALIZATION, "a sentence", 2, IN(X(2, 5, 64), X(64)), ROWS(.axis = -1)),
    CASE(RMS_NORMALIZATION, "odd width", 2, IN(X(7, 37), X(37)), ROWS(.axis = 1, .epsilon = 1e-3f)),
    CASE(RMS_NORMALIZATION, "two axes", 2, IN(X(3, 2, 5, 7), X(5, 7)), ROWS(.axis = -2)),
    CASE(RMS_NORMALIZATION, "many rows", 2, IN(X(2100, 85), X(85)), ROWS(.axis = 1)),

    CASE(ATTENTION, "side by side", 3, IN(X(2, 5, 12), X(2, 5, 12), X(2, 5, 12)),
         ATTENTION_(.q_heads = 3)),
    CASE(ATTENTION, "head by head, other lengths", 3,
         IN(X(2, 3, 7, 4), X(2, 3, 11, 4), X(2, 3, 11, 6)), ATTENTION_(.scale = 0.3f)),
    CASE(ATTENTION, "causal, odd", 3, IN(X(2, 13, 16), X(2, 13, 16), X(2, 13, 16)),
         ATTENTION_(.q_heads = 2, .causal = true)),
    CASE(ATTENTION, "causal, more queries than keys", 3,
         IN(X(1, 2, 9, 4), X(1, 2, 5, 4), X(1, 2, 5, 4)), ATTENTION_(.causal = true)),
    CASE(ATTENTION, "packed, causal", 1, IN(X(2, 9, 36)), ATTENTION_(.q_heads = 3, .causal = true)),
    CASE(ATTENTION, "packed, shared keys", 1, IN(X(2, 6, 32)),
         ATTENTION_(.q_heads = 4, .kv_heads = 2)),
    CASE(ATTENTION, "shared keys", 3, IN(X(2, 4, 6, 8), X(2, 2, 6, 8), X(2, 2, 6, 8)),
         ATTENTION_(.causal = true)),
    CASE(ATTENTION, "one head of keys for all", 3, IN(X(2, 6, 24), X(2, 5, 8), X(2, 5, 6)),
         ATTENTION_(.q_heads = 3, .kv_heads = 1)),
    CASE(ATTENTION, "mask of bools, of keys", 4,
         IN(X(2, 5, 12), X(2, 7, 12), X(2, 7, 12), BITS(2, 1, 1, 7)), ATTENTION_(.q_heads = 3)),
    CASE(ATTENTION, "mask of bools, causal: some rows see none", 4,
         IN(X(2, 5, 12), X(2, 5, 12), X(2, 5, 12), BITS(5, 5)),
         ATTENTION_(.q_heads = 3, .causal = true)),
    CASE(ATTENTION, "mask of floats, by head", 4,
         IN(X(2, 3, 6, 4), X(2, 3, 7, 4), X(2, 3, 7, 4), X(3, 6, 7)), ATTENTION_(.causal = false)),
    CASE(ATTENTION, "mask of floats, a column", 4,
         IN(X(1, 3, 6, 4), X(1, 3, 7, 4), X(1, 3, 7, 4), X(1, 3, 6, 1)),
         ATTENTION_(.causal = true)),
    CASE(ATTENTION, "several tiles", 3, IN(X(1, 70, 4), X(1, 1030, 4), X(1, 1030, 4)),
         ATTENTION_(.q_heads = 1)),
    CASE(ATTENTION, "several tiles, causal, masked", 4,
         IN(X(1, 1, 530, 2), X(1, 1, 530, 2), X(1, 1, 530, 3), BITS(530)),
         ATTENTION_(.causal = true)),
    CASE(ATTENTION, "dropout", 5, IN(X(2, 9, 12), X(2, 13, 12), X(2, 13, 12), ABSENT, BATCH),
         ATTENTION_(.q_heads = 3, .ratio = 0.25f, .seed = 7, .stream = 3)),
    CASE(ATTENTION, "packed, causal, dropout", 5, IN(X(2, 70, 12), ABSENT, ABSENT, ABSENT, BATCH),
         ATTENTION_(.q_heads = 2, .causal = true, .ratio = 0.5f, .seed = 8, .stream = 1)),

    CASE(ROTARY_EMBEDDING, "head by head", 3, IN(X(2, 3, 5, 8), X(2, 5, 4), X(2, 5, 4)),
         ROTARY(.heads = 0)),
    CASE(ROTARY_EMBEDDING, "side by side, neighbours", 3, IN(X(2, 5, 24), X(2, 5, 4), X(2, 5, 4)),
         ROTARY(.heads = 3, .interleaved = true)),
    CASE(ROTARY_EMBEDDING, "a part of each head", 3, IN(X(2, 7, 33), X(2, 7, 3), X(2, 7, 3)),
         ROTARY(.heads = 3, .width = 6)),
    CASE(ROTARY_EMBEDDING, "back, neighbours, a part", 3,
         IN(X(1, 2, 7, 70), X(1, 7, 33), X(1, 7, 33)),
         ROTARY(.width = 66, .interleaved = true, .inverse = true)),

    CASE(TO_HALF, "bfloat16, odd length", 1, IN(X(1003)), TO(DT_BF16)),
    CASE(TO_HALF, "bfloat16, rank 3", 1, IN(X(3, 50, 700)), TO(DT_BF16)),
    CASE(TO_HALF, "bfloat16, images", 1, IN(X(2, 17, 5, 3)), TO(DT_BF16)),
    CASE(TO_HALF, "float16, odd length", 1, IN(X(1003)), TO(DT_F16)),
    CASE(TO_HALF, "float16, images", 1, IN(X(2, 17, 50, 31)), TO(DT_F16)),
};

const case_table cases_attention = {rows, sizeof rows / sizeof *rows};
