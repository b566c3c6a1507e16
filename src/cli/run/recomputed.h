/* What is computed again for trainer.memory, for people and as JSON. Pure. */
#ifndef TEQUIO_CLI_RUN_RECOMPUTED_H
#define TEQUIO_CLI_RUN_RECOMPUTED_H

#include "common/base/buf.h"
#include "common/base/json.h"
#include "exec/exec.h"

/* {budget, nodes, temp_without, saved, flops_share, bytes_share}; null without a budget. */
json_t *recomputed_json(const exec_memory *m, size_t budget);

/* Lines of that; none of null. */
void recomputed_text(const json_t *recomputed, buf *ret);

#endif
