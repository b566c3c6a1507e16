/*
 * Guarded values: each value between nodes has an allocation of its own, which nobody has cleared, so that
 * a checker of memory sees where a kernel reaches beyond a value, and what it reads that no kernel has written. In the
 * plan's slab there would be a neighbour, or what was there before.
 * Threads: as exec.h says.
 */
#ifndef TEQUIO_EXEC_GUARD_H
#define TEQUIO_EXEC_GUARD_H

#include "exec/variant.h"

/* Whether the backend wants them. */
bool guard_is_wanted(const backend_ops *ops, const backend *device);

/* Of all values between nodes of a variant that is loaded. */
size_t guard_bytes(const variant *v);
/* From now on variant_resolve() puts values there; variant_unload() lets go of them. */
MUST_USE status guard_create(variant *v, error *err);

#endif
