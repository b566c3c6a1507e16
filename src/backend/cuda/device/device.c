#include "backend/cuda/device/device.h"

#include "backend/cuda/gpus.h"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/library/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

status device_check(cudaError_t e, const char *what, error *err)
{
    if (e == cudaSuccess)
        return OK;
    (void)cudaGetLastError(); /* or the next kernel would be blamed for it */
    return FAIL(err, e == cudaErrorMemoryAllocation ? E_NOMEM : E_DEVICE, "%s: %s (%s)", what,
                cudaGetErrorString(e), cudaGetErrorName(e));
}

static const char *visible_devices(void)
{
    const char *ids = getenv("CUDA_VISIBLE_DEVICES");
    return ids ? ids : "not set";
}

static bool is_driver_absent(cudaError_t e)
{
    int driver = 0;
    return e == cudaErrorInsufficientDriver &&
           (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0);
}

/* CUDA's own text for a driver that is not there is the one for an old driver. */
static status explain(cudaError_t e, error *err)
{
    int driver = 0, runtime = CUDART_VERSION;
    if (e == cudaErrorNoDevice)
        return FAIL(err, E_DEVICE, "the NVIDIA driver finds no GPU; CUDA_VISIBLE_DEVICES is %s",
                    visible_devices());
    if (e != cudaErrorInsufficientDriver)
        return device_check(e, "looking for GPUs", err);
    if (is_driver_absent(e))
        return FAIL(err, E_DEVICE, "there is no NVIDIA driver on this machine");
    (void)cudaDriverGetVersion(&driver);
    return FAIL(
        err, E_DEVICE,
        "the NVIDIA driver knows CUDA %d.%d, and this program needs %d.%d: a newer driver is "
        "needed",
        driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
}

status device_count(int *ret, error *err)
{
    int n = 0;
    cudaError_t e = cudaGetDeviceCount(&n);
    if (e != cudaSuccess)
        return explain(e, err);
    *ret = n;
    return OK;
}

status cuda_find(int device, error *err)
{
    int n = 0;
    TRY(device_count(&n, err));
    if (device < 0 || device >= n)
        return FAIL(
            err, E_DEVICE,
            "there is no GPU number %d: there are %d, counted from 0; CUDA_VISIBLE_DEVICES is "
            "%s",
            device, n, visible_devices());
    return OK;
}

status device_select(int device, error *err)
{
    TRY(cuda_find(device, err));
    return device_check(cudaSetDevice(device), "choosing the GPU", err);
}

status device_suits(int device, error *err)
{
    struct cudaDeviceProp found;
    cudaError_t e = (cudaError_t)launch_probe();
    if (e != cudaErrorNoKernelImageForDevice && e != cudaErrorInvalidDeviceFunction &&
        e != cudaErrorUnsupportedPtxVersion)
        return device_check(e, "asking for a kernel", err);
    (void)cudaGetLastError();
    TRY_CUDA(cudaGetDeviceProperties(&found, device), "asking for the GPU's properties", err);
    return FAIL(err, E_DEVICE,
                "GPU %d (%s) is of the kind sm_%d%d, and this program has code for others (%s)%s; build it "
                "with -DTEQUIO_CUDA_ARCHS=%d%d",
                device, found.name, found.major, found.minor, cuda_build(),
                e == cudaErrorUnsupportedPtxVersion
                    ? ", which a driver of this program's CUDA version or a newer one could translate"
                    : "",
                found.major, found.minor);
}

bool cuda_has_driver(void)
{
    return api_has_driver();
}

static bool is_alike(const struct cudaDeviceProp *a, const struct cudaDeviceProp *b)
{
    return strcmp(a->name, b->name) == 0 && a->major == b->major && a->minor == b->minor &&
           a->multiProcessorCount == b->multiProcessorCount;
}

/* Whether GPU `device` belongs to those that were found; the first that can be used does. */
static status look_at(int device, struct cudaDeviceProp *first, cuda_gpus *found, error *err)
{
    struct cudaDeviceProp now;
    TRY_CUDA(cudaGetDeviceProperties(&now, device), "asking for the GPU's properties", err);
    if (!found->n) {
        TRY(device_select(device, err));
        TRY(device_suits(device, err));
        *first = now;
    }
    if (is_alike(first, &now) && found->n < CUDA_GPUS_MAX)
        found->number[found->n++] = device;
    return OK;
}

status cuda_look(cuda_gpus *ret, error *err)
{
    struct cudaDeviceProp first;
    cuda_gpus found = {.n = 0};
    error why = ERROR_INIT;
    cudaError_t e = cudaGetDeviceCount(&found.visible);
    if (e != cudaSuccess && e != cudaErrorNoDevice && !is_driver_absent(e))
        return explain(e, err);
    status st = OK;
    for (int i = 0; e == cudaSuccess && i < found.visible; i++) {
        status one = look_at(i, &first, &found, &why);
        st = one == OK ? st : one;
    }
    *ret = found;
    return found.n || st == OK ? OK : FAIL(err, st, "%s", why.text);
}

status device_describe(int device, backend_device *ret, error *err)
{
    struct cudaDeviceProp found;
    size_t total = 0, unused = 0;
    TRY(device_select(device, err));
    TRY_CUDA(cudaGetDeviceProperties(&found, device), "asking for the GPU's properties", err);
    TRY_CUDA(cudaMemGetInfo(&unused, &total), "asking for the GPU's memory", err);
    *ret = (backend_device){.memory = total, .free = unused};
    snprintf(ret->name, sizeof ret->name, "%s", found.name);
    snprintf(ret->arch, sizeof ret->arch, "sm_%d%d", found.major, found.minor);
    return OK;
}
