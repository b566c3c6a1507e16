/*
 * The watcher: kernels compiled by gcc with -fsanitize=thread call it at every access (watch.c
 * stands in for the sanitizer's library). Whatever the schedule, it is a fault if
 *
 *   two threads of a block touch one byte, one of them writing, and no barrier lies between;
 *   two blocks of a launch do: so nothing can depend on the order of blocks;
 *   two streams do, and no event nor the host's waiting puts the one before the other;
 *   a kernel touches device memory that is not allocated or another device's, or a node's kernel
 *   what is no operand of the node (stream.h: ranges).
 *
 * Under the lock of the devices.
 */
#ifndef TEQUIO_TESTS_CUDA_EMU_WATCH_H
#define TEQUIO_TESTS_CUDA_EMU_WATCH_H

#include <stdbool.h>
#include <stddef.h>

/* What is told by the emulation for itself: the thread that runs touches memory or, between
 * kernels, the operation of a stream. NULL in programs that are not watched. */
extern void (*emu_watcher)(const void *p, size_t bytes, bool writes);

static inline void emu_touch(const void *p, size_t bytes, bool writes)
{
    if (emu_watcher)
        emu_watcher(p, bytes, writes);
}

#endif
