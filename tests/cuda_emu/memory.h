/*
 * Memory of the devices and memory of the host they know. A device's memory is a range of addresses
 * the host cannot touch: only while device work runs is it there. Allocations have exact ends, are
 * poisoned, and nothing may be written between them. Under the lock of the devices.
 */
#ifndef TEQUIO_TESTS_CUDA_EMU_MEMORY_H
#define TEQUIO_TESTS_CUDA_EMU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

enum { EMU_POISON = 0xff }; /* NaN as a float, -1 as a number */

/* Opens the devices' memory to this process and closes it; may be nested. */
void emu_memory_open(void);
void emu_memory_close(void);

/* The device whose memory p points into; -1: none. */
int emu_memory_device(const void *p);
/* Of p in that device's range of addresses. */
size_t emu_memory_offset(const void *p);
/* Whether [p, p + bytes) lies in one allocation. */
bool emu_memory_holds(const void *p, size_t bytes);
/* Where p lies, for messages; false: in no allocation. */
bool emu_memory_describe(const void *p, char ret[160]);
/* Whether both lie in the same allocation. */
bool emu_memory_is_together(const void *p, const void *q);
/* A fault if something was written outside of every allocation. */
void emu_memory_check(void);
/* Whether [p, p + bytes) is pinned memory of the host. */
bool emu_memory_is_pinned(const void *p, size_t bytes);

#endif
