/*
 * Resident parts: a device as the engine (common/parts/engine.h) of a server in the process of the one lane
 * that computes there. It has queues of its own beside the lane's, and whoever calls it sleeps until the
 * device is done; so what one thread hands to another is whole, whatever queue it came from.
 *
 *     COMPUTE  updates, sums of squares: the server
 *     UP       copies of weights, as they come to the lane
 *     PEER     sums of gradients
 *     DOWN     what the host reads and writes: checkpoints, the beginning
 *
 * Threads: create and destroy the caller's, when nobody else has a block; open: the lane's; the engine as
 * its header says.
 */
#ifndef TEQUIO_EXEC_RESIDENT_H
#define TEQUIO_EXEC_RESIDENT_H

#include "backend/registry.h"
#include "common/parts/engine.h"

typedef struct resident resident;

/* Nothing is taken of the device yet. */
resident *resident_create(const backend_choice *device);
void resident_destroy(resident **r);

/* From now on the engine is open. E_DEVICE, E_NOMEM. */
MUST_USE status resident_open(resident *r, error *err);
part_engine *resident_engine(resident *r);      /* open or not */

/* What it and a server take of a device with `slots` states of each weight, in bytes. */
size_t resident_bytes(const flat *f, size_t slots);

#endif
