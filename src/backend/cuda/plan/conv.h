/*
 * What conv.c knows of a convolution or a gradient of one, for the ways there are to compute it.
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CUDA_PLAN_CONV_H
#define TEQUIO_BACKEND_CUDA_PLAN_CONV_H

#include "backend/cuda/library/dnn_conv.h"
#include "backend/cuda/plan/matmul.h"

typedef struct conv_extent {
    int64_t outer, channels, positions; /* images, or maps of the weights */
    bool rounded;                    /* the value is of half precision already */
    bool last;                       /* its channels are */
    bool turns;                      /* ... or are to be, in a copy */
    size_t at;                       /* in scratch, if it turns */
} conv_extent;

typedef struct conv_state {
    conv_part first, second, makes;
    conv_extent part[PARTS];
    dtype factor, result; /* what is multiplied; how what is made is stored */
    dtype made;           /* as what cuDNN makes it, in a copy if that is another type */
    conv_task task;       /* all but addresses */
    bool is_matmul;
    cuda_matmul matmul;
    conv_part a, b; /* its factors */
    dnn_graph *dnn; /* NULL: not by cuDNN */
    bool gathers;   /* a product gets a copy of x that has the positions alone which the kernel looks at */
    bool pads;      /* cuDNN gets x, and makes w, with one channel more, of zeros (conv_dnn.c) */
    axes bias_over; /* of a bias that is added behind cuDNN; rank 0: of none */
    conv_task bias; /* the sum that CONV_BWD_WEIGHTS makes beside; cut.pieces 0: none */
    size_t rest;    /* where the scratch behind transposed parts begins */
} conv_state;

static inline conv_operand *conv_operand_of(conv_task *t, conv_part part)
{
    return part == PART_X ? &t->x : part == PART_W ? &t->w : &t->y;
}

static inline bool conv_has_to_round(const conv_state *s, conv_part part)
{
    return dtype_is_half(s->factor) && !s->part[part].rounded;
}

static inline bool conv_is_channels_last(const conv_extent *l)
{
    return l->last || l->turns;
}

/* `type`: of a copy, or of what is rounded already. */
static inline void conv_set_layout(conv_operand *o, const conv_extent *l, dtype type)
{
    o->type = l->turns || l->rounded ? type : DT_F32;
    o->at.outer = l->channels * l->positions;
    o->at.channel = conv_is_channels_last(l) ? 1 : l->positions;
    o->at.position = conv_is_channels_last(l) ? l->channels : 1;
}

/* Of a convolution or a gradient of one: has cuDNN asked for what its plan function will (backend_program's
 * `only_asks`). Anything that is wrong that will tell. */
void cuda_conv_ask(cuda_node *n);

/* By cuDNN; E_UNSUPPORTED with the reason leaves it to be planned another way. */
MUST_USE status conv_plan_dnn(backend_program *p, conv_state *s, error *err);
/* x with one channel more, in scratch. */
MUST_USE status conv_pad_image(const conv_state *s, const cuda_call *c, const void *x, void **ret, error *err);
MUST_USE status conv_run_dnn(const conv_state *s, const cuda_call *c, const void *first,
                             const void *second, const void *bias, error *err);

#endif
