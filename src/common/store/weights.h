/*
 * A model's weights by tensor name, wherever they lie: in a .safetensors file, or in the parts of a
 * checkpoint. The caller checks shapes and types.
 *
 * Threads: immutable once opened, so any thread may read.
 */
#ifndef TEQUIO_COMMON_STORE_WEIGHTS_H
#define TEQUIO_COMMON_STORE_WEIGHTS_H

#include "common/store/checkpoint.h"
#include "common/store/safetensors.h"

typedef struct weights weights;

/* A folder is a checkpoint, checked down to its sums; all else is a safetensors file. E_DATA. */
MUST_USE status weights_open(const char *path, weights **ret, error *err);
/* Those of an open checkpoint, which may be closed then. `origin` names it in messages. */
MUST_USE status weights_of_checkpoint(const checkpoint *c, const char *origin, weights **ret,
                                      error *err);
/* Those of *base, which belongs to *ret from now on and is NULL, but for `tensors`: these alone, in this order, some of
 * them with data in `values`, which belongs to *ret too (common/base/alloc.h's mem_alloc). */
void weights_replace(weights **base, const st_tensor *tensors, size_t n, void *values, weights **ret);
void weights_close(weights **w);

const char *weights_origin(const weights *w);   /* where they come from */
int64_t weights_step(const weights *w);         /* version; -1 where the file does not say */
size_t weights_count(const weights *w);
const st_tensor *weights_at(const weights *w, size_t i);
const st_tensor *weights_find(const weights *w, const char *name); /* NULL if absent */

/* `params_sha256` of a job whose result they are, as flat_params_sha256. */
void weights_params_sha256(const weights *w, char *ret_hex);

/* As a .safetensors file; atomic. */
MUST_USE status weights_write(const weights *w, const char *path, error *err);

#endif
