/* See trie.h: the edges of all nodes stand in one hash table, by node and byte. */
#include "text/trie.h"

#include "common/base/alloc.h"

#include <stdlib.h>

typedef struct edge {
    uint32_t key; /* node << 8 | byte, plus 1; 0: free */
    int32_t to;
} edge;

struct trie {
    edge *edges;
    size_t n_edges, used; /* a power of two; at most half of it */
    int32_t *values;      /* by node */
    size_t n, cap;
};

static int32_t add_node(trie *t)
{
    GROW(t->values, t->cap, t->n + 1);
    t->values[t->n] = TRIE_NONE;
    return (int32_t)t->n++;
}

trie *trie_create(void)
{
    trie *t = xcalloc(1, sizeof *t);
    t->n_edges = 1024;
    t->edges = xcalloc(t->n_edges, sizeof *t->edges);
    add_node(t);
    return t;
}

void trie_destroy(trie **t)
{
    if (!*t)
        return;
    free((*t)->edges);
    free((*t)->values);
    free(*t);
    *t = NULL;
}

static edge *edge_of(const trie *t, uint32_t key)
{
    size_t at = (key * (uint64_t)0x9E3779B97F4A7C15u) >> 32 & (t->n_edges - 1);
    while (t->edges[at].key != 0 && t->edges[at].key != key)
        at = (at + 1) & (t->n_edges - 1);
    return &t->edges[at];
}

static void grow(trie *t)
{
    edge *old = t->edges;
    size_t n = t->n_edges;
    t->n_edges *= 2;
    t->edges = xcalloc(t->n_edges, sizeof *t->edges);
    for (size_t i = 0; i < n; i++)
        if (old[i].key)
            *edge_of(t, old[i].key) = old[i];
    free(old);
}

static uint32_t key_of(int32_t node, unsigned char byte)
{
    return ((uint32_t)node << 8 | byte) + 1;
}

int32_t trie_add_root(trie *t)
{
    return add_node(t);
}

void trie_add(trie *t, int32_t root, const char *text, size_t bytes, int32_t value)
{
    int32_t node = root;
    for (size_t i = 0; i < bytes; i++) {
        if (2 * (t->used + 1) > t->n_edges)
            grow(t);
        edge *e = edge_of(t, key_of(node, (unsigned char)text[i]));
        if (e->key == 0) {
            *e = (edge){key_of(node, (unsigned char)text[i]), add_node(t)};
            t->used++;
        }
        node = e->to;
    }
    t->values[node] = value;
}

int32_t trie_step(const trie *t, int32_t node, unsigned char byte)
{
    const edge *e = edge_of(t, key_of(node, byte));
    return e->key ? e->to : TRIE_NONE;
}

int32_t trie_value(const trie *t, int32_t node)
{
    return t->values[node];
}
