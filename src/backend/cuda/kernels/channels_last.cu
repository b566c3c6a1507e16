/* Images to channels last for convolutions: a block a square of channels and positions, by way of
 * shared memory, so that what lies side by side is read and written side by side. */
#include "backend/cuda/kernels/channels_last.h"
#include "backend/cuda/kernels/rows.cuh"

enum { SIDE = 32, STEP = 8 };

template <typename T, typename X>
static KERNEL((SIDE * STEP), channels_last, T *y, const X *x, int64_t channels, int64_t positions,
              int64_t channel_tiles, int64_t position_tiles)
{
    SHARED(float, square, [SIDE][SIDE + 1]);
    int64_t block = blockIdx.x;
    int64_t position0 = block % position_tiles * SIDE;
    block /= position_tiles;
    int64_t channel0 = block % channel_tiles * SIDE;
    int64_t image = block / channel_tiles * channels * positions;
    int column = (int)threadIdx.x;
    for (int row = (int)threadIdx.y; row < SIDE; row += STEP) {
        int64_t channel = channel0 + row, position = position0 + column;
        if (IN(channel < channels && position < positions))
            square[row][column] = to_float(x[image + channel * LD(positions) + position]);
    }
    __syncthreads();
    for (int row = (int)threadIdx.y; row < SIDE; row += STEP) {
        int64_t position = position0 + row, channel = channel0 + column;
        if (IN(channel < channels && position < positions))
            y[image + position * LD(channels) + channel] = stored<T>(square[column][row]);
    }
}

template <typename T, typename X>
static void launch(cuda_stream stream, void *y, const void *x, int64_t images, int64_t channels,
                   int64_t positions)
{
    int64_t channel_tiles = (channels + SIDE - 1) / SIDE,
            position_tiles = (positions + SIDE - 1) / SIDE;
    int64_t blocks = images * channel_tiles * position_tiles;
    if (blocks > 0)
        LAUNCH((channels_last<T, X>), dim3((unsigned)blocks), dim3(SIDE, STEP), 0, stream, (T *)y,
               (const X *)x, channels, positions, channel_tiles, position_tiles);
}

void launch_channels_last(cuda_stream stream, launch_types t, void *y, const void *x,
                          int64_t images, int64_t channels, int64_t positions)
{
    with_types(t.y, t.a, [&](auto to, auto from) {
        launch<decltype(to), decltype(from)>(stream, y, x, images, channels, positions);
    });
}
