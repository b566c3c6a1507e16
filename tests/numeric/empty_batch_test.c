/*
 * Whole networks over a batch of no examples, in a lane that has just computed one of some: every
 * gradient is 0, whatever lay there before, running statistics stay where they were, and the mean
 * loss of nothing is NaN.
 */
#include "numeric/support_lane.h"
#include "numeric/support_models.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { EXAMPLES = 3 };

static const double WEIGHT = 0.75;

static void check_param(const graph *g, const lane *l, const graph_value *param)
{
    int64_t at = l->layout->offset[flat_find(l->layout, param->name)];
    bool stays = param->param->kind == TENSOR_STATE;
    for (int64_t i = 0; i < graph_shape_elements(&param->shape); i++) {
        float expected = stays ? l->params[at + i] * (float)WEIGHT : 0.0f;
        if (lane_grad(l, param->name)[i] != expected)
            fail_msg("%s[%d] of %d nodes: %g, not %g", param->name, (int)i, (int)graph_n_nodes(g),
                     (double)lane_grad(l, param->name)[i], (double)expected);
    }
}

static void check_model(const model_size *size)
{
    graph *graphs[] = {model_build(size, EXAMPLES, true), model_build(size, 0, true)};
    lane l;
    double loss;
    lane_init(&l, (const graph *const *)graphs, 2, 2);
    model_fill_params(graphs[0], &l, NULL);
    for (size_t i = 0; i < 2; i++) {
        model_fill_batch(graphs[i], 7, WEIGHT, &l, i, NULL);
        lane_run(&l, i, NULL);
        lane_get(&l, i, "loss", &loss);
        assert_int_equal(isnan(loss) != 0, i == 1);
    }
    for (graph_val v = 0; v < graph_n_values(graphs[1]); v++) {
        const graph_value *value = graph_value_at(graphs[1], v);
        if (value->grad != GRAPH_NONE)
            check_param(graphs[1], &l, value);
    }
    lane_fini(&l);
    graph_destroy(&graphs[0]);
    graph_destroy(&graphs[1]);
}

static void nothing_moves_a_network_of_images(void **state)
{
    (void)state;
    check_model(&small_cnn);
}

static void nothing_moves_a_network_of_rows(void **state)
{
    (void)state;
    check_model(&small_mlp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_moves_a_network_of_images),
        cmocka_unit_test(nothing_moves_a_network_of_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
