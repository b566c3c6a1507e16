/*
 * Who adds up what: of the slots of a step that a worker's lanes are given at once, the nodes of
 * the tree of slots that a lane makes alone, and those that lanes can make together. Pure.
 */
#ifndef TEQUIO_WORKER_NODES_H
#define TEQUIO_WORKER_NODES_H

#include "common/parts/tree.h"

typedef struct nodes_given {
    const int32_t *lane_of_slot;
    const uint32_t *slots; /* [n] ascending; each lane gets its own in this order */
    uint32_t n, n_slots;   /* n_slots: of the step */
} nodes_given;

/* The highest node with slot number i of those given, all of whose slots its lane gets one after
 * another. */
tree_node nodes_of_lane(const nodes_given *g, uint32_t i);

/* Whether its lane gets none after it: gradients stay where they are then. */
bool nodes_is_last(const nodes_given *g, uint32_t i);

/* A node, and the slots given that it covers. */
typedef struct nodes_group {
    tree_node sum;
    uint32_t first, end;   /* numbers of those given */
} nodes_group;

/* The highest nodes of two lanes or more to each of which every lane contributes one node of its own,
 * its last. No lane contributes to two of them, so half as many as there are lanes are the most. */
size_t nodes_groups(const nodes_given *g, nodes_group *ret);

/* The number behind those of nodes_of_lane(g, i), for the first of them. */
uint32_t nodes_behind(const nodes_given *g, uint32_t i);

#endif
