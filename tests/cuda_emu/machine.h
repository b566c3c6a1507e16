/*
 * The emulated machine: what tests may ask and choose, and what its own files share.
 *
 * Environment, read when the machine is first used:
 *   EMU_DEVICES=1         how many; of which CUDA_VISIBLE_DEVICES shows those that it names, by new numbers
 *   EMU_SMALLER=2         the GPU of that number is of a smaller kind than the others; none is
 *   EMU_ARCH=90           compute capability, 75 .. 120; for a lower one kernels have no code
 *   EMU_MEMORY=4294967296 bytes of a device
 *   EMU_DRIVER=13000      version of the driver, as cudaDriverGetVersion tells it
 *   EMU_TIMERS=100        there is no memory for more events that keep time
 *   EMU_SCHEDULE=0        bits of emu_schedule
 *   EMU_FAIL=123          the 123rd kernel of a device breaks it
 *   EMU_FAIL_AS=700       with this error, cudaErrorIllegalAddress
 *   EMU_FAIL_OF=1         only the GPU of that number; all
 *
 * Threads: any; one lock of all devices is held in every call, so only one kernel runs at a time.
 */
#ifndef TEQUIO_TESTS_CUDA_EMU_MACHINE_H
#define TEQUIO_TESTS_CUDA_EMU_MACHINE_H

#include "cuda_runtime_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The choices CUDA leaves open, at their extremes. */
enum {
    EMU_DESCENDING = 1, /* threads, warps and blocks from the last to the first */
    EMU_EAGER = 2,      /* asynchronous copies happen at once, not when they are waited for */
    EMU_RUSH = 4,       /* streams nobody waits for run ahead as far as they can, not last */
    EMU_SCHEDULES = 8,
};
unsigned emu_schedule(void);
void emu_schedule_set(unsigned bits);

/* From now on only the first and the last block of a launch run: for one too large to be computed. */
void emu_ends_only(void);

/* What a kernel or the host did wrong: the first such text, "" if nothing; and how often. */
const char *emu_fault_text(void);
unsigned emu_faults(void);
/* Forgets faults, and mends the devices they broke. A process that ends with faults nobody has
 * forgotten exits with 1. */
void emu_faults_forget(void);

/* Kernels that devices have begun to run so far; and a warp's matmuls on tensor cores in them. */
uint64_t emu_kernels_run(void);
uint64_t emu_matmuls_run(void);

/* Streams that there are now. */
unsigned emu_streams(void);
/* How often streams have come to an event that keeps time so far. */
uint64_t emu_event_stamps(void);
/* How often graphs were launched so far. */
uint64_t emu_graph_launches(void);

/* How often the host has waited for an event, a stream or a device, be it for nothing. */
uint64_t emu_host_waits(void);

/* Copies between the host and the device so far that made the caller wait, since the host's memory
 * was not pinned. */
uint64_t emu_pageable_copies(void);
/* Bytes that copies have brought from the host to devices so far, and back. */
uint64_t emu_bytes_up(void);
uint64_t emu_bytes_down(void);

/* How often memory was taken so far, of devices or pinned. */
uint64_t emu_allocations(void);

int emu_arch(void);

/* For the emulation's own files. */

enum { EMU_DEVICES_MOST = 16 };

typedef struct emu_machine {
    int n_devices, smaller, arch, driver;
    size_t memory; /* of each device */
    uint64_t fail_at, timers;
    cudaError_t fail_as;
    int fail_of; /* below 0: any device */
} emu_machine;

const emu_machine *emu_machine_get(void);
void emu_lock(void);
void emu_unlock(void);

/* The device of the calling thread. */
int emu_device(void);

/* A fault: prints it with the kernel that runs and stops that, and breaks the device it happened
 * on; does not return to a thread of a kernel. */
void emu_fault(const char *form, ...) __attribute__((format(printf, 1, 2)));
/* Breaks `device`: every later call on it says e. */
void emu_break(int device, cudaError_t e);
cudaError_t emu_broken(int device);
/* The devices are this process's, though it was forked from one that had begun with them. */
void emu_own(void);
/* Notes e as the thread's last error, and returns it. */
cudaError_t emu_said(cudaError_t e);

#ifdef __cplusplus
}
#endif

#endif
