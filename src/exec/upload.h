/*
 * Weights that are sent to an exec's device one part after another, as they arrive, while it may
 * be at work: so they need no place of their own on the host, and the device takes them from where
 * they lie. It takes memory that it knows (exec_pin) beside all else; of other memory it makes the
 * caller wait.
 *
 * Threads: one at a time, any, beside the exec's own.
 */
#ifndef TEQUIO_EXEC_UPLOAD_H
#define TEQUIO_EXEC_UPLOAD_H

#include "exec/exec.h"

/* Begins to take the weights of a part from `data`, which stays as it is until exec_wait_part of the
 * part. No run reads the part: none began that needs it, or it was `ready`. What `need` lets
 * through from here on finds them. E_DEVICE. */
MUST_USE status exec_upload_part(exec *e, int32_t part, const float *data, error *err);
/* Returns when the device has what it was sent of the part last. */
MUST_USE status exec_wait_part(exec *e, int32_t part, error *err);

/* Memory of the host to be known to all devices of this backend, until exec_unpin. E_DEVICE if that
 * cannot be, or is so already. */
MUST_USE status exec_pin(exec *e, void *p, size_t bytes, error *err);
void exec_unpin(exec *e, void *p);

#endif
