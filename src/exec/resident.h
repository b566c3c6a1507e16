/*
 * Resident parts: a device as the store (common/parts/part_store.h) of a server in the process of the one lane
 * that computes there. It has queues of its own beside the lane's:
 *
 *     COMPUTE  all that is made of parts, in the order of the calls
 *     DOWN     what the host reads and writes: checkpoints, the beginning
 *
 * A part goes to and fro between the lane's COMPUTE and this one by two events, `made` and `moved`. The host
 * waits for neither: its threads have marked an event before they hand the part on, and follow it on the
 * device. Parts that are made at one place have one mark, and what a queue has followed it does not follow
 * again: of a step's calls few are for the parts' order.
 *
 * Threads: create, destroy and close the caller's, when nobody else has a block; open and what stands behind
 * it the lane's; the store as its header says.
 */
#ifndef TEQUIO_EXEC_RESIDENT_H
#define TEQUIO_EXEC_RESIDENT_H

#include "backend/registry.h"
#include "common/parts/part_store.h"
#include "exec/weights.h"

typedef struct resident resident;

/* Nothing is taken of the device yet. */
resident *resident_create(const backend_choice *device);
void resident_destroy(resident **r);

/* Takes weights, as zeros, and what it computes with; from now on the store is open. `f` is kept. E_DEVICE,
 * E_NOMEM. */
MUST_USE status resident_open(resident *r, const flat *f, error *err);
void resident_close(resident *r);               /* as if it had not been opened */
/* The same for the lane, whose exec opens it, and for the server; open or not. */
weight_store *resident_weights(resident *r);
part_store *resident_store(resident *r);

/* What it and a server take of a device beside the weights, with `slots` states of each, in bytes. */
size_t resident_bytes(const flat *f, size_t slots);

#endif
