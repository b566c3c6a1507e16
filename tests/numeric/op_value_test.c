/*
 * Every forward operator of the backend the program is linked with (support_tested.h) against the
 * double reference, over the table of cases and every frame they fit in. A run is repeated with the
 * same inputs, so that a kernel which spoils its operands or its workspace shows. Lanes have two
 * threads here and one in the gradient test.
 *
 * Tolerance: 1e-5, a few tens of float roundings; the longest sums here have 300 terms.
 */
#include "numeric/support_cases.h"
#include "numeric/support_compare.h"
#include "numeric/support_lane.h"
#include "numeric/support_reference.h"
#include "numeric/support_tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const double TOLERANCE = 1e-5;

static void fill(const op_case *c, const graph *g, reference *r, lane *l)
{
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->kind != VAL_INPUT)
            continue;
        case_fill_value(c, value, reference_value(r, v));
        lane_set(l, 0, value->name, reference_value(r, v));
    }
}

static bool compare(const char *what, const graph *g, graph_val v, reference *r, lane *l)
{
    int64_t n = reference_elements(r, v);
    double *got = xcalloc((size_t)n + 1, sizeof *got);
    lane_get(l, 0, graph_value_at(g, v)->name, got);
    bool close = is_close(what, got, reference_value(r, v), n, TOLERANCE);
    free(got);
    return close;
}

static bool check_graph(const op_case *c, case_frame frame, const case_graph *b)
{
    const graph *g = b->graph;
    reference *r = reference_create(g);
    lane l;
    lane_init(&l, &g, 1, 2);
    bool close = true;
    for (int run = 0; run < 2; run++) {
        tested_turn(run);
        fill(c, g, r, &l);
        reference_run(r);
        lane_run(&l, 0, NULL);
        char what[128];
        snprintf(what, sizeof what, "%s, %s, run %d", c->name, case_frame_names[frame], run);
        close = compare(what, g, b->last, r, &l) && close;
        for (int32_t i = 0; i < graph_op_of(c->op)->n_out && frame == FRAME_BARE; i++)
            close = (!case_shows(c, i) || compare(what, g, b->out[i], r, &l)) && close;
    }
    lane_fini(&l);
    reference_destroy(&r);
    return close;
}

/* What became of the cases. */
typedef struct tally {
    int checked, left_out, wrong;
} tally;

static void check_case(tally *t, const op_case *c, case_frame frame)
{
    case_graph b = case_build(c, frame, false);
    if (!tested_takes(b.graph))
        t->left_out++;
    else if (!check_graph(c, frame, &b))
        t->wrong++;
    t->checked++;
    graph_destroy(&b.graph);
}

static void test_operator(void **state)
{
    const graph_op_info *op = *state;
    tally t = {0};
    size_t i = 0;
    for (const op_case *c = case_at(0); c; c = case_at(++i))
        for (case_frame frame = FRAME_BARE; (int)frame < tested_frames; frame++)
            if (c->op == op->op && case_fits(c, frame))
                check_case(&t, c, frame);
    assert_true(t.checked > 0);
    assert_int_equal(t.wrong, 0);
    if (t.left_out == t.checked)
        skip();
}

/* Whatever a shape rule takes has a value, with elements or without. */
static void test_without_elements(void **state)
{
    (void)state;
    tally t = {0};
    size_t i = 0;
    for (const op_case *c = case_at(0); c; c = case_at(++i)) {
        case_emptied e;
        for (size_t k = 0; case_emptied_at(c, k, &e); k++)
            if (case_is_legal(&e.row))
                check_case(&t, &e.row, FRAME_BARE);
    }
    assert_int_equal(t.wrong, 0);
}

static void test_what_lacks_is_known(void **state)
{
    (void)state;
    tested_lacks_no_more(false);
}

int main(void)
{
    /* Forward operators stand before OP_ZERO; the gradient test meets the others. */
    struct CMUnitTest tests[OP_ZERO + 2] = {0};
    for (graph_op op = 0; op < OP_ZERO; op++)
        tests[op] = (struct CMUnitTest){.name = graph_op_of(op)->name,
                                        .test_func = test_operator,
                                        .initial_state = (void *)(uintptr_t)graph_op_of(op)};
    tests[OP_ZERO] = (struct CMUnitTest)cmocka_unit_test(test_without_elements);
    tests[OP_ZERO + 1] = (struct CMUnitTest)cmocka_unit_test(test_what_lacks_is_known);
    return tested_run(tests, COUNT_OF(tests));
}
