/*
 * RoiAlign and its gradient, by the CPU's samples (backend/roi.h) and in its order of sums. A thread an
 * element of y; for the gradient a thread a row of a plane of x, which looks at all regions of its image:
 * so nothing is added by two threads.
 */
#include "backend/cuda/kernels/roi_align.h"
#include "backend/cuda/kernels/walk.cuh"

enum { THREADS = 128 };

struct region_bins {
    roi_bins down, across;
};

static __device__ __forceinline__ region_bins bins_of(const roi_pool &s, const float *box)
{
    return {roi_bins_of(&s, box[1], box[3], s.rows, s.height),
            roi_bins_of(&s, box[0], box[2], s.columns, s.width)};
}

static KERNEL(THREADS, roi_align, float *y, const float *x, const float *rois,
              const int64_t *images, roi_pool s, launch_fault fault)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x, bins = s.rows * s.columns;
    if (!IN(i < s.regions * s.channels * bins))
        return;
    int64_t region = i / bins / s.channels, channel = i / bins % s.channels, bin = i % bins;
    int64_t image = images[region];
    if (image < 0 || image >= s.images) {
        atomic_min_u64(fault.word,
                       fault.node | (uint64_t)(region < UINT32_MAX ? region : UINT32_MAX));
        image = 0;
    }
    region_bins b = bins_of(s, rois + 4 * region);
    y[i] = roi_value(&s, &b.down, &b.across, bin / s.columns, bin % s.columns,
                     x + (image * LD(s.channels) + channel) * LD(s.height * s.width));
}

static KERNEL(THREADS, roi_align_bwd, float *dx, const float *dy, const float *x, const float *rois,
              const int64_t *images, roi_pool s)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x, size = s.height * s.width;
    if (!IN(i < s.images * s.channels * s.height))
        return;
    int64_t plane = i / s.height, row = i % s.height, first = row * s.width;
    int64_t channel = plane % s.channels;
    float *to = dx + plane * LD(size);
    for (int64_t k = first; k < first + s.width; k++)
        to[k] = 0.0f;
    for (int64_t r = 0; r < s.regions; r++) {
        if (images[r] != plane / s.channels)
            continue;
        region_bins b = bins_of(s, rois + 4 * r);
        const float *from = dy + (r * LD(s.channels) + channel) * LD(s.rows * s.columns);
        if (s.largest)
            roi_spread_largest(&s, &b.down, &b.across, from, x + plane * LD(size), first,
                               first + s.width, to);
        else
            roi_spread(&s, &b.down, &b.across, from, first, first + s.width, to);
    }
}

void launch_roi_align(cuda_stream stream, const roi_pool *s, float *y, const float *x,
                      const float *rois, const int64_t *images, launch_fault fault)
{
    int64_t n = s->regions * s->channels * s->rows * s->columns;
    if (n > 0)
        LAUNCH(roi_align, blocks_of(n, THREADS), dim3(THREADS), 0, stream, y, x, rois, images, *s,
               fault);
}

void launch_roi_align_bwd(cuda_stream stream, const roi_pool *s, float *dx, const float *dy,
                          const float *x, const float *rois, const int64_t *images)
{
    int64_t n = s->images * s->channels * s->height;
    if (n > 0)
        LAUNCH(roi_align_bwd, blocks_of(n, THREADS), dim3(THREADS), 0, stream, dx, dy, x, rois,
               images, *s);
}
