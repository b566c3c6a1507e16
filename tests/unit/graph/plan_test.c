/* Plans of random graphs against a simulator, and what a plan makes of chains, views and parts. */
#include "graph/plan.h"

#include "unit/graph/support_graph.h"
#include "unit/graph/support_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SIDE = 4, LARGE_SIDE = 1400, N_GRAPHS = 500 };

static void run_random(int64_t side, int32_t count, bool is_fused, bool is_told, bool with_memory)
{
    for (int32_t i = 0; i < count; i++) {
        uint64_t seed = (uint64_t)i;
        graph *g = random_graph(seed, 3 + i % 40, side, i % 5 != 0);
        sim s;
        sim_init(&s, g, seed, is_fused, is_told);
        sim_check_places(&s);
        sim_run(&s, with_memory);
        sim_check_parts(&s);
        sim_fini(&s);
        graph_destroy(&g);
    }
}

static void every_read_sees_what_was_written(void **state)
{
    (void)state;
    run_random(SIDE, N_GRAPHS, false, false, true);
}

static void fused_kernels_may_run_at_any_of_their_turns(void **state)
{
    (void)state;
    run_random(SIDE, N_GRAPHS, true, false, true);
}

static void a_plan_that_is_told_turns_keeps_to_them(void **state)
{
    (void)state;
    run_random(SIDE, N_GRAPHS, true, true, true);
}

static void parts_are_ready_when_their_last_byte_was_used(void **state)
{
    (void)state;
    run_random(LARGE_SIDE, 100, false, false, false);
    run_random(LARGE_SIDE, 100, true, false, false);
    run_random(LARGE_SIDE, 100, true, true, false);
}

/* A chain of in-place operators and views over one product needs the place of that product alone.
 */
static void a_chain_runs_in_one_place(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val x = make_input(g, "x", DT_F32, DIMS(8, 8)), chain[4], kept;
    chain[0] = make_node(g, OP_MATMUL, NULL, IN(x, x), NULL);
    chain[1] = make_node(g, OP_RELU, NULL, IN(chain[0]), NULL);
    chain[2] = make_node(g, OP_FLATTEN, NULL, IN(chain[1]), &(axis_attr){0});
    chain[3] = make_node(g, OP_TANH, NULL, IN(chain[2]), NULL);
    kept = make_node(g, OP_RELU, "out", IN(chain[3]), NULL);
    graph_keep(g, kept);
    plan *p;
    error err = ERROR_INIT;
    assert_int_equal(plan_create(g, &(plan_options){.value_bytes = NULL}, &p, &err), OK);
    assert_int_equal(plan_slab_bytes(p, SLAB_TEMP), 256);
    assert_int_equal(plan_slab_bytes(p, SLAB_IO), 512);
    for (int i = 0; i < 4; i++)
        assert_int_equal(plan_aliased(p, chain[i]), chain[0]);
    assert_int_equal(plan_aliased(p, kept), kept);
    plan_destroy(&p);
    graph_destroy(&g);
}

/* What equals an earlier value takes its bytes, which nobody may write over until both are read. */
static void a_value_that_is_there_already_shares_its_bytes(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val x = make_input(g, "x", DT_F32, DIMS(8, 8));
    graph_val first = make_node(g, OP_MATMUL, "first", IN(x, x), NULL);
    graph_val over = make_node(g, OP_RELU, "over", IN(first), NULL);
    graph_val again = make_node(g, OP_MATMUL, "again", IN(x, x), NULL);
    graph_val sum = make_node(g, OP_MATMUL, "sum", IN(over, again), NULL);
    graph_keep(g, make_node(g, OP_RELU, "out", IN(sum), NULL));
    for (int is_told = 0; is_told < 2; is_told++) {
        graph_val same[] = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
        same[again] = is_told ? first : GRAPH_NONE;
        plan *p;
        error err = ERROR_INIT;
        assert_int_equal(plan_create(g, &(plan_options){.same_as = same}, &p, &err), OK);
        assert_int_equal(plan_aliased(p, again), is_told ? first : again);
        assert_int_equal(plan_aliased(p, over), is_told ? over : first);
        plan_destroy(&p);
    }
    graph_destroy(&g);
}

/* The sum may run with the fused node, before the last reader of its first input. */
static void a_kernel_that_may_run_early_does_not_run_in_place(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val x = make_input(g, "x", DT_F32, DIMS(8, 8));
    graph_val a = make_node(g, OP_MATMUL, "a", IN(x, x), NULL);
    graph_val fused = make_node(g, OP_RELU, "fused", IN(x), NULL);
    graph_keep(g, make_node(g, OP_RELU, "reader", IN(a), NULL));
    graph_val sum = make_node(g, OP_ADD, "sum", IN(a, fused), NULL);
    graph_keep(g, make_node(g, OP_MATMUL, "out", IN(sum, sum), NULL));
    for (int is_fused = 0; is_fused < 2; is_fused++) {
        size_t bytes[] = {256, 256, is_fused ? 0 : 256, 256, 256, 256};
        plan *p;
        error err = ERROR_INIT;
        assert_int_equal(plan_create(g, &(plan_options){.value_bytes = bytes}, &p, &err), OK);
        assert_int_equal(plan_aliased(p, sum), is_fused ? sum : a);
        assert_int_equal(plan_place_of(p, sum)->first, is_fused ? 1 : 3);
        assert_int_equal(plan_place_of(p, fused)->materialised, !is_fused);
        plan_destroy(&p);
    }
    graph_destroy(&g);
}

static void dead_bytes_are_used_again(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val v = make_input(g, "x", DT_F32, DIMS(8, 8));
    for (int i = 0; i < 20; i++)
        v = make_node(g, OP_MATMUL, NULL, IN(v, v), NULL);
    plan *p;
    error err = ERROR_INIT;
    assert_int_equal(plan_create(g, &(plan_options){.value_bytes = NULL}, &p, &err), OK);
    assert_int_equal(plan_slab_bytes(p, SLAB_TEMP), 512);
    plan_destroy(&p);
    graph_destroy(&g);
}

static void a_layout_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    const struct {
        const char *name;
        int64_t rows;
        tensor_kind kind;
        const char *text;
    } rows[] = {
        {NULL, 0, TENSOR_TRAINABLE, "plan: parameter 'w' has no place: no layout was given"},
        {"v", 4, TENSOR_TRAINABLE, "plan: parameter 'w' is not in the flat vector"},
        {"w", 5, TENSOR_TRAINABLE,
         "plan: parameter 'w' is [4] in the graph but [5] in the flat vector"},
        {"w", 4, TENSOR_FROZEN,
         "plan: parameter 'w' has a gradient but is frozen in the flat vector"},
    };
    graph *g = make_graph();
    make_backward(g, make_loss(g, make_param(g, "w", TENSOR_TRAINABLE, DIMS(4))));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        tensor_decl decl = {
            .name = rows[i].name, .rank = 1, .dim = {rows[i].rows}, .kind = rows[i].kind};
        flat *f = NULL;
        plan *p = NULL;
        error err = ERROR_INIT;
        if (rows[i].name)
            assert_int_equal(flat_create(&decl, 1, &f, &err), OK);
        assert_int_equal(plan_create(g, &(plan_options){.flat = f}, &p, &err), E_CONFIG);
        assert_string_equal(err.text, rows[i].text);
        assert_null(p);
        flat_destroy(&f);
    }
    graph_destroy(&g);
}

static void a_gradient_is_summed_in_its_own_place(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val p = make_param(g, "p", TENSOR_TRAINABLE, DIMS(5, 3));
    const slice_attr upper = {.n_axes = 1, .end = {3}, .step = {1}},
                     lower = {.n_axes = 1, .begin = {2}, .end = {5}, .step = {1}};
    graph_val a = make_node(g, OP_SLICE, "upper", IN(p), &upper);
    graph_val b = make_node(g, OP_SLICE, "lower", IN(p), &lower);
    make_backward(g, make_loss(g, make_node(g, OP_MUL, "times", IN(a, b), NULL)));
    graph_val grad = graph_value_at(g, p)->grad;
    const graph_node *last = graph_node_at(g, graph_value_at(g, grad)->def);
    flat *f = make_flat(g);
    plan *made;
    error err = ERROR_INIT;
    assert_int_equal(plan_create(g, &(plan_options){.flat = f}, &made, &err), OK);
    assert_int_equal(plan_place_of(made, last->in[1])->slab, SLAB_GRAD);
    assert_int_equal(plan_place_of(made, last->in[1])->offset, plan_place_of(made, grad)->offset);
    assert_int_equal(plan_aliased(made, last->in[1]), grad);
    plan_destroy(&made);
    flat_destroy(&f);
    graph_destroy(&g);
}

static void parts_nobody_touches_have_no_turn(void **state)
{
    (void)state;
    const tensor_decl decls[] = {
        {.name = "w", .rank = 1, .dim = {4}},
        {.name = "elsewhere", .rank = 1, .dim = {3 * PART_MAX}},
        {.name = "cold", .rank = 1, .dim = {5}, .kind = TENSOR_FROZEN},
    };
    graph *g = make_graph();
    make_backward(g, make_loss(g, make_param(g, "w", TENSOR_TRAINABLE, DIMS(4))));
    flat *f;
    plan *p;
    error err = ERROR_INIT;
    assert_int_equal(flat_create(decls, 3, &f, &err), OK);
    assert_int_equal(plan_create(g, &(plan_options){.flat = f}, &p, &err), OK);
    assert_int_equal(plan_part_ready_after(p, 0), graph_n_nodes(g) - 1);
    assert_int_equal(plan_part_need_before(p, 0), 0);
    for (int32_t i = 1; i < f->n_parts; i++) {
        assert_int_equal(plan_part_ready_after(p, i), -1);
        assert_int_equal(plan_part_need_before(p, i), -1);
    }
    assert_int_equal(plan_slab_bytes(p, SLAB_PARAM), f->n_elements * 4);
    assert_int_equal(plan_slab_bytes(p, SLAB_GRAD), f->n_live * 4);
    plan_destroy(&p);
    flat_destroy(&f);
    graph_destroy(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_read_sees_what_was_written),
        cmocka_unit_test(fused_kernels_may_run_at_any_of_their_turns),
        cmocka_unit_test(a_plan_that_is_told_turns_keeps_to_them),
        cmocka_unit_test(parts_are_ready_when_their_last_byte_was_used),
        cmocka_unit_test(a_chain_runs_in_one_place),
        cmocka_unit_test(a_value_that_is_there_already_shares_its_bytes),
        cmocka_unit_test(a_kernel_that_may_run_early_does_not_run_in_place),
        cmocka_unit_test(dead_bytes_are_used_again),
        cmocka_unit_test(a_layout_that_does_not_fit_is_refused),
        cmocka_unit_test(a_gradient_is_summed_in_its_own_place),
        cmocka_unit_test(parts_nobody_touches_have_no_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
