/* Instructions of a whole warp: matrix products and loads of their fragments; halves. */
#include "cuda_emu/block.h"
#include "cuda_emu/machine.h"
#include "cuda_emu/watch.h"

#include <string.h>

static float float_of(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

uint16_t emu_bf16_of(float x)
{
    uint32_t u = bits_of(x);
    if (x != x)
        return 0x7fff;
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

uint16_t emu_f16_of(float x)
{
    _Float16 h = (_Float16)x;
    uint16_t u;
    memcpy(&u, &h, sizeof u);
    return x != x ? 0x7fff : u;
}

float emu_f16_to_float(uint16_t x)
{
    _Float16 h;
    memcpy(&h, &x, sizeof h);
    return (float)h;
}

uint32_t emu_tf32_of(float x)
{
    uint32_t u = bits_of(x);
    if ((u & 0x7f800000u) == 0x7f800000u)
        return x != x ? 0x7fffffffu : u;
    return (u + 0x1000u) & ~0x1fffu;
}

void emu_check_aligned(const void *p, size_t bytes)
{
    if ((uintptr_t)p % bytes)
        emu_fault("an access of %zu bytes at %p, which is no multiple of that", bytes, p);
}

void emu_atomic_min_u64(uint64_t *at, uint64_t x)
{
    emu_check_aligned(at, sizeof *at);
    if (x < *at)
        *at = x;
}

/* How much of k a word of a fragment holds: a pair of halves, or one tf32. */
static int span_of(const char *type)
{
    return type[0] == 't' ? 1 : 2;
}

/* The numbers in a fragment's words. */
static void unpack(float *ret, const uint32_t *words, int n, const char *type)
{
    for (int i = 0; i < n; i++) {
        if (type[0] == 't') {
            ret[i] = float_of(words[i] & ~0x1fffu);
        } else if (type[0] == 'b') {
            ret[2 * i] = float_of(words[i] << 16);
            ret[2 * i + 1] = float_of(words[i] & 0xffff0000u);
        } else {
            ret[2 * i] = emu_f16_to_float((uint16_t)(words[i] & 0xffffu));
            ret[2 * i + 1] = emu_f16_to_float((uint16_t)(words[i] >> 16));
        }
    }
}

enum { B_AT = 8, BOTH = 12 }; /* where a lane's part of b begins behind that of a */

/* One number of d. A quad of lanes holds 4 words of a row of a side by side: `pieces` times. */
static float matmul(const emu_slots *slots, int span, int pieces, int row, int col)
{
    float s = 0;
    for (int piece = 0; piece < pieces; piece++)
        for (int t = 0; t < 4; t++) {
            const float *a = (const float *)slots->of_lane[row % 8 * 4 + t];
            const float *b = (const float *)slots->of_lane[col * 4 + t] + B_AT;
            for (int i = 0; i < span; i++)
                s += a[(row / 8 + 2 * piece) * span + i] * b[piece * span + i];
        }
    return s;
}

static uint64_t matmuls_run; /* under the machine's lock */

uint64_t emu_matmuls_run(void)
{
    emu_lock();
    uint64_t n = matmuls_run;
    emu_unlock();
    return n;
}

void emu_mma(int n_k, const char *type, float d[4], const uint32_t *a, const uint32_t *b,
             const emu_where *at)
{
    if (emu_arch() < 80 && !(n_k == 8 && type[0] == 'f'))
        emu_fault("%s:%d: a matmul of %s, %d deep, needs sm_80; this is sm_%d", at->file, at->line,
                  type, n_k, emu_arch());
    int span = span_of(type), pieces = n_k / (4 * span);
    float mine[BOTH] = {0};
    unpack(mine, a, 2 * pieces, type);
    unpack(mine + B_AT, b, pieces, type);
    const emu_slots *slots = emu_warp_put(0xffffffffu, mine, sizeof mine, at);
    int g = emu_self->lane / 4, t = emu_self->lane % 4;
    matmuls_run += emu_self->lane == 0;
    for (int i = 0; i < 4; i++)
        d[i] += matmul(slots, span, pieces, g + i / 2 * 8, 2 * t + i % 2);
}

void emu_load_matrix_x4(uint32_t r[4], const void *row, bool transposed, const emu_where *at)
{
    emu_check_aligned(row, 16);
    if (!emu_shared_holds(row, 16))
        emu_fault("%s:%d: a matrix is loaded from what is no shared memory", at->file, at->line);
    emu_touch(row, 16, false);
    const emu_slots *slots = emu_warp_put(0xffffffffu, &row, sizeof row, at);
    int g = emu_self->lane / 4, t = emu_self->lane % 4;
    for (int m = 0; m < 4; m++) {
        uint16_t pair[2];
        for (int j = 0; j < 2; j++) {
            const uint16_t *from;
            memcpy(&from, slots->of_lane[m * 8 + (transposed ? 2 * t + j : g)], sizeof from);
            pair[j] = from[transposed ? g : 2 * t + j];
        }
        r[m] = (uint32_t)pair[0] | (uint32_t)pair[1] << 16;
    }
}
