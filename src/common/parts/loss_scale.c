#include "common/parts/loss_scale.h"

#include <string.h>

loss_scale loss_scale_first(const loss_scale_rule *r)
{
    return (loss_scale){.exponent = r->start};
}

bool loss_scale_can_fall(const loss_scale_rule *r, loss_scale s)
{
    return r->dynamic && s.exponent > 0;
}

loss_scale loss_scale_next(const loss_scale_rule *r, loss_scale s, bool skip)
{
    if (!r->dynamic)
        return s;
    if (skip)
        return (loss_scale){.exponent = (uint8_t)(s.exponent - (s.exponent > 0)),
                            .skipped = s.skipped + 1};
    if (++s.good < r->window)
        return s;
    s.good = 0;
    s.exponent = (uint8_t)(s.exponent + (s.exponent < LOSS_SCALE_MOST));
    return s;
}

/* A normal number. */
static float power_of_two(int exponent)
{
    uint32_t bits = (uint32_t)(exponent + 127) << 23;
    float ret;
    memcpy(&ret, &bits, sizeof ret);
    return ret;
}

float loss_scale_factor(loss_scale s)
{
    return power_of_two(s.exponent);
}

float loss_scale_inverse(loss_scale s)
{
    return power_of_two(-(int)s.exponent);
}

bool loss_scale_equal(loss_scale a, loss_scale b)
{
    return loss_scale_pack(a) == loss_scale_pack(b);
}

uint64_t loss_scale_pack(loss_scale s)
{
    return (uint64_t)s.skipped << 32 | (uint64_t)s.good << 8 | s.exponent;
}

bool loss_scale_unpack(uint64_t packed, loss_scale *ret)
{
    loss_scale s = {.exponent = (uint8_t)packed,
                    .good = (uint32_t)packed >> 8,
                    .skipped = (uint32_t)(packed >> 32)};
    if (s.exponent > LOSS_SCALE_MOST)
        return false;
    *ret = s;
    return true;
}
