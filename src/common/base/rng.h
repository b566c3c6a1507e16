/*
 * Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
 * 1, 2, 3", SC'11). A number is a pure function of (seed, purpose, id, element), so any lane can
 * draw any of them, in any order, and gets the same bits. No libm is used.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_COMMON_BASE_RNG_H
#define TEQUIO_COMMON_BASE_RNG_H

#include <stdint.h>

/* The purposes keep streams apart; their numbers are part of the result and never change. */
typedef enum rng_purpose {
    RNG_INIT = 1,    /* id: hash of the tensor's name; element: index in the tensor */
    RNG_SHUFFLE = 2, /* id: epoch */
    RNG_AUGMENT = 3, /* id: batch id; element: example and draw */
    RNG_DROPOUT = 4, /* id: batch id and the node's stream; element: index in the tensor */
    RNG_TEST = 5,
    RNG_FAULT = 6,   /* id: hash of the task's name; element: messages sent before */
    RNG_GENERATE = 7, /* id: 0; element: tokens drawn before */
    RNG_NODE = 8,    /* id: batch id and the node's stream; element: index in the tensor */
    RNG_SAMPLE = 9,  /* id: bytes of what is sampled; element: number of the sample */
    RNG_BUCKET = 10, /* id: epoch; element: example */
    RNG_PICTURE = 11, /* id: batch id; element: example and draw */
    RNG_MIX = 12,    /* id: batch id; element: draw */
} rng_purpose;

typedef struct rng {
    uint32_t key[2];
    uint32_t id[2];
} rng;

rng rng_make(uint64_t seed, rng_purpose purpose, uint64_t id);

/* Four words at once: words 4*block .. 4*block+3 of the stream. */
void rng_block(const rng *r, uint64_t block, uint32_t ret[4]);

uint32_t rng_u32(const rng *r, uint64_t element);
uint64_t rng_below(const rng *r, uint64_t element, uint64_t bound); /* 0 .. bound-1; bound > 0 */
float rng_uniform(const rng *r, uint64_t element);                  /* [0, 1), 24 bits */
float rng_normal(const rng *r, uint64_t element);                   /* mean 0, deviation 1 */

/* 64-bit mix of two words (splitmix64 finaliser), for building ids. */
uint64_t rng_mix(uint64_t a, uint64_t b);

#endif
