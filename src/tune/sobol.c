#include "tune/sobol.h"

#include "common/base/rng.h"

enum { BITS = 32, DEGREE_MOST = 9 };

/* Of dimensions from the second on: a primitive polynomial's degree and inner coefficients, and the first
 * direction numbers. */
static const struct {
    unsigned char degree, inner;
    unsigned short first[DEGREE_MOST];
} directions[SOBOL_DIMENSIONS - 1] = {
    {1, 0, {1}}, {2, 1, {1, 3}}, {3, 1, {1, 3, 1}}, {3, 2, {1, 1, 1}}, {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}}, {5, 2, {1, 1, 5, 5, 17}}, {5, 4, {1, 1, 5, 5, 5}}, {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}}, {5, 13, {1, 1, 1, 3, 11}}, {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}}, {6, 13, {1, 1, 1, 15, 21, 21}}, {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}}, {6, 22, {1, 3, 1, 15, 13, 25}}, {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}}, {7, 4, {1, 3, 7, 13, 13, 15, 69}}, {7, 7, {1, 1, 3, 13, 7, 35, 63}},
    {7, 8, {1, 3, 5, 9, 1, 25, 53}}, {7, 14, {1, 3, 1, 13, 9, 35, 107}}, {7, 19, {1, 3, 1, 5, 27, 61, 31}},
    {7, 21, {1, 1, 5, 11, 19, 41, 61}}, {7, 28, {1, 3, 5, 3, 3, 13, 69}}, {7, 31, {1, 1, 7, 13, 1, 19, 1}},
    {7, 32, {1, 3, 7, 5, 13, 19, 59}}, {7, 37, {1, 1, 3, 9, 25, 29, 41}}, {7, 41, {1, 3, 5, 13, 23, 1, 55}},
    {7, 42, {1, 3, 7, 3, 13, 59, 17}}, {7, 50, {1, 3, 1, 3, 5, 53, 69}}, {7, 55, {1, 1, 5, 5, 23, 33, 13}},
    {7, 56, {1, 1, 7, 7, 1, 61, 123}}, {7, 59, {1, 1, 7, 9, 13, 61, 49}}, {7, 62, {1, 3, 3, 5, 3, 55, 33}},
    {8, 14, {1, 3, 1, 15, 31, 13, 49, 245}}, {8, 21, {1, 3, 5, 15, 31, 59, 63, 97}},
    {8, 22, {1, 3, 1, 11, 11, 11, 77, 249}}, {8, 38, {1, 3, 1, 11, 27, 43, 71, 9}},
    {8, 47, {1, 1, 7, 15, 21, 11, 81, 45}}, {8, 49, {1, 3, 7, 3, 25, 31, 65, 79}},
    {8, 50, {1, 3, 1, 1, 19, 11, 3, 205}}, {8, 52, {1, 1, 5, 9, 19, 21, 29, 157}},
    {8, 56, {1, 3, 7, 11, 1, 33, 89, 185}}, {8, 67, {1, 3, 3, 3, 15, 9, 79, 71}},
    {8, 70, {1, 3, 7, 11, 15, 39, 119, 27}}, {8, 84, {1, 1, 3, 1, 11, 31, 97, 225}},
    {8, 97, {1, 1, 1, 3, 23, 43, 57, 177}}, {8, 103, {1, 3, 7, 7, 17, 17, 37, 71}},
    {8, 115, {1, 3, 1, 5, 27, 63, 123, 213}}, {8, 122, {1, 1, 3, 5, 11, 43, 53, 133}},
    {9, 8, {1, 3, 5, 5, 29, 17, 47, 173, 479}}, {9, 13, {1, 3, 3, 11, 3, 1, 109, 9, 69}},
    {9, 16, {1, 1, 1, 5, 17, 39, 23, 5, 343}}, {9, 22, {1, 3, 1, 5, 25, 15, 31, 103, 499}},
    {9, 25, {1, 1, 1, 11, 11, 17, 63, 105, 183}}, {9, 44, {1, 1, 5, 11, 9, 29, 97, 231, 363}},
    {9, 47, {1, 1, 5, 15, 19, 45, 41, 7, 383}}, {9, 52, {1, 3, 7, 7, 31, 19, 83, 137, 221}},
    {9, 55, {1, 1, 1, 3, 23, 15, 111, 223, 83}}, {9, 59, {1, 1, 5, 13, 31, 15, 55, 25, 161}},
    {9, 62, {1, 1, 3, 13, 25, 47, 39, 87, 257}},
};

/* Direction number `bit`, as bits behind the point. */
static uint32_t direction(int dimension, int bit)
{
    uint32_t m[BITS];
    if (dimension == 0)
        return UINT32_C(1) << (BITS - 1 - bit);
    int degree = directions[dimension - 1].degree;
    unsigned inner = directions[dimension - 1].inner;
    for (int i = 0; i <= bit; i++) {
        if (i < degree) {
            m[i] = directions[dimension - 1].first[i];
            continue;
        }
        m[i] = m[i - degree] ^ (m[i - degree] << degree);
        for (int k = 1; k < degree; k++)
            if (inner >> (degree - 1 - k) & 1)
                m[i] ^= m[i - k] << k;
    }
    return m[bit] << (BITS - 1 - bit);
}

static uint32_t bits_of(uint32_t i, int dimension)
{
    uint32_t x = 0;
    for (int bit = 0; i >> bit; bit++) {
        if (i >> bit & 1)
            x ^= direction(dimension, bit);
        if (bit == BITS - 1)
            break;
    }
    return x;
}

static uint32_t reversed(uint32_t x)
{
    uint32_t r = 0;
    for (int bit = 0; bit < BITS; bit++)
        r |= (x >> bit & 1) << (BITS - 1 - bit);
    return r;
}

/* Every bit is turned over, or not, by what stands in front of it alone (Laine and Karras). */
static uint32_t scramble(uint32_t x, uint32_t seed)
{
    x = reversed(x);
    x += seed;
    x ^= x * UINT32_C(0x6c50b47c);
    x ^= x * UINT32_C(0xb82f1e52);
    x ^= x * UINT32_C(0xc7afe638);
    x ^= x * UINT32_C(0x8d22f6e6);
    return reversed(x);
}

double sobol_plain(uint32_t i, int dimension)
{
    return bits_of(i, dimension) * 0x1p-32;
}

double sobol_scrambled(uint64_t seed, uint32_t i, int dimension)
{
    uint32_t key = (uint32_t)rng_mix(seed, (uint64_t)dimension);
    return scramble(bits_of(i, dimension), key) * 0x1p-32;
}
