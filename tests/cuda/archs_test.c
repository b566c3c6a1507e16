/*
 * All kernels link, by gcc, with NVIDIA's static runtime; the program starts without a driver; and
 * each kernel file carries code for every chip it was compiled for. This program has them all in
 * it, used or not, and looks into itself:
 *
 *   cuda_archs_test NUMBER_OF_KERNEL_FILES sm_75... compute_90
 *
 * What nvcc leaves in a program for the driver is a row of containers, one a .cu: a head of 16
 * bytes, then entries, each with a head that says its kind, sizes and chip. NVIDIA does not
 * document it; cuobjdump
 * --list-elf reads it.
 */
#include "common/base/fs.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 16, KIND_PTX = 1, KIND_CODE = 2, ARCHS_MAX = 32 };
static uint64_t number(const unsigned char *p, int bytes)
{
    uint64_t x = 0;
    for (int i = bytes - 1; i >= 0; i--)
        x = x << 8 | p[i];
    return x;
}

/* Counts the entries of the container at `p`: seen[i] of the i-th chip of `archs`, and returns how
 * many there are of others. */
static int look_into(const unsigned char *p, const unsigned char *end, char **archs, int n,
                     int *seen)
{
    int others = 0;
    const unsigned char *stop = p + HEAD_BYTES + number(p + 8, 8);
    for (p += HEAD_BYTES; p + 32 <= stop && stop <= end; p += number(p + 4, 4) + number(p + 8, 8)) {
        char name[32];
        uint64_t kind = number(p, 2);
        snprintf(name, sizeof name, "%s_%d", kind == KIND_PTX ? "compute" : "sm",
                 (int)number(p + 28, 4));
        int i = 0;
        while (i < n && strcmp(archs[i], name) != 0)
            i++;
        if (i < n && (kind == KIND_PTX || kind == KIND_CODE))
            seen[i]++;
        else
            others++;
    }
    return others;
}

/* The number of containers; each that does not have every chip once is complained of. */
static int look_at_all(const fs_map *m, char **archs, int n, bool *ok)
{
    int containers = 0;
    const unsigned char *end = m->data + m->bytes;
    for (const unsigned char *p = m->data; p + HEAD_BYTES <= end; p += 8) {
        if (number(p, 4) != 0xba55ed50 || number(p + 4, 2) != 1 || number(p + 6, 2) != HEAD_BYTES)
            continue;
        int seen[ARCHS_MAX] = {0};
        int others = look_into(p, end, archs, n, seen);
        containers++;
        for (int i = 0; i < n; i++)
            if (seen[i] != 1) {
                printf("container %d has %s %d times\n", containers, archs[i], seen[i]);
                *ok = false;
            }
        if (others) {
            printf("container %d has %d more\n", containers, others);
            *ok = false;
        }
    }
    return containers;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 2 + ARCHS_MAX)
        return 2;
    int devices = 0;
    cudaError_t said = cudaGetDeviceCount(&devices);
    printf("devices: %d (%s)\n", devices, cudaGetErrorString(said));

    fs_map m;
    error err = ERROR_INIT;
    if (fs_map_open("/proc/self/exe", &m, &err) != OK) {
        printf("%s\n", err.text);
        return 1;
    }
    bool ok = true;
    int containers = look_at_all(&m, argv + 2, argc - 2, &ok);
    fs_map_close(&m);
    printf("kernel files: %d, found: %d\n", atoi(argv[1]), containers);
    return ok && containers == atoi(argv[1]) ? 0 : 1;
}
