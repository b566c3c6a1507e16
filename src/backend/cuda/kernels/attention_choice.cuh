/* Which engine a launch of attention takes. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_ATTENTION_CHOICE_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_ATTENTION_CHOICE_CUH

#include "backend/cuda/kernels/attention_mma.cuh"

static inline int64_t tiles_of(int64_t n, int64_t tile)
{
    return (n + tile - 1) / tile;
}

/* An engine's type as a value. */
template <class E> struct engine_type {
    typedef E type;
};

/*
 * Calls start(engine_type<E>()); `stay`: operands that stay in shared memory. Every engine costs
 * seconds of nvcc's time for every chip: those are here that training asks for, and what they
 * cannot do is ffma_engine's.
 */
template <typename F> static void attention_choose(const launch_attention &t, int stay, F start)
{
    typedef mma_engine<float, 64, 64> tf32;
    typedef mma_engine<f16, 64, 64> f16_narrow;
    typedef mma_engine<bf16, 64, 64> narrow;
    typedef mma_engine<f16, 128, 32> f16_broad;
    typedef mma_engine<bf16, 128, 32> broad;
    if (tf32::takes(t, stay))
        start(engine_type<tf32>());
    else if (f16_narrow::takes(t, stay))
        start(engine_type<f16_narrow>());
    else if (f16_broad::takes(t, stay))
        start(engine_type<f16_broad>());
    else if (narrow::takes(t, stay))
        start(engine_type<narrow>());
    else if (broad::takes(t, stay))
        start(engine_type<broad>());
    else
        start(engine_type<ffma_engine>());
}

#endif
