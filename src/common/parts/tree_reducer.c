/*
 * The antichain of a tree reducer is an array of its nodes in slot order, each under its top name. Tops of
 * equal nodes are the same, the sibling of a top below the root is a top itself, and the slots of
 * two tops either nest or are apart: so one binary search finds whatever a node can meet.
 */
#include "common/base/alloc.h"
#include "common/parts/part_store.h"
#include "common/parts/tree_reducer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    tree_node node;
    span *span;
} entry;

struct tree_reducer {
    uint32_t max_slots, n_slots;
    size_t n;
    entry *held;       /* [max_slots], n used, in slot order */
    uint64_t *arrived; /* [(max_slots + 63) / 64] */
};

static size_t arrived_bytes(const tree_reducer *r)
{
    return ((size_t)r->max_slots + 63) / 64 * sizeof *r->arrived;
}

static bool same(tree_node a, tree_node b)
{
    return a.level == b.level && a.index == b.index;
}

/* The place of the first held node that does not lie wholly before `slot`. */
static size_t tree_reducer_place_of(const tree_reducer *r, uint32_t slot)
{
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tree_node_end(r->held[middle].node, r->n_slots) <= slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static entry *find(const tree_reducer *r, tree_node node)
{
    size_t at = tree_reducer_place_of(r, tree_node_first(node));
    return at < r->n && same(r->held[at].node, node) ? &r->held[at] : NULL;
}

/* Puts `added` in the place of `n_gone` entries from `at` on. */
static void splice(tree_reducer *r, size_t at, size_t n_gone, const entry *added, size_t n_added)
{
    entry *place = r->held + at;
    memmove(place + n_added, place + n_gone, (r->n - at - n_gone) * sizeof *place);
    if (n_added)
        *place = *added;
    r->n = r->n - n_gone + n_added;
}

static void release_all(tree_reducer *r)
{
    for (size_t i = 0; i < r->n; i++)
        span_drop(r->held[i].span);
    r->n = 0;
}

status tree_reducer_create(uint32_t max_slots, tree_reducer **ret, error *err)
{
    BUG_ON(max_slots == 0);
    tree_reducer *r = xcalloc(1, sizeof *r);
    r->max_slots = max_slots;
    void *held = NULL, *arrived = NULL;
    status st;
    TRY_OUT(st, mem_alloc(max_slots * sizeof *r->held, "tree reducer", &held, err));
    r->held = held;
    TRY_OUT(st, mem_alloc(arrived_bytes(r), "tree reducer", &arrived, err));
    r->arrived = arrived;
    *ret = r;
    return OK;
out:
    tree_reducer_destroy(&r);
    return st;
}

void tree_reducer_destroy(tree_reducer **r)
{
    if (!r || !*r)
        return;
    release_all(*r);
    mem_free((*r)->held);
    mem_free((*r)->arrived);
    free(*r);
    *r = NULL;
}

void tree_reducer_begin(tree_reducer *r, uint32_t n_slots)
{
    BUG_ON(n_slots == 0 || n_slots > r->max_slots);
    release_all(r);
    r->n_slots = n_slots;
    memset(r->arrived, 0, arrived_bytes(r));
}

static status tree_reducer_check(const tree_reducer *r, tree_node node, const span *s, error *err)
{
    if (!tree_node_is_valid(node, r->n_slots))
        return FAIL(err, E_PROTOCOL,
                    "no node at level %d, index %" PRIu32 " in a tree of %" PRIu32 " slots",
                    node.level, node.index, r->n_slots);
    if (r->n > 0 && r->held[0].span->bytes != s->bytes)
        return FAIL(err, E_PROTOCOL, "a node of %zu elements among nodes of %zu", span_n(s),
                    span_n(r->held[0].span));
    return OK;
}

/* The first sum of a chain needs a fresh span when neither side may be written; all later ones
 * write into the result of the first. Taken before anything changes, so that failing is harmless.
 */
static status take_fresh(const tree_reducer *r, tree_node node, const span *s, tree_node target,
                         const tree_reducer_pool *pool, span **ret, error *err)
{
    const entry *sibling = same(node, target) ? NULL : find(r, tree_node_sibling(node));
    if (!sibling || s->writable || sibling->span->writable)
        return OK;
    return pool->take(pool->owner, span_n(s), ret, err);
}

/* left + right into whichever may be written, else into *fresh, which is used up. */
static span *tree_reducer_sum(part_store *store, span *left, span *right, span **fresh)
{
    span *into = left->writable ? left : right->writable ? right : *fresh;
    store->memory->sum(store, into->floats, left->floats, right->floats, span_n(into));
    if (into != left)
        span_drop(left);
    if (into != right)
        span_drop(right);
    if (into == *fresh)
        *fresh = NULL;
    return into;
}

/* Sums upwards from `e`, taking siblings out, as far as they are there and the target allows. */
static entry climb(tree_reducer *r, entry e, tree_node target, part_store *store, span *fresh)
{
    while (!same(e.node, target)) {
        entry *sibling = find(r, tree_node_sibling(e.node));
        if (!sibling)
            break;
        bool left = e.node.index % 2 == 0;
        e.span = left ? tree_reducer_sum(store, e.span, sibling->span, &fresh)
                      : tree_reducer_sum(store, sibling->span, e.span, &fresh);
        splice(r, (size_t)(sibling - r->held), 1, NULL, 0);
        e.node = tree_node_top(tree_node_parent(e.node), r->n_slots);
    }
    return e;
}

static void mark_arrived(tree_reducer *r, tree_node node)
{
    for (uint32_t s = tree_node_first(node); s < tree_node_end(node, r->n_slots); s++)
        r->arrived[s / 64] |= (uint64_t)1 << s % 64;
}

status tree_reducer_add(tree_reducer *r, tree_node node, span *s, tree_node target,
                        const tree_reducer_pool *pool, tree_reduced *ret, error *err)
{
    TRY(tree_reducer_check(r, node, s, err));
    node = tree_node_top(node, r->n_slots);
    target = tree_node_top(target, r->n_slots);
    BUG_ON(!tree_node_covers(target, node));

    size_t at = tree_reducer_place_of(r, tree_node_first(node));
    if (at < r->n && tree_node_covers(r->held[at].node, node)) {
        span_drop(s);
        *ret = TREE_COVERED;
        return OK;
    }
    span *fresh = NULL;
    TRY(take_fresh(r, node, s, target, pool, &fresh, err));

    size_t gone = 0;
    for (; at + gone < r->n && tree_node_covers(node, r->held[at + gone].node); gone++)
        span_drop(r->held[at + gone].span);
    splice(r, at, gone, NULL, 0);
    mark_arrived(r, node);
    entry e = climb(r, (entry){node, s}, target, pool->store, fresh);
    splice(r, tree_reducer_place_of(r, tree_node_first(e.node)), 0, &e, 1);
    *ret = same(e.node, target) ? TREE_COMPLETE : TREE_HELD;
    return OK;
}

span *tree_reducer_take(tree_reducer *r, tree_node node)
{
    if (!tree_node_is_valid(node, r->n_slots))
        return NULL;
    entry *e = find(r, tree_node_top(node, r->n_slots));
    if (!e)
        return NULL;
    span *taken = e->span;
    splice(r, (size_t)(e - r->held), 1, NULL, 0);
    return taken;
}

size_t tree_reducer_held(const tree_reducer *r)
{
    return r->n;
}

void tree_reducer_arrived(const tree_reducer *r, uint64_t *ret)
{
    memcpy(ret, r->arrived, arrived_bytes(r));
}
