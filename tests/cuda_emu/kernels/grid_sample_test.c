/*
 * GridSample and its gradients, against plain interpolation in double: a linear filter, zeros
 * beyond the edge, more positions and more elements than a block has threads, and a number of
 * channels that a thread does not come out even with. The other filters and edges are one
 * arithmetic with the CPU's, whose cases are tests/numeric's.
 */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/kernels/grid_sample.h"
#include "common/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES = 2, HEIGHT = 5, WIDTH = 13, POSITIONS = 75, MOST_CHANNELS = 131 };
enum { PLANE = HEIGHT * WIDTH, MOST = IMAGES * MOST_CHANNELS * POSITIONS };

static float x[MOST], dy[MOST], grid[IMAGES * POSITIONS * 2], got[MOST];
static double y[MOST], dx[MOST], dgrid[IMAGES * POSITIONS * 2];

static const grid_plane plane = {.filter = GRID_BY_TWO,
                                 .beyond = GRID_IS_ZERO,
                                 .axes = 2,
                                 .per_position = 4,
                                 .size = {HEIGHT, WIDTH},
                                 .stride = {WIDTH, 1},
                                 .n = IMAGES,
                                 .elements = PLANE,
                                 .positions = POSITIONS};

/* What position p of an image does to one channel of it. */
static void visit(int image, int channel, int channels, int p)
{
    const float *g = &grid[(image * POSITIONS + p) * 2];
    double row = (((double)g[1] + 1) * HEIGHT - 1) / 2,
           column = (((double)g[0] + 1) * WIDTH - 1) / 2;
    int c = image * channels + channel;
    for (int i = (int)floor(row); i <= (int)floor(row) + 1; i++)
        for (int j = (int)floor(column); j <= (int)floor(column) + 1; j++) {
            if (i < 0 || i >= HEIGHT || j < 0 || j >= WIDTH)
                continue;
            double of_row = 1 - fabs(row - i), of_column = 1 - fabs(column - j);
            double above = i > row ? 1 : -1, beside = j > column ? 1 : -1;
            int at = c * PLANE + i * WIDTH + j;
            double d = (double)dy[c * POSITIONS + p];
            y[c * POSITIONS + p] += of_row * of_column * (double)x[at];
            dx[at] += of_row * of_column * d;
            dgrid[(image * POSITIONS + p) * 2 + 1] +=
                d * (double)x[at] * above * of_column * HEIGHT / 2;
            dgrid[(image * POSITIONS + p) * 2] += d * (double)x[at] * of_row * beside * WIDTH / 2;
        }
}

static void reference(int channels)
{
    memset(y, 0, sizeof y);
    memset(dx, 0, sizeof dx);
    memset(dgrid, 0, sizeof dgrid);
    for (int image = 0; image < IMAGES; image++)
        for (int channel = 0; channel < channels; channel++)
            for (int p = 0; p < POSITIONS; p++)
                visit(image, channel, channels, p);
}

static void positions_mean_their_neighbours(void **state)
{
    (void)state;
    static const int counts[] = {3, MOST_CHANNELS};
    random_floats(x, MOST, 1);
    random_floats(dy, MOST, 2);
    random_floats(grid, COUNT_OF(grid), 3);
    for (size_t i = 0; i < COUNT_OF(grid); i++)
        grid[i] *= 1.3f; /* some lie outside */
    for (size_t k = 0; k < COUNT_OF(counts); k++) {
        grid_plane s = plane;
        s.channels = counts[k];
        size_t planes = (size_t)(IMAGES * counts[k]);
        const float *dev_x = on_device(x, planes * PLANE * sizeof *x);
        const float *dev_dy = on_device(dy, planes * POSITIONS * sizeof *dy);
        const float *dev_grid = on_device(grid, sizeof grid);
        float *dev_y = device_alloc(planes * POSITIONS * sizeof *x);
        float *dev_dgrid = device_alloc(sizeof grid);
        reference(counts[k]);
        launch_grid_sample(kernel_test_stream(), &s, dev_y, dev_x, dev_grid);
        from_device(got, dev_y, planes * POSITIONS * sizeof *got);
        assert_floats_close("y", got, y, planes * POSITIONS, 1e-5, 1e-5);
        for (int64_t at_once = 1; at_once <= IMAGES; at_once++) {
            float *dev_dx = device_alloc(planes * PLANE * sizeof *x);
            launch_grid_sample_spread(
                kernel_test_stream(), &s, at_once, dev_dx, dev_dy, dev_grid,
                device_alloc(launch_grid_sample_workspace_bytes(&s, at_once)));
            from_device(got, dev_dx, planes * PLANE * sizeof *got);
            assert_floats_close("dx", got, dx, planes * PLANE, 1e-5, 1e-5);
        }
        launch_grid_sample_gradient(kernel_test_stream(), &s, dev_dgrid, dev_dy, dev_x, dev_grid);
        from_device(got, dev_dgrid, sizeof grid);
        assert_floats_close("dgrid", got, dgrid, COUNT_OF(grid), 1e-4, 1e-4);
    }
}

static void nothing_is_launched_for_nothing(void **state)
{
    (void)state;
    const grid_plane empty = {.filter = GRID_BY_TWO, .axes = 2};
    launch_grid_sample(kernel_test_stream(), &empty, NULL, NULL, NULL);
    launch_grid_sample_gradient(kernel_test_stream(), &empty, NULL, NULL, NULL, NULL);
    launch_grid_sample_spread(kernel_test_stream(), &empty, 1, NULL, NULL, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(positions_mean_their_neighbours),
        KERNEL_TEST(nothing_is_launched_for_nothing),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
