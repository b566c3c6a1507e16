#include "cuda_emu/machine.h"
#include "cuda_emu/block.h"
#include "cuda_emu/stream.h"
#include "cuda_emu/watch.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { TOLD_MOST = 5 };

void (*emu_watcher)(const void *p, size_t bytes, bool writes);

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static emu_machine machine;
static unsigned schedule;
static char fault_text[600];
static unsigned n_faults;
static cudaError_t broken[EMU_DEVICES_MOST];
static _Thread_local int device;
static _Thread_local cudaError_t last_error;
static _Atomic pid_t owner; /* the process that began with devices; 0: nobody did */

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *s = getenv(name);
    return s && *s ? strtoull(s, NULL, 10) : otherwise;
}

/* How many of n CUDA_VISIBLE_DEVICES names: up to the first that is none. */
static uint64_t visible(uint64_t n)
{
    const char *at = getenv("CUDA_VISIBLE_DEVICES");
    char *end = NULL;
    uint64_t named = 0;
    if (!at)
        return n;
    while (*at >= '0' && *at <= '9' && strtoull(at, &end, 10) < n) {
        named++;
        at = *end == ',' ? end + 1 : end;
    }
    return named;
}

static void start(void)
{
    pthread_mutexattr_t again;
    pthread_mutexattr_init(&again);
    pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &again);
    pthread_mutexattr_destroy(&again);
    uint64_t devices = visible(number("EMU_DEVICES", 1));
    machine = (emu_machine){
        .n_devices = (int)(devices < EMU_DEVICES_MOST ? devices : EMU_DEVICES_MOST),
        .smaller = (int)number("EMU_SMALLER", EMU_DEVICES_MOST),
        .arch = (int)number("EMU_ARCH", 90),
        .driver = (int)number("EMU_DRIVER", CUDART_VERSION),
        .memory = number("EMU_MEMORY", (uint64_t)4 << 30),
        .fail_at = number("EMU_FAIL", 0),
        .timers = number("EMU_TIMERS", UINT64_MAX),
        .fail_as = (cudaError_t)number("EMU_FAIL_AS", cudaErrorIllegalAddress),
        .fail_of = (int)number("EMU_FAIL_OF", (uint64_t)-1),
    };
    schedule = (unsigned)number("EMU_SCHEDULE", 0) % EMU_SCHEDULES;
}

const emu_machine *emu_machine_get(void)
{
    pthread_once(&once, start);
    return &machine;
}

void emu_lock(void)
{
    pthread_once(&once, start);
    pthread_mutex_lock(&lock);
}

void emu_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

unsigned emu_schedule(void)
{
    pthread_once(&once, start);
    return schedule;
}

void emu_schedule_set(unsigned bits)
{
    pthread_once(&once, start);
    schedule = bits % EMU_SCHEDULES;
}

int emu_arch(void)
{
    return emu_machine_get()->arch;
}

int emu_device(void)
{
    return device;
}

/* --- faults --- */

void emu_fault(const char *form, ...)
{
    char what[300], place[256];
    va_list list;
    va_start(list, form);
    vsnprintf(what, sizeof what, form, list);
    va_end(list);
    emu_kernel_place(place);
    char text[sizeof fault_text];
    snprintf(text, sizeof text, "%s%s%s", place, *place ? ": " : "", what);
    if (n_faults == 0)
        memcpy(fault_text, text, sizeof text);
    if (n_faults++ < TOLD_MOST)
        fprintf(stderr, "cuda_emu: %s\n", text);
    emu_break(device, cudaErrorLaunchFailure);
    emu_kernel_stop();
}

void emu_break(int d, cudaError_t e)
{
    if (broken[d] == cudaSuccess)
        broken[d] = e;
}

void emu_own(void)
{
    owner = getpid();
}

/* Devices are no good to a process that was forked from one that had begun with them. */
static bool is_forked(void)
{
    if (!owner)
        emu_own();
    if (owner == getpid())
        return false;
    fprintf(stderr, "cuda_emu: a forked process uses devices that its parent had begun with\n");
    n_faults++;
    return true;
}

cudaError_t emu_broken(int d)
{
    return is_forked() ? cudaErrorInitializationError : broken[d];
}

cudaError_t emu_said(cudaError_t e)
{
    if (e != cudaSuccess)
        last_error = e;
    return e;
}

const char *emu_fault_text(void)
{
    return fault_text;
}

unsigned emu_faults(void)
{
    return n_faults;
}

void emu_faults_forget(void)
{
    n_faults = 0;
    fault_text[0] = '\0';
    memset(broken, 0, sizeof broken);
    last_error = cudaSuccess;
}

/* Nobody who looks at results only shall overlook a fault. */
__attribute__((destructor)) static void end(void)
{
    if (n_faults) {
        fprintf(stderr, "cuda_emu: %u faults, the first: %s\n", n_faults, fault_text);
        _exit(1);
    }
}

/* --- errors --- */

const char *cudaGetErrorName(cudaError_t e)
{
    switch (e) {
#define X(name, value, text)                                                                       \
    case name:                                                                                     \
        return #name;
        EMU_CUDA_ERRORS(X)
#undef X
    }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t e)
{
    switch (e) {
#define X(name, value, text)                                                                       \
    case name:                                                                                     \
        return text;
        EMU_CUDA_ERRORS(X)
#undef X
    }
    return "unrecognized error code";
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t e = broken[device] ? broken[device] : last_error;
    last_error = cudaSuccess;
    return e;
}

/* --- devices --- */

static cudaError_t driver_error(void)
{
    const emu_machine *m = emu_machine_get();
    if (m->driver < CUDART_VERSION / 1000 * 1000)
        return cudaErrorInsufficientDriver;
    if (is_forked())
        return cudaErrorInitializationError;
    return m->n_devices ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaDriverGetVersion(int *ret)
{
    *ret = emu_machine_get()->driver;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *ret)
{
    cudaError_t e = driver_error();
    if (e == cudaSuccess)
        *ret = emu_machine_get()->n_devices;
    return emu_said(e);
}

cudaError_t cudaSetDevice(int d)
{
    cudaError_t e = driver_error();
    if (e == cudaSuccess && (d < 0 || d >= emu_machine_get()->n_devices))
        e = cudaErrorInvalidDevice;
    if (e == cudaSuccess)
        device = d;
    return emu_said(e);
}

cudaError_t cudaDeviceCanAccessPeer(int *ret, int d, int peer)
{
    int n = emu_machine_get()->n_devices;
    if (d < 0 || d >= n || peer < 0 || peer >= n)
        return emu_said(cudaErrorInvalidDevice);
    *ret = d != peer;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    static bool enabled[EMU_DEVICES_MOST][EMU_DEVICES_MOST];
    int possible = 0;
    cudaError_t e = flags ? cudaErrorInvalidValue : cudaDeviceCanAccessPeer(&possible, device, peer);
    if (e == cudaSuccess && !possible)
        e = cudaErrorInvalidDevice;
    emu_lock();
    if (e == cudaSuccess && enabled[device][peer])
        e = cudaErrorPeerAccessAlreadyEnabled;
    if (e == cudaSuccess)
        enabled[device][peer] = true;
    emu_unlock();
    return emu_said(e);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *ret, int d)
{
    cudaError_t e = driver_error();
    const emu_machine *m = emu_machine_get();
    if (e == cudaSuccess && (d < 0 || d >= m->n_devices))
        e = cudaErrorInvalidDevice;
    if (e == cudaSuccess) {
        *ret = (cudaDeviceProp){
            .totalGlobalMem = m->memory,
            .sharedMemPerBlock = EMU_SHARED_DEFAULT,
            .sharedMemPerBlockOptin = emu_shared_most(),
            .major = m->arch / 10,
            .minor = m->arch % 10,
            .multiProcessorCount = d == m->smaller ? 3 : 4,
            .pciBusID = d + 1,
        };
        snprintf(ret->name, sizeof ret->name, "Emulated sm_%d", m->arch);
    }
    return emu_said(e);
}
