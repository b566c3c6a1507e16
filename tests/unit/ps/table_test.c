/*
 * The table against one process: whatever order slots and nodes arrive in, however often, and on
 * however many servers, the same bits. Versions are exact, two copies of the weights are kept, what
 * does not fit is refused, every block comes back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "unit/ps/support_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { K_MAX = 8 };

typedef struct arrivals {
    tree_node node[K_MAX * 2];
    size_t n;
} arrivals;

/* One step of the small shape, its nodes in the order given; complete exactly at the last. */
static void play_step(servers *v, whole *w, const arrivals *a, uint64_t draw)
{
    int64_t step = w->version;
    uint32_t n_slots = steps_slots(&v->shape->steps, step);
    for (size_t i = 0; i < a->n; i++) {
        assert_int_equal(table_version(v->tables[0], 0), step);
        push_result result;
        error err = ERROR_INIT;
        if (table_push(v->tables[0], 0, step, n_slots, a->node[i],
                       hand(v->shape, 0, step, a->node[i], draw >> i & 1), &result, &err) != OK)
            fail_msg("%s", err.text);
        assert_int_equal(result, PUSH_TAKEN);
    }
    whole_step(w, 1);
    servers_check(v, w);
    assert_int_equal(hands_out(), 0);
}

/* Heap's algorithm over the nodes; each order is one more step. */
static void play_orders(servers *v, whole *w, arrivals *a, size_t n, uint64_t *at)
{
    if (n <= 1) {
        rng r = rng_make(1, RNG_TEST, 5);
        play_step(v, w, a, rng_u32(&r, (*at)++));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        play_orders(v, w, a, n - 1, at);
        size_t k = n % 2 ? 0 : i;
        tree_node swap = a->node[k];
        a->node[k] = a->node[n - 1];
        a->node[n - 1] = swap;
    }
}

static shape shape_of_slots(uint32_t n_slots)
{
    shape s = shape_small(n_slots);
    s.steps.examples = 10000000 * s.steps.per_step; /* every step is full */
    return s;
}

static void test_every_order_of_slots(void **state)
{
    (void)state;
    for (uint32_t n_slots = 1; n_slots <= K_MAX - 1; n_slots++) {
        shape s = shape_of_slots(n_slots);
        servers v = servers_make(&s, 1, &quiet_hooks, 0, NULL);
        whole w = whole_make(&s);
        arrivals a = {.n = n_slots};
        for (uint32_t i = 0; i < n_slots; i++)
            a.node[i] = (tree_node){.index = i};
        uint64_t at = 0;
        play_orders(&v, &w, &a, a.n, &at);
        whole_fini(&w);
        servers_fini(&v);
        shape_fini(&s);
    }
}

/* Workers own runs of slots and push the nodes that cover them: every split, every order. */
static void play_split(uint32_t n_slots, uint32_t edges)
{
    arrivals a = {.n = 0};
    for (uint32_t first = 0; first < n_slots;) {
        uint32_t end = first + 1;
        while (end < n_slots && !(edges >> end & 1))
            end++;
        tree_node cover[64];
        size_t n = tree_cover(first, end, n_slots, cover);
        memcpy(a.node + a.n, cover, n * sizeof *cover);
        a.n += n;
        first = end;
    }
    if (a.n > 5)
        return; /* those orders are the leaves' */
    shape s = shape_of_slots(n_slots);
    servers v = servers_make(&s, 1, &quiet_hooks, 0, NULL);
    whole w = whole_make(&s);
    uint64_t at = edges;
    play_orders(&v, &w, &a, a.n, &at);
    whole_fini(&w);
    servers_fini(&v);
    shape_fini(&s);
}

static void test_every_split_among_workers(void **state)
{
    (void)state;
    for (uint32_t n_slots = 2; n_slots <= K_MAX; n_slots++)
        for (uint32_t edges = 0; edges < 1u << n_slots; edges += 2)
            play_split(n_slots, edges);
}

/* Several workers, reassigned slots, hedges and repeats: any node at any time. */
static void test_nodes_that_overlap(void **state)
{
    (void)state;
    shape s = shape_small(K_MAX);
    servers v = servers_make(&s, 1, &quiet_hooks, 0, NULL);
    whole w = whole_make(&s);
    rng r = rng_make(2, RNG_TEST, 0);
    uint64_t at = 0;
    for (int64_t step = 0; step < 300; step++) {
        uint32_t n_slots = steps_slots(&s.steps, step);
        while (table_version(v.tables[0], 0) == step) {
            uint8_t level = (uint8_t)rng_below(&r, at++, 3);
            tree_node node = {level, (uint32_t)rng_below(&r, at++, (n_slots >> level) + 1)};
            if (!tree_node_is_valid(node, n_slots))
                continue;
            push_result result;
            assert_int_equal(table_push(v.tables[0], 0, step, n_slots, node,
                                        hand(&s, 0, step, node, rng_below(&r, at++, 2)), &result,
                                        NULL),
                             OK);
            assert_int_equal(result, PUSH_TAKEN);
        }
        whole_step(&w, 1);
        servers_check(&v, &w);
        assert_int_equal(table_batches(v.tables[0], 0), steps_batches_until(&s.steps, step + 1));
    }
    assert_int_equal(hands_out(), 0);
    whole_fini(&w);
    servers_fini(&v);
    shape_fini(&s);
}

static void test_any_number_of_servers(void **state)
{
    (void)state;
    for (int32_t n = 1; n <= SERVERS_MAX; n++) {
        shape s = shape_large(3);
        s.clip_value = 50;
        servers v = servers_make(&s, n, &quiet_hooks, 0, NULL);
        whole w = whole_make(&s);
        size_t bytes = 0;
        for (int32_t i = 0; i < n; i++)
            bytes += table_bytes(v.tables[i]);
        assert_int_equal(bytes, (size_t)s.flat->n_elements * sizeof(float));
        for (int64_t step = 0; step < 4; step++) {
            servers_push_all(&v, step);
            whole_step(&w, 1);
            servers_check(&v, &w);
        }
        whole_fini(&w);
        servers_fini(&v);
        shape_fini(&s);
    }
}

static void test_two_copies(void **state)
{
    (void)state;
    shape s = shape_small(2);
    servers v = servers_make(&s, 1, &quiet_hooks, 0, NULL);
    table *t = v.tables[0];
    size_t bytes = (size_t)flat_part_elements(s.flat, 0) * sizeof(float);
    float *before = xmalloc(bytes);
    assert_null(table_weights(t, 0, 1));
    assert_null(table_weights(t, 0, -1));
    for (int64_t step = 0; step < 5; step++) {
        span *held = table_weights(t, 0, step);
        memcpy(before, held->data, bytes);
        servers_push_all(&v, step);
        assert_null(table_weights(t, 0, step + 2));
        assert_null(table_weights(t, 0, step - 1));
        span *old = table_weights(t, 0, step), *new = table_weights(t, 0, step + 1);
        assert_ptr_equal(old, held);
        assert_memory_equal(old->data, before, bytes);
        assert_memory_not_equal(new->data, before, bytes);
        /* whoever still reads a version is not written under, however far the others go */
        servers_push_all(&v, ++step);
        servers_push_all(&v, ++step);
        assert_memory_equal(held->data, before, bytes);
        span_drop(held);
        span_drop(old);
        span_drop(new);
        assert_int_equal(table_newest(t), step + 1);
    }
    free(before);
    servers_fini(&v);
    shape_fini(&s);
}

typedef struct bad_push {
    int32_t part;
    int64_t step;
    uint32_t n_slots;
    tree_node node;
    size_t n;
    push_result result;
    const char *text;
} bad_push;

static void check_push(table *t, const bad_push *p)
{
    push_result result = PUSH_TAKEN;
    error err = ERROR_INIT;
    int64_t before = table_version(t, 0);
    assert_int_equal(
        table_push(t, p->part, p->step, p->n_slots, p->node, hand_zeros(p->n), &result, &err), OK);
    assert_int_equal(result, p->result);
    assert_string_equal(err.text, p->text);
    assert_int_equal(table_version(t, 0), before);
    assert_int_equal(hands_out(), 0);
}

static void test_what_does_not_fit(void **state)
{
    (void)state;
    shape s = shape_large(3);
    servers v = servers_make(&s, 2, &quiet_hooks, 0, NULL);
    table *t = v.tables[v.placement[0]];
    int32_t other = v.placement[1] != v.placement[0] ? 1 : 2;
    servers_push_all(&v, 0);
    size_t n = (size_t)flat_part_elements(s.flat, 0);
    const bad_push pushes[] = {
        {-1, 1, 3, {0, 0}, n, PUSH_WRONG, "part -1 is not trained on this server"},
        {99, 1, 3, {0, 0}, n, PUSH_WRONG, "part 99 is not trained on this server"},
        {other,
         1,
         3,
         {0, 0},
         n,
         PUSH_WRONG,
         other == 1 ? "part 1 is not trained on this server"
                    : "part 2 is not trained on this server"},
        {4, 1, 3, {0, 0}, n, PUSH_WRONG, "part 4 is not trained on this server"},
        {0, 2, 3, {0, 0}, n, PUSH_WRONG, "part 0: step 2 was pushed at version 1"},
        {0, -1, 3, {0, 0}, n, PUSH_WRONG, "part 0: step -1 was pushed at version 1"},
        {0,
         INT64_MAX,
         3,
         {0, 0},
         n,
         PUSH_WRONG,
         "part 0: step 9223372036854775807 was pushed at version 1"},
        {0,
         1,
         2,
         {0, 0},
         n,
         PUSH_WRONG,
         "part 0: node (0,0) of 2 slots and 65536 elements does not fit"},
        {0,
         1,
         0,
         {0, 0},
         n,
         PUSH_WRONG,
         "part 0: node (0,0) of 0 slots and 65536 elements does not fit"},
        {0,
         1,
         3,
         {0, 3},
         n,
         PUSH_WRONG,
         "part 0: node (0,3) of 3 slots and 65536 elements does not fit"},
        {0,
         1,
         3,
         {31, 1},
         n,
         PUSH_WRONG,
         "part 0: node (31,1) of 3 slots and 65536 elements does not fit"},
        {0,
         1,
         3,
         {0, 0},
         n - 1,
         PUSH_WRONG,
         "part 0: node (0,0) of 3 slots and 65535 elements does not fit"},
        {0, 0, 3, {0, 0}, n, PUSH_STALE, ""},
        {0, 0, 9, {9, 9}, 1, PUSH_STALE, ""},
    };
    for (size_t i = 0; i < COUNT_OF(pushes); i++)
        check_push(t, &pushes[i]);
    servers_fini(&v);
    shape_fini(&s);
}

static void test_frozen_parts(void **state)
{
    (void)state;
    shape s = shape_large(2);
    servers v = servers_make(&s, 1, &quiet_hooks, 7, NULL);
    whole w = whole_make(&s);
    span *early = table_weights(v.tables[0], 3, 0), *late = table_weights(v.tables[0], 3, 1000);
    assert_ptr_equal(early, late);
    assert_memory_equal(early->data, w.weights + s.flat->parts[3].begin, early->bytes);
    span_drop(early);
    span_drop(late);
    assert_int_equal(table_newest(v.tables[0]), 7);
    assert_true(table_holds(v.tables[0], 4));
    assert_false(table_holds(v.tables[0], 5));
    assert_false(table_holds(v.tables[0], -1));
    whole_fini(&w);
    servers_fini(&v);
    shape_fini(&s);
}

/* --- the vote --- */

typedef struct poll {
    size_t n_voted, n_applied;
    int64_t step;
    double squares[8]; /* by part */
} poll;

static status count_applied(void *user, int32_t part, int64_t version, const float *grad,
                            error *err)
{
    (void)part, (void)version, (void)grad, (void)err;
    poll *p = user;
    p->n_applied++;
    return OK;
}

static void count_voted(void *user, int32_t part, int64_t step, double square_sum)
{
    poll *p = user;
    assert_int_equal(step, p->step);
    p->squares[part] = square_sum;
    p->n_voted++;
}

/* Squares of what is trained, in plain double: close to what the table says, bits aside. */
static double squares_of(const shape *s, int32_t part, int64_t step)
{
    float *grad = xcalloc((size_t)flat_part_elements(s->flat, part), sizeof *grad);
    shape_node(s, part, step, (tree_node){.level = tree_root_level(steps_slots(&s->steps, step))},
               grad);
    double sum = 0;
    size_t n;
    const part_segment *segment = flat_part_segments(s->flat, part, &n);
    for (size_t i = 0; i < n; i++)
        for (int64_t k = 0; k < segment[i].n; k++) {
            double g = grad[segment[i].at - s->flat->parts[part].begin + k];
            if (s->flat->tensors[segment[i].tensor].kind == TENSOR_TRAINABLE)
                sum += g * g;
        }
    free(grad);
    return sum;
}

static void push_wrong_step(table *t, const shape *s, int64_t step)
{
    tree_node node = {0, 0};
    push_result result;
    assert_int_equal(table_push(t, 0, step, steps_slots(&s->steps, step), node,
                                hand(s, 0, step, node, false), &result, NULL),
                     OK);
    assert_int_equal(result, PUSH_STALE);
}

static void test_the_vote(void **state)
{
    (void)state;
    const verdict right = {.scale = 0.25f}, wrong = {.scale = 9, .skip = true};
    double first[8] = {0};
    for (int32_t n = 1; n <= 2; n++) {
        shape s = shape_large(3);
        s.votes = true;
        poll p = {.n_voted = 0};
        table_hooks hooks = {.applied = count_applied, .voted = count_voted, .user = &p};
        servers v = servers_make(&s, n, &hooks, 0, NULL);
        whole w = whole_make(&s);
        for (int64_t step = 0; step < 3; step++) {
            p = (poll){.step = step};
            servers_push_all(&v, step);
            assert_int_equal(p.n_voted, 3);
            assert_int_equal(p.n_applied, 0);
            assert_int_equal(table_version(v.tables[v.placement[0]], 0), step);
            push_wrong_step(v.tables[v.placement[0]], &s, step); /* it waits already */
            for (int32_t part = 0; part < 3; part++)
                assert_true(fabs(p.squares[part] / squares_of(&s, part, step) - 1) < 1e-12);
            for (int32_t i = 0; i < n; i++) {
                assert_int_equal(table_verdict(v.tables[i], step + 1, wrong, NULL), OK);
                assert_int_equal(table_verdict(v.tables[i], step - 1, wrong, NULL), OK);
            }
            assert_int_equal(p.n_applied, 0); /* those were of other steps */
            for (int32_t i = 0; i < n; i++)
                assert_int_equal(table_verdict(v.tables[i], step, right, NULL), OK);
            assert_int_equal(p.n_applied, 3);
            whole_step(&w, 0.25f);
            servers_check(&v, &w);
        }
        /* the norm's bits do not know how many servers there are */
        if (n == 1)
            memcpy(first, p.squares, sizeof first);
        assert_memory_equal(first, p.squares, sizeof first);
        p.step = 3;
        servers_push_all(&v, 3); /* destroyed while it waits */
        whole_fini(&w);
        servers_fini(&v);
        shape_fini(&s);
        assert_int_equal(hands_out(), 0);
    }
}

static void test_what_is_missing_is_told(void **state)
{
    (void)state;
    shape s = shape_small(8);
    servers v = servers_make(&s, 1, &quiet_hooks, 0, NULL);
    char text[64], narrow[13];
    table_missing(v.tables[0], 0, text, sizeof text);
    assert_string_equal(text, "0,1,2,3,4,5,6,7");
    push_result result;
    tree_node half = {2, 0}, one = {0, 6};
    assert_int_equal(
        table_push(v.tables[0], 0, 0, 8, half, hand(&s, 0, 0, half, true), &result, NULL), OK);
    assert_int_equal(
        table_push(v.tables[0], 0, 0, 8, one, hand(&s, 0, 0, one, true), &result, NULL), OK);
    table_missing(v.tables[0], 0, text, sizeof text);
    assert_string_equal(text, "4,5,7");
    table_missing(v.tables[0], 0, narrow, sizeof narrow);
    assert_string_equal(narrow, "4");
    servers_fini(&v); /* in the midst of a step */
    assert_int_equal(hands_out(), 0);
    shape_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_order_of_slots),
        cmocka_unit_test(test_every_split_among_workers),
        cmocka_unit_test(test_nodes_that_overlap),
        cmocka_unit_test(test_any_number_of_servers),
        cmocka_unit_test(test_two_copies),
        cmocka_unit_test(test_what_does_not_fit),
        cmocka_unit_test(test_frozen_parts),
        cmocka_unit_test(test_the_vote),
        cmocka_unit_test(test_what_is_missing_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
