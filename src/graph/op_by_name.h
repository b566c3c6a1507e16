/* Operators by the names of ops.def, for tables made of rows that have a name: OP_OF_add is OP_ADD. */
#ifndef TEQUIO_GRAPH_OP_BY_NAME_H
#define TEQUIO_GRAPH_OP_BY_NAME_H

#include "graph/graph.h"

enum {
#define OP(ID, name, ...) OP_OF_##name = OP_##ID,
#include "graph/ops.def"
};

#endif
