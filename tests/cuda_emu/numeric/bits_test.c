/*
 * Operators whose results are promised to be the CPU's bit for bit (support_exact.h): all cases of
 * tests/numeric, on both backends.
 */
#include "backend/cpu/factor.h"
#include "cuda_emu/numeric/support_exact.h"
#include "numeric/support_cases.h"
#include "numeric/support_lane.h"
#include "numeric/support_tested.h"
#include "numeric/support_values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void fill(const op_case *c, const graph *g, lane *l)
{
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->kind != VAL_INPUT)
            continue;
        double *x = xcalloc((size_t)graph_shape_elements(&value->shape) + 1, sizeof *x);
        case_fill_value(c, value, x);
        lane_set(l, 0, value->name, x);
        free(x);
    }
}

static bool compare(const op_case *c, case_frame frame, const graph_value *value, lane *both)
{
    char what[128];
    snprintf(what, sizeof what, "%s, %s: '%s'", c->name, case_frame_names[frame], value->name);
    return is_same(what, value->dtype, exec_value(both[1].exec, 0, value->name, NULL),
                   exec_value(both[0].exec, 0, value->name, NULL),
                   graph_shape_elements(&value->shape));
}

static bool check_case(const op_case *c, case_frame frame, const graph *g)
{
    lane both[2];
    const backend_ops *const ops[] = {&backend_cpu, tested_backend};
    for (int i = 0; i < 2; i++) {
        lane_init_on(&both[i], ops[i], &g, 1, 1);
        fill(c, g, &both[i]);
        lane_run(&both[i], 0, NULL);
    }
    bool same = true;
    for (graph_val v = 0; v < graph_n_values(g); v++)
        if (graph_value_at(g, v)->keep)
            same = compare(c, frame, graph_value_at(g, v), both) && same;
    lane_fini(&both[0]);
    lane_fini(&both[1]);
    return same;
}

/* The CPU does all but float16, and keeps no bfloat16 where it gains nothing by it. */
static bool both_take(const graph *g)
{
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->dtype == DT_F16 ||
            (value->keep && factor_form_of(value->dtype) == FACTOR_ROUNDED))
            return false;
    }
    return tested_takes(g);
}

static void test_operator(void **state)
{
    const graph_op_info *op = *state;
    int wrong = 0, computed = 0;
    size_t i = 0;
    for (const op_case *c = case_at(0); c; c = case_at(++i))
        for (case_frame frame = FRAME_BARE; (int)frame < tested_frames; frame++) {
            if (c->op != op->op || !case_fits(c, frame))
                continue;
            graph *g = case_build(c, frame, false).graph;
            bool takes = both_take(g);
            wrong += takes && !check_case(c, frame, g);
            computed += takes;
            graph_destroy(&g);
        }
    assert_int_equal(wrong, 0);
    if (!computed)
        skip();
}

int main(void)
{
    struct CMUnitTest tests[OP_ZERO] = {0};
    size_t n = 0;
    for (graph_op op = 0; op < OP_ZERO; op++)
        if (op_is_exact(op))
            tests[n++] = (struct CMUnitTest){.name = graph_op_of(op)->name,
                                             .test_func = test_operator,
                                             .initial_state = (void *)(uintptr_t)graph_op_of(op)};
    return _cmocka_run_group_tests("bits", tests, n, NULL, NULL);
}
