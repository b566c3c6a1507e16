/*
 * What a batch asks of a device, kernel by kernel, and as a table by the operators that kernels are around.
 * A node that a library needs several kernels for counts as one kernel, and an operand once for each that
 * reads or writes it, however often that does. Threads: any.
 */
#ifndef TEQUIO_CLI_RUN_KERNELS_H
#define TEQUIO_CLI_RUN_KERNELS_H

#include "common/base/buf.h"
#include "exec/variant.h"

/* What runs at the turn of a node. */
typedef struct kernel_facts {
    bool runs;        /* false: the node is part of another's kernel, or has nothing to do */
    graph_op around;  /* OP_COUNT: a chain of functions of one element each */
    int32_t node;     /* that it is called by: the operator's own, or the last of a chain */
    size_t bytes;     /* of what it reads and writes, each value once */
    size_t workspace; /* bytes, which it writes and reads besides */
    double flops;     /* of all its nodes: graph_node_flops */
    const char *by;   /* a library, or why it is a kernel of ours; NULL: nothing is to be told */
} kernel_facts;

/* [nodes], to be freed; of a variant that is loaded, and no longer than that. */
kernel_facts *kernels_of(const variant *v);

/* What kernels are called that are around this operator. */
const char *kernels_name(graph_op around);

/* The table, a line for all, and one for their workspaces. Nothing where the backend does not tell the bytes. */
void kernels_print(const variant *v, buf *out);

/* A line for each library, and for each reason why a kernel is one of ours: how many, and their share of the model's
 * FLOPs, the largest first. Nothing where the backend tells of none. */
void kernels_print_by(const variant *v, buf *out);

#endif
