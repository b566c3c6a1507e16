/*
 * Regression by a Gaussian process over points of the unit cube: Matérn's kernel with smoothness 5/2, a length scale
 * a coordinate, and noise. A coordinate of words knows equal and other only.
 *
 * Length scales and noise maximise the marginal likelihood times their priors, from a few starts; the variance of
 * the signal has its best value at each of them.
 *
 * Ownership: a process owns its matrices and borrows nothing. Threads: pure functions of it.
 * Sources: Rasmussen, Williams, "Gaussian Processes for Machine Learning" (2006), chapters 2, 4 and 5. Priors on
 * length scales: Hvarfner, Hellsten, Nardi, "Vanilla Bayesian Optimization Performs Great in High Dimensions",
 * ICML 2024. Steps of the search: Riedmiller, Braun, "RPROP" (1993).
 */
#ifndef TEQUIO_TUNE_GAUSSIAN_PROCESS_H
#define TEQUIO_TUNE_GAUSSIAN_PROCESS_H

#include <stdbool.h>

typedef struct gaussian_process {
    int n, d;            /* points, coordinates */
    const bool *is_word; /* [d], borrowed */
    double *x;           /* [n][d] */
    double *y;           /* [n]: mean 0, deviation about 1 */
    double *scale;       /* [d]: length scales */
    double noise;        /* its variance, as a part of the signal's */
    double signal;       /* variance */
    double *factor;      /* [n][n]: lower triangle of the kernel matrix's Cholesky factor */
    double *weights;     /* [n]: inverse of the kernel matrix times y */
} gaussian_process;

/* Copies x and y. */
void gaussian_process_fit(gaussian_process *g, int n, int d, const bool *is_word, const double *x, const double *y);
void gaussian_process_fini(gaussian_process *g);

/* Takes in one more point; length scales and noise stay. */
void gaussian_process_add(gaussian_process *g, const double *x, double y);

/* Of the function's value without noise; *ret_deviation > 0. `room` is [g->n]. */
void gaussian_process_predict(const gaussian_process *g, const double *x, double *room, double *ret_mean,
                              double *ret_deviation);

/* log of the marginal likelihood times priors at these logarithms of length scales and of the noise, [d + 1], up to
 * a constant, and its derivatives; -INFINITY where the kernel matrix is not positive definite. */
double gaussian_process_evidence(const gaussian_process *g, const double *logs, double *ret_gradient);

#endif
