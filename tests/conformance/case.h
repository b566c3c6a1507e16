/*
 * One model of ONNX's backend test data: imported, run on the CPU backend over the inputs that come
 * with it, and compared with the outputs that come with it.
 *
 *   data/<family>/test_<name>/{model.onnx, test_data_set_<n>/{input_<i>.pb, output_<i>.pb}}
 *
 * or with one set of data right beside the model.
 */
#ifndef TEQUIO_TESTS_CONFORMANCE_CASE_H
#define TEQUIO_TESTS_CONFORMANCE_CASE_H

#include "common/base/error.h"

#include <stdbool.h>

typedef enum verdict_kind {
    PASS,          /* run on the backend */
    PASS_KNOWN,    /* everything followed from constants: evaluated by the import */
    FAIL_WRONG,
    SKIP_OP,       /* an operator, or a form of one, that is not supported */
    SKIP_TYPE,     /* of elements, or no tensor at all */
    SKIP_DATA,     /* its outputs are known to be wrong; the caller's to say */
    VERDICTS,
} verdict_kind;

enum { VERDICT_TEXT = 400 };

typedef struct verdict {
    verdict_kind kind;
    char why[VERDICT_TEXT]; /* what failed, or what is not supported */
    char op[64];            /* of SKIP_OP: the first operator */
} verdict;

/* `folder` is that of one model. */
verdict case_run(const char *folder);

#endif
