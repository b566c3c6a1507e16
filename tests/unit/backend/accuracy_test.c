/* Accuracy where scores are no ordinary numbers: ties, infinities, NaN. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/backend/support_program.h"

#include <math.h>
#include <string.h>

static void expect(const float *scores, const int64_t *labels, int64_t rows, int64_t classes,
                   int64_t right)
{
    program p;
    program_init(&p);
    graph_val in[2] = {
        program_input(&p, "scores", DT_F32, (graph_shape){2, {rows, classes}}),
        program_input(&p, "labels", DT_I64, (graph_shape){1, {rows}}),
    };
    graph_val out[2];
    program_node(&p, OP_ACCURACY, "accuracy", NULL, 2, in, out);
    program_load(&p, 2);
    memcpy(program_floats(&p, in[0]), scores, (size_t)(rows * classes) * sizeof *scores);
    memcpy(program_ints(&p, in[1]), labels, (size_t)rows * sizeof *labels);
    program_run(&p);
    assert_int_equal(program_ints(&p, out[0])[0], right);
    assert_int_equal(program_ints(&p, out[1])[0], rows);
    program_fini(&p);
}

static void test_classes(void **state)
{
    (void)state;
    const float scores[] = {
        1,         3,  2,        /* 1 */
        5,         5,  0,        /* a tie: the first */
        -1,        -3, -2,       /* 0 */
        0,         0,  NAN,      /* never right */
        NAN,       1,  0,        /* never right */
        -INFINITY, 0,  INFINITY, /* 2 */
    };
    expect(scores, (const int64_t[]){1, 0, 2, 0, 1, 2}, 6, 3, 3);
    expect(scores, (const int64_t[]){1, 1, 0, 2, 0, 7}, 6, 3, 2);
}

static void test_logits(void **state)
{
    (void)state;
    const float scores[] = {0.5f, -0.5f, 0, -INFINITY, INFINITY, NAN};
    expect(scores, (const int64_t[]){1, 0, 0, 0, 1, 0}, 6, 1, 5);
    expect(scores, (const int64_t[]){0, 1, 1, 1, 0, 1}, 6, 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_logits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
