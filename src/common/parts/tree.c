#include "common/parts/tree.h"

#include "common/base/simd.h"

uint8_t tree_root_level(uint32_t n_slots)
{
    uint8_t level = 0;
    while ((uint64_t)1 << level < n_slots)
        level++;
    return level;
}

bool tree_node_is_valid(tree_node a, uint32_t n_slots)
{
    return a.level <= tree_root_level(n_slots) && (uint64_t)a.index << a.level < n_slots;
}

bool tree_node_covers(tree_node a, tree_node b)
{
    if (a.level < b.level)
        return false;
    unsigned up = (unsigned)(a.level - b.level);
    return (up < 32 ? b.index >> up : 0) == a.index;
}

tree_node tree_node_parent(tree_node a)
{
    return (tree_node){(uint8_t)(a.level + 1), a.index / 2};
}

tree_node tree_node_sibling(tree_node a)
{
    return (tree_node){a.level, a.index ^ 1};
}

uint32_t tree_node_first(tree_node a)
{
    return (uint32_t)((uint64_t)a.index << a.level);
}

uint32_t tree_node_end(tree_node a, uint32_t n_slots)
{
    uint64_t end = ((uint64_t)a.index + 1) << a.level;
    return end < n_slots ? (uint32_t)end : n_slots;
}

tree_node tree_node_top(tree_node a, uint32_t n_slots)
{
    uint8_t root = tree_root_level(n_slots);
    while (a.level < root && a.index % 2 == 0 && tree_node_end(a, n_slots) == n_slots)
        a = tree_node_parent(a);
    return a;
}

size_t tree_cover(uint32_t first, uint32_t end, uint32_t n_slots, tree_node ret[64])
{
    uint8_t root = tree_root_level(n_slots);
    size_t n = 0;
    while (first < end) {
        tree_node a = {0, first};
        while (a.level < root && a.index % 2 == 0 &&
               tree_node_end(tree_node_parent(a), n_slots) <= end)
            a = tree_node_parent(a);
        ret[n++] = a;
        first = tree_node_end(a, n_slots);
    }
    return n;
}

SIMD_CLONES
static void sum(float *dst, const float *a, const float *b, size_t n)
{
    SIMD_LOOP
    for (size_t i = 0; i < n; i++)
        dst[i] = a[i] + b[i];
}

void tree_sum(float *dst, const float *a, const float *b, size_t n)
{
    sum(dst, a, b, n);
}
