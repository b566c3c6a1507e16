/*
 * What a library is told of how its operands lie is a place (place.h), one for each kind of node
 * that tells it: a pitch, a stride, a leading dimension. Spoilt, it is one more. So a test of that
 * operator has to look at operands of several rows, several batches, and at all that is written.
 *
 *   p->pitch[LEFT] = STRIDE("pitch of a", p->pitch[LEFT], p->columns[LEFT] > 1);
 *
 * stands where a call is put on a stream, behind the checks of what the vendor forbids. The tests
 * cuda_emu/strides_op_value and strides_op_gradient spoil it, for the operators that
 * numeric/CMakeLists.txt names, strides_attention for attention; check_places looks for its text in
 * their ledgers.
 * Threads: any.
 */
#ifndef TEQUIO_TESTS_CUDA_EMU_FAKES_STRIDE_H
#define TEQUIO_TESTS_CUDA_EMU_FAKES_STRIDE_H

#include <stdbool.h>
#include <stdint.h>

/* x; `counts`: whether anything lies behind it, so that another x would show. `what` is a
 * literal. */
#define STRIDE(what, x, counts) fake_stride(what, __FILE__, __LINE__, x, counts)
int64_t fake_stride(const char *what, const char *file, int line, int64_t x, bool counts);

/* The kind of node this thread runs from now on: a text that stays, or NULL for none. */
void fake_stride_of(const char *node);

#endif
