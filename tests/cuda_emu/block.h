/*
 * A block of threads, run on one thread of the host. Every thread is a fiber that runs until it
 * waits at a barrier or ends; which goes next is the schedule's choice. What CUDA forbids, and what
 * our kernels agreed not to do (src/backend/cuda/kernels/device.cuh), is a fault of the device.
 * Everything here runs under the lock of the devices (machine.h).
 */
#ifndef TEQUIO_TESTS_CUDA_EMU_BLOCK_H
#define TEQUIO_TESTS_CUDA_EMU_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    EMU_THREADS = 1024,
    EMU_LANES = 32,
    EMU_SHARED_DEFAULT = 48 << 10,
    EMU_SHARED_MOST = 227 << 10,
    EMU_SHARED_ROOM = EMU_SHARED_MOST + (8 << 10) /* with what lies between arrays */
};

typedef struct uint3 {
    unsigned x, y, z;
} uint3;

/* Where a thread waits, and at what. */
typedef struct emu_where {
    const char *what, *file;
    int line;
} emu_where;

typedef struct emu_thread {
    uint3 index;
    int lane, warp;
    int state;
    int stack;
    void *sp;
    const emu_where *at;
    uint32_t block_barriers, warp_barriers; /* passed so far */
    int n_copies, group;                    /* asynchronous copies under way (copies.c) */
} emu_thread;

extern emu_thread *emu_self; /* the thread that runs; NULL: none */
extern uint3 emu_block_index, emu_block_dim, emu_grid_dim;

typedef struct emu_kernel {
    const char *name;
    void (*body)(void *arguments);
    void *arguments;
    size_t argument_bytes;
    uint3 grid, block;
    size_t shared_bytes; /* dynamic */
    size_t shared_most;  /* of a block, what is static among it */
} emu_kernel;

/* A LAUNCH: the kernel of that address, of at most `threads` a block, goes behind what the stream
 * has to do. Returns room for `bytes` of arguments, to be filled at once; NULL: refused. */
struct CUstream_st;
void *emu_launch(const char *name, const void *kernel, unsigned threads, uint3 grid, uint3 block,
                 size_t shared_bytes, struct CUstream_st *s, size_t bytes,
                 void (*body)(void *arguments));

/* Room for arguments, to be freed; NULL: none is left. */
void *emu_arguments(size_t bytes);

/* All blocks of a launch. */
void emu_kernel_run(const emu_kernel *k);
/* The kernel that runs ends where it is; does not return to a thread of it. */
void emu_kernel_stop(void);
/* The kernel, block and thread that run, for messages; "" between kernels. */
const char *emu_kernel_place(char ret[256]);
uint32_t emu_block_number(void); /* of its launch */

/* Barriers. */
void emu_block_barrier(const emu_where *at);
void emu_warp_barrier(uint32_t mask, const emu_where *at);

/* Puts `bytes` (at most 64) of this lane where the others of its warp find them until the barrier
 * after the next one. */
typedef struct emu_slots {
    uint64_t of_lane[EMU_LANES][8];
} emu_slots;
const emu_slots *emu_warp_put(uint32_t mask, const void *from, size_t bytes, const emu_where *at);

/* Shared memory: one allocation a site and block, poisoned. */
typedef struct emu_site {
    uint64_t block; /* the serial number of the block that has it */
    void *at;
} emu_site;
void *emu_shared(emu_site *site, size_t bytes, size_t align, const char *name);
void *emu_shared_dynamic(void);
bool emu_shared_holds(const void *p, size_t bytes);
size_t emu_shared_offset(const void *p);
uint64_t emu_shared_serial(void);                         /* of the block that has it */
void emu_shared_describe(const void *p, char ret[160]);   /* for messages */
void emu_shared_begin(size_t dynamic_bytes, size_t most); /* of a block */
void emu_shared_end(void);

/* Asynchronous copies: 16 bytes, the first `bytes` of them copied, the rest cleared. */
void emu_copy_start(void *to, const void *from, int bytes);
void emu_copy_commit(void);
void emu_copy_wait(int groups_left);

/* The matmuls of a warp and what goes with them, as device.cuh tells. */
void emu_mma(int k, const char *type, float d[4], const uint32_t *a, const uint32_t *b,
             const emu_where *at);
void emu_load_matrix_x4(uint32_t r[4], const void *row, bool transposed, const emu_where *at);
uint16_t emu_bf16_of(float x);
uint16_t emu_f16_of(float x);
float emu_f16_to_float(uint16_t x);
uint32_t emu_tf32_of(float x);

/* *at = min(*at, x), whoever comes first. */
void emu_atomic_min_u64(uint64_t *at, uint64_t x);

/* A fault unless p is a multiple of `bytes`. */
void emu_check_aligned(const void *p, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
