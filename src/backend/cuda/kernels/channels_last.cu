/* Images turned for convolutions: a block a square of channels and places, by way of shared memory,
 * so that what lies side by side is read and written side by side. */
#include "backend/cuda/kernels/channels_last.h"
#include "backend/cuda/kernels/rows.cuh"

enum { SIDE = 32, STEP = 8 };

template <typename T, typename X>
static KERNEL((SIDE * STEP), channels_last, T *y, const X *x, int64_t channels, int64_t places,
              int64_t channel_tiles, int64_t place_tiles)
{
    SHARED(float, square, [SIDE][SIDE + 1]);
    int64_t block = blockIdx.x;
    int64_t place0 = block % place_tiles * SIDE;
    block /= place_tiles;
    int64_t channel0 = block % channel_tiles * SIDE;
    int64_t image = block / channel_tiles * channels * places;
    int column = (int)threadIdx.x;
    for (int row = (int)threadIdx.y; row < SIDE; row += STEP) {
        int64_t channel = channel0 + row, place = place0 + column;
        if (IN(channel < channels && place < places))
            square[row][column] = to_float(x[image + channel * LD(places) + place]);
    }
    __syncthreads();
    for (int row = (int)threadIdx.y; row < SIDE; row += STEP) {
        int64_t place = place0 + row, channel = channel0 + column;
        if (IN(channel < channels && place < places))
            y[image + place * LD(channels) + channel] = stored<T>(square[column][row]);
    }
}

template <typename T, typename X>
static void launch(cuda_stream stream, void *y, const void *x, int64_t images, int64_t channels,
                   int64_t places)
{
    int64_t channel_tiles = (channels + SIDE - 1) / SIDE, place_tiles = (places + SIDE - 1) / SIDE;
    int64_t blocks = images * channel_tiles * place_tiles;
    if (blocks > 0)
        LAUNCH((channels_last<T, X>), dim3((unsigned)blocks), dim3(SIDE, STEP), 0, stream, (T *)y,
               (const X *)x, channels, places, channel_tiles, place_tiles);
}

void launch_channels_last(cuda_stream stream, launch_types t, void *y, const void *x,
                          int64_t images, int64_t channels, int64_t places)
{
    with_types(t.y, t.a, [&](auto to, auto from) {
        launch<decltype(to), decltype(from)>(stream, y, x, images, channels, places);
    });
}
