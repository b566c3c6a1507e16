/* GridSample and its gradients, by the CPU's places (backend/grid.h) and in its order of sums. */
#include "backend/cuda/kernels/grid_sample.h"
#include "backend/cuda/kernels/walk.cuh"

enum {
    THREADS = 128,
    BLOCK = 32, /* places whose elements are found together for the gradient of x */
};

static __device__ __forceinline__ float read_plane(const float *x, const int64_t *at,
                                                   const float *weight, int n)
{
    float sum = 0.0f;
    for (int k = 0; k < n; k++)
        sum += weight[k] * x[at[k]];
    return sum;
}

/* A thread a place of y, channel after channel. */
static __global__ void sample(float *y, const float *x, const float *grid, grid_plane s)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (!IN(i < s.n * s.places))
        return;
    int64_t image = i / s.places, place = i - image * s.places, at[GRID_LONGEST];
    float weight[GRID_LONGEST];
    grid_axis axis[GRID_AXES];
    grid_find(&s, grid + i * LD(s.axes), axis);
    for (int k = 0; k < s.per_place; k++)
        at[k] = grid_element(&s, axis, k, &weight[k]);
    for (int64_t c = image * s.channels; c < (image + 1) * s.channels; c++)
        y[c * LD(s.places) + place] = read_plane(x + c * LD(s.elements), at, weight, s.per_place);
}

void launch_grid_sample(cuda_stream stream, const grid_plane *s, float *y, const float *x,
                        const float *grid)
{
    if (s->n * s->places == 0)
        return;
    LAUNCH(sample, blocks_of(s->n * s->places, THREADS), dim3(THREADS), 0, stream, y, x, grid, *s);
}

/* A thread a place of the grid: for each coordinate a sum over channels. */
static __global__ void slope(float *dgrid, const float *dy, const float *x, const float *grid,
                             grid_plane s)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (!IN(i < s.n * s.places))
        return;
    int64_t image = i / s.places, place = i - image * s.places, at[GRID_LONGEST];
    float by[GRID_LONGEST], ignored;
    grid_axis axis[GRID_AXES];
    grid_find(&s, grid + i * LD(s.axes), axis);
    for (int k = 0; k < s.per_place; k++)
        at[k] = grid_element(&s, axis, k, &ignored);
    for (int e = 0; e < s.axes; e++) {
        float sum = 0.0f;
        for (int k = 0; k < s.per_place; k++)
            by[k] = grid_slope(&s, axis, k, e);
        for (int64_t c = image * s.channels; c < (image + 1) * s.channels; c++)
            sum += dy[c * LD(s.places) + place] *
                   read_plane(x + c * LD(s.elements), at, by, s.per_place);
        dgrid[i * LD(s.axes) + s.axes - 1 - e] = sum;
    }
}

void launch_grid_sample_slope(cuda_stream stream, const grid_plane *s, float *dgrid,
                              const float *dy, const float *x, const float *grid)
{
    if (s->n * s->places == 0)
        return;
    LAUNCH(slope, blocks_of(s->n * s->places, THREADS), dim3(THREADS), 0, stream, dgrid, dy, x,
           grid, *s);
}

/* A thread a channel of one image, place after place: what falls on one element has their order.
 * The elements of a block of places are found by all threads together. */
static __global__ void scatter(float *dx, const float *dy, const float *grid, grid_plane s,
                               int64_t groups)
{
    SHARED(int64_t, at, [BLOCK][GRID_LONGEST]);
    SHARED(float, weight, [BLOCK][GRID_LONGEST]);
    int64_t image = blockIdx.x / groups, group = blockIdx.x - image * groups;
    int64_t channel = group * THREADS + threadIdx.x, c = image * s.channels + channel;
    for (int64_t begin = 0; begin < s.places; begin += BLOCK) {
        int n = (int)(s.places - begin < BLOCK ? s.places - begin : (int64_t)BLOCK);
        if ((int)threadIdx.x < n) {
            int p = (int)threadIdx.x;
            grid_axis axis[GRID_AXES];
            grid_find(&s, grid + (image * s.places + begin + p) * LD(s.axes), axis);
            for (int k = 0; k < s.per_place; k++)
                at[p][k] = grid_element(&s, axis, k, &weight[p][k]);
        }
        __syncthreads();
        for (int p = 0; p < n && channel < s.channels; p++)
            for (int k = 0; k < s.per_place; k++)
                dx[c * LD(s.elements) + at[p][k]] +=
                    weight[p][k] * dy[c * LD(s.places) + begin + p];
        __syncthreads();
    }
}

void launch_grid_sample_scatter(cuda_stream stream, const grid_plane *s, float *dx, const float *dy,
                                const float *grid)
{
    int64_t groups = (s->channels + THREADS - 1) / THREADS;
    if (s->n * groups == 0)
        return;
    LAUNCH(scatter, dim3((unsigned)(s->n * groups)), dim3(THREADS), 0, stream, dx, dy, grid, *s,
           groups);
}
