/* Tensors in files of test data, and how near two must be. */
#ifndef TEQUIO_TESTS_CONFORMANCE_TENSORS_H
#define TEQUIO_TESTS_CONFORMANCE_TENSORS_H

#include "onnx/host.h"

/* data_set/<kind>_<i>.pb. E_IO if there is none. */
MUST_USE status tensors_read(arena *a, const char *data_set, const char *kind, size_t i,
                             host_tensor **ret, error *err);

/* As ONNX's own runner: floats to rtol 1e-3 and atol 1e-7, all else exactly. `noise`: how exact what
 * is expected is itself, as a share of its largest element. E_FAIL says where they part;
 * E_UNSUPPORTED: float64 was computed in float32. */
MUST_USE status tensors_compare(const char *name, const host_tensor *is, const host_tensor *expected,
                                double noise, error *err);

/* Can a graph hold elements of that type of a file as they are? */
bool tensors_is_ours(int32_t onnx_type);

#endif
