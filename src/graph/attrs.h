/*
 * Attributes of operators, as ONNX names them (pads are [begins..., ends...]). Only ops that have
 * any stand here; the struct is copied into the graph. Names, defaults and bounds of most fields
 * stand beside the op's shape rule (schema.h); in a node axes are 0 .. rank-1. Plain data.
 */
#ifndef TEQUIO_GRAPH_ATTRS_H
#define TEQUIO_GRAPH_ATTRS_H

#include "graph/graph.h"

enum { SPATIAL = 3 };

/* A size that is not said: the shape rule puts there what follows from the operands. */
enum { ATTR_OPEN = -1 };

/* Who chooses the pads of a window; the shape rule puts its choice into `pads`. */
typedef enum auto_pad {
    PAD_GIVEN,
    PAD_SAME_UPPER, /* ceil(size / stride) positions; an odd pad more goes behind */
    PAD_SAME_LOWER, /* ... in front */
    PAD_VALID,      /* none */
} auto_pad;

/* CONV, CONV_BWD_DATA, CONV_BWD_WEIGHTS: x [N,C,spatial...], w [M,C/group,kernel...].
 * CONV_TRANSPOSE: x [N,C,spatial...], w [C,M/group,kernel...] */
typedef struct conv_attr {
    int64_t kernel[SPATIAL];            /* 0: as the weights have it; the rule puts that there */
    int64_t strides[SPATIAL], dilations[SPATIAL];
    int64_t pads[2 * SPATIAL];
    auto_pad auto_pad;
    int64_t group;
    graph_shape x, w;                   /* backward ops: the shape to produce */
    bool with_bias;                     /* CONV_BWD_WEIGHTS: output 1 is wanted */
    int64_t output_padding[SPATIAL];    /* CONV_TRANSPOSE */
    int64_t output_shape[SPATIAL];      /* CONV_TRANSPOSE: 0: follows from the pads. Where pads can
                                         * say it too, they do behind the rule */
} conv_attr;

/* MAX_POOL, AVERAGE_POOL, LP_POOL and their gradients (GLOBAL_AVERAGE_POOL's is
 * AVERAGE_POOL_BWD) */
typedef struct pool_attr {
    int64_t kernel[SPATIAL], strides[SPATIAL], pads[2 * SPATIAL], dilations[SPATIAL];
    auto_pad auto_pad;
    bool whole_plane;                   /* is the kernel: ONNX's GlobalMaxPool, GlobalLpPool */
    bool ceil_mode, count_include_pad;
    int64_t p;                          /* LP_POOL: the norm's */
    bool indices, column_major;         /* MAX_POOL: output 2 is wanted, in this order */
    graph_shape x;                      /* backward ops: the shape to produce */
} pool_attr;

/* GROUP_NORMALIZATION (opset 21: scale and bias per channel), INSTANCE_NORMALIZATION, gradient */
typedef struct group_norm_attr {
    int64_t groups;                     /* INSTANCE_NORMALIZATION: set by the shape rule */
    float epsilon;
} group_norm_attr;

typedef struct lrn_attr {               /* LRN, LRN_BWD */
    int64_t size;
    float alpha, beta, bias;
} lrn_attr;

/* Operands of LSTM, GRU and RNN by place; then those their gradients have beside. */
enum {
    RECURRENT_X,        /* [S,B,I] */
    RECURRENT_W,        /* [D,G*H,I] */
    RECURRENT_R,        /* [D,G*H,H] */
    RECURRENT_B,        /* [D,2*G*H] */
    RECURRENT_LENGTHS,  /* int32 or int64 [B]; steps behind give zeros and move no state */
    RECURRENT_H0,       /* [D,B,H] */
    RECURRENT_C0,       /* LSTM */
    RECURRENT_P,        /* LSTM: [D,3*H] */
    RECURRENT_IN,
    RECURRENT_Y = RECURRENT_IN,
    RECURRENT_GATES,    /* LSTM, GRU: [D,S,B,G*H], after their activations */
    RECURRENT_INNER,    /* [D,S,B,H]; LSTM: the cells, GRU: h * R_h + its bias */
    RECURRENT_DY,       /* of the three outputs that ONNX has; absent ones are zero */
    RECURRENT_DY_H,
    RECURRENT_DY_C,
    RECURRENT_BWD_IN,
    RECURRENT_OUT = 5,  /* y [S,D,B,H], y_h and y_c [D,B,H], gates, inner */
};

typedef struct recurrent_attr {         /* LSTM, GRU, RNN and their gradients */
    int64_t hidden;                     /* ATTR_OPEN: as the weights say */
    enum { RECURRENT_FORWARD, RECURRENT_REVERSE, RECURRENT_BOTH } direction;
    bool linear_before_reset;           /* GRU */
    bool relu;                          /* RNN: instead of tanh */
} recurrent_attr;

/* GEMM: y = alpha * op(a) op(b) + beta * c, c broadcast to [M,N] */
#define GEMM_UNSCALED .alpha = 1, .beta = 1
typedef struct gemm_attr {
    float alpha, beta;
    bool trans_a, trans_b;
} gemm_attr;

/* MATMUL: ONNX has no transposes; backward uses them (last two axes) */
typedef struct matmul_attr {
    bool trans_a, trans_b;
    bool exact;                         /* factors stay float32 whatever the precision; so do those
                                         * of its gradient */
} matmul_attr;

/* Operators of unary.def with one or two numbers, whose names stand there, and their gradients */
typedef struct unary_attr {
    float alpha, beta;
} unary_attr;

typedef struct arg_attr {               /* ARG_MAX, ARG_MIN */
    int32_t axis;
    bool drop_dims;                     /* keepdims=0 */
    bool last;                          /* of several alike (select_last_index) */
} arg_attr;

typedef struct cum_sum_attr {
    int32_t axis;
    bool exclusive, reverse;
} cum_sum_attr;

typedef struct mod_attr {
    bool fmod;                          /* the rest has the sign of the first operand */
} mod_attr;

typedef struct cast_attr {              /* CAST, TO_HALF */
    dtype to;
} cast_attr;

typedef struct is_inf_attr {            /* both: never */
    bool only_positive, only_negative;
} is_inf_attr;

typedef struct gelu_attr {              /* GELU, GELU_BWD */
    bool tanh;                          /* approximate="tanh"; otherwise erf */
} gelu_attr;

/* SOFTMAX, LOG_SOFTMAX and their gradients, HARDMAX, FLATTEN, CONCAT */
typedef struct axis_attr {
    int32_t axis;
} axis_attr;

/* SOFTMAX_CROSS_ENTROPY_LOSS: scores [N,C,d...], labels int64 [N,d...], optional weights [C] */
typedef struct sce_attr {
    bool log_probs;                     /* the scores are logarithms of probabilities already, no
                                         * softmax is taken: ONNX's NegativeLogLikelihoodLoss */
    enum { SCE_MEAN, SCE_SUM, SCE_NONE } reduction;
    bool has_ignore_index;
    int64_t ignore_index;
} sce_attr;

/* ACCURACY: scores [N,C,d...], labels int64 [N,d...] -> how many labels have the largest score (the
 * first one on ties; never where a score is no number), and how many labels count; int64 []. With
 * one class a score is a logit: class 1 where it is above 0. */
typedef struct accuracy_attr {
    bool has_ignore_index;
    int64_t ignore_index;
} accuracy_attr;

typedef struct batch_norm_attr {        /* forward and backward */
    float epsilon;
    bool training;                      /* statistics of this batch; otherwise the inputs' */
} batch_norm_attr;

/* LAYER_NORMALIZATION, RMS_NORMALIZATION and their gradients: over the axes from `axis` on */
typedef struct row_norm_attr {
    int32_t axis;
    float epsilon;
} row_norm_attr;

/* ATTENTION, ATTENTION_BWD: ONNX's Attention, and dropout of the probabilities */
typedef struct attention_attr {
    int64_t q_heads, kv_heads;          /* of operands of rank 3, kv_heads 0: as q_heads; the
                                         * rule puts there what they are */
    float scale;                        /* 0: the rule puts 1 / sqrt(head) there */
    bool causal;                        /* query i looks at keys 0 .. past + i, */
    int64_t past;                       /* so many of which stand before query 0's own; not below 0 */
    float ratio;                        /* of dropout, in [0, 1); element e counts in
                                         * [B,Hq,Sq,Sk], its bit as in dropout_attr */
    uint64_t seed, stream;
} attention_attr;

/* ROTARY_EMBEDDING: angles are [B,S,width / 2], already picked by position */
typedef struct rotary_attr {
    int64_t heads;                      /* of an x of rank 3 */
    int64_t width;                      /* numbers of a head that are turned; 0, ONNX's default: all,
                                         * the rule puts there how many */
    bool interleaved;                   /* pairs are neighbours; otherwise halves of the width */
    bool inverse;                       /* turns back */
} rotary_attr;

typedef struct dropout_attr {
    float ratio;                        /* in [0, 1) */
    uint64_t seed, stream;              /* mask bit of element e: rng (seed, RNG_DROPOUT,
                                         * rng_mix(stream, batch id)), word e >= ratio * 2^32 */
} dropout_attr;

/* RANDOM: shift + scale u, u uniform in [0, 1), or normal of mean 0 and deviation 1. Element e is of
 * words of the stream (seed, RNG_NODE, rng_mix(stream, batch id)), as backend/random_math.h says. */
typedef struct random_attr {
    graph_shape shape;
    enum { RANDOM_UNIFORM, RANDOM_NORMAL } kind;
    float shift, scale;
    uint64_t seed, stream;
} random_attr;

typedef struct shape_attr {             /* RESHAPE, EXPAND, SUM_TO, ZERO (f32) */
    graph_shape shape;                  /* RESHAPE: a -1 takes what is left; the rule puts a size */
    bool zero_copies;                   /* RESHAPE: the input's axis; the rule puts that size */
} shape_attr;

typedef struct transpose_attr {
    int32_t perm[GRAPH_RANK];
    bool reverse;                       /* no perm given: reverse the axes */
} transpose_attr;

typedef struct reduce_attr {            /* REDUCE_... */
    int32_t axes[GRAPH_RANK];
    int32_t n_axes;                     /* 0: all */
    bool none;                          /* 0 axes: none (noop_with_empty_axes) */
    bool drop_dims;                     /* keepdims=0 */
} reduce_attr;

typedef struct slice_attr {             /* SLICE, SLICE_BWD; the rule completes it: entry i is axis i */
    int32_t n_axes;
    int32_t axes[GRAPH_RANK];
    int64_t begin[GRAPH_RANK], end[GRAPH_RANK];         /* from the end when negative; cut to it */
    int64_t step[GRAPH_RANK];                           /* not 0; negative: backwards */
    graph_shape x;                      /* backward: the shape to produce */
} slice_attr;

typedef struct gather_attr {            /* GATHER, GATHER_BWD */
    int32_t axis;
    graph_shape x;                      /* backward: the shape to produce */
} gather_attr;

typedef enum scatter_reduction {
    SCATTER_SET,
    SCATTER_ADD,
    SCATTER_MUL,
    SCATTER_MAX,
    SCATTER_MIN,
} scatter_reduction;

/* GATHER_ELEMENTS, SCATTER_ELEMENTS (axis); GATHER_ND, SCATTER_ND (batch_dims) */
typedef struct index_attr {
    int32_t axis;
    int32_t batch_dims;
    scatter_reduction reduction;        /* of the scattering ones */
} index_attr;

typedef enum pad_mode {
    PAD_CONSTANT,
    PAD_REFLECT,        /* the edge is not repeated; back and forth where the pads are longer */
    PAD_EDGE,
    PAD_WRAP,
} pad_mode;

/* PAD, PAD_BWD. Negative pads cut, before anything is padded. */
typedef struct pad_attr {
    pad_mode mode;
    int64_t pads[2 * GRAPH_RANK];       /* [begins..., ends...], as many each as x has axes */
    double value;                       /* PAD_CONSTANT */
    graph_shape x;                      /* backward: the shape to produce */
} pad_attr;

/* RESIZE, RESIZE_BWD; Upsample is RESIZE_ASYMMETRIC, RESIZE_FLOOR */
typedef struct resize_attr {
    enum { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC } mode;
    enum {
        RESIZE_HALF_PIXEL,
        RESIZE_PYTORCH_HALF_PIXEL,
        RESIZE_HALF_PIXEL_SYMMETRIC,
        RESIZE_HALF_PIXEL_FOR_NEAREST,  /* tf_half_pixel_for_nn */
        RESIZE_ASYMMETRIC,
        RESIZE_ALIGN_CORNERS,
        RESIZE_CROP,                    /* tf_crop_and_resize */
    } coordinates;
    enum { RESIZE_PREFER_FLOOR, RESIZE_PREFER_CEIL, RESIZE_FLOOR, RESIZE_CEIL } nearest;
    enum { RESIZE_STRETCH, RESIZE_NOT_LARGER, RESIZE_NOT_SMALLER } policy; /* with sizes */
    int64_t sizes[GRAPH_RANK];          /* of the output; 0: from the scale; both 0: as it is. In a node
                                         * both are said, by the rule */
    double scales[GRAPH_RANK];
    bool exact[GRAPH_RANK];             /* set by the rule: the size was given, not the scale */
    double roi[2 * GRAPH_RANK];         /* RESIZE_CROP: [begins..., ends...] */
    float cubic_a;                      /* RESIZE_CUBIC: ONNX's default is -0.75 */
    float outside;                      /* RESIZE_CROP: the value beyond the input */
    bool exclude_outside, antialias;
    graph_shape x;                      /* backward: the shape to produce */
} resize_attr;

typedef struct grid_attr {              /* GRID_SAMPLE, GRID_SAMPLE_BWD */
    enum { GRID_LINEAR, GRID_NEAREST, GRID_CUBIC } mode;
    enum { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION } padding;
    bool align_corners;
    bool pixels;                        /* the grid counts elements from 0, instead of -1 .. 1;
                                         * beyond the edge as with align_corners */
} grid_attr;

/* ROI_ALIGN, ROI_ALIGN_BWD */
typedef struct roi_attr {
    int64_t rows, columns;              /* bins of a region */
    int64_t ratio;                      /* samples of a bin along an axis; 0: one a pixel */
    float scale;                        /* from regions' coordinates to pixels */
    bool half_pixel;                    /* a pixel's middle is at 0.5 */
    bool largest;                       /* mode "max" */
} roi_attr;

typedef struct trilu_attr {
    int64_t k;                          /* the diagonal: above the main one when positive */
    bool upper;
} trilu_attr;

typedef struct one_hot_attr {
    int32_t axis;                       /* of the output */
    int64_t depth;
    double off, on;
    dtype type;                         /* of the output */
} one_hot_attr;

typedef struct sequence_attr {          /* REVERSE_SEQUENCE */
    bool batch_first;                   /* x is [batch, steps, ...]; otherwise [steps, batch, ...] */
} sequence_attr;

typedef struct top_k_attr {
    int32_t axis;
    int64_t k;
    bool smallest;
} top_k_attr;

#endif
