/*
 * The lane reducer against the reference tree: whatever slots the worker owns, whichever lanes compute them,
 * copied or borrowed, what is handed out for pushing are whole nodes with the reference's bits, that
 * cover every owned slot once, and every borrowed span comes back.
 *
 * CTest labels: tsan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/base/thread.h"
#include "unit/worker/support_flat.h"
#include "worker/lane_reducer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 8, LANES = 3, CASES = 60, PROBES = 4, PARTS = 3 };

/* Few elements are worth a reference; they lie at the part's ends. */
static size_t probe(size_t n, int i)
{
    return (size_t[]){0, 1, n / 2, n - 1}[i];
}

/* A slot's gradient at a probe: magnitudes differ, so that another order of sums shows. */
static float value(int64_t step, int32_t part, uint32_t slot, int i)
{
    rng r = rng_make(23, RNG_TEST, (uint64_t)(step * 64 + part * 16 + (int64_t)slot));
    return rng_normal(&r, (uint64_t)i) * (float)(1u << rng_below(&r, 100 + (uint64_t)i, 24));
}

/* The plain recursion. */
static float reference(int64_t step, int32_t part, tree_node a, uint32_t n_slots, int i)
{
    if (a.level == 0)
        return value(step, part, a.index, i);
    tree_node left = {(uint8_t)(a.level - 1), 2 * a.index}, right = left;
    right.index++;
    float sum = reference(step, part, left, n_slots, i);
    return tree_node_first(right) < n_slots ? sum + reference(step, part, right, n_slots, i) : sum;
}

typedef struct borrowed_part {
    span span;
    atomic_int out; /* borrowed and not given back */
} borrowed_part;

typedef struct pushed {
    int32_t part;
    tree_node node;
    float at[PROBES];
} pushed;

typedef struct async_lanes {
    flat *flat;
    lane_reducer *reducer;
    int64_t step;
    uint32_t n_slots;
    int lane_of[SLOTS];   /* -1: another worker's */
    pthread_mutex_t lock; /* of the pushes */
    pushed pushes[PARTS * SLOTS];
    size_t n_pushes;
} async_lanes;

typedef struct lane {
    async_lanes *async_lanes;
    int number;
    bool adds_up; /* its slots that follow one another come as nodes */
    pthread_t thread;
    float *grad; /* of the whole live range, as a lane has it */
    borrowed_part borrowed[PARTS];
} lane;

static void lent_release(span *s)
{
    borrowed_part *p = s->owner;
    atomic_fetch_sub(&p->out, 1);
}

static void push(async_lanes *c, int32_t part, tree_node node, span *b)
{
    pthread_mutex_lock(&c->lock);
    pushed *p = &c->pushes[c->n_pushes++];
    p->part = part;
    p->node = node;
    for (int i = 0; i < PROBES; i++)
        p->at[i] = b->floats[probe(span_n(b), i)];
    pthread_mutex_unlock(&c->lock);
    span_drop(b);
}

static void add_node(lane *l, int32_t part, tree_node sum, bool last)
{
    async_lanes *c = l->async_lanes;
    size_t n = (size_t)flat_part_elements(c->flat, part);
    float *grad = l->grad + c->flat->parts[part].begin;
    for (int i = 0; i < PROBES; i++)
        grad[probe(n, i)] = reference(c->step, part, sum, c->n_slots, i);
    span *borrowed = NULL, *complete = NULL;
    if (last) {
        borrowed_part *p = &l->borrowed[part];
        p->span = (span){.floats = grad,
                         .bytes = n * sizeof *grad,
                         .writable = true,
                         .refs = 1,
                         .release = lent_release,
                         .owner = p};
        atomic_fetch_add(&p->out, 1);
        borrowed = &p->span;
    }
    tree_node node;
    if (lane_reducer_add(c->reducer, part, c->step, sum, grad, borrowed, &node, &complete, NULL) != OK)
        abort();
    if (complete)
        push(c, part, node, complete);
}

static void add(lane *l, int32_t part, uint32_t slot, bool last)
{
    add_node(l, part, (tree_node){0, slot}, last);
}

static tree_node node_from(const lane *l, uint32_t slot)
{
    uint32_t end = slot + 1;
    while (l->adds_up && end < l->async_lanes->n_slots && l->async_lanes->lane_of[end] == l->number)
        end++;
    tree_node nodes[64];
    (void)tree_cover(slot, end, l->async_lanes->n_slots, nodes);
    return nodes[0];
}

static void *compute(void *arg)
{
    lane *l = arg;
    const async_lanes *c = l->async_lanes;
    uint32_t last = 0;
    for (uint32_t s = 0; s < c->n_slots; s++)
        last = c->lane_of[s] == l->number ? s : last;
    for (uint32_t s = 0; s < c->n_slots; s++) {
        if (c->lane_of[s] != l->number)
            continue;
        tree_node sum = node_from(l, s);
        s = tree_node_end(sum, c->n_slots) - 1;
        for (int32_t p = 0; p < PARTS; p++)
            add_node(l, p, sum, s == last);
    }
    return NULL;
}

static void run_lanes(lane *lanes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(thread_start(&lanes[i].thread, "lane", compute, &lanes[i], NULL), OK);
    for (size_t i = 0; i < n; i++)
        pthread_join(lanes[i].thread, NULL);
}

static void check_pushes(const async_lanes *c)
{
    for (int32_t part = 0; part < PARTS; part++) {
        int covered[SLOTS] = {0};
        for (size_t k = 0; k < c->n_pushes; k++) {
            const pushed *p = &c->pushes[k];
            if (p->part != part)
                continue;
            for (uint32_t s = tree_node_first(p->node); s < tree_node_end(p->node, c->n_slots); s++)
                covered[s]++;
            for (int i = 0; i < PROBES; i++) {
                float want = reference(c->step, part, p->node, c->n_slots, i);
                assert_memory_equal(&p->at[i], &want, sizeof want);
            }
        }
        for (uint32_t s = 0; s < c->n_slots; s++)
            assert_int_equal(covered[s], c->lane_of[s] >= 0);
    }
}

static async_lanes *crew_make(lane *lanes)
{
    async_lanes *c = xcalloc(1, sizeof *c);
    c->flat = support_flat();
    assert_int_equal(c->flat->n_live_parts, PARTS);
    pthread_mutex_init(&c->lock, NULL);
    assert_int_equal(lane_reducer_create(c->flat, SLOTS, NULL, &c->reducer, NULL), OK);
    for (int i = 0; i < LANES; i++) {
        lanes[i] = (lane){.async_lanes = c, .number = i};
        lanes[i].grad = xcalloc((size_t)c->flat->n_elements, sizeof(float));
    }
    return c;
}

static void crew_fini(async_lanes *c, lane *lanes)
{
    for (int i = 0; i < LANES; i++) {
        for (int p = 0; p < PARTS; p++)
            assert_int_equal(atomic_load(&lanes[i].borrowed[p].out), 0);
        free(lanes[i].grad);
    }
    lane_reducer_destroy(&c->reducer);
    lane_reducer_destroy(&c->reducer);
    pthread_mutex_destroy(&c->lock);
    flat_destroy(&c->flat);
    free(c);
}

/* The slots that are planned: those of `lane_of` >= 0. */
static void plan(async_lanes *c, int64_t step, uint32_t n_slots)
{
    uint32_t slots[SLOTS], n = 0;
    c->step = step;
    c->n_slots = n_slots;
    c->n_pushes = 0;
    for (uint32_t s = 0; s < n_slots; s++)
        if (c->lane_of[s] >= 0)
            slots[n++] = s;
    lane_reducer_plan(c->reducer, step, n_slots, slots, n);
}

static void any_ownership_gives_the_reference(void **state)
{
    (void)state;
    lane lanes[LANES];
    async_lanes *c = crew_make(lanes);
    for (int64_t step = 0; step < CASES; step++) {
        rng r = rng_make(29, RNG_TEST, (uint64_t)step);
        uint32_t n = 1 + (uint32_t)rng_below(&r, 0, SLOTS);
        for (uint32_t s = 0; s < n; s++)
            c->lane_of[s] = (int)rng_below(&r, 1 + s, LANES + 1) - 1;
        for (int i = 0; i < LANES; i++)
            lanes[i].adds_up = step % 2 && rng_below(&r, 100 + (uint64_t)i, 2);
        plan(c, step, n);
        run_lanes(lanes, LANES);
        check_pushes(c);
    }
    crew_fini(c, lanes);
}

/* A worker that owns a whole step pushes one node a part: the root. */
static void a_whole_step_is_one_push_a_part(void **state)
{
    (void)state;
    lane lanes[LANES];
    async_lanes *c = crew_make(lanes);
    for (uint32_t n = 1; n <= SLOTS; n++) {
        for (uint32_t s = 0; s < n; s++)
            c->lane_of[s] = (int)(s % LANES);
        plan(c, n, n);
        run_lanes(lanes, LANES);
        assert_int_equal(c->n_pushes, PARTS);
        check_pushes(c);
    }
    crew_fini(c, lanes);
}

static void *compute_again(void *arg)
{
    lane *l = arg;
    for (int32_t p = 0; p < PARTS; p++)
        add(l, p, 0, true);
    return NULL;
}

/* A view comes while a lane is at work: the new slots get nodes of their own. */
static void slots_that_come_late_are_planned_beside_the_others(void **state)
{
    (void)state;
    lane lanes[LANES];
    async_lanes *c = crew_make(lanes);
    for (int64_t step = 0; step < CASES; step++) {
        for (int s = 0; s < SLOTS; s++)
            c->lane_of[s] = s ? -1 : 0;
        plan(c, step, SLOTS);
        assert_int_equal(thread_start(&lanes[0].thread, "lane", compute_again, &lanes[0], NULL),
                         OK);
        lane_reducer_plan(c->reducer, step, SLOTS, (uint32_t[]){1, 4, 5}, 3);
        for (int32_t p = 0; p < PARTS; p++) {
            add(&lanes[1], p, 1, false);
            add(&lanes[1], p, 4, false);
            add(&lanes[1], p, 5, true);
        }
        pthread_join(lanes[0].thread, NULL);
        c->lane_of[1] = c->lane_of[4] = c->lane_of[5] = 1;
        check_pushes(c);
        assert_int_equal(c->n_pushes, 3 * PARTS);
    }
    crew_fini(c, lanes);
}

/* A step cancelled half way: its lanes' spans come back, and the step can begin again. */
static void what_is_forgotten_comes_back(void **state)
{
    (void)state;
    lane lanes[LANES];
    async_lanes *c = crew_make(lanes);
    c->lane_of[0] = 0;
    c->lane_of[1] = 1;
    plan(c, 9, 2);
    for (int32_t p = 0; p < PARTS; p++)
        add(&lanes[0], p, 0, true); /* slot 1 never comes */
    assert_int_equal(c->n_pushes, 0);
    assert_int_equal(atomic_load(&lanes[0].borrowed[2].out), 1);
    lane_reducer_forget(c->reducer);
    for (int p = 0; p < PARTS; p++)
        assert_int_equal(atomic_load(&lanes[0].borrowed[p].out), 0);
    plan(c, 9, 2);
    run_lanes(lanes, LANES);
    check_pushes(c);
    crew_fini(c, lanes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_ownership_gives_the_reference),
        cmocka_unit_test(a_whole_step_is_one_push_a_part),
        cmocka_unit_test(slots_that_come_late_are_planned_beside_the_others),
        cmocka_unit_test(what_is_forgotten_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
