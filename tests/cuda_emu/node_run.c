/* What runs a node (load/load.c, where it has another name) also tells which memory is the node's,
 * and whose strides libraries are given. */
#include "backend/cuda/load/load.h"
#include "cuda_emu/fakes/stride.h"
#include "cuda_emu/stream.h"

enum { RANGES = 64 };

status cuda_node_run_plain(void *state, void *const *addresses, void *workspace, error *err);

static void add(emu_range *list, size_t *n, const void *from, size_t bytes, bool is_written)
{
    if (from && bytes && *n < RANGES)
        list[(*n)++] = (emu_range){from, bytes, is_written};
}

static void add_values(emu_range *list, size_t *n, const cuda_node *node, const graph_val *ids,
                       int32_t n_ids, void *const *addresses, bool are_written)
{
    for (int32_t i = 0; i < n_ids; i++)
        if (ids[i] != GRAPH_NONE)
            add(list, n, addresses[ids[i]], node->program->bytes[ids[i]], are_written);
}

status cuda_node_run(void *state, void *const *addresses, void *workspace, error *err)
{
    const cuda_node *node = state;
    emu_range list[RANGES];
    size_t n = 0;
    add_values(list, &n, node, node->reads, node->n_reads, addresses, false);
    add_values(list, &n, node, node->writes, node->n_writes, addresses, true);
    add(list, &n, workspace, node->scratch_bytes, true);
    add(list, &n, node->program->backend->fault, sizeof(uint64_t), true);
    emu_ranges_set(list, n < RANGES ? n : 0);
    fake_stride_of(graph_op_of(node->node->op)->name);
    status st = cuda_node_run_plain(state, addresses, workspace, err);
    fake_stride_of(NULL);
    emu_ranges_set(NULL, 0);
    return st;
}
