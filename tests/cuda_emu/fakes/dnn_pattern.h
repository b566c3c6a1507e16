/*
 * The graphs of attention that cuDNN knows, operation by operation. They are those that NVIDIA's frontend
 * makes (dnn_attention.h of the backend). Pure functions.
 */
#ifndef TEQUIO_TESTS_CUDA_EMU_FAKES_DNN_PATTERN_H
#define TEQUIO_TESTS_CUDA_EMU_FAKES_DNN_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

enum { PATTERN_STEPS = 32, NO_AXIS = 0 };

/* The tensors of a pattern: in memory, numbers, between. A name that ends in T has its last two
 * axes exchanged; K is the whole's alone. */
typedef enum name {
    NONE,
    Q, KT, K, V, VT, Y, DY, DQ, DK, DV, LSE, DELTA, BIAS, SEED, OFFSET,
    SCALE, NOTHING, KEPT_SHARE, KEPT_SCALE,
    S, SCALED, BIASED, QUERY, KEY, SEES, HIDDEN, MAX, BELOW, E, SUM, LOG, P,
    KEPT, REST, DROPPED, DP_KEPT, SMALL,
    PRODUCTS, DOTS, PROBABLE, PT, EVERY_DV, DP, OVER, PLAIN, DS, DST, EVERY_DK, TRANSPOSED_BACK,
    NAMES
} name;

/* What a graph may have. */
typedef struct traits {
    bool causal, biased, drops, shared;
} traits;

typedef struct step {
    unsigned kind, how;
    name x, b, t, y;
    int64_t axis;
} step;

/* Into a list of PATTERN_STEPS; returns how many there are. */
int pattern_forward(step *ret, traits has);
int pattern_backward(step *ret, traits has);

#endif
