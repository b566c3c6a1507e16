/* Images as the host would finish them (data/finish.h), bit for bit: a thread a pixel, which looks up what it is of. */
#include "backend/cuda/kernels/finish.h"
#include "backend/cuda/kernels/walk.cuh"

#include "data/finish.h"

enum { THREADS = 256 };

struct finish_batch {
    finish_form form;
    const finish_draw *draws;
    int64_t n, first;  /* examples of the batch; the first one of this launch */
    uint32_t elements; /* of this launch */
    divider by_example, by_plane, by_row;
};

template <int KIND, typename T> static KERNEL(THREADS, finish, T *y, const void *x, finish_batch b)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (!IN(i < b.elements))
        return;
    uint32_t example = quotient(b.by_example, i), at = i - example * b.by_example.by;
    uint32_t plane = quotient(b.by_plane, at), rest = at - plane * b.by_plane.by;
    uint32_t row = quotient(b.by_row, rest), column = rest - row * b.by_row.by;
    y[i] = (T)finish_mixed(&b.form, (finish_kind)KIND, b.draws, x, b.n, b.first + example, plane, (int32_t)column,
                           (int32_t)row);
}

template <int KIND, typename T>
static void finish_all(cuda_stream stream, const finish_form *f, T *y, const void *x, const finish_draw *draws,
                       int64_t n)
{
    const int64_t size = finish_elements(f), most = PIECE / size > 0 ? PIECE / size : 1;
    finish_batch b = {};
    b.form = *f;
    b.draws = draws;
    b.n = n;
    b.by_example = divider_of(size);
    b.by_plane = divider_of((int64_t)f->height * f->width);
    b.by_row = divider_of(f->width);
    for (b.first = 0; b.first < n; b.first += most) {
        int64_t examples = n - b.first < most ? n - b.first : most;
        b.elements = (uint32_t)(examples * size);
        LAUNCH((finish<KIND, T>), blocks_of(b.elements, THREADS), dim3(THREADS), 0, stream, y + b.first * size, x, b);
    }
}

void launch_finish(cuda_stream stream, const finish_form *f, void *y, const void *x, const finish_draw *draws,
                   int64_t n)
{
    if (finish_elements(f) == 0)
        return;
    switch (f->kind) {
    case FINISH_BYTES:
        finish_all<FINISH_BYTES>(stream, f, (float *)y, x, draws, n);
        break;
    case FINISH_FLOATS:
        finish_all<FINISH_FLOATS>(stream, f, (float *)y, x, draws, n);
        break;
    default:
        finish_all<FINISH_PIXELS>(stream, f, (uint8_t *)y, x, draws, n);
    }
}
