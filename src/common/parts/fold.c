/*
 * The antichain of a fold is an array of its nodes in slot order, each under its top name. Tops of
 * equal nodes are the same, the sibling of a top below the root is a top itself, and the slots of
 * two tops either nest or are apart: so one binary search finds whatever a node can meet.
 */
#include "common/base/alloc.h"
#include "common/parts/engine.h"
#include "common/parts/tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    tree_node node;
    span *span;
} entry;

struct fold {
    uint32_t max_slots, n_slots;
    size_t n;
    entry *held;       /* [max_slots], n used, in slot order */
    uint64_t *arrived; /* [(max_slots + 63) / 64] */
};

static size_t arrived_bytes(const fold *f)
{
    return ((size_t)f->max_slots + 63) / 64 * sizeof *f->arrived;
}

static bool same(tree_node a, tree_node b)
{
    return a.level == b.level && a.index == b.index;
}

/* The place of the first held node that does not lie wholly before `slot`. */
static size_t place_of(const fold *f, uint32_t slot)
{
    size_t low = 0, high = f->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tree_node_end(f->held[middle].node, f->n_slots) <= slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static entry *find(const fold *f, tree_node node)
{
    size_t at = place_of(f, tree_node_first(node));
    return at < f->n && same(f->held[at].node, node) ? &f->held[at] : NULL;
}

/* Puts `added` in the place of `n_gone` entries from `at` on. */
static void splice(fold *f, size_t at, size_t n_gone, const entry *added, size_t n_added)
{
    entry *place = f->held + at;
    memmove(place + n_added, place + n_gone, (f->n - at - n_gone) * sizeof *place);
    if (n_added)
        *place = *added;
    f->n = f->n - n_gone + n_added;
}

static void release_all(fold *f)
{
    for (size_t i = 0; i < f->n; i++)
        span_drop(f->held[i].span);
    f->n = 0;
}

status fold_create(uint32_t max_slots, fold **ret, error *err)
{
    BUG_ON(max_slots == 0);
    fold *f = xcalloc(1, sizeof *f);
    f->max_slots = max_slots;
    void *held = NULL, *arrived = NULL;
    status st;
    TRY_OUT(st, mem_alloc(max_slots * sizeof *f->held, "fold", &held, err));
    f->held = held;
    TRY_OUT(st, mem_alloc(arrived_bytes(f), "fold", &arrived, err));
    f->arrived = arrived;
    *ret = f;
    return OK;
out:
    fold_destroy(&f);
    return st;
}

void fold_destroy(fold **f)
{
    if (!f || !*f)
        return;
    release_all(*f);
    mem_free((*f)->held);
    mem_free((*f)->arrived);
    free(*f);
    *f = NULL;
}

void fold_begin(fold *f, uint32_t n_slots)
{
    BUG_ON(n_slots == 0 || n_slots > f->max_slots);
    release_all(f);
    f->n_slots = n_slots;
    memset(f->arrived, 0, arrived_bytes(f));
}

static status check(const fold *f, tree_node node, const span *s, error *err)
{
    if (!tree_node_is_valid(node, f->n_slots))
        return FAIL(err, E_PROTOCOL,
                    "no node at level %d, index %" PRIu32 " in a tree of %" PRIu32 " slots",
                    node.level, node.index, f->n_slots);
    if (f->n > 0 && f->held[0].span->bytes != s->bytes)
        return FAIL(err, E_PROTOCOL, "a node of %zu elements among nodes of %zu", span_n(s),
                    span_n(f->held[0].span));
    return OK;
}

/* The first sum of a chain needs a fresh span when neither side may be written; all later ones
 * write into the result of the first. Taken before anything changes, so that failing is harmless.
 */
static status take_fresh(const fold *f, tree_node node, const span *s, tree_node target,
                         const fold_pool *pool, span **ret, error *err)
{
    const entry *sibling = same(node, target) ? NULL : find(f, tree_node_sibling(node));
    if (!sibling || s->writable || sibling->span->writable)
        return OK;
    return pool->take(pool->owner, span_n(s), ret, err);
}

/* left + right into whichever may be written, else into *fresh, which is used up. */
static span *sum(part_engine *engine, span *left, span *right, span **fresh)
{
    span *into = left->writable ? left : right->writable ? right : *fresh;
    engine_sum(engine, into->floats, left->floats, right->floats, span_n(into));
    if (into != left)
        span_drop(left);
    if (into != right)
        span_drop(right);
    if (into == *fresh)
        *fresh = NULL;
    return into;
}

/* Sums upwards from `e`, taking siblings out, as far as they are there and the target allows. */
static entry climb(fold *f, entry e, tree_node target, part_engine *engine, span *fresh)
{
    while (!same(e.node, target)) {
        entry *sibling = find(f, tree_node_sibling(e.node));
        if (!sibling)
            break;
        bool left = e.node.index % 2 == 0;
        e.span = left ? sum(engine, e.span, sibling->span, &fresh)
                      : sum(engine, sibling->span, e.span, &fresh);
        splice(f, (size_t)(sibling - f->held), 1, NULL, 0);
        e.node = tree_node_top(tree_node_parent(e.node), f->n_slots);
    }
    return e;
}

static void mark_arrived(fold *f, tree_node node)
{
    for (uint32_t s = tree_node_first(node); s < tree_node_end(node, f->n_slots); s++)
        f->arrived[s / 64] |= (uint64_t)1 << s % 64;
}

status fold_add(fold *f, tree_node node, span *s, tree_node target, const fold_pool *pool,
                fold_result *ret, error *err)
{
    TRY(check(f, node, s, err));
    node = tree_node_top(node, f->n_slots);
    target = tree_node_top(target, f->n_slots);
    BUG_ON(!tree_node_covers(target, node));

    size_t at = place_of(f, tree_node_first(node));
    if (at < f->n && tree_node_covers(f->held[at].node, node)) {
        span_drop(s);
        *ret = FOLD_COVERED;
        return OK;
    }
    span *fresh = NULL;
    TRY(take_fresh(f, node, s, target, pool, &fresh, err));

    size_t gone = 0;
    for (; at + gone < f->n && tree_node_covers(node, f->held[at + gone].node); gone++)
        span_drop(f->held[at + gone].span);
    splice(f, at, gone, NULL, 0);
    mark_arrived(f, node);
    entry e = climb(f, (entry){node, s}, target, pool->engine, fresh);
    splice(f, place_of(f, tree_node_first(e.node)), 0, &e, 1);
    *ret = same(e.node, target) ? FOLD_COMPLETE : FOLD_HELD;
    return OK;
}

span *fold_take(fold *f, tree_node node)
{
    if (!tree_node_is_valid(node, f->n_slots))
        return NULL;
    entry *e = find(f, tree_node_top(node, f->n_slots));
    if (!e)
        return NULL;
    span *taken = e->span;
    splice(f, (size_t)(e - f->held), 1, NULL, 0);
    return taken;
}

size_t fold_held(const fold *f)
{
    return f->n;
}

void fold_arrived(const fold *f, uint64_t *ret)
{
    memcpy(ret, f->arrived, arrived_bytes(f));
}
