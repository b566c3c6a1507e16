/*
 * The order of an epoch (permute.h): a 4-round Feistel network on the bits of n - 1, halves of unequal
 * width where their number is odd; what falls outside 0 .. n-1 is sent through again until it does
 * not (at most half of all values do, so two passes on average).
 */
#include "common/parts/permute.h"

#include "common/base/error.h"
#include "common/base/rng.h"

enum { ROUNDS = 4 };

typedef struct feistel {
    uint32_t key[ROUNDS];
    int left_bits, right_bits;
} feistel;

static uint64_t low_bits(uint64_t x, int n)
{
    return n >= 64 ? x : x & (((uint64_t)1 << n) - 1);
}

/* Each round swaps the halves and their widths; an even number of rounds restores both. */
static uint64_t scramble(const feistel *f, uint64_t x)
{
    int left_bits = f->left_bits, right_bits = f->right_bits;
    uint64_t left = x >> right_bits, right = low_bits(x, right_bits);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t mixed = left ^ low_bits(rng_mix(f->key[i], right), left_bits);
        left = right;
        right = mixed;
        int swap = left_bits;
        left_bits = right_bits;
        right_bits = swap;
    }
    return left << right_bits | right;
}

int64_t permute_place(uint64_t seed, int64_t epoch, int64_t n, int64_t place)
{
    BUG_ON(place < 0 || place >= n);
    if (n == 1)
        return 0;
    int bits = 64 - __builtin_clzll((uint64_t)n - 1);
    feistel f = {.left_bits = bits / 2, .right_bits = bits - bits / 2};
    rng r = rng_make(seed, RNG_SHUFFLE, (uint64_t)epoch);
    rng_block(&r, 0, f.key);
    uint64_t x = (uint64_t)place;
    do
        x = scramble(&f, x);
    while (x >= (uint64_t)n);
    return (int64_t)x;
}
