/* Narrowing a failure down: fewer outputs and nodes, greedily, while the verdict stays of its kind.
 */
#ifndef TEQUIO_TESTS_DIFFERENTIAL_SHRINK_H
#define TEQUIO_TESTS_DIFFERENTIAL_SHRINK_H

#include "differential/judge.h"

/* *was is the verdict on the view; it becomes that on what is left. */
void shrink(view *v, const peer *p, verdict *was);

#endif
