#include "backend/cpu/drop_mask.h"

#include "backend/cpu/lanes.h"
#include "backend/drop.h"

#include <endian.h>
#include <string.h>

enum { BLOCKS = 64, WORDS = 4 * BLOCKS };

drop_mask drop_mask_make(float ratio, uint64_t seed, uint64_t stream, int64_t batch)
{
    return (drop_mask){
        .stream = rng_make(seed, RNG_DROPOUT, rng_mix(stream, (uint64_t)batch)),
        .threshold = drop_threshold(ratio),
        .scale = drop_scale(ratio),
    };
}

INLINE uint32_t high_half(uint32_t a, uint32_t b)
{
    return (uint32_t)(((uint64_t)a * b) >> 32);
}

/* Blocks are independent, so the outer loop is the wide one; the rounds are written out in it. */
SIMD_CLONES
static void draw(uint8_t *ret, const rng *r, uint64_t block, uint32_t n, uint32_t threshold)
{
    uint32_t bytes[BLOCKS]; /* word w of a block decides byte w */
    uint32_t low = (uint32_t)block, high = (uint32_t)(block >> 32);
    const uint32_t key0 = r->key[0], key1 = r->key[1], id0 = r->id[0], id1 = r->id[1];
    for (uint32_t j = 0; j < n; j++) {
        uint32_t c0 = low + j, c1 = high + (c0 < low), c2 = id0, c3 = id1;
        uint32_t k0 = key0, k1 = key1;
#pragma GCC unroll 10
        for (int round = 0; round < 10; round++) {
            uint32_t n0 = high_half(0xCD9E8D57u, c2) ^ c1 ^ k0;
            uint32_t n2 = high_half(0xD2511F53u, c0) ^ c3 ^ k1;
            c1 = 0xCD9E8D57u * c2;
            c3 = 0xD2511F53u * c0;
            c0 = n0;
            c2 = n2;
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        bytes[j] = (uint32_t)(c0 >= threshold) | (uint32_t)(c1 >= threshold) << 8 |
                   (uint32_t)(c2 >= threshold) << 16 | (uint32_t)(c3 >= threshold) << 24;
    }
    for (uint32_t j = 0; j < n; j++)
        bytes[j] = htole32(bytes[j]);
    memcpy(ret, bytes, n * sizeof *bytes);
}

void drop_mask_fill(const drop_mask *m, uint64_t first, int64_t n, uint8_t *ret)
{
    uint8_t drawn[WORDS];
    uint64_t end = first + (uint64_t)n;
    while (first < end) {
        uint64_t skip = first % 4, here = end - first;
        here = here < WORDS - skip ? here : WORDS - skip;
        uint64_t whole = (skip + here + 4 * LANES - 1) / (4 * LANES) * LANES; /* whole vectors */
        draw(drawn, &m->stream, first / 4, (uint32_t)whole, m->threshold);
        memcpy(ret, drawn + skip, here);
        ret += here;
        first += here;
    }
}
