/*
 * The flat vector: every declared tensor at its place in one long row of float32, and the parts it
 * is cut into. A pure function of the declaration; it knows nothing of servers.
 *
 * Order: trainable and state tensors in the order in which their gradients become ready (the
 * declarer's order), then frozen ones. A tensor's index stays that of its declaration. Each tensor
 * starts at a multiple of 64 elements; the gaps hold zeros and are never read as values. The live
 * range (trainable and state) and the frozen range are cut separately, so that a part is either
 * wholly live (pushed every step) or wholly frozen (pulled once).
 *
 * Where a live tensor is `whole`, every live tensor lies in one part, whatever its size: parts are filled tensor by
 * tensor, and each begins at a multiple of 4096, behind a gap.
 *
 * The cut: about 32 parts a range, each a multiple of 4096 elements and at least 65536 of them,
 * but at most 2^20 (4 MB); the last part of a range may be smaller. The live range is filled up to
 * a multiple of 4096 when frozen tensors follow, so that parts touch and their edges stay on it.
 *
 * Ownership: a flat owns everything it points to. Immutable once created, so any thread may read.
 */
#ifndef TEQUIO_COMMON_PARTS_FLAT_H
#define TEQUIO_COMMON_PARTS_FLAT_H

#include "common/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TENSOR_RANK = 8,
    FLAT_ALIGN = 64,
    PART_GRAIN = 4096,
    PART_MIN = 1 << 16,
    PART_MAX = 1 << 20,
    PART_WHOLE_MAX = 1 << 24, /* of a tensor that is whole: what a message carries (net.h) */
    PARTS_WANTED = 32,
};

#define FLAT_MAX ((int64_t)1 << 40) /* elements of the longest flat vector: 4 TiB */

typedef enum tensor_kind {
    TENSOR_TRAINABLE, /* moved by the optimizer */
    TENSOR_STATE,     /* batch-norm statistics: one moving average per step */
    TENSOR_FROZEN,    /* never moved */
} tensor_kind;

typedef enum init_kind {
    INIT_CONSTANT, /* a */
    INIT_UNIFORM,  /* in [a, b) */
    INIT_NORMAL,   /* mean a, deviation b */
    INIT_PUSHED,   /* the declarer pushes version 0 */
} init_kind;

typedef struct init_rule {
    init_kind kind;
    float a, b;
} init_rule;

typedef struct tensor_decl {
    const char *name; /* unique, not empty */
    int32_t rank;     /* 0 .. TENSOR_RANK */
    int64_t dim[TENSOR_RANK];
    tensor_kind kind;
    init_rule init;
    float momentum; /* TENSOR_STATE: new = momentum * old + (1 - momentum) * value */
    bool decay;     /* TENSOR_TRAINABLE: weight decay applies */
    int32_t group;  /* TENSOR_TRAINABLE: of the optimizer's groups of parameters; 0: the default one */
    bool whole;     /* TENSOR_TRAINABLE: it is not cut, for its optimizer needs its norm */
} tensor_decl;

typedef struct part_range {
    int64_t begin, end; /* elements of the flat vector */
    bool frozen;
} part_range;

/* A run of elements of one part that belong to one tensor. */
typedef struct part_segment {
    int32_t tensor;
    int64_t at;        /* element of the flat vector */
    int64_t in_tensor; /* the same element's index in its tensor */
    int64_t n;
} part_segment;

typedef struct flat {
    int32_t n_tensors, n_parts, n_live_parts; /* live parts come first */
    const tensor_decl *tensors;
    const int64_t *offset;        /* [n_tensors] first element of each tensor */
    const int64_t *count;         /* [n_tensors] elements of each tensor */
    const part_range *parts;      /* [n_parts] in order, without holes */
    int64_t n_live, n_elements;   /* ends of the live range and of the whole vector */
    const uint64_t *tensor_id;    /* [n_tensors] hash of the name: the id random numbers use */
    const int32_t *by_name;       /* [n_tensors] tensors in the order of their names' bytes */
    const part_segment *segments; /* of all parts, in order: flat_part_segments */
    const int64_t *segment_from;  /* [n_parts + 1] */
    struct arena *memory;
} flat;

/* `tensors` are copied. E_UNSUPPORTED above FLAT_MAX elements, or PART_WHOLE_MAX of one that is not to be cut;
 * E_CONFIG on an empty or doubled name, a rank, dimension, kind, rule or momentum out of its range. */
MUST_USE status flat_create(const tensor_decl *tensors, size_t n, flat **ret, error *err);
void flat_destroy(flat **f);

int64_t flat_part_elements(const flat *f, int32_t part);
int64_t flat_largest_part(const flat *f);   /* its elements; 0: there is none */

/* The part whose gradients travel with what their slots measured: the last one to become ready, as a
 * rule. */
static inline int32_t flat_reporting_part(const flat *f)
{
    return f->n_live_parts - 1;
}

/* The part's segments, in order; none is empty. Borrowed from `f`. */
const part_segment *flat_part_segments(const flat *f, int32_t part, size_t *ret_n);

/* Index of the tensor of that name, -1 if there is none. */
int32_t flat_find(const flat *f, const char *name);

/* Draws version 0 of one part: out[0 .. part elements). INIT_PUSHED tensors are left zero. A number
 * depends on (seed, tensor name, index in the tensor) only, not on the cut. */
void flat_part_init(const flat *f, int32_t part, uint64_t seed, float *out);

/* SHA-256 over everything declared, lower-case hex (65 bytes). Equal digests mean equal layouts. */
void flat_digest(const flat *f, char *ret_hex);

/* SHA-256 over the f32 bytes of all tensors in name order: `params_sha256`. `values` is the whole
 * flat vector. */
void flat_params_sha256(const flat *f, const float *values, char *ret_hex);

#endif
