/*
 * All 2^32 floats rounded to halves by the chip's instruction: to nearest, ties to even, every NaN to
 * 0x7fff, as integer arithmetic does. With a number, so many pieces of 2^24 of them, spread over all.
 */
#include "backend/cuda/kernels/cast.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 24, PIECES = 256, SKIPPED = 77 };

static uint32_t from[PIECE];
static uint16_t to[PIECE];

static void need(cudaError_t e, const char *what)
{
    if (e == cudaSuccess)
        return;
    printf("%s: %s\n", what, cudaGetErrorString(e));
    exit(1);
}

static uint16_t bf16_by_integers(uint32_t u)
{
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return 0x7fff;
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

static uint16_t f16_by_integers(uint32_t u)
{
    uint32_t sign = u >> 16 & 0x8000u, size = u & 0x7fffffffu;
    if (size > 0x7f800000u)
        return 0x7fff;
    if (size >= 0x477ff000u) /* half way between 65504 and 65536, and infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (size >= 0x38800000u) /* normal: 13 bits of fraction go, and 112 of the exponent */
        return (uint16_t)(sign | ((size + 0xfffu + (size >> 13 & 1) - (112u << 23)) >> 13));
    uint32_t shift = 126 - (size >> 23), whole = (size & 0x7fffffu) | 0x800000u;
    if (shift > 24) /* below half of the least number */
        return (uint16_t)sign;
    uint32_t kept = whole >> shift, rest = whole & ((1u << shift) - 1), half = 1u << (shift - 1);
    return (uint16_t)(sign | (kept + (rest > half || (rest == half && kept % 2))));
}

/* How many of the piece that begins at `first` are rounded otherwise; tells of the first. */
static int64_t check(uint32_t first, launch_type type, void *x, void *y, cuda_stream stream)
{
    uint16_t (*expected)(uint32_t) = type == LAUNCH_BF16 ? bf16_by_integers : f16_by_integers;
    launch_round(stream, (launch_types){.y = type, .a = LAUNCH_F32}, y, x, PIECE);
    need(cudaGetLastError(), "launch");
    need(cudaMemcpyAsync(to, y, sizeof to, cudaMemcpyDeviceToHost, stream), "copy from the device");
    need(cudaStreamSynchronize(stream), "kernel");
    int64_t others = 0;
    for (uint32_t i = 0; i < PIECE; i++)
        if (to[i] != expected(first + i) && others++ == 0)
            printf("%08x becomes %04x in place of %04x\n", first + i, to[i], expected(first + i));
    return others;
}

int main(int argc, char **argv)
{
    int pieces = argc > 1 ? atoi(argv[1]) : PIECES, devices = 0;
    if (pieces < 1 || pieces > PIECES)
        return 2;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("skipped: there is no GPU\n");
        return SKIPPED;
    }
    void *x, *y;
    cudaStream_t stream;
    need(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    need(cudaMalloc(&x, sizeof from), "memory of the device");
    need(cudaMalloc(&y, sizeof to), "memory of the device");
    int64_t others = 0;
    for (int p = 0; p < pieces; p++) {
        uint32_t first = (uint32_t)(p * (PIECES / pieces)) * PIECE;
        for (uint32_t i = 0; i < PIECE; i++)
            from[i] = first + i;
        need(cudaMemcpyAsync(x, from, sizeof from, cudaMemcpyHostToDevice, stream), "copy to the device");
        others += check(first, LAUNCH_BF16, x, y, stream) + check(first, LAUNCH_F16, x, y, stream);
    }
    printf("%d pieces of 2^24 floats, %lld rounded otherwise\n", pieces, (long long)others);
    return others != 0;
}
