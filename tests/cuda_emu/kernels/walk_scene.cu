/* walk.cuh by itself: its divisions, and pieces far smaller than a launcher makes. */
#include "cuda_emu/kernels/walk_scene.h"

#include "backend/cuda/kernels/walk.cuh"

static KERNEL(32, subtract, float *y, const float *a, const float *b, walk<2> w)
{
    uint32_t i = blockIdx.x * 32 + threadIdx.x;
    if (!IN(i < w.n))
        return;
    int64_t at[2];
    walk_to(at, w, i);
    y[i] = a[at[0]] - b[at[1]];
}

int scene_subtract(cuda_stream stream, float *y, const float *a, const float *b, const axes *over,
                   int64_t most)
{
    int pieces = 0;
    each_piece({*over, {0}, 0}, most, [&](const piece &p) {
        walk<2> w = walk_of<2>(p.over, 1);
        pieces++;
        LAUNCH(subtract, blocks_of(w.n, 32), dim3(32), 0, stream, y + p.element, a + p.first[0],
               b + p.first[1], w);
    });
    return pieces;
}

uint32_t scene_quotient(uint32_t by, uint32_t n)
{
    return quotient(divider_of(by), n);
}
