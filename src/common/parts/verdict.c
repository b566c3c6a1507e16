#include "common/parts/verdict.h"

#include <string.h>

static const uint64_t some = (uint64_t)1 << 32, skips = (uint64_t)1 << 33;
enum { REDUCTIONS = 34 };

uint64_t verdict_pack(verdict v)
{
    uint32_t bits;
    memcpy(&bits, &v.scale, sizeof bits);
    return some | (v.skip ? skips : 0) | (uint64_t)v.reductions << REDUCTIONS | bits;
}

verdict verdict_unpack(uint64_t packed)
{
    uint32_t bits = (uint32_t)packed;
    verdict v = {.skip = packed & skips, .reductions = (uint32_t)(packed >> REDUCTIONS)};
    memcpy(&v.scale, &bits, sizeof v.scale);
    return v;
}

bool verdict_is_packed(uint64_t n)
{
    return n & some && n >> REDUCTIONS <= VERDICT_REDUCTIONS;
}
