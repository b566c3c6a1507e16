/*
 * The machine that chains (chain.h) run on, for four neighbours at a time. What is held stays in
 * registers, and a step's operands are on their way from memory while the step before computes. All
 * threads are at the same step, so choosing the function is one jump of the warp for 128 numbers,
 * little beside the 16 bytes that a thread moves for each operand; and one machine does for all
 * chains, where a kernel for each would have to be compiled while the program runs.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_CHAIN_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_CHAIN_CUH

#include "backend/cuda/kernels/chain.h"
#include "backend/cuda/kernels/half_math.cuh"
#include "backend/cuda/kernels/philox.cuh"
#include "backend/cuda/kernels/walk.cuh"

enum { CHAIN_EACH = 4 };

/* How four neighbours find their numbers. */
enum chain_way {
    CHAIN_NEIGHBOURS, /* from the place of the first on, in one access */
    CHAIN_SAME,       /* one for all four */
    CHAIN_APART,      /* each for itself */
};

struct chain_source {
    const void *x;
    chain_way way;
    dtype type;
    divider inner, count;
};

struct chain_move {
    chain_function function;
    int slot;
    float p, q;
    chain_source u, v;
    launch_dropout drop;
    uint8_t *mask;
    void *y;
    dtype y_type;
    bool y_aligned;
};

struct chain_code {
    chain_source source;
    int n;
    chain_move move[CHAIN_STEPS];
};

/* --- on the device --- */

static __device__ __forceinline__ uint32_t chain_place(const chain_source &s, uint32_t e)
{
    uint32_t q = quotient(s.inner, e);
    return q - quotient(s.count, q) * LD(s.count.by);
}

template <typename T>
static __device__ __forceinline__ void chain_load_as(float ret[CHAIN_EACH], const chain_source &s,
                                                     uint32_t e, int left)
{
    const T *x = (const T *)s.x;
    if (s.way == CHAIN_SAME) {
        float same = to_float(x[chain_place(s, e)]);
#pragma unroll
        for (int j = 0; j < CHAIN_EACH; j++)
            ret[j] = same;
    } else if (s.way == CHAIN_NEIGHBOURS && left >= CHAIN_EACH) {
        load_vec<CHAIN_EACH>(ret, x + chain_place(s, e));
    } else {
#pragma unroll
        for (int j = 0; j < CHAIN_EACH; j++)
            ret[j] = to_float(x[chain_place(s, e + j)]);
    }
}

/* Four elements from e on, of which `left` count; the others are some of the operand too. Nothing
 * without an operand. */
static __device__ __forceinline__ void chain_load(float ret[CHAIN_EACH], const chain_source &s,
                                                  uint32_t e, int left)
{
    if (!s.x)
        return;
    if (s.type == DT_F32)
        chain_load_as<float>(ret, s, e, left);
    else if (s.type == DT_BF16)
        chain_load_as<bf16>(ret, s, e, left);
    else if (s.type == DT_F16)
        chain_load_as<f16>(ret, s, e, left);
    else
        chain_load_as<uint8_t>(ret, s, e, left);
}

template <typename T>
static __device__ __forceinline__ void chain_store_as(T *y, const float held[CHAIN_EACH],
                                                      uint32_t e, int left, bool aligned)
{
    if (aligned && left >= CHAIN_EACH) {
        store_vec<CHAIN_EACH>(y + e, held);
        return;
    }
#pragma unroll
    for (int j = 0; j < CHAIN_EACH; j++)
        if (IN(j < left))
            y[e + j] = stored<T>(held[j]);
}

static __device__ __forceinline__ void
chain_store(const chain_move &m, const float held[CHAIN_EACH], uint32_t e, int left)
{
    if (!m.y)
        return;
    if (m.y_type == DT_F32)
        chain_store_as((float *)m.y, held, e, left, m.y_aligned);
    else if (m.y_type == DT_BF16)
        chain_store_as((bf16 *)m.y, held, e, left, m.y_aligned);
    else
        chain_store_as((f16 *)m.y, held, e, left, m.y_aligned);
}

/* As it is stored, or would be. */
static __device__ __forceinline__ void chain_round(float held[CHAIN_EACH], int type)
{
#pragma unroll
    for (int j = 0; j < CHAIN_EACH; j++)
        held[j] = type == DT_F32    ? held[j]
                  : type == DT_BF16 ? to_float(bf16_of(held[j]))
                                    : to_float(f16_of(held[j]));
}

/* Bit j: whether element e + j is kept. Four from a multiple of four are one block of Philox. */
static __device__ __forceinline__ uint32_t chain_kept(const launch_dropout &d, uint32_t e)
{
    philox stream = philox_of(d);
    uint32_t first = philox_kept(stream, e / CHAIN_EACH, d.threshold), beyond = e % CHAIN_EACH;
    if (beyond)
        first |= philox_kept(stream, e / CHAIN_EACH + 1, d.threshold) << CHAIN_EACH;
    return first >> beyond;
}

static __device__ __forceinline__ void chain_drop(float held[CHAIN_EACH], const chain_move &m,
                                                  uint32_t e, int left)
{
    uint32_t kept = chain_kept(m.drop, e);
#pragma unroll
    for (int j = 0; j < CHAIN_EACH; j++) {
        held[j] = kept >> j & 1 ? held[j] * m.drop.scale : 0.0f;
        if (IN(j < left) && m.mask)
            m.mask[e + j] = (uint8_t)(kept >> j & 1);
    }
}

/* held = f(a, b, c), where held is one of them and u and v the others. */
template <typename F>
static __device__ __forceinline__ void chain_each(float held[CHAIN_EACH], int slot,
                                                  const float u[CHAIN_EACH],
                                                  const float v[CHAIN_EACH], F f)
{
#pragma unroll
    for (int j = 0; j < CHAIN_EACH; j++) {
        float a = slot == 0 ? held[j] : u[j], b = slot == 1 ? held[j] : slot == 0 ? u[j] : v[j];
        held[j] = f(a, b, slot == 2 ? held[j] : v[j]);
    }
}

/* Without FULL, light functions only. */
template <bool FULL>
static __device__ __forceinline__ void
chain_step_by(float held[CHAIN_EACH], const chain_move &m, const float u[CHAIN_EACH],
              const float v[CHAIN_EACH], uint32_t e, int left)
{
    float p = m.p, q = m.q;
    bool is_half = m.y_type != DT_F32;
    (void)p, (void)q;
    switch (m.function) {
    case CHAIN_nothing:
        break;
    case CHAIN_where:
        chain_each(held, m.slot, u, v, [](float a, float b, float c) { return a != 0 ? b : c; });
        break;
    case CHAIN_drop:
        chain_drop(held, m, e, left);
        break;
    case CHAIN_drop_bwd:
#pragma unroll
        for (int j = 0; j < CHAIN_EACH; j++)
            held[j] = u[j] != 0 ? held[j] * m.drop.scale : 0.0f;
        break;
#define ROW(kind, name, is_light, call)                                                            \
    case CHAIN_##kind##_##name:                                                                    \
        if constexpr (FULL || is_light)                                                            \
            chain_each(held, m.slot, u, v, [=](float a, float b, float c) {                        \
                (void)b, (void)c;                                                                  \
                return formula<name##_at> call;                                                    \
            });                                                                                    \
        break;
#define UNARY(name, is_light)  ROW(UNARY, name, is_light, (is_half, a, b, p, q))
#define BINARY(name, is_light) ROW(BINARY, name, is_light, (is_half, a, b))
#define CHOICE(name, is_light) ROW(CHOICE, name, is_light, (is_half, a, b, c))
#include "backend/cuda/kernels/chain.def"
#undef ROW
    }
}

/* Elements e .. e + left - 1 of what is held, at most four. */
template <bool FULL>
static __device__ __forceinline__ void chain_run(float held[CHAIN_EACH], const chain_code &c,
                                                 uint32_t e, int left)
{
    float u[CHAIN_EACH] = {}, v[CHAIN_EACH] = {};
    chain_load(u, c.move[0].u, e, left);
    chain_load(v, c.move[0].v, e, left);
#pragma unroll 1
    for (int k = 0; k < c.n; k++) {
        float next_u[CHAIN_EACH] = {}, next_v[CHAIN_EACH] = {};
        if (k + 1 < c.n) {
            chain_load(next_u, c.move[k + 1].u, e, left);
            chain_load(next_v, c.move[k + 1].v, e, left);
        }
        chain_step_by<FULL>(held, c.move[k], u, v, e, left);
        if (c.move[k].function != CHAIN_nothing)
            chain_round(held, c.move[k].y_type);
        chain_store(c.move[k], held, e, left);
#pragma unroll
        for (int j = 0; j < CHAIN_EACH; j++) {
            u[j] = next_u[j];
            v[j] = next_v[j];
        }
    }
}

/* A kernel's chain where there is none. */
struct no_chain {
    static constexpr bool IS_THERE = false;
};
struct light_chain {
    static constexpr bool IS_THERE = true;
    chain_code code;

    /* Elements e .. e + 3, of which `left` are there, from the chain's source on. */
    __device__ __forceinline__ void from_source(float held[CHAIN_EACH], uint32_t e,
                                                int64_t left) const
    {
        int n = left < CHAIN_EACH ? (int)left : CHAIN_EACH;
        chain_load(held, code.source, e, n);
        chain_run<false>(held, code, e, n);
    }
    /* ... from what is held on. */
    __device__ __forceinline__ void behind(float held[CHAIN_EACH], uint32_t e, int64_t left) const
    {
        chain_run<false>(held, code, e, left < CHAIN_EACH ? (int)left : CHAIN_EACH);
    }
};

/* --- on the host --- */

static inline chain_source chain_source_of(const chain_operand &o, int64_t elements, bool in_fours)
{
    size_t bytes = o.type == DT_F32 ? 4 : o.type == DT_BF16 || o.type == DT_F16 ? 2 : 1;
    chain_source s = {o.x, CHAIN_APART, o.type, {}, {}};
    if (!o.x)
        return s;
    s.inner = divider_of(o.inner);
    s.count = divider_of(o.count);
    if (in_fours && (o.inner % CHAIN_EACH == 0 || o.count == 1))
        s.way = CHAIN_SAME;
    else if (in_fours && o.inner == 1 && (o.count % CHAIN_EACH == 0 || o.count == elements) &&
             (uintptr_t)o.x % (CHAIN_EACH * bytes) == 0)
        s.way = CHAIN_NEIGHBOURS;
    return s;
}

/* `in_fours`: elements are asked for by fours that begin at multiples of four. */
static inline chain_code chain_code_of(const launch_chain_call *c, bool in_fours)
{
    chain_code ret = {};
    ret.source = chain_source_of(c->source, c->elements, in_fours);
    ret.n = c->n;
    for (int k = 0; k < c->n; k++) {
        const chain_step *s = &c->step[k];
        size_t bytes = s->y_type == DT_F32 ? 4 : 2;
        ret.move[k] = {s->function,
                       s->slot,
                       s->p,
                       s->q,
                       chain_source_of(s->u, c->elements, in_fours),
                       chain_source_of(s->v, c->elements, in_fours),
                       s->drop,
                       s->mask,
                       s->y,
                       s->y_type,
                       in_fours && (uintptr_t)s->y % (CHAIN_EACH * bytes) == 0};
    }
    return ret;
}

/* f(the chain, or none); elements are asked for in rows of n. Kernels of a T that is no float have
 * none. */
template <typename T, typename F>
static inline void with_chain(const launch_chain_call *c, int64_t n, F f)
{
    if constexpr (sizeof(T) == sizeof(float)) {
        if (c)
            return f(light_chain{chain_code_of(c, n % CHAIN_EACH == 0)});
    }
    f(no_chain());
}

#endif
