/* Attention of the cuDNN that is played: what dnn_attention.c has recognised and dnn_flash.c
 * computes. */
#ifndef TEQUIO_TESTS_CUDA_EMU_FAKES_DNN_FLASH_H
#define TEQUIO_TESTS_CUDA_EMU_FAKES_DNN_FLASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum flash_operand {
    FLASH_Q,
    FLASH_K,
    FLASH_V,
    FLASH_Y,
    FLASH_DY,
    FLASH_DQ,
    FLASH_DK,
    FLASH_DV,
    FLASH_OPERANDS
} flash_operand;

/* A matrix [position, number] a batch and head; numbers are neighbours. */
typedef struct flash_matrix {
    int64_t heads, length, width;
    int64_t batch, head, position; /* from one to the next, in elements */
    void *at;
} flash_matrix;

/* What is added to scores [batch,head,query,key]; a stride of 0 where it is the same. */
typedef struct flash_bias {
    const float *at; /* NULL: nothing */
    int64_t stride[4];
} flash_bias;

typedef struct flash_call {
    bool backward, causal;
    unsigned half; /* DNN_BF16, DNN_F16 */
    int64_t batch;
    float scale;
    flash_matrix of[FLASH_OPERANDS]; /* forward the first four */
    float *lse, *delta;              /* [batch,head,query]; delta: backward, written */
    flash_bias bias;
    double kept;                     /* the share of probabilities that dropout keeps; 0: all */
    const int64_t *seed, *offset;    /* where there is dropout */
    void *workspace;
    size_t workspace_bytes;
} flash_call;

/* Bytes from the first to the last element of all batches. */
size_t flash_extent(const flash_matrix *m, int64_t batch);
size_t flash_workspace(const flash_call *c);

/* Whether dropout keeps the element of that number of [batch,head,query,key]. */
bool flash_keeps(int64_t seed, int64_t offset, double kept, uint64_t number);

/* As a kernel of one thread; `arguments` is a flash_call. */
void flash_attend(void *arguments);

#endif
