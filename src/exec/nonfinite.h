/*
 * After a run that gave a number that is not finite: which node made the first one. That is the one that
 * makes a NaN, unless it does so of an infinite number that an earlier one has made of finite ones. The
 * nodes are run one by one once more, and all they make is looked at, so this is for messages.
 * Threads: the exec's.
 */
#ifndef TEQUIO_EXEC_NONFINITE_H
#define TEQUIO_EXEC_NONFINITE_H

#include "common/base/buf.h"
#include "exec/exec.h"

typedef struct nonfinite {
    const graph_node *node; /* of the variant's graph; NULL: all numbers are finite */
    bool is_nan;            /* what it makes; otherwise an infinite number */
} nonfinite;

/* Of an exec over memory of the host, whose inputs are written and parameters bound. `operands` gets
 * what the node reads, "'a' from 0 to 3.5, 'b' from 0 to 0". */
MUST_USE status exec_find_nonfinite(exec *e, size_t variant, nonfinite *ret, buf *operands,
                                    error *err);

#endif
