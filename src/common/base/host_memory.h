/*
 * How much memory this process can still take before the kernel would end it: the least of what
 * /proc/meminfo calls available and what each memory cgroup above the process leaves of its limit
 * (version 2 and 1; pages of files give way and do not count).
 *
 * The variable TEQUIO_MEMORY takes the place of all that: the bytes that the process may have in
 * all, as 8G, or `unlimited`. A launcher gives each worker on a machine its share by it.
 * Threads: any.
 */
#ifndef TEQUIO_COMMON_BASE_HOST_MEMORY_H
#define TEQUIO_COMMON_BASE_HOST_MEMORY_H

#include "common/base/error.h"

typedef struct host_memory {
    size_t left;            /* bytes; SIZE_MAX: no limit, or nobody can say */
    char origin[128];       /* of what: "MemAvailable", "memory.max of ..." */
} host_memory;

/* E_CONFIG if TEQUIO_MEMORY is no number of bytes. */
MUST_USE status host_memory_left(host_memory *ret, error *err);

/* The same with /proc and /sys in the folder `root`, and `given` for the variable; NULL: not set. */
MUST_USE status host_memory_read(const char *root, const char *given, host_memory *ret, error *err);

#endif
