/* Launches: what they may ask for. */
#include "cuda_emu/block.h"
#include "cuda_emu/graph.h"
#include "cuda_emu/machine.h"
#include "cuda_emu/stream.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct allowance {
    const void *kernel;
    int device;
    size_t bytes;
} allowance;

static allowance allowances[4096];
static size_t n_allowances;

static struct {
    const void *kernel;
    int device;
} loaded[4096];
static size_t n_loaded;

size_t emu_shared_most(void)
{
    switch (emu_arch()) {
    case 75:
        return 64 << 10;
    case 80:
        return 163 << 10;
    case 90:
    case 100:
        return EMU_SHARED_MOST;
    }
    return 99 << 10;
}

/* Older chips than the oldest this knows are without code, for which CUDA has two words. */
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *ret, const void *kernel)
{
    if (!kernel || emu_arch() < 70)
        return emu_said(cudaErrorInvalidDeviceFunction);
    if (emu_arch() < 75)
        return emu_said(cudaErrorNoKernelImageForDevice);
    *ret = (cudaFuncAttributes){.maxThreadsPerBlock = 1024};
    return cudaSuccess;
}

/* On this thread's device; the end of the list: there is none. */
static allowance *find_allowance(const void *kernel)
{
    allowance *a = allowances;
    while (a < allowances + n_allowances && (a->kernel != kernel || a->device != emu_device()))
        a++;
    return a;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute what, int value)
{
    if (what != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        (size_t)value > emu_shared_most())
        return emu_said(cudaErrorInvalidValue);
    emu_lock();
    allowance *a = find_allowance(kernel);
    if (a == allowances + n_allowances && ++n_allowances > sizeof allowances / sizeof *allowances)
        abort();
    *a = (allowance){kernel, emu_device(), (size_t)value};
    emu_unlock();
    return cudaSuccess;
}

static size_t allowed_shared(const void *kernel)
{
    const allowance *a = find_allowance(kernel);
    return a < allowances + n_allowances ? a->bytes : EMU_SHARED_DEFAULT;
}

static cudaError_t check_launch(const emu_kernel *k, const void *kernel, unsigned threads)
{
    uint64_t n_threads = (uint64_t)k->block.x * k->block.y * k->block.z;
    const char *wrong = NULL;
    if (n_threads == 0 || n_threads > EMU_THREADS || k->block.z > 64)
        wrong = "a block has 1 to 1024 threads";
    else if (n_threads > threads)
        wrong = "these are more threads than its KERNEL says";
    else if (!k->grid.x || !k->grid.y || !k->grid.z)
        wrong = "a grid has at least one block";
    else if (k->grid.x > 0x7fffffffu || k->grid.y > 65535 || k->grid.z > 65535)
        wrong = "a grid has at most 65535 blocks along y and z";
    else if (k->shared_bytes > allowed_shared(kernel))
        wrong = "more than 48 KB of shared memory need an ALLOW_SHARED";
    if (!wrong)
        return cudaSuccess;
    emu_fault("%s: grid (%u, %u, %u), block (%u, %u, %u), %zu bytes of shared memory: %s", k->name,
              k->grid.x, k->grid.y, k->grid.z, k->block.x, k->block.y, k->block.z, k->shared_bytes,
              wrong);
    return cudaErrorInvalidConfiguration;
}

/* Kernels are loaded at their first launch on a device, which a capture does not survive. */
static cudaError_t check_loaded(const char *name, const void *kernel, cudaGraph_t capture)
{
    for (size_t i = 0; i < n_loaded; i++)
        if (loaded[i].kernel == kernel && loaded[i].device == emu_device())
            return cudaSuccess;
    if (capture) {
        fprintf(stderr, "cuda_emu: %s was never launched before it is captured\n", name);
        return emu_graph_spoil(capture);
    }
    if (n_loaded < sizeof loaded / sizeof *loaded) {
        loaded[n_loaded].kernel = kernel;
        loaded[n_loaded++].device = emu_device();
    }
    return cudaSuccess;
}

void *emu_arguments(size_t bytes)
{
    return aligned_alloc(16, (bytes + 15) & ~(size_t)15);
}

void *emu_launch(const char *name, const void *kernel, unsigned threads, uint3 grid, uint3 block,
                 size_t shared_bytes, cudaStream_t s, size_t bytes, void (*body)(void *arguments))
{
    emu_kernel k = {name, body, NULL, bytes, grid, block, shared_bytes, EMU_SHARED_DEFAULT};
    emu_lock();
    if (allowed_shared(kernel) > EMU_SHARED_DEFAULT)
        k.shared_most = emu_shared_most();
    cudaError_t e = emu_stream_check(s);
    if (e == cudaSuccess && emu_stream_device(s) != emu_device())
        e = cudaErrorInvalidResourceHandle;
    if (e == cudaSuccess)
        e = check_launch(&k, kernel, threads);
    if (e == cudaSuccess)
        e = check_loaded(name, kernel, *emu_stream_capture(s));
    if (e == cudaSuccess) {
        k.arguments = emu_arguments(bytes);
        if (!k.arguments)
            abort();
        e = emu_stream_push(s, (emu_operation){.kind = EMU_KERNEL, .kernel = k});
    }
    emu_unlock();
    return emu_said(e) == cudaSuccess ? k.arguments : NULL;
}
