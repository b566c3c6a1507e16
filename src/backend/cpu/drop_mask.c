#include "backend/cpu/drop_mask.h"

#include "backend/cpu/lanes.h"
#include "backend/drop.h"
#include "common/base/philox.h"

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

/* Blocks are independent, so the outer loop is the wide one; the rounds are written out in it. */
SIMD_CLONES
static void draw(uint8_t *ret, const rng *r, uint64_t block, uint32_t n, uint32_t threshold)
{
    uint32_t bytes[BLOCKS]; /* word w of a block decides byte w */
    const uint32_t key[] = {r->key[0], r->key[1]}, id[] = {r->id[0], r->id[1]};
    for (uint32_t j = 0; j < n; j++) {
        philox_block drawn = philox_draw(block + j, id, key);
        bytes[j] = (uint32_t)(drawn.word[0] >= threshold) |
                   (uint32_t)(drawn.word[1] >= threshold) << 8 |
                   (uint32_t)(drawn.word[2] >= threshold) << 16 |
                   (uint32_t)(drawn.word[3] >= threshold) << 24;
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
