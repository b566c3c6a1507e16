/*
 * Loss scaling: the loss of every slot of a step is multiplied by 2^exponent before gradients are
 * made, so that small ones do not vanish in a half-precision type, and the sum of the gradients by
 * 2^-exponent where it is applied. Powers of two are exact, so the scale does not show in the bits
 * of what neither overflows nor underflows.
 *
 * The scale belongs to a version of the weights, like the weights: it is the same for all slots of
 * a step, whoever computes them and when, and what is decided about the step makes the next one. A
 * dynamic scale is PyTorch's GradScaler, in powers of two: a gradient that is not finite moves
 * nothing and halves the scale, `window` good steps in a row double it. It stays within 1 and
 * 2^LOSS_SCALE_MOST, where it and its inverse are normal numbers.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_COMMON_PARTS_LOSS_SCALE_H
#define TEQUIO_COMMON_PARTS_LOSS_SCALE_H

#include <stdbool.h>
#include <stdint.h>

enum { LOSS_SCALE_MOST = 126, LOSS_SCALE_WINDOW_MOST = (1 << 24) - 1 };

typedef struct loss_scale_rule {
    bool dynamic;
    uint8_t start; /* the first exponent; not dynamic: the only one */
    uint32_t window;
} loss_scale_rule;

/* Of a version. */
typedef struct loss_scale {
    uint8_t exponent;
    uint32_t good;    /* steps since it last changed, below the window */
    uint32_t skipped; /* steps that moved nothing, over the job */
} loss_scale;

loss_scale loss_scale_first(const loss_scale_rule *r);
/* A gradient that is not finite can be skipped: the next scale is smaller. */
bool loss_scale_can_fall(const loss_scale_rule *r, loss_scale s);
/* Of the version that a step makes of the version of `s`, having moved something or not. */
loss_scale loss_scale_next(const loss_scale_rule *r, loss_scale s, bool skip);

float loss_scale_factor(loss_scale s);  /* 2^exponent */
float loss_scale_inverse(loss_scale s); /* 2^-exponent */

bool loss_scale_equal(loss_scale a, loss_scale b);

/* As a number: bits 0 to 7 the exponent, 8 to 31 the good steps, 32 to 63 those skipped. False: no
 * scale is packed so. */
uint64_t loss_scale_pack(loss_scale s);
bool loss_scale_unpack(uint64_t packed, loss_scale *ret);

#endif
