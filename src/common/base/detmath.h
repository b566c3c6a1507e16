/*
 * Elementary functions whose bits depend on nothing but IEEE 754 double arithmetic: no libm, no
 * contraction (the build sets -ffp-contract=off). Used where a value decides weights: initial
 * weights, schedules, optimizers. Relative error below 1e-14 on the stated domains, except det_pow.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_COMMON_BASE_DETMATH_H
#define TEQUIO_COMMON_BASE_DETMATH_H

double det_exp(double x);    /* saturates to 0 and infinity; NaN stays NaN */
double det_log(double x);    /* x > 0; 0 gives -infinity, negative NaN */
double det_cos_pi(double x); /* cos(pi * x), any finite x; infinity gives NaN */
double det_sqrt(double x);   /* IEEE square root */

/* x >= 0; integer y by squaring when |y| <= 2^53. The relative error grows with the exponent: below
 * 2^-52 times |y| or |y ln x|, whichever is used, plus 1e-14. */
double det_pow(double x, double y);

#endif
