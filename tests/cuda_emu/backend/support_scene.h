/*
 * Graphs of a few nodes through two engines on the GPU: one that groups nodes
 * (backend/cuda/load/fuse.h) and one that does not. A row of a table is a scene:
 *
 *     {"a residual", {F32(6, 8), F32(6, 8)}, {ONE(RELU, 0), TWO(ADD, Y(0), 1)}, 2, 1}
 */
#ifndef TEQUIO_TESTS_CUDA_EMU_BACKEND_SUPPORT_SCENE_H
#define TEQUIO_TESTS_CUDA_EMU_BACKEND_SUPPORT_SCENE_H

#include "cuda_emu/backend/support_both.h"

enum { SCENE_INPUTS = 6, SCENE_NODES = 16, SCENE_OPERANDS = 5 };

/* Output o of node k; smaller numbers are the graph's inputs. */
#define OUT(k, o) (SCENE_INPUTS + 4 * (k) + (o))
#define Y(k)      OUT(k, 0)

/* A graph of a few nodes. Those that nobody reads are kept, and those marked. */
typedef struct scene {
    const char *name;
    both_operand in[SCENE_INPUTS];      /* without picks */
    struct {
        graph_op op;
        int n_in, in[SCENE_OPERANDS];
        const void *attr;
        bool is_kept;
    } node[SCENE_NODES];
    int n_nodes;
    unsigned saved; /* kernels of a run */
} scene;

#define ONE(op, a)                                                                                 \
    {                                                                                              \
        OP_##op, 1, {a}, NULL, false                                                               \
    }
#define TWO(op, a, b)                                                                              \
    {                                                                                              \
        OP_##op, 2, {a, b}, NULL, false                                                            \
    }
#define THREE(op, a, b, c)                                                                         \
    {                                                                                              \
        OP_##op, 3, {a, b, c}, NULL, false                                                         \
    }
#define WITH(op, n, attr, ...)                                                                     \
    {                                                                                              \
        OP_##op, n, {__VA_ARGS__}, attr, false                                                     \
    }

/* Runs it twice: as many kernels are saved as it says, and what is kept is what the nodes make
 * alone: within `tolerance` of the element and of its value's root mean square, with 0 to the
 * bit. */
void scene_check(const scene *s, double tolerance);

/* What nodes of this operator make is in no memory. */
void scene_expect_fused_away(const scene *s, graph_op op);

#endif
