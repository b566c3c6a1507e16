/*
 * Points that fill the unit cube evenly: Sobol's sequence, scrambled by a seed.
 *
 * Each block of 2^k points from a multiple of it on has, in every coordinate, one point in each of 2^k equal
 * intervals; scrambling keeps this, and makes other points of another seed.
 *
 * Threads: pure functions.
 * Sources: Joe, Kuo, "Constructing Sobol sequences with better two-dimensional projections", SIAM J. Sci. Comput.
 * 30 (2008), whose direction numbers new-joe-kuo-6 these are; Owen's scrambling by hashing as in Burley, "Practical
 * hash-based Owen scrambling", JCGT 9 (2020).
 */
#ifndef TEQUIO_TUNE_SOBOL_H
#define TEQUIO_TUNE_SOBOL_H

#include <stdint.h>

enum { SOBOL_DIMENSIONS = 64 };

/* Coordinate `dimension` of point `i`, in [0, 1): without scrambling, and with it. */
double sobol_plain(uint32_t i, int dimension);
double sobol_scrambled(uint64_t seed, uint32_t i, int dimension);

#endif
