/*
 * The backend that op_value_test, op_gradient_test, step_test and both precision tests are about:
 * it comes with the program. support_tested.c is the CPU; programs that run the same tests over
 * another backend are linked with its answers instead (tests/cuda_emu/numeric/).
 */
#ifndef TEQUIO_TESTS_NUMERIC_SUPPORT_TESTED_H
#define TEQUIO_TESTS_NUMERIC_SUPPORT_TESTED_H

#include "backend/backend.h"
#include "graph/precision.h"
#include "numeric/support_gradient.h"

extern const backend_ops *const tested_backend;

/* How many of the frames of a case, from the first, make a difference to it. */
extern const int tested_frames;

/* Runs a program's tests of operators, each by the operator's name; returns how many failed. */
struct CMUnitTest;
int tested_run(const struct CMUnitTest *tests, size_t n);

/* Whether it has a kernel for every node of g; a backend may be known to lack some. */
bool tested_takes(const graph *g);

/* Whether it computes graphs of this precision here. */
bool tested_multiplies(graph_precision p);

/* Whether it rounds gradients of convolutions' weights where it may. */
bool tested_rounds_weight_gradients(void);

/* Before run number `turn` of something: where the backend may do things in this or that order, it
 * takes another one. */
void tested_turn(int turn);

/* Of a lane that has run: whether the gradients of all parameters of `forward` are right. */
bool tested_gradients(const gradient *s);

/* A program's last test. It fails if what tested_takes was said to lack is there: of the operators
 * that backward appends, or of the others. */
void tested_lacks_no_more(bool backward);

#endif
