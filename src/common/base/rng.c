#include "common/base/rng.h"

#include "common/base/detmath.h"
#include "common/base/philox.h"

#include <string.h>

uint64_t rng_mix(uint64_t a, uint64_t b)
{
    return philox_mix(a, b);
}

rng rng_make(uint64_t seed, rng_purpose purpose, uint64_t id)
{
    uint64_t key = rng_mix(seed, (uint64_t)purpose);
    return (rng){
        .key = {(uint32_t)key, (uint32_t)(key >> 32)},
        .id = {(uint32_t)id, (uint32_t)(id >> 32)},
    };
}

void rng_block(const rng *r, uint64_t block, uint32_t ret[4])
{
    philox_block drawn = philox_draw(block, r->id, r->key);
    memcpy(ret, drawn.word, sizeof drawn.word);
}

uint32_t rng_u32(const rng *r, uint64_t element)
{
    uint32_t words[4];
    rng_block(r, element / 4, words);
    return words[element % 4];
}

uint64_t rng_below(const rng *r, uint64_t element, uint64_t bound)
{
    uint32_t words[4];
    rng_block(r, element, words);
    uint64_t x = (uint64_t)words[1] << 32 | words[0];
    return (uint64_t)(((unsigned __int128)x * bound) >> 64);
}

float rng_uniform(const rng *r, uint64_t element)
{
    return (float)(rng_u32(r, element) >> 8) * 0x1p-24f;
}

/* Box and Muller (1958): one pair of normals takes two of a block's words. */
float rng_normal(const rng *r, uint64_t element)
{
    uint32_t words[4];
    rng_block(r, element / 4, words);
    unsigned pair = (unsigned)(element % 4) / 2 * 2;
    double u = ((double)words[pair] + 1.0) * 0x1p-32;   /* (0, 1] */
    double v = (double)words[pair + 1] * 0x1p-32 * 2.0; /* [0, 2) turns of pi */
    double radius = det_sqrt(-2.0 * det_log(u));
    /* sin(pi v) = cos(pi (v - 1/2)) */
    return (float)(radius * det_cos_pi(element % 2 ? v - 0.5 : v));
}
