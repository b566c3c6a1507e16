/* Pad by tables of sources, against loops over coordinates. */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/kernels/pad.h"
#include "common/base/alloc.h"

#include <string.h>

enum { MOST = 8192, RANK = 3 };

static unsigned char x[MOST], y[MOST], want[MOST];

static const struct {
    int64_t dim[RANK], x[RANK], run; /* of y, of x; pieces */
    int rank;
} pads[] = {
    {{300}, {40}, 1, 1},
    {{5, 7}, {3, 4}, 3, 2},
    {{4, 3, 9}, {2, 3, 5}, 1, 3},
    {{2, 5, 2}, {2, 2, 6}, 8, 3},
};

/* Anything: sources need no pattern. */
static int64_t source(size_t i, int axis, int64_t position)
{
    return (position * 7 + axis) % (pads[i].x[axis] + 2) - 2;
}

/* In pieces, as the kernel takes it. */
static const int64_t *table(size_t i, int axis)
{
    int64_t from[512], stride = pads[i].run;
    for (int k = pads[i].rank - 1; k > axis; k--)
        stride *= pads[i].x[k];
    for (int64_t j = 0; j < pads[i].dim[axis]; j++)
        from[j] = source(i, axis, j) < 0 ? -1 : source(i, axis, j) * stride;
    return on_device(from, (size_t)pads[i].dim[axis] * sizeof *from);
}

static int64_t elements(size_t i, const int64_t *dim)
{
    int64_t n = pads[i].run;
    for (int k = 0; k < pads[i].rank; k++)
        n *= dim[k];
    return n;
}

/* The position in x of element e of y, -1 for none. */
static int64_t position(size_t i, int64_t e)
{
    int64_t at = e % pads[i].run, stride = pads[i].run;
    bool is_filled = false;
    e /= pads[i].run;
    for (int k = pads[i].rank - 1; k >= 0; k--) {
        int64_t from = source(i, k, e % pads[i].dim[k]);
        is_filled |= from < 0;
        at += from * stride;
        stride *= pads[i].x[k];
        e /= pads[i].dim[k];
    }
    return is_filled ? -1 : at;
}

static void check(size_t i, size_t element)
{
    launch_pad_call c = {.rank = pads[i].rank, .run = pads[i].run, .element = element};
    for (int k = 0; k < c.rank; k++) {
        c.dim[k] = pads[i].dim[k];
        c.sources[k] = table(i, k);
    }
    for (size_t k = 0; k < sizeof c.value; k++)
        c.value[k] = (uint8_t)(200 + k);
    size_t n = (size_t)elements(i, pads[i].dim);
    for (size_t e = 0; e < n; e++) {
        int64_t at = position(i, (int64_t)e);
        memcpy(want + e * element, at < 0 ? c.value : x + (size_t)at * element, element);
    }
    void *to = device_alloc(n * element);
    launch_pad(kernel_test_stream(), &c, to,
               on_device(x, (size_t)elements(i, pads[i].x) * element));
    from_device(y, to, n * element);
    assert_memory_equal(y, want, n * element);
}

static void positions_come_from_their_sources(void **state)
{
    (void)state;
    for (size_t k = 0; k < MOST; k++)
        x[k] = (unsigned char)(k * 31 % 197);
    for (size_t i = 0; i < COUNT_OF(pads); i++)
        for (size_t element = 1; element <= 16; element *= 2)
            check(i, element);
}

static void nothing_is_launched_for_nothing(void **state)
{
    (void)state;
    const launch_pad_call empty = {.rank = 1, .dim = {3}, .run = 0, .element = 4};
    launch_pad(kernel_test_stream(), &empty, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(positions_come_from_their_sources),
        KERNEL_TEST(nothing_is_launched_for_nothing),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
