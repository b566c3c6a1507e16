/*
 * The fixed binary tree over a step's slots.
 *
 * Leaves are slots 0..n-1 in batch order. Node (level, index) covers the slots
 * [index * 2^level, min((index+1) * 2^level, n)). A node whose right half is empty equals its left
 * child; the highest of such equal nodes is their `top`: holding (0, 2) of 3 slots means holding
 * (1, 1) as well. A parent's value is left + right, element by element, so the root's bits do not
 * depend on who summed what, or when. What adds them up: tree_reducer.h.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_COMMON_PARTS_TREE_H
#define TEQUIO_COMMON_PARTS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tree_node {
    uint8_t level;
    uint32_t index;
} tree_node;

uint8_t tree_root_level(uint32_t n_slots); /* n_slots >= 1 */
bool tree_node_is_valid(tree_node a, uint32_t n_slots);
bool tree_node_covers(tree_node a, tree_node b); /* also when equal */
tree_node tree_node_parent(tree_node a);
tree_node tree_node_sibling(tree_node a);
uint32_t tree_node_first(tree_node a);
uint32_t tree_node_end(tree_node a, uint32_t n_slots);  /* one past the last slot */
tree_node tree_node_top(tree_node a, uint32_t n_slots); /* the highest node equal to a */

/* The highest nodes that cover exactly the slots [first, end): at most 2 * 32 of them, in order.
 * Returns their number. A node with an empty right half is reported at its highest level.
 * first <= end <= n_slots. */
size_t tree_cover(uint32_t first, uint32_t end, uint32_t n_slots, tree_node ret[64]);

/* dst = a + b, element by element; dst may be a or b. The one addition of the tree. */
void tree_sum(float *dst, const float *a, const float *b, size_t n);

#endif
