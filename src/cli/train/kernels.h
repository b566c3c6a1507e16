/*
 * What a batch asks of a device: a table of its kernels by the operators they are around, with the bytes
 * of their operands, and a line for all of them. A node that a library needs several kernels for counts
 * as one, and an operand once for each node that reads or writes it, however often that does. Nothing
 * where the backend does not tell. Threads: any.
 */
#ifndef TEQUIO_CLI_TRAIN_KERNELS_H
#define TEQUIO_CLI_TRAIN_KERNELS_H

#include "common/base/buf.h"
#include "exec/variant.h"

/* Of a variant that is loaded. */
void kernels_print(const variant *v, buf *out);

#endif
