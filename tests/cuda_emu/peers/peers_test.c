/*
 * Engines of several devices, each in a thread of its own, that add up gradients among themselves:
 * what the first hands over is, bit for bit, what the host makes of all slots by the tree; and what
 * becomes of it when one of them leaves.
 */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/cuda.h"
#include "common/base/alloc.h"
#include "cuda_emu/fakes/fakes.h"
#include "cuda_emu/machine.h"
#include "exec/exec.h"
#include "graph/attrs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS = 4, SLOTS = 8, SMALL = 300, LARGE = PART_MIN + 200, NOBODY = -1 };

typedef struct scene scene;

typedef struct member {
    scene *scene;
    pthread_t thread;
    int32_t number, n_ready, n_given;
    tree_node node, given_of;  /* what it contributes; what it handed over */
    float *given;              /* [n] */
    status status;
    error error;
    exec *e;
    exec_slot slot;
} member;

struct scene {
    int64_t n;                 /* weights */
    float *weights, *leaf;     /* [n]; the gradient of a slot of weight 1 */
    flat *flat;
    graph *g;
    peers *peers;
    reduce_group *with;
    uint32_t n_slots;
    tree_node sum;
    int32_t n_members;
    int32_t leaver, leaves_at; /* who fails when so many parts are ready */
    pthread_barrier_t stage;
    member members[MEMBERS];
};

static void must(status st, const error *err)
{
    if (st != OK)
        fail_msg("%s: %s", status_name(st), err->text);
}

/* The loss is the sum of exp(w), and so the gradient of a slot is that by its weight. */
static graph *rising(int64_t n, flat **ret_flat)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    tensor_decl decl = {.name = "w", .rank = 1, .dim = {n}, .kind = TENSOR_TRAINABLE};
    graph_val w, y, weight;
    must(graph_create(&g, &err), &err);
    must(graph_param(g, &decl, &w, &err), &err);
    must(graph_add_1(g, OP_EXP, "exp", &w, 1, NULL, &y, &err), &err);
    must(graph_add_1(g, OP_REDUCE_SUM, "loss", &y, 1, &(reduce_attr){.drop_dims = true}, &y, &err),
         &err);
    graph_keep(g, y);
    must(graph_input(g, "weight", DT_F32, (graph_shape){.rank = 0}, &weight, &err), &err);
    must(graph_backward(g, y, weight, &err), &err);
    must(flat_create(&decl, 1, ret_flat, &err), &err);
    return g;
}

/* Sums that depend on their order. */
static float weight_of(uint32_t slot)
{
    static const float list[SLOTS] = {0.1f, 1e6f, 0.3f, -1e6f, 1e-3f, 7.7f, 0.9f, -3e5f};
    return list[slot];
}

/* --- a member's thread --- */

static status ready(void *user, int32_t part, const float *grad, error *err)
{
    member *m = user;
    bool leaves = m->number == m->scene->leaver && m->n_ready == m->scene->leaves_at;
    m->n_ready++;
    if (grad && m->slot.with)
        return FAIL(err, E_FAIL, "part %d of a group is handed over alone", part);
    return leaves ? FAIL(err, E_DATA, "it leaves") : OK;
}

static status sum(void *user, int32_t part, tree_node node, const float *grad, error *err)
{
    (void)err;
    member *m = user;
    const flat *f = m->scene->flat;
    m->n_given++;
    m->given_of = node;
    memcpy(m->given + f->parts[part].begin, grad,
           (size_t)flat_part_elements(f, part) * sizeof *grad);
    return OK;
}

/* All slots of its node; the last one goes into the group. */
static status compute(member *m, error *err)
{
    const scene *s = m->scene;
    uint32_t end = tree_node_end(m->node, s->n_slots);
    exec_keep_sums(m->e, m->node.level);
    for (uint32_t slot = tree_node_first(m->node); slot < end; slot++) {
        m->slot = (exec_slot){slot, s->n_slots, m->node, slot + 1 == end ? s->with : NULL};
        *(float *)exec_input(m->e, 0, "weight", NULL) = weight_of(slot);
        exec_hooks hooks = {.ready = ready, .sum = sum, .slot = &m->slot, .user = m};
        TRY(exec_run(m->e, 0, &hooks, err));
    }
    return OK;
}

/* Builds, then computes at every pair of stages until there is nothing to contribute. */
static void *live(void *member_)
{
    member *m = member_;
    scene *s = m->scene;
    exec_options o = {.backend = &backend_cuda,
                      .device = {.threads = 1, .device = m->number},
                      .flat = s->flat,
                      .graphs = (const graph *const *)&s->g,
                      .n_graphs = 1,
                      .peers = s->peers};
    m->status = exec_create(&o, &m->e, &m->error);
    if (m->status == OK) {
        exec_bind_params(m->e, s->weights);
        exec_join(m->e, s->peers, m->number);
    }
    for (pthread_barrier_wait(&s->stage); pthread_barrier_wait(&s->stage), s->with;
         pthread_barrier_wait(&s->stage))
        if (m->number < s->n_members)
            m->status = compute(m, &m->error);
    exec_destroy(&m->e);
    return NULL;
}

/* --- the test's thread --- */

static void begin(scene *s, int64_t n, bool copies)
{
    error err = ERROR_INIT;
    *s = (scene){.n = n, .leaver = NOBODY};
    fakes_hide(copies);
    s->g = rising(n, &s->flat);
    s->weights = xcalloc((size_t)s->flat->n_elements, sizeof(float));
    s->leaf = xcalloc((size_t)s->flat->n_elements, sizeof(float));
    random_floats(s->weights, (size_t)n, 5);
    s->peers = peers_create(MEMBERS, s->flat);
    pthread_barrier_init(&s->stage, NULL, MEMBERS + 1);
    for (int32_t i = 0; i < MEMBERS; i++) {
        member *m = &s->members[i];
        *m = (member){.scene = s, .number = i, .given = xcalloc((size_t)s->flat->n_elements, 4)};
        assert_int_equal(pthread_create(&m->thread, NULL, live, m), 0);
    }
    pthread_barrier_wait(&s->stage);
    for (int32_t i = 0; i < MEMBERS; i++)
        must(s->members[i].status, &s->members[i].error);
    must(peers_connect(s->peers, &err), &err);
    assert_string_equal(peers_way(s->peers),
                        copies ? "by copies: NCCL is missing: hidden" : "by NCCL");
}

static void end(scene *s)
{
    s->with = NULL;
    pthread_barrier_wait(&s->stage);
    for (int32_t i = 0; i < MEMBERS; i++) {
        pthread_join(s->members[i].thread, NULL);
        free(s->members[i].given);
    }
    pthread_barrier_destroy(&s->stage);
    peers_destroy(&s->peers);
    free(s->weights);
    free(s->leaf);
    flat_destroy(&s->flat);
    graph_destroy(&s->g);
    fakes_hide(false);
}

/* The first `n` members, each with the node of `level` that follows the one before, from slot
 * `first` on. */
static void play(scene *s, uint32_t first, uint32_t n_slots, uint8_t level, int32_t n)
{
    int32_t numbers[MEMBERS];
    tree_node nodes[MEMBERS], cover[64];
    for (int32_t i = 0; i < n; i++) {
        numbers[i] = i;
        nodes[i] = tree_node_top((tree_node){level, (first >> level) + (uint32_t)i}, n_slots);
        s->members[i].node = nodes[i];
        s->members[i].n_ready = s->members[i].n_given = 0;
        memset(s->members[i].given, 0, (size_t)s->flat->n_elements * sizeof(float));
    }
    uint32_t behind = tree_node_end(nodes[n - 1], n_slots);
    assert_int_equal(tree_cover(first, behind, n_slots, cover), 1);
    s->sum = cover[0];
    s->n_slots = n_slots;
    s->n_members = n;
    s->with = reduce_group_form(s->peers, n_slots, s->sum, numbers, nodes, n);
    assert_non_null(s->with);
    pthread_barrier_wait(&s->stage);
    pthread_barrier_wait(&s->stage);
}

/* What a node is worth by the rule of common/parts/tree.h. */
static float node_sum(tree_node a, uint32_t n_slots, float leaf)
{
    if (a.level == 0)
        return weight_of(a.index) * leaf;
    tree_node left = {(uint8_t)(a.level - 1), 2 * a.index}, right = tree_node_sibling(left);
    float sum = node_sum(left, n_slots, leaf);
    return tree_node_first(right) < n_slots ? sum + node_sum(right, n_slots, leaf) : sum;
}

static void expect_sum(const scene *s, const member *m, tree_node node)
{
    assert_int_equal(m->n_given, s->flat->n_live_parts);
    assert_int_equal(m->given_of.level, node.level);
    assert_int_equal(m->given_of.index, node.index);
    for (int64_t i = 0; i < s->n; i++) {
        float want = node_sum(node, s->n_slots, s->leaf[i]);
        if (memcmp(&want, &m->given[i], sizeof want) != 0)
            fail_msg("element %lld of %lld: %a and not %a", (long long)i, (long long)s->n,
                     (double)m->given[i], (double)want);
    }
}

/* By the first alone; all others give nothing. */
static void expect_one_sum(const scene *s)
{
    for (int32_t i = 0; i < s->n_members; i++) {
        must(s->members[i].status, &s->members[i].error);
        if (i)
            assert_int_equal(s->members[i].n_given, 0);
    }
    expect_sum(s, &s->members[0], s->sum);
}

/* The gradient of a slot of weight 1, by the CPU. */
static void find_leaf(scene *s)
{
    error err = ERROR_INIT;
    exec *cpu = NULL;
    exec_options o = {.backend = &backend_cpu,
                      .device = {.threads = 1},
                      .flat = s->flat,
                      .graphs = (const graph *const *)&s->g,
                      .n_graphs = 1};
    must(exec_create(&o, &cpu, &err), &err);
    exec_bind_params(cpu, s->weights);
    *(float *)exec_input(cpu, 0, "weight", NULL) = 1;
    must(exec_run(cpu, 0, NULL, &err), &err);
    memcpy(s->leaf, exec_grad(cpu), (size_t)s->n * sizeof(float));
    exec_destroy(&cpu);
}

static void add_up_in_all_shapes(bool copies)
{
    scene s;
    begin(&s, SMALL, copies);
    find_leaf(&s);
    uint64_t waits = emu_pageable_copies();
    static const struct {
        uint32_t first, n_slots;
        uint8_t level;
        int32_t n;
    } cases[] = {{0, 2, 0, 2}, {0, 4, 0, 4}, {4, 8, 0, 4}, {0, 3, 0, 3}, {4, 7, 0, 3},
                 {0, 8, 1, 4}, {0, 7, 1, 4}, {0, 5, 1, 3}, {0, 8, 2, 2}, {4, 7, 1, 2}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        play(&s, cases[i].first, cases[i].n_slots, cases[i].level, cases[i].n);
        expect_one_sum(&s);
    }
    assert_int_equal(emu_pageable_copies(), waits);
    end(&s);
}

static void test_sums_are_those_of_the_tree(void **state)
{
    (void)state;
    uint64_t sends = fake_nccl_sends();
    add_up_in_all_shapes(true);
    assert_int_equal(fake_nccl_sends(), sends);
    add_up_in_all_shapes(false);
    assert_true(fake_nccl_sends() > sends);
}

static void test_several_parts(void **state)
{
    (void)state;
    scene s;
    begin(&s, LARGE, false);
    find_leaf(&s);
    assert_int_equal(s.flat->n_live_parts, 2);
    play(&s, 0, 3, 0, 3);
    expect_one_sum(&s);
    end(&s);
}

/* Before the first part is made by all: everybody else hands over what is its own. */
static void test_who_leaves_early_is_done_without(void **state)
{
    (void)state;
    scene s;
    begin(&s, SMALL, false);
    find_leaf(&s);
    for (s.leaver = 0; s.leaver < 3; s.leaver++) {
        play(&s, 0, 3, 0, 3);
        for (int32_t i = 0; i < 3; i++)
            if (i != s.leaver)
                expect_sum(&s, &s.members[i], s.members[i].node);
        assert_int_equal(s.members[s.leaver].status, E_DATA);
    }
    s.leaver = NOBODY;
    play(&s, 0, 3, 0, 3);
    expect_one_sum(&s);
    end(&s);
}

/* A part that all had made by then is added up still, or the leaver was to hand it over. */
static void test_who_leaves_late_has_done_its_share(void **state)
{
    (void)state;
    scene s;
    begin(&s, LARGE, true);
    find_leaf(&s);
    s.leaver = 2;
    s.leaves_at = 1;
    play(&s, 0, 3, 0, 3);
    assert_int_equal(s.members[2].status, E_DATA);
    assert_int_equal(s.members[0].n_given, 2);
    assert_true(s.members[1].n_given == 1 || s.members[1].n_given == 2);
    s.leaver = NOBODY;
    play(&s, 0, 3, 0, 3);
    expect_one_sum(&s);
    end(&s);
}

/* Nobody waits for it, and from then on everybody gives its own. */
static void test_a_way_that_breaks_ends_all_unions(void **state)
{
    (void)state;
    scene s;
    begin(&s, SMALL, false);
    fake_nccl_fail(1);
    play(&s, 0, 3, 0, 3);
    fake_nccl_fail(NOBODY);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(s.members[i].status, E_DEVICE);
        assert_string_equal(s.members[i].error.text,
                            "NCCL, sending to other GPUs: remote process exited or there was a "
                            "network error; it said last: a GPU does not answer");
    }
    assert_null(reduce_group_form(s.peers, 2, (tree_node){1, 0}, (const int32_t[]){0, 1},
                                  (const tree_node[]){{0, 0}, {0, 1}}, 2));
    end(&s);
}

int main(void)
{
    setenv("EMU_DEVICES", "4", 1);
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(test_sums_are_those_of_the_tree),
        KERNEL_TEST(test_several_parts),
        KERNEL_TEST(test_who_leaves_early_is_done_without),
        KERNEL_TEST(test_who_leaves_late_has_done_its_share),
        KERNEL_TEST(test_a_way_that_breaks_ends_all_unions),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
