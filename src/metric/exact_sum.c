/* See exact_sum.h. */
#include "metric/exact_sum.h"

#include "common/base/error.h"

#include <math.h>
#include <string.h>

enum { CHUNK_BITS = 32, MANTISSA_BITS = 52, LOWEST = -1074, CARRY_AFTER = 1 << 29 };

static const int64_t CHUNK_MASK = 0xffffffff;

/* Carries go up: every chunk but the last is in 0 .. 2^32 - 1 then, and the last has the sign. */
void exact_sum_normalize(exact_sum *s)
{
    for (size_t i = 0; i + 1 < EXACT_CHUNKS; i++) {
        int64_t low = s->chunk[i] & CHUNK_MASK;
        s->chunk[i + 1] += (s->chunk[i] - low) / (CHUNK_MASK + 1);
        s->chunk[i] = low;
    }
    s->added = 0;
}

void exact_sum_add(exact_sum *s, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    unsigned exponent = (unsigned)(bits >> MANTISSA_BITS) & 0x7ff;
    uint64_t mantissa = bits & ((UINT64_C(1) << MANTISSA_BITS) - 1);
    BUG_ON(exponent == 0x7ff);
    if (exponent > 0) {
        mantissa |= UINT64_C(1) << MANTISSA_BITS;
        exponent--;
    }
    unsigned at = exponent / CHUNK_BITS, shift = exponent % CHUNK_BITS;
    uint64_t low = (mantissa & (uint64_t)CHUNK_MASK) << shift, high = (mantissa >> CHUNK_BITS) << shift;
    int64_t sign = bits >> 63 ? -1 : 1;
    s->chunk[at] += sign * (int64_t)(low & (uint64_t)CHUNK_MASK);
    s->chunk[at + 1] += sign * (int64_t)((low >> CHUNK_BITS) + (high & (uint64_t)CHUNK_MASK));
    s->chunk[at + 2] += sign * (int64_t)(high >> CHUNK_BITS);
    if (++s->added == CARRY_AFTER)
        exact_sum_normalize(s);
}

void exact_sum_add_product(exact_sum *s, double a, double b)
{
    double product = a * b;
    exact_sum_add(s, product);
    exact_sum_add(s, fma(a, b, -product));
}

void exact_sum_merge(exact_sum *into, const exact_sum *from)
{
    exact_sum other = *from;
    exact_sum_normalize(&other);
    exact_sum_normalize(into);
    for (size_t i = 0; i < EXACT_CHUNKS; i++)
        into->chunk[i] += other.chunk[i];
    exact_sum_normalize(into);
}

/* Of a sum that is normalized and not negative: its highest 65 bits or more, the lowest of which is set if
 * there are others below, are rounded by the conversion. */
static double round_positive(const exact_sum *s)
{
    int top = EXACT_CHUNKS - 1;
    while (top > 0 && s->chunk[top] == 0)
        top--;
    unsigned __int128 bits = 0;
    for (int i = top; i > top - 3; i--)
        bits = bits << CHUNK_BITS | (uint64_t)(i >= 0 ? s->chunk[i] : 0);
    for (int i = top - 3; i >= 0; i--)
        bits |= s->chunk[i] != 0;
    return ldexp((double)bits, CHUNK_BITS * (top - 2) + LOWEST);
}

double exact_sum_value(const exact_sum *s)
{
    exact_sum rest = *s;
    exact_sum_normalize(&rest);
    if (rest.chunk[EXACT_CHUNKS - 1] >= 0)
        return round_positive(&rest);
    for (size_t i = 0; i < EXACT_CHUNKS; i++)
        rest.chunk[i] = -rest.chunk[i];
    exact_sum_normalize(&rest);
    return -round_positive(&rest);
}

size_t exact_sum_parts(const exact_sum *s, double ret[EXACT_PARTS])
{
    exact_sum rest = *s;
    size_t n = 0;
    for (double part; n < EXACT_PARTS && (part = exact_sum_value(&rest)) != 0.0; n++) {
        ret[n] = part;
        exact_sum_add(&rest, -part);
    }
    return n;
}
