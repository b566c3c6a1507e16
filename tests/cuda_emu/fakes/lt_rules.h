/* What a matmul is to the cuBLASLt that is played (lt.c), and the rules for it. */
#ifndef TEQUIO_TESTS_CUDA_EMU_FAKES_LT_RULES_H
#define TEQUIO_TESTS_CUDA_EMU_FAKES_LT_RULES_H

#include "cuda_emu/fakes/lt_matmul.h"

enum { LT_SIDE_ALIGN = 16 }; /* of a bias, and of what stands beside: pytorch/pytorch#194497 */

struct lt_desc_opaque {
    unsigned compute, scale, transposed[2], epilogue;
    const void *bias;
    void *side;
    int64_t side_pitch, side_stride;
};

struct lt_layout_opaque {
    unsigned type;
    uint64_t rows, columns;
    int64_t pitch, stride;
    int32_t count;
};

/* Fills *ret; false, and a fault, if it breaks a rule. */
bool lt_problem_of(lt_desc d, const lt_layout layouts[OPERANDS], lt_problem *ret);

#endif
