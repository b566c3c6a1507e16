/* GridSample and its gradients, by the CPU's positions (backend/grid.h) and in its order of sums.
 */
#include "backend/cuda/kernels/grid_sample.h"
#include "backend/cuda/kernels/sort.h"
#include "backend/cuda/kernels/sorted.cuh"
#include "backend/cuda/kernels/walk.cuh"

enum {
    THREADS = 128,
    TOGETHER = 4, /* channels of a thread that sums up */
};

static __device__ __forceinline__ float read_plane(const float *x, const int64_t *at,
                                                   const float *weight, int n)
{
    float sum = 0.0f;
    for (int k = 0; k < n; k++)
        sum += weight[k] * x[at[k]];
    return sum;
}

/* A thread a position of y, channel after channel. */
static KERNEL(THREADS, sample, float *y, const float *x, const float *grid, grid_plane s)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (!IN(i < s.n * s.positions))
        return;
    int64_t image = i / s.positions, position = i - image * s.positions, at[GRID_LONGEST];
    float weight[GRID_LONGEST];
    grid_axis axis[GRID_AXES];
    grid_find(&s, grid + i * LD(s.axes), axis);
    for (int k = 0; k < s.per_position; k++)
        at[k] = grid_element(&s, axis, k, &weight[k]);
    for (int64_t c = image * s.channels; c < (image + 1) * s.channels; c++)
        y[c * LD(s.positions) + position] =
            read_plane(x + c * LD(s.elements), at, weight, s.per_position);
}

void launch_grid_sample(cuda_stream stream, const grid_plane *s, float *y, const float *x,
                        const float *grid)
{
    if (s->n * s->positions == 0)
        return;
    LAUNCH(sample, blocks_of(s->n * s->positions, THREADS), dim3(THREADS), 0, stream, y, x, grid,
           *s);
}

/* A thread a position of the grid: for each coordinate a sum over channels. */
static KERNEL(THREADS, gradient, float *dgrid, const float *dy, const float *x, const float *grid,
              grid_plane s)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (!IN(i < s.n * s.positions))
        return;
    int64_t image = i / s.positions, position = i - image * s.positions, at[GRID_LONGEST];
    float by[GRID_LONGEST], ignored;
    grid_axis axis[GRID_AXES];
    grid_find(&s, grid + i * LD(s.axes), axis);
    for (int k = 0; k < s.per_position; k++)
        at[k] = grid_element(&s, axis, k, &ignored);
    for (int e = 0; e < s.axes; e++) {
        float sum = 0.0f;
        for (int k = 0; k < s.per_position; k++)
            by[k] = grid_derivative(&s, axis, k, e);
        for (int64_t c = image * s.channels; c < (image + 1) * s.channels; c++)
            sum += dy[c * LD(s.positions) + position] *
                   read_plane(x + c * LD(s.elements), at, by, s.per_position);
        dgrid[i * LD(s.axes) + s.axes - 1 - e] = sum;
    }
}

void launch_grid_sample_gradient(cuda_stream stream, const grid_plane *s, float *dgrid,
                                 const float *dy, const float *x, const float *grid)
{
    if (s->n * s->positions == 0)
        return;
    LAUNCH(gradient, blocks_of(s->n * s->positions, THREADS), dim3(THREADS), 0, stream, dgrid, dy,
           x, grid, *s);
}

/* What positions add to elements of x, position by position and there as grid_element counts: the
 * element, or behind all for nothing, and its weight. */
static KERNEL(THREADS, find, uint32_t *elements, float *weights, const float *grid, grid_plane s)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (!IN(i < s.n * s.positions))
        return;
    int64_t image = i / s.positions, to = i * LD((int64_t)s.per_position);
    grid_axis axis[GRID_AXES];
    grid_find(&s, grid + i * LD(s.axes), axis);
    for (int k = 0; k < s.per_position; k++) {
        float weight;
        int64_t at = image * s.elements + grid_element(&s, axis, k, &weight);
        elements[to + k] = (uint32_t)(weight != 0.0f ? at : s.n * s.elements);
        weights[to + k] = weight;
    }
}

/* A thread an element of x, TOGETHER channels at a time: what falls on it has the positions' order.
 */
static KERNEL(THREADS, sum_up, float *dx, const float *dy, const uint32_t *sorted,
              const uint32_t *order, const float *weights, grid_plane s)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x, n = s.n * s.positions * s.per_position;
    if (!IN(i < s.n * s.elements))
        return;
    int64_t image = i / s.elements, at = i - image * s.elements;
    int64_t first = first_of(sorted, n, (uint64_t)i), channel = (int64_t)blockIdx.y * TOGETHER;
    for (; channel < s.channels; channel += (int64_t)gridDim.y * TOGETHER) {
        int64_t c = image * s.channels + channel;
        float sum[TOGETHER] = {};
        for (int64_t j = first; j < n && sorted[j] == (uint32_t)i; j++) {
            int64_t position = order[j] / s.per_position - image * s.positions;
            for (int k = 0; k < TOGETHER && channel + k < s.channels; k++)
                sum[k] += weights[order[j]] * dy[(c + k) * LD(s.positions) + position];
        }
        for (int k = 0; k < TOGETHER; k++)
            if (IN(channel + k < s.channels))
                dx[(c + k) * LD(s.elements) + at] = sum[k];
    }
}

static int64_t count_terms(const grid_plane *s)
{
    return s->n * s->positions * s->per_position;
}

size_t launch_grid_sample_workspace_bytes(const grid_plane *s, int64_t at_once)
{
    grid_plane some = *s;
    some.n = at_once;
    return (size_t)count_terms(&some) * 4 * sizeof(uint32_t) +
           launch_sort_workspace_bytes(count_terms(&some));
}

static void spread(cuda_stream stream, const grid_plane *s, float *dx, const float *dy,
                   const float *grid, void *workspace)
{
    int64_t n = count_terms(s), elements = s->n * s->elements;
    int64_t groups = (s->channels + TOGETHER - 1) / TOGETHER;
    float *weights = (float *)workspace;
    uint32_t *keys = (uint32_t *)workspace + n, *sorted = keys + n, *order = sorted + n;
    launch_sort_call call = {.n = n,
                             .bits = sort_bits(elements + 1),
                             .keys = keys,
                             .from = NULL,
                             .sorted = sorted,
                             .order = order,
                             .workspace = order + n};
    if (n > 0)
        LAUNCH(find, blocks_of(s->n * s->positions, THREADS), dim3(THREADS), 0, stream, keys,
               weights, grid, *s);
    launch_sort(stream, &call);
    dim3 blocks((unsigned)((elements + THREADS - 1) / THREADS),
                (unsigned)(groups < 65535 ? groups : 65535));
    LAUNCH(sum_up, blocks, dim3(THREADS), 0, stream, dx, dy, sorted, order, weights, *s);
}

void launch_grid_sample_spread(cuda_stream stream, const grid_plane *s, int64_t at_once, float *dx,
                               const float *dy, const float *grid, void *workspace)
{
    if (s->channels * s->elements == 0)
        return;
    for (int64_t i = 0; i < s->n; i += at_once) {
        grid_plane some = *s;
        some.n = s->n - i < at_once ? s->n - i : at_once;
        spread(stream, &some, dx + i * s->channels * s->elements,
               dy + i * s->channels * s->positions, grid + i * s->positions * s->axes, workspace);
    }
}
