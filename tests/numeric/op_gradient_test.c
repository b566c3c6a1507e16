/*
 * The gradient graph_backward makes for every differentiable operator, run on the backend the
 * program is linked with, which also says what it is held against (support_tested.h). Operands keep
 * away from kinks and ties.
 */
#include "numeric/support_cases.h"
#include "numeric/support_gradient.h"
#include "numeric/support_lane.h"
#include "numeric/support_reference.h"
#include "numeric/support_tested.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static bool met[OP_COUNT]; /* operators that stood in some backward graph */

typedef enum verdict { RIGHT, WRONG, LEFT_OUT } verdict;

static void append_gradient(graph *g, graph_val loss)
{
    gradient_append(g, loss);
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        met[graph_node_at(g, i)->op] = true;
}

/* `fill` gives the reference's inputs and parameters their numbers. Takes both graphs. */
static verdict check(gradient *s, void fill(const gradient *s, const void *of), const void *of)
{
    append_gradient(s->backward, s->loss);
    verdict v = LEFT_OUT;
    if (tested_takes(s->backward)) {
        s->reference = reference_create(s->forward);
        fill(s, of);
        lane_init(&s->lane, (const graph *const *)&s->backward, 1, 1);
        gradient_fill(s, &s->lane);
        lane_run(&s->lane, 0, NULL);
        v = tested_gradients(s) ? RIGHT : WRONG;
        lane_fini(&s->lane);
        reference_destroy(&s->reference);
    }
    graph_destroy(&s->forward);
    graph_destroy(&s->backward);
    return v;
}

static void fill_case(const gradient *s, const void *of)
{
    for (graph_val v = 0; v < graph_n_values(s->forward); v++) {
        const graph_value *value = graph_value_at(s->forward, v);
        if (value->kind == VAL_INPUT || value->kind == VAL_PARAM)
            case_fill_value(of, value, reference_value(s->reference, v));
    }
}

static bool has_gradient(const op_case *c)
{
    case_graph b = case_build(c, FRAME_BARE, true);
    bool has = b.loss != GRAPH_NONE;
    graph_destroy(&b.graph);
    return has;
}

static verdict check_case(const op_case *c, case_frame frame, bool is_empty)
{
    case_graph b = case_build(c, frame, true);
    gradient s = {.name = c->name,
                  .frame = case_frame_names[frame],
                  .is_empty = is_empty,
                  .forward = b.graph,
                  .backward = case_build(c, frame, true).graph,
                  .loss = b.loss};
    return check(&s, fill_case, c);
}

/* Halves are read by matmuls alone: precision_test differentiates both together. */
static bool differentiates_elsewhere(graph_op op)
{
    return op == OP_TO_HALF;
}

static void test_operator(void **state)
{
    const graph_op_info *op = *state;
    int of[LEFT_OUT + 1] = {0}, n = 0;
    size_t i = 0;
    for (const op_case *c = case_at(0); c; c = case_at(++i))
        for (case_frame frame = FRAME_BARE; (int)frame < tested_frames; frame++)
            if (c->op == op->op && case_fits(c, frame) && has_gradient(c)) {
                of[check_case(c, frame, false)]++;
                n++;
            }
    if (op->grad && !n && !differentiates_elsewhere(op->op))
        fail_msg("%s has a gradient, and no case that differentiates it", op->name);
    assert_int_equal(of[WRONG], 0);
    if (of[LEFT_OUT] && !of[RIGHT])
        skip();
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
            wrong += check_case(&e.row, FRAME_BARE, true) == WRONG;
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
                     &(gemm_attr){GEMM_UNSCALED, .trans_b = true}, &out, &err),
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
    const slice_attr upper = {.n_axes = 1, .begin = {0}, .end = {4}, .step = {1}};
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

static void fill_some(const gradient *s, const void *of)
{
    (void)of;
    for (graph_val v = 0; v < graph_n_values(s->forward); v++) {
        const graph_value *value = graph_value_at(s->forward, v);
        double *values = reference_value(s->reference, v);
        bool is_source = value->kind == VAL_INPUT || value->kind == VAL_PARAM;
        for (int64_t i = 0; is_source && i < reference_elements(s->reference, v); i++)
            values[i] = (double)(float)((double)(i * 7 % 11) * 0.1 - 0.45);
    }
}

/* The gradient of w in a graph of several nodes, with an input x perhaps. */
static void check_graph(graph *build(graph_val *, graph_val *))
{
    gradient s = {.name = "several nodes", .frame = "w"};
    graph_val w;
    s.forward = build(&s.loss, &w);
    s.backward = build(&s.loss, &w);
    verdict v = check(&s, fill_some, NULL);
    assert_int_not_equal(v, WRONG);
    if (v == LEFT_OUT)
        skip();
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

static void check_idle(const graph *g)
{
    lane l;
    lane_init(&l, &g, 1, 1);
    double ones[33];
    for (int i = 0; i < 33; i++)
        ones[i] = 1;
    lane_set(&l, 0, "idle", ones);
    lane_set(&l, 0, "weight", &GRADIENT_WEIGHT);
    exec_grad(l.exec)[l.layout->offset[flat_find(l.layout, "idle")]] = 1;
    lane_run(&l, 0, NULL);
    for (int i = 0; i < 33; i++)
        assert_true(lane_grad(&l, "idle")[i] == 0.0f);
    lane_fini(&l);
}

static void test_a_parameter_nobody_reads(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    graph_val w, loss;
    graph *g = build_tied(&loss, &w);
    tensor_decl idle = {.name = "idle", .rank = 1, .dim = {33}};
    must(graph_param(g, &idle, &w, &err), &err);
    append_gradient(g, loss);
    bool takes = tested_takes(g);
    if (takes)
        check_idle(g);
    graph_destroy(&g);
    if (!takes)
        skip();
}

/* Runs last: the cases must have led through every operator that only backward appends. */
static void test_every_backward_operator_was_met(void **state)
{
    (void)state;
    for (graph_op op = 0; op < OP_COUNT; op++)
        if (graph_op_of(op)->traits & OP_BACKWARD && !met[op])
            fail_msg("no case leads to %s", graph_op_of(op)->name);
}

static void test_what_lacks_is_known(void **state)
{
    (void)state;
    tested_lacks_no_more(true);
}

int main(void)
{
    struct CMUnitTest tests[OP_ZERO + 6] = {0};
    for (graph_op op = 0; op < OP_ZERO; op++)
        tests[op] = (struct CMUnitTest){.name = graph_op_of(op)->name,
                                        .test_func = test_operator,
                                        .initial_state = (void *)(uintptr_t)graph_op_of(op)};
    tests[OP_ZERO] = (struct CMUnitTest)cmocka_unit_test(test_a_parameter_read_twice);
    tests[OP_ZERO + 1] = (struct CMUnitTest)cmocka_unit_test(test_a_parameter_nobody_reads);
    tests[OP_ZERO + 2] = (struct CMUnitTest)cmocka_unit_test(test_pieces_of_a_value);
    tests[OP_ZERO + 3] = (struct CMUnitTest)cmocka_unit_test(test_without_elements);
    tests[OP_ZERO + 4] = (struct CMUnitTest)cmocka_unit_test(test_every_backward_operator_was_met);
    tests[OP_ZERO + 5] = (struct CMUnitTest)cmocka_unit_test(test_what_lacks_is_known);
    return tested_run(tests, COUNT_OF(tests));
}
