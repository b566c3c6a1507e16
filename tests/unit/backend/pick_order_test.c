/*
 * The order in which picks of a row are combined (backend/pick_order.h), by another way of saying it: bit for bit,
 * on any number of threads, and near the sum in double.
 */
#include "unit/backend/support_program.h"

#include "common/base/alloc.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 8, SEGMENT = 64 };

static const int64_t n_picks[ROWS] = {1, 63, 64, 65, 10000, 0, 129, 4096 + 1};

typedef struct scene {
    program p;
    int64_t n, inner;
    graph_val at, parts, data, from, put, added, multiplied;
} scene;

static void scene_init(scene *s, int64_t inner)
{
    *s = (scene){.inner = inner};
    for (int row = 0; row < ROWS; row++)
        s->n += n_picks[row];
    program_init(&s->p);
    s->at = program_input(&s->p, "at", DT_I64, (graph_shape){1, {s->n}});
    s->parts = program_input(&s->p, "parts", DT_I64, (graph_shape){2, {s->n, 1}});
    s->data = program_input(&s->p, "data", DT_F32, (graph_shape){2, {ROWS, inner}});
    s->from = program_input(&s->p, "from", DT_F32, (graph_shape){2, {s->n, inner}});
    const graph_val three[] = {s->data, s->parts, s->from};
    s->put = program_node(&s->p, OP_GATHER_BWD, "put", &(gather_attr){.x = {2, {ROWS, inner}}}, 2,
                          (graph_val[]){s->from, s->at}, NULL);
    s->added = program_node(&s->p, OP_SCATTER_ND, "added",
                            &(index_attr){.reduction = SCATTER_ADD}, 3, three, NULL);
    s->multiplied = program_node(&s->p, OP_SCATTER_ND, "multiplied",
                                 &(index_attr){.reduction = SCATTER_MUL}, 3, three, NULL);
}

/* Rows take turns as long as they have picks; what is multiplied stays near 1. */
static void fill(scene *s)
{
    program_fill_sources(&s->p);
    float *from = program_floats(&s->p, s->from);
    for (int64_t i = 0; i < s->n * s->inner; i++)
        from[i] = 1.0f + from[i] / 128;
    int64_t *at = program_ints(&s->p, s->at), left[ROWS], n = 0;
    memcpy(left, n_picks, sizeof left);
    while (n < s->n)
        for (int64_t row = 0; row < ROWS; row++)
            if (left[row] > 0) {
                left[row]--;
                at[n++] = row;
            }
    memcpy(program_ints(&s->p, s->parts), at, (size_t)n * sizeof *at);
}

static float both(float a, float b, bool multiply)
{
    return multiply ? a * b : a + b;
}

/* The tree over n >= 1 leaves: on the left the most that a whole one has. */
static float joined(const float *leaf, int64_t n, bool multiply)
{
    int64_t left = 1;
    while (2 * left < n)
        left *= 2;
    return n == 1 ? *leaf
                  : both(joined(leaf, left, multiply), joined(leaf + left, n - left, multiply),
                         multiply);
}

/* Of one element: what it begins with and, of column `column`, the row's picks. */
static float expected(const scene *s, int64_t row, int64_t column, float begin, bool multiply)
{
    const int64_t *at = program_ints((program *)&s->p, s->at);
    const float *from = program_floats((program *)&s->p, s->from);
    float *leaf = xcalloc((size_t)(s->n / SEGMENT + 1), sizeof *leaf);
    int64_t k = 0;
    leaf[0] = begin;
    for (int64_t i = 0; i < s->n; i++)
        if (at[i] == row) {
            float x = from[i * s->inner + column], *mine = &leaf[k / SEGMENT];
            *mine = k > 0 && k % SEGMENT == 0 ? x : both(*mine, x, multiply);
            k++;
        }
    float result = joined(leaf, k == 0 ? 1 : (k + SEGMENT - 1) / SEGMENT, multiply);
    free(leaf);
    return result;
}

static void assert_expected(scene *s, int threads)
{
    const struct {
        const char *name;
        graph_val v;
        bool begins_with_data, multiplies;
    } made[] = {
        {"put", s->put, false, false},
        {"added", s->added, true, false},
        {"multiplied", s->multiplied, true, true},
    };
    const float *data = program_floats(&s->p, s->data);
    for (size_t m = 0; m < COUNT_OF(made); m++)
        for (int64_t i = 0; i < ROWS * s->inner; i++) {
            float got = program_floats(&s->p, made[m].v)[i];
            float want = expected(s, i / s->inner, i % s->inner,
                                  made[m].begins_with_data ? data[i] : 0.0f, made[m].multiplies);
            if (memcmp(&got, &want, sizeof got) != 0)
                fail_msg("%s, %lld columns, %d threads: element %lld is %a and not %a", made[m].name,
                         (long long)s->inner, threads, (long long)i, (double)got, (double)want);
        }
}

/* No addition of a row's is deeper than its segment and the tree. */
static void assert_near_double(scene *s)
{
    const int64_t *at = program_ints(&s->p, s->at);
    const float *from = program_floats(&s->p, s->from);
    for (int64_t i = 0; i < ROWS * s->inner; i++) {
        double sum = 0.0, sizes = 0.0, depth = SEGMENT + log2((double)s->n / SEGMENT) + 1.0;
        for (int64_t k = 0; k < s->n; k++)
            if (at[k] == i / s->inner) {
                sum += (double)from[k * s->inner + i % s->inner];
                sizes += fabs((double)from[k * s->inner + i % s->inner]);
            }
        double got = (double)program_floats(&s->p, s->put)[i];
        assert_true(fabs(got - sum) <= depth * 0x1p-24 * sizes);
    }
}

static void test_picks_have_the_order_that_is_promised(void **state)
{
    (void)state;
    static const int64_t inner[] = {1, 3, 150};
    static const int threads[] = {1, 2, 7};
    for (size_t i = 0; i < COUNT_OF(inner); i++)
        for (size_t t = 0; t < COUNT_OF(threads); t++) {
            scene s;
            scene_init(&s, inner[i]);
            program_load(&s.p, threads[t]);
            fill(&s);
            program_run(&s.p);
            assert_expected(&s, threads[t]);
            assert_near_double(&s);
            program_fini(&s.p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_picks_have_the_order_that_is_promised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
