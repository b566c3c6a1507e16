/* Chains of their own: four neighbours a thread. */
#include "backend/cuda/kernels/chain.cuh"

enum { CHAIN_THREADS = 256 };

static KERNEL(CHAIN_THREADS, chain, chain_code c, uint32_t n)
{
    uint32_t e = (blockIdx.x * CHAIN_THREADS + threadIdx.x) * CHAIN_EACH;
    if (!IN(e < n))
        return;
    int left = n - e < CHAIN_EACH ? (int)(n - e) : CHAIN_EACH;
    float held[CHAIN_EACH] = {};
    chain_load(held, c.source, e, left);
    chain_run<true>(held, c, e, left);
}

void launch_chain(cuda_stream stream, const launch_chain_call *c)
{
    if (c->elements == 0)
        return;
    LAUNCH(chain, blocks_of(c->elements, CHAIN_THREADS * CHAIN_EACH), dim3(CHAIN_THREADS), 0,
           stream, chain_code_of(c, true), (uint32_t)c->elements);
}
