/*
 * The CPU backend. Its gradients are held against central differences of the double reference:
 * along single elements of every operand, and along random signs of all its elements at once, which
 * no wrong element escapes.
 */
#include "numeric/support_tested.h"

#include "backend/cpu/factor.h"
#include "common/base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const backend_ops *const tested_backend = &backend_cpu;
const int tested_frames = FRAME_COUNT;

int tested_run(const struct CMUnitTest *tests, size_t n)
{
    return _cmocka_run_group_tests("operators", tests, n, NULL, NULL);
}

bool tested_takes(const graph *g)
{
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->dtype == DT_F16)
            return false;
        if (value->keep && factor_form_of(value->dtype) == FACTOR_ROUNDED)
            return false;
    }
    return true;
}

bool tested_multiplies(graph_precision p)
{
    return p != PRECISION_F16;
}

bool tested_rounds_weight_gradients(void)
{
    return false;
}

void tested_turn(int turn)
{
    (void)turn;
}

void tested_lacks_no_more(bool backward)
{
    (void)backward;
}

/* Backward is one more sum after the forward one. */
static const double TOLERANCE = 2e-5;

enum { MANY = 4096, ELEMENTS = 7, ELEMENTS_OF_MANY = 2 }; /* single ones per operand */

/* The lane's derivative along a direction, held against the reference's. `size` is what the sum of
 * the terms would be if none cancelled. */
static bool check_derivative(const gradient *s, graph_val x, const double *direction)
{
    const graph_value *value = graph_value_at(s->forward, x);
    const float *grad = lane_grad(&s->lane, value->name);
    int64_t n = reference_elements(s->reference, x);
    double got = 0, squares = 0, used = 0;
    for (int64_t i = 0; i < n; i++) {
        got += (double)grad[i] * direction[i];
        squares += (double)grad[i] * (double)grad[i];
        used += direction[i] * direction[i];
    }
    double want = GRADIENT_WEIGHT * reference_derivative(s->reference, s->loss, x, direction);
    double size = sqrt(squares / (double)n * used);
    bool close = fabs(got - want) <= TOLERANCE * (size + fabs(want)) + 1e-9;
    if (s->is_empty && want == 0 && used == (double)n)
        close = squares == 0;
    if (!close)
        print_error("%s, %s: the derivative along %g elements of '%s' is %.9g, the reference says "
                    "%.9g\n",
                    s->name, s->frame, used, value->name, got, want);
    return close;
}

static bool check_operand(const gradient *s, graph_val x)
{
    int64_t n = reference_elements(s->reference, x);
    if (n == 0)
        return true;
    double *direction = xcalloc((size_t)n, sizeof *direction);
    rng signs = rng_make(5, RNG_TEST, (uint64_t)x);
    for (int64_t i = 0; i < n; i++)
        direction[i] = rng_u32(&signs, (uint64_t)i) & 1 ? 1 : -1;
    bool close = check_derivative(s, x, direction);
    memset(direction, 0, (size_t)n * sizeof *direction);
    int64_t wanted = n < MANY ? ELEMENTS : ELEMENTS_OF_MANY, elements = n < wanted ? n : wanted;
    for (int64_t k = 0; k < elements; k++) {
        int64_t i = elements > 1 ? k * (n - 1) / (elements - 1) : 0;
        direction[i] = 1;
        close = check_derivative(s, x, direction) && close;
        direction[i] = 0;
    }
    free(direction);
    return close;
}

bool tested_gradients(const gradient *s)
{
    bool close = true;
    for (graph_val v = 0; v < graph_n_values(s->forward); v++)
        if (graph_value_at(s->forward, v)->kind == VAL_PARAM)
            close = check_operand(s, v) && close;
    return close;
}
