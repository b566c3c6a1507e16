/*
 * ONNX Runtime, if it is there: opened while the program runs, through its C interface, of which
 * the few functions that are called are declared in peer.c. The library is what TEQUIO_ONNXRUNTIME
 * names, or libonnxruntime.so where the loader looks. Threads: one at a time.
 */
#ifndef TEQUIO_TESTS_DIFFERENTIAL_PEER_H
#define TEQUIO_TESTS_DIFFERENTIAL_PEER_H

#include "common/base/buf.h"
#include "onnx/host.h"

typedef struct peer peer;

/* NULL where it is not. */
peer *peer_open(void);
void peer_close(peer **p);
const char *peer_version(const peer *p);

typedef struct peer_value {
    const char *name;
    host_tensor tensor; /* of outputs: `data` is the arena's */
} peer_value;

/* Runs a model without optimisation. E_UNSUPPORTED, with its reason, for one that it does not take.
 */
MUST_USE status peer_run(const peer *p, const buf *model, const peer_value *in, size_t n_in,
                         peer_value *out, size_t n_out, arena *a, error *err);

#endif
