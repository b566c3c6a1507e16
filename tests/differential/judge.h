/*
 * What a model comes to: imported as a whole, run forward and backward on the CPU backend, and
 * compared with the sketch's values, with central differences and, where it is there, with ONNX
 * Runtime. Threads: one at a time.
 */
#ifndef TEQUIO_TESTS_DIFFERENTIAL_JUDGE_H
#define TEQUIO_TESTS_DIFFERENTIAL_JUDGE_H

#include "differential/peer.h"
#include "differential/view.h"

typedef enum verdict_kind {
    RIGHT,
    REFUSED, /* whole, though each node alone is taken */
    WRONG_VALUE,
    WRONG_GRADIENT,
    WRONG_BITS,   /* a second time */
    PEER_DIFFERS, /* ONNX Runtime's value */
    VERDICTS,
} verdict_kind;

extern const char *const verdict_names[VERDICTS];

enum { VERDICT_TEXT = 512 };

typedef struct verdict {
    verdict_kind kind;
    char text[VERDICT_TEXT];
    int n_gradients;  /* compared, with one thread and with two */
    bool peer_judged; /* ONNX Runtime took the model */
} verdict;

verdict judge(view *v, const peer *p);

#endif
