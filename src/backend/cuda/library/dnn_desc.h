/*
 * cuDNN's descriptors: made of attributes in one go, with the library's words where it refuses.
 * Threads: those of whoever owns them. Used by what is beside it alone.
 */
#ifndef TEQUIO_BACKEND_CUDA_LIBRARY_DNN_DESC_H
#define TEQUIO_BACKEND_CUDA_LIBRARY_DNN_DESC_H

#include "backend/cuda/library/dnn.h"

/* OK, or what the library's `result` of `what` comes to: E_UNSUPPORTED if another engine may do, E_NOMEM or
 * E_DEVICE if it is the machine's. */
MUST_USE status dnn_check(unsigned result, const char *what, error *err);
#define TRY_DNN(call, what) TRY(dnn_check((call), (what), err))

/* A finalized descriptor, the caller's; attributes end with one without a value. */
MUST_USE status dnn_describe(unsigned kind, const dnn_attribute *attributes, dnn_desc *ret, error *err);
void dnn_destroy(dnn_desc *d); /* NULL is fine, and what becomes of it */

#endif
