/*
 * Running a plan without computing: memory whose bytes hold the number of the value that was
 * written there. Nodes run one by one, or fused ones together, and every read must find what it
 * means.
 */
#ifndef TEQUIO_TESTS_UNIT_GRAPH_SUPPORT_SIM_H
#define TEQUIO_TESTS_UNIT_GRAPH_SUPPORT_SIM_H

#include "graph/plan.h"

typedef struct sim {
    const graph *g;
    const plan *p;
    plan_options options;
    size_t *bytes;
    bool *no_inplace, *no_alias;
    int32_t *turn; /* [nodes] when its kernel runs */
    flat *f;
    int32_t *memory[SLAB_COUNT];
    int32_t *content;      /* [values] the tag that a reader must find */
    int32_t *wrote, *read; /* [parts] brute force: last turn, by bytes */
    int32_t *first_read;   /* [parts] */
    bool is_fused, is_told;
} sim;

/* Plans g with some nodes that must copy and, if asked, some values fused away, whose kernels run
 * at any of their turns or, if the plan is told, at the last. */
void sim_init(sim *s, const graph *g, uint64_t seed, bool is_fused, bool is_told);
void sim_fini(sim *s);

void sim_check_places(const sim *s);

/* Runs the whole graph. Without memory only the parts' turns are noted. */
void sim_run(sim *s, bool with_memory);

void sim_check_parts(const sim *s); /* against what the run noted */

#endif
