/* What LayerNormalization and RMSNormalization share: x is [rows..., normalised axes...]. Pure. */
#ifndef TEQUIO_GRAPH_OPS_ROW_NORM_H
#define TEQUIO_GRAPH_OPS_ROW_NORM_H

#include "graph/ops/rule.h"
#include "graph/schema.h"

extern const attr_field row_norm_fields[];

/* Checks that inputs first .. last have the shape of the normalised
 * axes (named `what` in messages), and gives that shape and the shape of one number a row. */
MUST_USE status row_norm_shapes(const graph *g, const graph_node *n, int32_t first, int32_t last,
                                const char *const *what, graph_shape *ret_normalised,
                                graph_shape *ret_rows, error *err);

#endif
