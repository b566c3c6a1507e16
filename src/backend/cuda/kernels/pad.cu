/* Pad: every piece of the output finds its source by a table an axis. */
#include "backend/cuda/kernels/pad.h"
#include "backend/cuda/kernels/walk.cuh"

enum { THREADS = 256 };

struct padded {
    int rank;
    uint32_t n; /* pieces of y */
    divider run, by[AXES_MOST];
    const int64_t *sources[AXES_MOST];
};

template <typename T> static KERNEL(THREADS, pad, T *y, const T *x, padded p, T value)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (!IN(i < p.n))
        return;
    uint32_t position = quotient(p.run, i);
    int64_t at = i - position * p.run.by;
    bool is_filled = false;
    for (int axis = p.rank - 1; axis >= 0; axis--) {
        uint32_t above = axis ? quotient(p.by[axis], position) : 0;
        int64_t from = p.sources[axis][position - above * p.by[axis].by];
        is_filled |= from < 0;
        at += from;
        position = above;
    }
    y[i] = is_filled ? value : x[at];
}

/* Pieces of y below a position of the first axis. */
static int64_t slab_of(const launch_pad_call *c)
{
    int64_t slab = c->run;
    for (int i = 1; i < c->rank; i++)
        slab *= c->dim[i];
    return slab;
}

template <typename T>
static void pad_all(cuda_stream stream, const launch_pad_call *c, void *y, const void *x)
{
    int64_t slab = slab_of(c);
    if (slab * c->dim[0] == 0)
        return;
    T value;
    memcpy(&value, c->value, sizeof value);
    padded p = {};
    p.rank = c->rank;
    p.run = divider_of(c->run);
    for (int i = 0; i < c->rank; i++) {
        p.by[i] = divider_of(c->dim[i]);
        p.sources[i] = c->sources[i];
    }
    int64_t most = slab < PIECE ? PIECE / slab : 1;
    for (int64_t begin = 0; begin < c->dim[0]; begin += most) {
        int64_t positions = c->dim[0] - begin < most ? c->dim[0] - begin : most;
        p.n = (uint32_t)(positions * slab);
        p.sources[0] = c->sources[0] + begin;
        LAUNCH(pad<T>, blocks_of(p.n, THREADS), dim3(THREADS), 0, stream, (T *)y + begin * slab,
               (const T *)x, p, value);
    }
}

void launch_pad(cuda_stream stream, const launch_pad_call *c, void *y, const void *x)
{
    switch (c->element) {
    case 1:
        pad_all<uint8_t>(stream, c, y, x);
        break;
    case 2:
        pad_all<uint16_t>(stream, c, y, x);
        break;
    case 4:
        pad_all<uint32_t>(stream, c, y, x);
        break;
    case 8:
        pad_all<uint2>(stream, c, y, x);
        break;
    default:
        pad_all<uint4>(stream, c, y, x);
    }
}
