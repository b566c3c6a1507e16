/*
 * RoiAlign and its gradient: which bins of which region are taken from which plane. The arithmetic of
 * a bin is one with the CPU's (backend/roi.h), whose cases are tests/numeric's.
 */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/kernels/roi_align.h"
#include "common/base/alloc.h"

#include <string.h>

enum { IMAGES = 2, CHANNELS = 5, HEIGHT = 7, WIDTH = 6, REGIONS = 3, ROWS = 3, COLUMNS = 4 };
enum { PLANE = HEIGHT * WIDTH, BINS = ROWS * COLUMNS, PLANES = IMAGES * CHANNELS };
enum { OF_X = PLANES * PLANE, OF_Y = REGIONS * CHANNELS * BINS };

static const roi_pool pool = {.images = IMAGES,
                              .channels = CHANNELS,
                              .height = HEIGHT,
                              .width = WIDTH,
                              .regions = REGIONS,
                              .rows = ROWS,
                              .columns = COLUMNS,
                              .ratio = 2,
                              .scale = 0.5f,
                              .half_pixel = true};
/* One within the plane, one beyond its edges, one of the other image that lies over the first */
static const float rois[REGIONS][4] = {{1, 2, 9, 11}, {-3, 4, 30, 20}, {2, 1, 8, 12}};
static const int64_t images[REGIONS] = {1, 0, 1};

static float x[OF_X], dy[OF_Y], got[OF_Y + OF_X], want[OF_Y + OF_X];

static roi_bins down_of(const roi_pool *s, int r)
{
    return roi_bins_of(s, rois[r][1], rois[r][3], ROWS, HEIGHT);
}

static roi_bins across_of(const roi_pool *s, int r)
{
    return roi_bins_of(s, rois[r][0], rois[r][2], COLUMNS, WIDTH);
}

static void expect_y(const roi_pool *s, const int64_t *of)
{
    for (int r = 0; r < REGIONS; r++)
        for (int c = 0; c < CHANNELS; c++)
            for (int bin = 0; bin < BINS; bin++) {
                roi_bins down = down_of(s, r), across = across_of(s, r);
                want[(r * CHANNELS + c) * BINS + bin] =
                    roi_value(s, &down, &across, bin / COLUMNS, bin % COLUMNS,
                              x + (of[r] * CHANNELS + c) * PLANE);
            }
    assert_memory_equal(got, want, OF_Y * sizeof *got);
}

static void expect_dx(const roi_pool *s)
{
    memset(want, 0, sizeof want);
    for (int r = 0; r < REGIONS; r++)
        for (int c = 0; c < CHANNELS; c++) {
            roi_bins down = down_of(s, r), across = across_of(s, r);
            int64_t plane = (images[r] * CHANNELS + c) * PLANE;
            const float *from = dy + (r * CHANNELS + c) * BINS;
            if (s->largest)
                roi_spread_largest(s, &down, &across, from, x + plane, 0, PLANE, want + plane);
            else
                roi_spread(s, &down, &across, from, 0, PLANE, want + plane);
        }
    assert_memory_equal(got, want, OF_X * sizeof *got);
}

static void regions_are_of_their_planes(void **state)
{
    (void)state;
    random_floats(x, OF_X, 1);
    random_floats(dy, OF_Y, 2);
    for (int largest = 0; largest < 2; largest++) {
        roi_pool s = pool;
        s.largest = largest;
        const float *dev_x = on_device(x, sizeof x), *dev_dy = on_device(dy, sizeof dy);
        const float *dev_rois = on_device(rois, sizeof rois);
        const int64_t *dev_images = on_device(images, sizeof images);
        float *dev_y = device_alloc(sizeof dy), *dev_dx = device_alloc(sizeof x);
        launch_roi_align(kernel_test_stream(), &s, dev_y, dev_x, dev_rois, dev_images,
                         (launch_fault){.node = 0});
        from_device(got, dev_y, sizeof dy);
        expect_y(&s, images);
        launch_roi_align_bwd(kernel_test_stream(), &s, dev_dx, dev_dy, dev_x, dev_rois, dev_images);
        from_device(got, dev_dx, sizeof x);
        expect_dx(&s);
    }
}

static void an_image_that_is_none_is_told(void **state)
{
    (void)state;
    static const int64_t wrong[REGIONS] = {1, IMAGES, -1}, taken[REGIONS] = {1, 0, 0};
    const uint64_t none = UINT64_MAX, node = (uint64_t)3 << 32;
    uint64_t told;
    random_floats(x, OF_X, 1);
    uint64_t *word = on_device(&none, sizeof none);
    float *dev_y = device_alloc(sizeof dy);
    launch_roi_align(kernel_test_stream(), &pool, dev_y, on_device(x, sizeof x),
                     on_device(rois, sizeof rois), on_device(wrong, sizeof wrong),
                     (launch_fault){.word = word, .node = node});
    from_device(&told, word, sizeof told);
    assert_true(told == (node | 1)); /* the first of them */
    from_device(got, dev_y, sizeof dy);
    expect_y(&pool, taken);
}

static void nothing_is_launched_for_nothing(void **state)
{
    (void)state;
    const roi_pool empty = {.images = 0};
    launch_roi_align(kernel_test_stream(), &empty, NULL, NULL, NULL, NULL, (launch_fault){.node = 0});
    launch_roi_align_bwd(kernel_test_stream(), &empty, NULL, NULL, NULL, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(regions_are_of_their_planes),
        KERNEL_TEST(an_image_that_is_none_is_told),
        KERNEL_TEST(nothing_is_launched_for_nothing),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
