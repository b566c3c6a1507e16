/*
 * The gradient graph_backward makes for every differentiable operator, run on the CPU backend,
 * against central differences of the double reference: along single elements of every operand, and
 * along random signs of all its elements at once, which no wrong element escapes. Operands keep
 * away from kinks and ties.
 *
 * Tolerance: 2e-5 of the gradient's size; backward is one more sum after the forward one.
 */
#include "common/base/rng.h"
#include "numeric/support_cases.h"
#include "numeric/support_compare.h"
#include "numeric/support_lane.h"
#include "numeric/support_reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double TOLERANCE = 2e-5;
static const double WEIGHT = 0.75; /* of the slot in its step: scales every gradient */

enum { MANY = 4096, ELEMENTS = 7, ELEMENTS_OF_MANY = 2 }; /* single ones per operand */

static bool met[OP_COUNT]; /* operators that stood in some backward graph */

typedef struct setup {
    const op_case *c;
    case_frame frame;
    bool is_empty; /* an operand is: what nothing depends on has a gradient of exactly 0 */
    case_graph forward, backward;
    reference *reference;
    lane lane;
} setup;

static void fill(setup *s)
{
    const graph *g = s->forward.graph;
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->kind != VAL_INPUT && value->kind != VAL_PARAM)
            continue;
        double *x = reference_value(s->reference, v);
        case_fill_value(s->c, value, x);
        /* An operand backward does not need is dropped with the nodes that read it. */
        if (graph_find(s->backward.graph, value->name) != GRAPH_NONE)
            lane_set(&s->lane, 0, value->name, x);
    }
    lane_set(&s->lane, 0, "weight", &WEIGHT);
}

static void set_up(setup *s, const op_case *c, case_frame frame)
{
    error err = ERROR_INIT;
    *s = (setup){.c = c, .frame = frame};
    s->forward = case_build(c, frame, true);
    s->backward = case_build(c, frame, true);
    graph *g = s->backward.graph;
    graph_val weight = GRAPH_NONE;
    must(graph_input(g, "weight", DT_F32, (graph_shape){.rank = 0}, &weight, &err), &err);
    must(graph_backward(g, s->backward.loss, weight, &err), &err);
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        met[graph_node_at(g, i)->op] = true;
    s->reference = reference_create(s->forward.graph);
    lane_init(&s->lane, (const graph *const *)&s->backward.graph, 1, 1);
    fill(s);
}

static void tear_down(setup *s)
{
    lane_fini(&s->lane);
    reference_destroy(&s->reference);
    graph_destroy(&s->forward.graph);
    graph_destroy(&s->backward.graph);
}

/* The lane's slope along a direction, held against the reference's. `size` is what the sum of the
 * terms would be if none cancelled. */
static bool check_slope(setup *s, graph_val x, const double *direction)
{
    const graph_value *value = graph_value_at(s->forward.graph, x);
    const float *grad = lane_grad(&s->lane, value->name);
    int64_t n = reference_elements(s->reference, x);
    double got = 0, squares = 0, used = 0;
    for (int64_t i = 0; i < n; i++) {
        got += (double)grad[i] * direction[i];
        squares += (double)grad[i] * (double)grad[i];
        used += direction[i] * direction[i];
    }
    double want = WEIGHT * reference_slope(s->reference, s->forward.loss, x, direction);
    double size = sqrt(squares / (double)n * used);
    bool close = fabs(got - want) <= TOLERANCE * (size + fabs(want)) + 1e-9;
    if (s->is_empty && want == 0 && used == (double)n)
        close = squares == 0;
    if (!close)
        print_error("%s, %s: the slope along %g elements of '%s' is %.9g, the reference says "
                    "%.9g\n",
                    s->c->name, case_frame_names[s->frame], used, value->name, got, want);
    return close;
}

static bool check_operand(setup *s, graph_val x)
{
    int64_t n = reference_elements(s->reference, x);
    if (n == 0)
        return true;
    double *direction = xcalloc((size_t)n, sizeof *direction);
    rng signs = rng_make(5, RNG_TEST, (uint64_t)x);
    for (int64_t i = 0; i < n; i++)
        direction[i] = rng_u32(&signs, (uint64_t)i) & 1 ? 1 : -1;
    bool close = check_slope(s, x, direction);
    memset(direction, 0, (size_t)n * sizeof *direction);
    int64_t wanted = n < MANY ? ELEMENTS : ELEMENTS_OF_MANY, elements = n < wanted ? n : wanted;
    for (int64_t k = 0; k < elements; k++) {
        int64_t i = elements > 1 ? k * (n - 1) / (elements - 1) : 0;
        direction[i] = 1;
        close = check_slope(s, x, direction) && close;
        direction[i] = 0;
    }
    free(direction);
    return close;
}

static bool has_gradient(const op_case *c)
{
    case_graph b = case_build(c, FRAME_BARE, true);
    bool has = b.loss != GRAPH_NONE;
    graph_destroy(&b.graph);
    return has;
}

static bool check_case(const op_case *c, case_frame frame, bool is_empty)
{
    if (!has_gradient(c))
        return true;
    setup s;
    set_up(&s, c, frame);
    s.is_empty = is_empty;
    lane_run(&s.lane, 0, NULL);
    bool close = true;
    for (graph_val v = 0; v < graph_n_values(s.forward.graph); v++)
        if (graph_value_at(s.forward.graph, v)->kind == VAL_PARAM)
            close = check_operand(&s, v) && close;
    tear_down(&s);
    return close;
}

static void test_operator(void **state)
{
    const graph_op_info *op = *state;
    int wrong = 0;
    size_t i = 0;
    for (const op_case *c = case_at(0); c; c = case_at(++i))
        for (case_frame frame = FRAME_BARE; frame < FRAME_COUNT; frame++)
            if (c->op == op->op && case_fits(c, frame))
                wrong += !check_case(c, frame, false);
    assert_int_equal(wrong, 0);
}

/* Gradients where an operand has no elements. Every operator that has one takes a batch of none. */
static void test_without_elements(void **state)
{
    (void)state;
    int wrong = 0, batches[OP_COUNT] = {0}, rows[OP_COUNT] = {0};
    size_t i = 0;
    for (const op_case *c = case_at(0); c; c = case_at(++i)) {
        case_emptied e;
        rows[c->op] += has_gradient(c);
        for (size_t k = 0; case_emptied_at(c, k, &e); k++) {
            if (!case_is_legal(&e.row) || !has_gradient(&e.row))
                continue;
            batches[c->op] += e.is_batch;
            wrong += !check_case(&e.row, FRAME_BARE, true);
        }
    }
    for (graph_op op = 0; op < OP_COUNT; op++)
        if (rows[op] && !batches[op]) {
            print_error("no row of %s takes a batch of no examples\n", graph_op_of(op)->name);
            wrong++;
        }
    assert_int_equal(wrong, 0);
}

/* y = tanh(x w) w^T: two nodes read w, so its gradient is the sum of theirs. */
static graph *build_tied(graph_val *ret_loss, graph_val *ret_w)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val x, out;
    tensor_decl decl = {.name = "w", .rank = 2, .dim = {5, 6}};
    must(graph_create(&g, &err), &err);
    must(graph_input(g, "x", DT_F32, (graph_shape){2, {3, 5}}, &x, &err), &err);
    must(graph_param(g, &decl, ret_w, &err), &err);
    must(graph_add_1(g, OP_GEMM, "in", (graph_val[]){x, *ret_w}, 2, NULL, &out, &err), &err);
    must(graph_add_1(g, OP_TANH, "tanh", &out, 1, NULL, &out, &err), &err);
    must(graph_add_1(g, OP_GEMM, "out", (graph_val[]){out, *ret_w}, 2,
                     &(gemm_attr){.trans_b = true}, &out, &err),
         &err);
    must(graph_add_1(g, OP_REDUCE_MEAN, "loss", &out, 1, &(reduce_attr){.drop_dims = true},
                     ret_loss, &err),
         &err);
    return g;
}

/* Pieces of one value go different ways: their gradients are added up in one place. */
static graph *build_pieces(graph_val *ret_loss, graph_val *ret_w)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val t, picks, piece[4];
    tensor_decl decl = {.name = "w", .rank = 2, .dim = {5, 6}};
    const int64_t rows[] = {4, -5, 4, 2};
    must(graph_create(&g, &err), &err);
    must(graph_const(g, "picks", DT_I64, (graph_shape){1, {4}}, rows, &picks, &err), &err);
    must(graph_param(g, &decl, ret_w, &err), &err);
    must(graph_add_1(g, OP_TANH, NULL, ret_w, 1, NULL, &t, &err), &err);
    const slice_attr upper = {.n_axes = 1, .begin = {0}, .end = {4}};
    const slice_attr lower = {.n_axes = 1, .begin = {4}, .end = {0}, .step = {-1}};
    must(graph_add_1(g, OP_SLICE, NULL, &t, 1, &upper, &piece[0], &err), &err);
    must(graph_add_1(g, OP_GATHER, NULL, (graph_val[]){t, picks}, 2, NULL, &piece[1], &err), &err);
    must(graph_add_1(g, OP_SLICE, NULL, &t, 1, &lower, &piece[2], &err), &err);
    must(graph_add_1(g, OP_GATHER, NULL, (graph_val[]){*ret_w, picks}, 2, NULL, &piece[3], &err),
         &err);
    for (int i = 1; i < 4; i++)
        must(graph_add_1(g, OP_MUL, NULL, (graph_val[]){piece[0], piece[i]}, 2, NULL, &piece[0],
                         &err),
             &err);
    must(graph_add_1(g, OP_REDUCE_SUM, "loss", piece, 1, &(reduce_attr){.drop_dims = true},
                     ret_loss, &err),
         &err);
    return g;
}

static void fill_some(setup *s, const char *name)
{
    graph_val v = graph_find(s->forward.graph, name);
    if (v == GRAPH_NONE)
        return;
    double *values = reference_value(s->reference, v);
    for (int64_t i = 0; i < reference_elements(s->reference, v); i++)
        values[i] = (double)(float)((double)(i * 7 % 11) * 0.1 - 0.45);
    lane_set(&s->lane, 0, name, values);
}

/* The gradient of w in a graph of several nodes, with an input x perhaps. */
static void check_graph(graph *build(graph_val *, graph_val *))
{
    error err = ERROR_INIT;
    const op_case unnamed = {.name = "several nodes"};
    setup s = {.c = &unnamed};
    graph_val weight, w, loss;
    s.forward.graph = build(&s.forward.loss, &w);
    s.backward.graph = build(&loss, &w);
    graph *g = s.backward.graph;
    must(graph_input(g, "weight", DT_F32, (graph_shape){.rank = 0}, &weight, &err), &err);
    must(graph_backward(g, loss, weight, &err), &err);
    s.reference = reference_create(s.forward.graph);
    lane_init(&s.lane, (const graph *const *)&s.backward.graph, 1, 1);
    fill_some(&s, "x");
    fill_some(&s, "w");
    lane_set(&s.lane, 0, "weight", &WEIGHT);
    lane_run(&s.lane, 0, NULL);
    assert_true(check_operand(&s, w));
    tear_down(&s);
}

static void test_a_parameter_read_twice(void **state)
{
    (void)state;
    check_graph(build_tied);
}

static void test_pieces_of_a_value(void **state)
{
    (void)state;
    check_graph(build_pieces);
}

static void test_a_parameter_nobody_reads(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    graph_val weight, w, loss;
    graph *g = build_tied(&loss, &w);
    tensor_decl idle = {.name = "idle", .rank = 1, .dim = {33}};
    must(graph_param(g, &idle, &w, &err), &err);
    must(graph_input(g, "weight", DT_F32, (graph_shape){.rank = 0}, &weight, &err), &err);
    must(graph_backward(g, loss, weight, &err), &err);
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        met[graph_node_at(g, i)->op] = true;
    lane l;
    lane_init(&l, (const graph *const *)&g, 1, 1);
    double ones[33];
    for (int i = 0; i < 33; i++)
        ones[i] = 1;
    lane_set(&l, 0, "idle", ones);
    lane_set(&l, 0, "weight", &WEIGHT);
    exec_grad(l.exec)[l.layout->offset[flat_find(l.layout, "idle")]] = 1;
    lane_run(&l, 0, NULL);
    for (int i = 0; i < 33; i++)
        assert_true(lane_grad(&l, "idle")[i] == 0.0f);
    lane_fini(&l);
    graph_destroy(&g);
}

/* Runs last: the cases must have led through every operator that only backward appends. */
static void test_every_backward_operator_was_met(void **state)
{
    (void)state;
    for (graph_op op = 0; op < OP_COUNT; op++)
        if (graph_op_of(op)->traits & OP_BACKWARD && !met[op])
            fail_msg("no case leads to %s", graph_op_of(op)->name);
}

int main(void)
{
    struct CMUnitTest tests[OP_ZERO + 5] = {0};
    for (graph_op op = 0; op < OP_ZERO; op++)
        tests[op] = (struct CMUnitTest){.name = graph_op_of(op)->name,
                                        .test_func = test_operator,
                                        .initial_state = (void *)(uintptr_t)graph_op_of(op)};
    tests[OP_ZERO] = (struct CMUnitTest)cmocka_unit_test(test_a_parameter_read_twice);
    tests[OP_ZERO + 1] = (struct CMUnitTest)cmocka_unit_test(test_a_parameter_nobody_reads);
    tests[OP_ZERO + 2] = (struct CMUnitTest)cmocka_unit_test(test_pieces_of_a_value);
    tests[OP_ZERO + 3] = (struct CMUnitTest)cmocka_unit_test(test_without_elements);
    tests[OP_ZERO + 4] = (struct CMUnitTest)cmocka_unit_test(test_every_backward_operator_was_met);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
