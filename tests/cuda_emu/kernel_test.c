#include "cuda_emu/kernel_test.h"

#include "cuda_emu/block.h"
#include "cuda_emu/machine.h"
#include "cuda_emu/spoil.h"
#include "cuda_emu/watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFERS = 256 };

static cudaStream_t stream;
static void *buffers[BUFFERS];
static size_t n_buffers;

static void check(cudaError_t e, const char *what)
{
    if (e != cudaSuccess)
        fail_msg("%s: %s; %s", what, cudaGetErrorString(e), emu_fault_text());
}

cuda_stream kernel_test_stream(void)
{
    return stream;
}

void *device_alloc(size_t bytes)
{
    void *p = NULL;
    assert_true(n_buffers < BUFFERS);
    check(cudaMalloc(&p, bytes), "memory of the device");
    buffers[n_buffers++] = p;
    return p;
}

void *on_device(const void *host, size_t bytes)
{
    void *p = device_alloc(bytes);
    check(cudaMemcpyAsync(p, host, bytes, cudaMemcpyHostToDevice, stream), "copy to the device");
    return p;
}

void from_device(void *host, const void *device, size_t bytes)
{
    check(cudaGetLastError(), "launch");
    check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream),
          "copy from the device");
    check(cudaStreamSynchronize(stream), "kernel");
}

void random_floats(float *ret, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        ret[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
}

size_t stored_bytes(launch_type type, size_t n)
{
    return n * (type == LAUNCH_F32 ? sizeof(float) : sizeof(uint16_t));
}

void to_stored(void *ret, launch_type type, const float *x, size_t n)
{
    uint16_t *half = ret;
    if (type == LAUNCH_F32)
        memcpy(ret, x, n * sizeof *x);
    else
        for (size_t i = 0; i < n; i++)
            half[i] = type == LAUNCH_BF16 ? emu_bf16_of(x[i]) : emu_f16_of(x[i]);
}

void from_stored(float *ret, launch_type type, const void *x, size_t n)
{
    const uint16_t *half = x;
    if (type == LAUNCH_F32)
        memcpy(ret, x, n * sizeof *ret);
    else
        for (size_t i = 0; i < n; i++) {
            uint32_t u = (uint32_t)half[i] << 16;
            memcpy(&ret[i], &u, sizeof u);
            if (type == LAUNCH_F16)
                ret[i] = emu_f16_to_float(half[i]);
        }
}

void assert_floats_close(const char *what, const float *got, const double *want, size_t n,
                         double absolute, double relative)
{
    size_t first = n, count = 0;
    for (size_t i = 0; i < n; i++) {
        bool same = (isnan(want[i]) && isnan(got[i])) || (double)got[i] == want[i];
        if (same || fabs((double)got[i] - want[i]) <= absolute + relative * fabs(want[i]))
            continue;
        if (count++ == 0)
            first = i;
    }
    if (count)
        fail_msg("%s: %zu of %zu are off; [%zu] is %.9g, not %.9g", what, count, n, first,
                 (double)got[first], want[first]);
}

static cudaError_t free_all(void)
{
    cudaError_t e = cudaSuccess;
    for (size_t i = 0; i < n_buffers; i++)
        if (cudaFree(buffers[i]) != cudaSuccess)
            e = cudaErrorInvalidValue;
    n_buffers = 0;
    return e;
}

void device_clear(void)
{
    assert_int_equal(free_all(), cudaSuccess);
}

int kernel_test_begin(void **state)
{
    (void)state;
    spoil_test_begins();
    emu_faults_forget();
    return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess;
}

int kernel_test_end(void **state)
{
    (void)state;
    cudaError_t destroyed = cudaStreamDestroy(stream), freed = free_all();
    return destroyed != cudaSuccess || freed != cudaSuccess || emu_faults() != 0;
}

int kernel_tests_run(const struct CMUnitTest *tests, size_t n)
{
    int failed = 0;
    const char *ledger = getenv("EMU_LEDGER");
    if (ledger)
        return spoil_places(tests, n, getenv("EMU_SPOIL"), ledger);
    const unsigned schedules[] = {0, EMU_DESCENDING | EMU_EAGER | EMU_RUSH};
    for (size_t i = 0; i < (emu_watcher ? 1 : 2); i++) { /* the watcher sees all schedules in one */
        emu_schedule_set(schedules[i]);
        failed += _cmocka_run_group_tests(i ? "descending, eager" : "ascending, lazy", tests, n,
                                          NULL, NULL);
    }
    return failed;
}
