#include "worker/nodes.h"

static bool follows(const nodes_given *g, uint32_t i)
{
    return g->slots[i] == g->slots[i - 1] + 1;
}

static bool continues(const nodes_given *g, uint32_t i)
{
    return follows(g, i) && g->lane_of_slot[g->slots[i]] == g->lane_of_slot[g->slots[i - 1]];
}

tree_node nodes_of_lane(const nodes_given *g, uint32_t i)
{
    uint32_t first = i, last = i;
    while (first > 0 && continues(g, first))
        first--;
    while (last + 1 < g->n && continues(g, last + 1))
        last++;
    tree_node nodes[64];
    size_t k = tree_cover(g->slots[first], g->slots[last] + 1, g->n_slots, nodes) - 1;
    while (tree_node_first(nodes[k]) > g->slots[i])
        k--;
    return nodes[k];
}

bool nodes_is_last(const nodes_given *g, uint32_t i)
{
    for (uint32_t k = i + 1; k < g->n; k++)
        if (g->lane_of_slot[g->slots[k]] == g->lane_of_slot[g->slots[i]])
            return false;
    return true;
}

uint32_t nodes_behind(const nodes_given *g, uint32_t i)
{
    return i + tree_node_end(nodes_of_lane(g, i), g->n_slots) - g->slots[i];
}

/* Whether lanes' nodes, each its lane's last, make up the slots given from `first` to `end`. */
static bool is_group(const nodes_given *g, uint32_t first, uint32_t end)
{
    uint32_t i = first, n = 0;
    for (; i < end && tree_node_first(nodes_of_lane(g, i)) == g->slots[i]; n++) {
        i = nodes_behind(g, i);
        if (i > end || !nodes_is_last(g, i - 1))
            return false;
    }
    return i == end && n > 1;
}

/* Below `node`, all of whose slots are given, from number `first` on. */
static size_t find_below(const nodes_given *g, tree_node node, uint32_t first, nodes_group *ret)
{
    uint32_t begin = tree_node_first(node);
    uint32_t end = first + tree_node_end(node, g->n_slots) - begin;
    if (is_group(g, first, end)) {
        *ret = (nodes_group){tree_node_top(node, g->n_slots), first, end};
        return 1;
    }
    if (node.level == 0)
        return 0;
    tree_node left = {(uint8_t)(node.level - 1), 2 * node.index}, right = tree_node_sibling(left);
    size_t n = find_below(g, left, first, ret);
    if (tree_node_first(right) < g->n_slots)
        n += find_below(g, right, first + tree_node_first(right) - begin, ret + n);
    return n;
}

size_t nodes_groups(const nodes_given *g, nodes_group *ret)
{
    size_t found = 0;
    for (uint32_t i = 0, end; i < g->n; i = end) {
        for (end = i + 1; end < g->n && follows(g, end);)
            end++;
        tree_node nodes[64];
        size_t n = tree_cover(g->slots[i], g->slots[end - 1] + 1, g->n_slots, nodes);
        for (size_t k = 0; k < n; k++)
            found += find_below(g, nodes[k], i + tree_node_first(nodes[k]) - g->slots[i], ret + found);
    }
    return found;
}
