/* What is computed again is what was there: the same nodes with the same attributes, of the same values or copies of
 * them, those of the graph itself once and in their order; plans of it stand the simulator, and take less. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/recompute.h"

#include "unit/graph/support_graph.h"
#include "unit/graph/support_sim.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 12, SIDE = 16, N_GRAPHS = 200 };

static graph_val made_by(const graph_node *n)
{
    for (int32_t k = 0; k < n->n_out; k++)
        if (n->out[k] != GRAPH_NONE)
            return n->out[k];
    return GRAPH_NONE;
}

static bool is_copy(const graph *h, const graph_node *n)
{
    return graph_original(h, made_by(n)) != made_by(n);
}

static graph_val original(const graph *h, graph_val v)
{
    return v == GRAPH_NONE ? GRAPH_NONE : graph_original(h, v);
}

static void assert_is_of(const graph *h, int32_t node, const graph_node *n, const graph_node *of)
{
    assert_int_equal(n->op, of->op);
    assert_ptr_equal(n->attr, of->attr);
    assert_int_equal(n->n_in, of->n_in);
    assert_int_equal(n->n_out, of->n_out);
    for (int32_t k = 0; k < n->n_in; k++) {
        assert_int_equal(original(h, n->in[k]), of->in[k]);
        assert_true(n->in[k] == GRAPH_NONE || graph_value_at(h, n->in[k])->def < node);
    }
    for (int32_t k = 0; k < n->n_out; k++)
        assert_int_equal(original(h, n->out[k]), of->out[k]);
}

/* Returns how many copies there are. */
static int32_t check(const graph *g, const graph *h)
{
    int32_t next = 0, copies = 0;
    assert_int_equal(graph_n_forward(h), graph_n_forward(g));
    for (int32_t i = 0; i < graph_n_nodes(h); i++) {
        const graph_node *n = graph_node_at(h, i);
        int32_t of = graph_value_at(g, original(h, made_by(n)))->def;
        assert_is_of(h, i, n, graph_node_at(g, of));
        if (is_copy(h, n)) {
            copies++;
            assert_true(of < graph_n_forward(g) && i >= graph_n_forward(h));
        } else {
            assert_int_equal(of, next++);
        }
    }
    assert_int_equal(next, graph_n_nodes(g));
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        assert_int_equal(graph_value_at(h, v)->grad, graph_value_at(g, v)->grad);
        assert_int_equal(graph_value_at(h, v)->keep, graph_value_at(g, v)->keep);
    }
    for (graph_val v = graph_n_values(g); v < graph_n_values(h); v++)
        assert_false(graph_value_at(h, v)->keep);
    return copies;
}

static graph *computed_again(const graph *g, const bool *fixed, size_t temp, recompute_cost *ret)
{
    graph *h = NULL;
    error err = ERROR_INIT;
    const plan_options plain = {.value_bytes = NULL};
    assert_int_equal(graph_recompute(g, &(recompute_options){&plain, fixed, temp}, &h, ret, &err), OK);
    return h;
}

static size_t planned(const graph *g)
{
    plan *p = NULL;
    error err = ERROR_INIT;
    flat *f = make_flat(g);
    assert_int_equal(plan_create(g, &(plan_options){.flat = f}, &p, &err), OK);
    size_t bytes = plan_slab_bytes(p, SLAB_TEMP);
    plan_destroy(&p);
    flat_destroy(&f);
    return bytes;
}

static void plans_of_random_graphs_hold(void **state)
{
    (void)state;
    int32_t copies = 0;
    for (int32_t i = 0; i < N_GRAPHS; i++) {
        graph *g = random_graph((uint64_t)i, 3 + i % 40, 4, true);
        recompute_cost cost;
        graph *h = computed_again(g, NULL, i % 3 ? planned(g) / 2 : 0, &cost);
        copies += check(g, h);
        sim s;
        sim_init(&s, h, (uint64_t)i, i % 2, i % 4 == 1);
        sim_check_places(&s);
        sim_run(&s, true);
        sim_check_parts(&s);
        sim_fini(&s);
        graph_destroy(&h);
        graph_destroy(&g);
    }
    assert_true(copies > N_GRAPHS);
}

/* Blocks of a product, a norm of the batch, Tanh and Dropout. */
static graph *deep(void)
{
    graph *g = make_graph();
    graph_val x = make_input(g, "x", DT_F32, DIMS(SIDE, SIDE)), id = make_input(g, "id", DT_I64, DIMS(1));
    graph_val scale = make_param(g, "scale", TENSOR_TRAINABLE, DIMS(SIDE));
    graph_val shift = make_param(g, "shift", TENSOR_TRAINABLE, DIMS(SIDE));
    for (int i = 0; i < BLOCKS; i++) {
        char name[3][16];
        snprintf(name[0], sizeof name[0], "w%d", i);
        snprintf(name[1], sizeof name[1], "mean%d", i);
        snprintf(name[2], sizeof name[2], "var%d", i);
        graph_val w = make_param(g, name[0], TENSOR_TRAINABLE, DIMS(SIDE, SIDE));
        graph_val mean = make_param(g, name[1], TENSOR_STATE, DIMS(SIDE));
        graph_val var = make_param(g, name[2], TENSOR_STATE, DIMS(SIDE));
        x = make_node(g, OP_MATMUL, NULL, IN(x, w), NULL);
        x = make_node(g, OP_BATCH_NORMALIZATION, NULL, IN(x, scale, shift, mean, var),
                      &(batch_norm_attr){.training = true, .epsilon = 1e-5f});
        x = make_node(g, OP_TANH, NULL, IN(x), NULL);
        x = make_node(g, OP_DROPOUT, NULL, IN(x, id), &(dropout_attr){.ratio = 0.5f, .stream = (uint64_t)i});
    }
    make_backward(g, make_loss(g, x));
    return g;
}

static void a_target_is_met_at_its_price(void **state)
{
    (void)state;
    graph *g = deep();
    const size_t whole = planned(g);
    double dearest = 0;
    recompute_cost nothing;
    graph *same = computed_again(g, NULL, 2 * whole, &nothing);
    assert_int_equal(check(g, same), 0);
    assert_int_equal(planned(same), whole);
    graph_destroy(&same);
    for (int eighths = 8; eighths >= 3; eighths--) {
        size_t target = whole * (size_t)eighths / 8;
        recompute_cost cost;
        graph *h = computed_again(g, NULL, target, &cost);
        int32_t copies = check(g, h);
        assert_int_equal(copies, cost.n_nodes);
        assert_true(cost.temp <= target);
        assert_true(planned(h) <= target + target / 20);
        assert_true(copies > 0 || eighths == 8);
        assert_true(cost.moved >= dearest && cost.moved <= cost.forward_moved && cost.flops <= cost.forward_flops);
        dearest = cost.moved;
        graph_destroy(&h);
    }
    graph_destroy(&g);
}

/* The first that is dropped costs no product, and a running mean has one maker. */
static void what_is_cheap_is_computed_again_first(void **state)
{
    (void)state;
    graph *g = deep();
    recompute_cost cost;
    graph *h = computed_again(g, NULL, planned(g) * 7 / 8, &cost);
    assert_true(check(g, h) > 0);
    assert_int_equal(count_ops(h, OP_MATMUL), count_ops(g, OP_MATMUL));
    assert_true(cost.flops == 0 && cost.forward_flops > 0);
    graph_destroy(&h);
    h = computed_again(g, NULL, 0, &cost);
    assert_true(check(g, h) > 0);
    assert_true(count_ops(h, OP_BATCH_NORMALIZATION) > BLOCKS && count_ops(h, OP_DROPOUT) > BLOCKS);
    assert_int_equal(count_ops(h, OP_MUL), count_ops(g, OP_MUL)); /* what a batch gives to the running means */
    graph_destroy(&h);
    graph_destroy(&g);
}

static void the_least_is_met_and_less_is_not(void **state)
{
    (void)state;
    graph *g = deep();
    const plan_options plain = {.value_bytes = NULL};
    size_t target = graph_recompute_least(g, &(recompute_options){&plain, NULL, 0});
    recompute_cost least, cost;
    graph *h = computed_again(g, NULL, target, &least);
    assert_true(check(g, h) > 0);
    assert_true(least.temp < planned(g) / 2);
    graph_destroy(&h);
    for (size_t lower = least.temp; lower > 64; lower /= 2) {
        h = computed_again(g, NULL, lower - 1, &cost);
        check(g, h);
        assert_true(cost.temp >= least.temp);
        graph_destroy(&h);
    }
    graph_destroy(&g);
}

static void fixed_nodes_have_no_copies(void **state)
{
    (void)state;
    graph *g = deep();
    bool *fixed = calloc((size_t)graph_n_nodes(g), sizeof *fixed);
    recompute_cost cost;
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        fixed[i] = graph_node_at(g, i)->op == OP_TANH;
    graph *h = computed_again(g, fixed, 0, &cost);
    assert_true(check(g, h) > 0);
    assert_int_equal(count_ops(h, OP_TANH), BLOCKS);
    graph_destroy(&h);
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        fixed[i] = true;
    h = computed_again(g, fixed, 0, &cost);
    assert_int_equal(check(g, h), 0);
    graph_destroy(&h);
    free(fixed);
    graph_destroy(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_of_random_graphs_hold),
        cmocka_unit_test(a_target_is_met_at_its_price),
        cmocka_unit_test(what_is_cheap_is_computed_again_first),
        cmocka_unit_test(the_least_is_met_and_less_is_not),
        cmocka_unit_test(fixed_nodes_have_no_copies),
    };
    return cmocka_run_group_tests_name("recompute", tests, NULL, NULL);
}
