/*
 * What a launch of attention is told. The meaning is that of the CPU's kernels
 * (backend/cpu/attention.h): scores are scale q k^T, then come the mask and the softmax over the
 * keys, then dropout of the probabilities, then the matmul with the values. A query that may look
 * at no key gives zeros and a log-sum-exp of +infinity.
 *
 * Pointers are device memory; strides count elements. Nothing is allocated: what a kernel needs
 * besides stands in the structs.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_ATTENTION_H
#define TEQUIO_BACKEND_CUDA_KERNELS_ATTENTION_H

#include "backend/cuda/kernels/launch.h"

/* From one batch, head and position to the next; the numbers of a position are neighbours. */
typedef struct launch_layout {
    int64_t batch, head, position;
} launch_layout;

/* Who multiplies matrices. */
typedef enum launch_matmuls {
    MATMULS_FFMA, /* in float32, on every chip */
    MATMULS_MMA,  /* tensor cores, from sm_80 on, of float16 on any chip; float32 operands are
                   * rounded to TF32. What is too wide for them is multiplied in float32 */
} launch_matmuls;

typedef struct launch_attention {
    int64_t batch, q_heads, kv_heads; /* neighbouring q_heads / kv_heads share one of keys */
    int64_t q_length, k_length, head, v_head;
    float scale;
    bool causal;          /* query i looks at keys 0 .. past + i */
    int64_t past;
    launch_type operands; /* of q, k, v */
    launch_type results;  /* of y and of the operands' gradients: float or as the operands */
    launch_matmuls matmuls;
    size_t shared_limit;   /* bytes of shared memory a block may ask for */
    const void *q, *k, *v; /* the first number of the first batch and head */
    launch_layout q_layout, k_layout, v_layout, y_layout;
    const void *mask;       /* NULL: none */
    bool mask_chooses;      /* bools: who is looked at; otherwise floats, which are added */
    int64_t mask_stride[4]; /* by batch, head, query, key; 0: the same for all */
    launch_dropout drop;
    void *y;    /* forward: written; backward: read */
    float *lse; /* [batch,q_heads,q_length], likewise */
} launch_attention;

/* Gradients lie as what they are of: dy as y, dq as q, and so on. */
typedef struct launch_attention_bwd {
    launch_attention of;
    const void *dy;
    float *delta;       /* [batch,q_heads,q_length], workspace: dy . y of every query */
    void *dq, *dk, *dv; /* NULL: not wanted */
    float *dmask;       /* likewise; of a dense mask of floats that differs by key */
} launch_attention_bwd;

/* ROTARY_EMBEDDING over rows of `head` numbers; y may be x. */
typedef struct launch_rotary {
    int64_t rows, heads, length, head;
    int64_t width;    /* numbers of a row that are turned, even */
    bool by_head;     /* rows are [batch,heads,length], otherwise [batch,length,heads] */
    bool interleaved; /* pairs are neighbours; otherwise halves of the width */
    bool inverse;     /* turns back */
    launch_type type; /* of x and y */
    const void *x;
    const float *cosine, *sine; /* [batch,length,width / 2] */
    void *y;
} launch_rotary;

#ifdef __cplusplus
extern "C" {
#endif

/* attention.cu: y and lse */
void launch_attention_forward(cuda_stream stream, const launch_attention *t);

/* attention_bwd.cu: the gradients that are wanted */
void launch_attention_backward(cuda_stream stream, const launch_attention_bwd *b);

/* attention_library.cu, for attention by a library: the mask's n numbers as floats that are added, none of them
 * -infinity; zeros, and a log-sum-exp of +infinity, for queries that may look at no key, where y is of a half;
 * and, of the stream that dropout's bits would be drawn from, a seed, with an offset of 0 two words behind. */
enum { LAUNCH_SEED_WORDS = 3 };
void launch_attention_bias(cuda_stream stream, float *bias, const void *mask, bool chooses, int64_t n);
void launch_attention_blind_rows(cuda_stream stream, const launch_attention *t);
void launch_attention_seed(cuda_stream stream, int64_t *seed, const launch_dropout *d);

/* rotary.cu */
void launch_rotary_embedding(cuda_stream stream, const launch_rotary *t);

#ifdef __cplusplus
}
#endif

#endif
