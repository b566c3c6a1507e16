/*
 * What C calls of the kernels: a launcher each, in the file of its name. A launcher puts kernels
 * behind what `stream` already has to do, and returns; pointers are to memory of the device. It
 * allocates nothing and decides nothing: who calls has checked shapes and alignments. With nothing
 * to do it launches nothing. Whether a launch was refused is told by cudaGetLastError().
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_LAUNCH_H
#define TEQUIO_BACKEND_CUDA_KERNELS_LAUNCH_H

#include "backend/axes.h"
#include "backend/cuda/kernels/tile.h"
#include "backend/reduce_space.h"
#include "backend/grid.h"
#include "common/base/dtype.h"
#include "graph/index_places.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CUstream_st *cuda_stream; /* CUDA's cudaStream_t */

/* How a float is stored. */
typedef enum launch_type { LAUNCH_F32, LAUNCH_BF16, LAUNCH_F16 } launch_type;

/* Where a kernel that checks tells of bad data: *word becomes the least of node | number of the element. */
typedef struct launch_fault {
    uint64_t *word;
    uint64_t node;
} launch_fault;

/*
 * What dropout keeps: bit e of the mask is whether word e of the Philox stream (seed, RNG_DROPOUT,
 * rng_mix(stream, batch id)) is at least the threshold (backend/drop.h). The id is read when the
 * kernel runs.
 */
typedef struct launch_dropout {
    const int64_t *batch; /* NULL: nothing is dropped */
    uint64_t key;         /* rng_mix(seed, RNG_DROPOUT) */
    uint64_t stream;
    uint32_t threshold;
    float scale; /* of what is kept */
} launch_dropout;

/*
 * Sums over much are cut into pieces, whose number the caller chooses by the shape alone: the bits
 * depend on it. What the pieces come to lies in a `room` in between.
 */

/* along.cu */

typedef struct launch_along_call {
    int64_t outer, axis, inner;
    dtype type;                 /* F32, I64, I32 */
    bool by_block;              /* a block takes a line, else a thread does */
    bool smallest, last;        /* launch_arg: not the largest; of several alike, not the first */
    bool exclusive, reverse;    /* launch_cum_sum */
} launch_along_call;

/* y [outer,inner]: where the largest of each line stands. NaN is never larger, nor is anything than a
 * NaN at place 0. */
void launch_arg(cuda_stream stream, const launch_along_call *c, int64_t *y, const void *x);
/* y [outer,axis,inner]: 1 there, 0 elsewhere. F32. */
void launch_hardmax(cuda_stream stream, const launch_along_call *c, float *y, const float *x);
/* y [outer,axis,inner]: sums along the axis, of floats in double, of whole numbers modulo 2^64. */
void launch_cum_sum(cuda_stream stream, const launch_along_call *c, void *y, const void *x);

/* batch_norm.cu */

typedef struct launch_batch_norm_call {
    launch_type type;             /* of x, y and their gradients */
    int64_t n, channels, plane;   /* [n,channels,plane] */
    bool channels_last;           /* [n,plane,channels] */
    float epsilon;
    int pieces;                   /* of the sums over n and plane */
    void *room;                   /* pieces > 1: 16 bytes a piece and channel; backward 8 */
    void *lines;                  /* 16 bytes a channel, aligned to 16 */
} launch_batch_norm_call;

/* Mean and population variance of each channel; n plane > 0. */
void launch_batch_norm_statistics(cuda_stream stream, const launch_batch_norm_call *c, float *mean,
                                  float *variance, const void *x);
/* y = (x - mean) / sqrt(variance + epsilon) scale + bias; y may be x. */
void launch_batch_norm(cuda_stream stream, const launch_batch_norm_call *c, void *y, const void *x,
                       const float *scale, const float *bias, const float *mean,
                       const float *variance);
/* Without `training` the statistics do not depend on x. n plane > 0; dx may be NULL, or dy. */
void launch_batch_norm_bwd(cuda_stream stream, const launch_batch_norm_call *c, void *dx,
                           float *dscale, float *dbias, const void *dy, const void *x,
                           const float *scale, const float *mean, const float *variance,
                           bool training);

/* binary.cu. Axes: y in its order, operand 0 is a, operand 1 b; y may be a where a has its shape. */

/* Rows of binary_math.def: BINARY_add, WHOLE_add, COMPARE_equal, QUESTION_is_nan, ... */
typedef enum binary_function {
#define FLOAT(name, expression)           BINARY_##name,
#define POWER(name, exponent, expression) BINARY_##name,
#include "backend/binary_math.def"
} binary_function;

typedef enum whole_function {
#define WHOLE(name, expression) WHOLE_##name,
#include "backend/binary_math.def"
} whole_function;

typedef enum compare_function {
#define COMPARISON(name, expression) COMPARE_##name,
#define LOGIC(name, expression)      COMPARE_##name,
#include "backend/binary_math.def"
} compare_function;

typedef enum question_function {
#define QUESTION(name, type, expression) QUESTION_##name,
#include "backend/binary_math.def"
} question_function;

void launch_binary(cuda_stream stream, binary_function f, float *y, const float *a, const float *b,
                   const axes *over);

/* Of int64, int32 and bytes. */
void launch_whole(cuda_stream stream, whole_function f, dtype type, void *y, const void *a,
                  const void *b, const axes *over);

/* Of these and of floats, logic of bytes only. y: 0 and 1 */
void launch_compare(cuda_stream stream, compare_function f, dtype type, uint8_t *y, const void *a,
                    const void *b, const axes *over);

/* y[n] of x[n]: floats, bytes for QUESTION_not. */
void launch_question(cuda_stream stream, question_function f, uint8_t *y, const void *x, int64_t n);

/* cast.cu */

/* y[n] = x[n]. Types: float32, int64, int32, uint8, bool. */
void launch_cast(cuda_stream stream, dtype from, dtype to, void *y, const void *x, int64_t n);

/* y[n]: bfloat16; both aligned to 16 bytes. */
void launch_to_bf16(cuda_stream stream, void *y, const float *x, int64_t n);

/* channels_last.cu */

/* y [images, places, channels] of `type` = x [images, channels, places], of `type` if it is rounded
 * already, otherwise float. There are fewer than 2^31 squares of 32 channels and places. */
void launch_channels_last(cuda_stream stream, void *y, launch_type type, const void *x,
                          bool is_rounded, int64_t images, int64_t channels, int64_t places);

/* conv.cu */

/* y, x or w of a convolution from the other two (tile.h). launch_conv_bwd_data is the transposed
 * convolution too, with its bias at the end. */
void launch_conv(cuda_stream stream, const conv_task *t);
void launch_conv_bwd_data(cuda_stream stream, const conv_task *t);
void launch_conv_bwd_weights(cuda_stream stream, const conv_task *t);

/* db[maps] = alpha * the sums of y over images and places, in cut.pieces; their parts are
 * tile_parts(pieces, 1, maps, 1). */
void launch_conv_bwd_bias(cuda_stream stream, const conv_task *t, float *db);

/* dropout.cu */

/* y = x scale where the mask is 1, else 0. `mask` [n] may be NULL; y may be x. */
void launch_drop(cuda_stream stream, launch_type type, void *y, uint8_t *mask, const void *x,
                 int64_t n, const launch_dropout *d);
void launch_drop_bwd(cuda_stream stream, launch_type type, void *dx, const void *dy,
                     const uint8_t *mask, int64_t n, float scale);

/* fill.cu */

/* y[n] elements of 1, 2, 4 or 8 bytes: all the low ones of `value`. */
void launch_fill(cuda_stream stream, void *y, int64_t n, int bytes, uint64_t value);

/* gather.cu */

typedef struct launch_gather_call {
    index_places at;
    int64_t element;            /* bytes */
    launch_fault fault;         /* a bad index; it counts as 0 */
} launch_gather_call;

/* y [outer,count,inner]: the rows of x that the indices name; both aligned to 16 bytes. */
void launch_gather(cuda_stream stream, const launch_gather_call *c, void *y, const void *x,
                   const void *indices);

/* grid_sample.cu. Grids are [n, places, axes]. */

void launch_grid_sample(cuda_stream stream, const grid_plane *s, float *y, const float *x,
                        const float *grid);

/* The gradient of the grid. */
void launch_grid_sample_slope(cuda_stream stream, const grid_plane *s, float *dgrid,
                              const float *dy, const float *x, const float *grid);

/* Adds to dx, which the caller has cleared. */
void launch_grid_sample_scatter(cuda_stream stream, const grid_plane *s, float *dx, const float *dy,
                                const float *grid);

/* group_norm.cu: GroupNormalization; with one channel a group, InstanceNormalization */

typedef struct launch_group_norm_call {
    launch_type type;                           /* of x, y and their gradients */
    int64_t batch, groups, per_group, plane;    /* [batch, groups per_group, plane] */
    float epsilon;
    int pieces;                                 /* of a group's sums; backward of a channel's */
    void *room;     /* pieces > 1: 16 bytes a piece and group; backward 8 a piece and channel */
    void *lines;    /* 16 bytes a channel, aligned to 16. All these of every sample */
    void *sums;     /* backward: 8 bytes a channel */
} launch_group_norm_call;

/* mean and inverse (1 / deviation): [batch,groups]; y may be x. */
void launch_group_norm(cuda_stream stream, const launch_group_norm_call *c, void *y, float *mean,
                       float *inverse, const void *x, const float *scale, const float *bias);
/* dx, dscale and dbias may be NULL; dx may be dy. */
void launch_group_norm_bwd(cuda_stream stream, const launch_group_norm_call *c, void *dx,
                           float *dscale, float *dbias, const void *dy, const void *x,
                           const float *scale, const float *mean, const float *inverse);

/* index.cu */

/* rows[count]: what each position of the indices names; a bad index counts as 0. There are at most
 * 2^32 rows. */
void launch_index(cuda_stream stream, const index_places *at, launch_fault fault, uint32_t *rows,
                  const void *indices);

typedef enum launch_reduction {
    LAUNCH_SET,
    LAUNCH_ADD,
    LAUNCH_MUL,
    LAUNCH_MAX,
    LAUNCH_MIN,
} launch_reduction;

/* y[o][row] = y[o][row] and picks[o][i] combined, for every position i in its order. `sorted` are
 * the rows in theirs, and `order` the positions that name them, equal rows by position. Reductions
 * are of F32, I32 and I64; set takes any type. */
void launch_put(cuda_stream stream, const index_places *at, launch_reduction r, dtype type, void *y,
                const void *picks, const uint32_t *sorted, const uint32_t *order);

/* input.cu */

enum { LAUNCH_CHANNELS = 4 };

typedef struct launch_bytes {
    int64_t n, channels, inner; /* x: n bytes, [.., channels, inner] */
    float scale[LAUNCH_CHANNELS], offset[LAUNCH_CHANNELS];
} launch_bytes;

/* y[n] = x[n] * scale + offset of its channel, rounded twice. y and x aligned to 16. */
void launch_expand_bytes(cuda_stream stream, const launch_bytes *b, float *y, const uint8_t *x);

/* loss.cu */

typedef enum launch_loss_reduction {
    LAUNCH_LOSS_MEAN,
    LAUNCH_LOSS_SUM,
    LAUNCH_LOSS_NONE
} launch_loss_reduction;

typedef struct launch_loss_call {
    launch_type type;           /* of scores and their gradient */
    int64_t n, classes, inner;  /* scores [n,classes,inner], labels [n,inner]; classes > 0 */
    int64_t pitch;              /* with inner 1: from one row of scores to the next */
    const void *labels;         /* int64 */
    bool narrow;                /* int32 */
    const float *weights;       /* [classes] or NULL */
    bool log_probs;             /* scores are logarithms of probabilities already */
    bool has_ignore;
    int64_t ignore;             /* a label whose rows do not count */
    launch_loss_reduction reduction;
    int pieces;                 /* of the sums over rows */
    double *room;               /* [2 pieces + 1]; launch_accuracy: a byte a row */
    uint64_t *fault;            /* a label that is no class: becomes the least of fault_node | row */
    uint64_t fault_node;
} launch_loss_call;

/* loss [] or, with LAUNCH_LOSS_NONE, [n,inner]. `most` and `log_sum` [n,inner], unless log_probs: the
 * rows' largest score, and the logarithm of the sum of exp(score - largest). */
void launch_loss(cuda_stream stream, const launch_loss_call *c, float *loss, float *most,
                 float *log_sum, const void *scores);
/* dscores may be scores. */
void launch_loss_bwd(cuda_stream stream, const launch_loss_call *c, void *dscores,
                     const void *scores, const float *dloss, const float *most,
                     const float *log_sum);
/* How many labels (int64) have the largest score, the first one on ties, and how many count. With one
 * class, class 1 is where the score is above 0. NULL: not wanted. */
void launch_accuracy(cuda_stream stream, const launch_loss_call *c, int64_t *right,
                     int64_t *counted, const void *scores);

/* lrn.cu */

typedef struct launch_lrn_call {
    int64_t batch, channels, plane; /* [batch,channels,plane] */
    int64_t before, behind;         /* neighbours that count */
    float alpha, beta, bias;        /* alpha already divided by the size */
} launch_lrn_call;

/* sum: what is raised to the power of beta, or NULL. */
void launch_lrn(cuda_stream stream, const launch_lrn_call *c, float *y, float *sum, const float *x);
void launch_lrn_bwd(cuda_stream stream, const launch_lrn_call *c, float *dx, const float *dy,
                    const float *x, const float *y, const float *sum);

/* move.cu. Axes: operand 0 is where elements go, operand 1 where they come from; strides may be 0
 * (from) and negative. Pointers are to the first element of either side, which do not overlap. */

/* Elements of 1, 2, 4, 8 or 16 bytes. */
void launch_move(cuda_stream stream, size_t element, void *to, const void *from, const axes *over);

/* The same of up to 8 bytes, where the last axis has stride 1 in `to` and axis `down` in `from`. */
void launch_turn(cuda_stream stream, size_t element, void *to, const void *from, const axes *over,
                 int down);

/* to += from; no two elements go to one place. */
void launch_move_add(cuda_stream stream, float *to, const float *from, const axes *over);

typedef struct launch_trilu_call {
    int64_t matrices, rows, cols;
    int64_t k;      /* what is on diagonal k and above, or below, stays */
    bool upper;
    size_t element; /* 1, 4 or 8 bytes */
} launch_trilu_call;

/* y may be x. */
void launch_trilu(cuda_stream stream, const launch_trilu_call *c, void *y, const void *x);

typedef struct launch_one_hot_call {
    int64_t outer, depth, inner; /* indices [outer, inner], y [outer, depth, inner] */
    dtype index;                 /* float32, int64 or int32; any number, from the end when negative */
    size_t element;              /* 1, 4 or 8 bytes */
    uint8_t off[8], on[8];
} launch_one_hot_call;

void launch_one_hot(cuda_stream stream, const launch_one_hot_call *c, void *y, const void *indices);

typedef struct launch_reverse_call {
    int64_t steps, examples, bytes; /* [examples, steps] runs of `bytes`, or [steps, examples] */
    bool batch_first;
    bool wide;                      /* lengths are int64, else int32; 0 .. steps */
    launch_fault fault;             /* a bad length; it counts as 0 */
} launch_reverse_call;

/* The first lengths[example] runs of each example turn round; y is not x. */
void launch_reverse(cuda_stream stream, const launch_reverse_call *c, void *y, const void *x,
                    const void *lengths);

/* optim.cu: the servers' arithmetic (optim/update.h, optim/optim.h) */

struct update;

/* `state` and `state_out` are arrays of the host of u's states, vectors of the device. Outputs may be
 * the inputs. */
void launch_update(cuda_stream stream, const struct update *u, int64_t n, const float *grad,
                   const float *weight, float *weight_out, const float *const *state,
                   float *const *state_out);
/* y = momentum x + (1 - momentum) value; y may be x */
void launch_average(cuda_stream stream, float momentum, int64_t n, const float *value,
                    const float *x, float *y);
/* Squares of n numbers, the first of which is element `first` of the flat vector, summed within each
 * block of its grid of 4096 elements that they touch: sums[0] is that of the first such block. */
void launch_square_sums(cuda_stream stream, double *sums, const float *x, int64_t first, int64_t n);

/* pad.cu */

typedef struct launch_pad_call {
    int rank;                          /* at least 1 */
    int64_t dim[AXES_MOST];            /* of y; all but the first make at most 2^31 - 1 elements */
    const int64_t *sources[AXES_MOST]; /* on the device, by place: elements into x, -1: none */
    int64_t run;                       /* elements behind those axes */
    size_t element;                    /* 1, 2, 4, 8 or 16 bytes */
    uint8_t value[16];                 /* where there is no source */
} launch_pad_call;

void launch_pad(cuda_stream stream, const launch_pad_call *c, void *y, const void *x);

/* probe.cu */

/* What CUDA says of a kernel of this program on the chosen GPU: 0, or a cudaError_t. */
int launch_probe(void);

/* reduce.cu */

typedef enum launch_reduce_kind {
    LAUNCH_REDUCE_SUM,
    LAUNCH_REDUCE_MEAN,
    LAUNCH_REDUCE_L1,
    LAUNCH_REDUCE_L2,
    LAUNCH_REDUCE_SUM_SQUARE,
    LAUNCH_REDUCE_LOG_SUM,
    LAUNCH_REDUCE_MAX,
    LAUNCH_REDUCE_MIN,
    LAUNCH_REDUCE_PROD,
    LAUNCH_REDUCE_LOG_SUM_EXP,
} launch_reduce_kind;

typedef struct launch_reduce_call {
    reduce_space space; /* reduce_depth > 0 */
    launch_reduce_kind kind;
    launch_type type;   /* of x; from LAUNCH_REDUCE_MAX on float32 alone */
    float divisor;      /* LAUNCH_REDUCE_MEAN's */
    int pieces;         /* of what falls into one result */
    void *room;         /* pieces > 1: 4 bytes a piece and result; LOG_SUM_EXP 8 */
} launch_reduce_call;

void launch_reduce(cuda_stream stream, const launch_reduce_call *c, float *y, const void *x);
/* Of int64 (`wide`) or int32: SUM, MAX, MIN, PROD, which wrap around. No pieces. */
void launch_reduce_whole(cuda_stream stream, const launch_reduce_call *c, void *y, const void *x,
                         bool wide);
/* Of LAUNCH_REDUCE_PROD. */
void launch_reduce_prod_bwd(cuda_stream stream, const reduce_space *s, float *dx, const float *dy,
                            const float *x);

/* resample.cu */

typedef struct launch_resample_call {
    int64_t outer, n_in, n_out, inner; /* n_out * inner is below 2^31 */
    const int64_t *begin, *at;         /* on the device: graph/taps.h */
    const float *weight;
    float outside;                     /* an output without taps */
    bool adds_to_zero;                 /* or begins with the first term: zeros have another sign */
} launch_resample_call;

/* y [outer, n_out, inner] of x [outer, n_in, inner] */
void launch_resample(cuda_stream stream, const launch_resample_call *c, float *y, const float *x);

/* row_norm.cu: LayerNormalization and RMSNormalization of [rows,n] */

typedef struct launch_row_norm_call {
    launch_type x_type, y_type; /* of x and dx, of y and dy; not one half and the other */
    int64_t rows, n;
    bool centred;               /* LayerNormalization */
    float epsilon;
    int64_t bands;              /* backward: of rows, at most 65535 */
    float *room;                /* backward: [2,bands,n] */
} launch_row_norm_call;

/* bias, mean and inverse (1 / deviation, [rows]) may be NULL; y may be x of the same type. */
void launch_row_norm(cuda_stream stream, const launch_row_norm_call *c, void *y, float *mean,
                     float *inverse, const void *x, const float *scale, const float *bias);
/* mean is NULL unless centred. dx, dscale and dbias may be NULL; dx may be dy or x of its type. */
void launch_row_norm_bwd(cuda_stream stream, const launch_row_norm_call *c, void *dx, float *dscale,
                         float *dbias, const void *dy, const void *x, const float *scale,
                         const float *mean, const float *inverse);

/* softmax.cu */

typedef struct launch_softmax_call {
    launch_type type;
    int64_t outer, axis, inner; /* [outer,axis,inner], over axis */
    bool log;                   /* LogSoftmax */
} launch_softmax_call;

/* y may be x; dx may be dy or y. */
void launch_softmax(cuda_stream stream, const launch_softmax_call *c, void *y, const void *x);
void launch_softmax_bwd(cuda_stream stream, const launch_softmax_call *c, void *dx, const void *dy,
                        const void *y);

/* sort.cu */

typedef struct launch_sort_call {
    int64_t n;                  /* below 2^32 */
    int bits;                   /* of a key that count, the lowest; 1 .. 32 */
    const uint32_t *keys;       /* [n] */
    const uint32_t *from;       /* [n]: the numbers that have the keys; NULL: 0 .. n-1 */
    uint32_t *sorted, *order;   /* [n]: keys and numbers by ascending keys, equal ones as they stood */
    void *room;                 /* launch_sort_room(n) bytes */
} launch_sort_call;

size_t launch_sort_room(int64_t n);
void launch_sort(cuda_stream stream, const launch_sort_call *c);

/* ternary.cu. Axes: y in its order, operands a, b and c; y may be a where a has its shape. */

typedef enum choice_function {
#define CHOICE(name, expression) CHOICE_##name,
#include "backend/binary_math.def"
} choice_function;

void launch_choice(cuda_stream stream, choice_function f, float *y, const float *a, const float *b,
                   const float *c, const axes *over);

/* y = a ? b : c, of elements of 1, 4 or 8 bytes; y is none of them. */
void launch_where(cuda_stream stream, size_t element, void *y, const uint8_t *a, const void *b,
                  const void *c, const axes *over);

/* tile.cu */

/* y = act(alpha * a b + beta * c), batch by batch (tile.h) */
void launch_gemm(cuda_stream stream, const gemm_task *t);

/* top_k.cu */

enum { LAUNCH_TOP_K_SHORT = 1024 };

typedef struct launch_top_k_call {
    int64_t outer, size, inner, k;
    dtype type;                 /* F32, I64, I32, U8 */
    bool smallest;
} launch_top_k_call;

/* values, indices [outer,k,inner] of x [outer,size,inner], the best first, of several alike the
 * first; size is at most LAUNCH_TOP_K_SHORT. */
void launch_top_k(cuda_stream stream, const launch_top_k_call *c, void *values, int64_t *indices,
                  const void *x);

/* For longer lines. The elements of x, less than 2^32, are numbered line by line; keys[i] is a word of
 * the key of element order[i] (NULL: of i): by TOP_K_LOW, for I64 then TOP_K_HIGH, and last by
 * TOP_K_LINE they are sorted. */
typedef enum launch_top_k_word { TOP_K_LOW, TOP_K_HIGH, TOP_K_LINE } launch_top_k_word;
void launch_top_k_keys(cuda_stream stream, const launch_top_k_call *c, launch_top_k_word word,
                       uint32_t *keys, const uint32_t *order, const void *x);
/* As launch_top_k, of elements in that order. */
void launch_top_k_sorted(cuda_stream stream, const launch_top_k_call *c, void *values,
                         int64_t *indices, const void *x, const uint32_t *order);

/* tree_sum.cu */

/* y[n] = left[n] + right[n]; y may be left or right. The one addition of the tree of slots. */
void launch_tree_sum(cuda_stream stream, float *y, const float *left, const float *right, size_t n);

/* unary.cu */

/* The functions of unary_math.def: UNARY_relu, UNARY_relu_bwd, ... */
typedef enum unary_function {
#define FORWARD(name, expression)  UNARY_##name,
#define BACKWARD(name, expression) UNARY_##name##_bwd,
#include "backend/unary_math.def"
} unary_function;

/* y[n] = f(a[n], b[n]): a is x, or dy, and b v, which only gradients have. p and q are f's attributes.
 * All aligned to 16 bytes; y may be a or b. */
void launch_unary(cuda_stream stream, unary_function f, float *y, const float *a, const float *b,
                  int64_t n, float p, float q);
/* UNARY_relu_bwd of a y that was rounded to bfloat16. */
void launch_relu_bwd_of_rounded(cuda_stream stream, float *dx, const float *dy, const void *y,
                                int64_t n);

#ifdef __cplusplus
}
#endif

#endif
