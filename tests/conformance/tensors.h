/* Tensors in files of test data, and how near two must be. */
#ifndef TEQUIO_TESTS_CONFORMANCE_TENSORS_H
#define TEQUIO_TESTS_CONFORMANCE_TENSORS_H

#include "onnx/host.h"

/* data_set/<kind>_<i>.pb. E_IO if there is none. */
MUST_USE status tensors_read(arena *a, const char *data_set, const char *kind, size_t i,
                             host_tensor **ret, error *err);

/* As ONNX's own runner: floats to rtol 1e-3 and atol 1e-7, bfloat16 to two of its steps, all else exactly.
 * `noise`: how exact what is expected is itself, as a share of its largest element. E_FAIL says where they
 * part; E_UNSUPPORTED: float16 or bfloat16 that was computed in float32, and is near. */
MUST_USE status tensors_compare(const char *name, const host_tensor *is, const host_tensor *expected,
                                double noise, error *err);

#endif
