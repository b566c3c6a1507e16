/* Lines of JSON about examples: what is concluded from scores, by what these say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/use/prediction_line.h"
#include "common/base/alloc.h"
#include "data/reader.h"

#include <math.h>

static bool yes_or_no(const dataset *d, int64_t label, buf *to)
{
    (void)d;
    buf_adds(to, label ? "\"yes\"" : "no");
    return true;
}

static const reader_ops wordless = {.read = NULL}, wordy = {.label_word = yes_or_no};
static const dataset plain = {.ops = &wordless}, named = {.ops = &wordy};

/* The line of the last of two examples. */
static void expect_at(double temperature, const dataset *data, prediction says, graph_shape shape,
                      const float *values, const char *want)
{
    evaluation_predictions a = {.data = data, .says = says, .examples = 2, .n_outputs = 1};
    a.outputs[0] =
        (evaluation_array){.name = says.name, .dtype = DT_F32, .shape = shape, .data = values};
    buf line = BUF_INIT;
    prediction_line(&a, 1, 7, &(prediction_form){.temperature = temperature}, &line);
    assert_string_equal(line.data, want);
    buf_fini(&line);
}

static void expect(const dataset *data, prediction says, graph_shape shape, const float *values,
                   const char *want)
{
    expect_at(0.0, data, says, shape, values, want);
}

/* Halved logits; what is likeliest stays. */
static void test_a_temperature(void **state)
{
    (void)state;
    const float scores[] = {0, 9, (float)log(9.0), 0};
    expect_at(2.0, &plain, (prediction){PREDICTION_CLASSES, "logits", 1, NULL}, (graph_shape){2, {2, 2}}, scores,
              "{\"example\": 7, \"label\": 0, \"probs\": [0.750000004, 0.249999996], \"logits\": [2.19722462, 0]}\n");
    expect_at(2.0, &plain, (prediction){PREDICTION_ODDS, "logits", 0, NULL}, (graph_shape){2, {2, 2}}, scores,
              "{\"example\": 7, \"label\": [1, 0], \"probs\": [0.750000004, 0.5], \"logits\": [2.19722462, 0]}\n");
    expect_at(2.0, &plain, (prediction){PREDICTION_ODDS, "logits", 0, NULL}, (graph_shape){1, {3}}, scores,
              "{\"example\": 7, \"label\": 1, \"probs\": [0.0109869426, 0.989013057], \"logits\": 9}\n");
}

static void test_classes(void **state)
{
    (void)state;
    const float scores[] = {0, 9, (float)log(3.0), 0};
    const prediction says = {PREDICTION_CLASSES, "logits", 1, NULL};
    const graph_shape shape = {2, {2, 2}};
    expect(&plain, says, shape, scores,
           "{\"example\": 7, \"label\": 0, \"probs\": [0.750000004, 0.249999996], \"logits\": [1.09861231, 0]}\n");
    expect(&named, says, shape, scores,
           "{\"example\": 7, \"label\": \"no\", \"probs\": [0.750000004, 0.249999996], "
           "\"logits\": [1.09861231, 0]}\n");
}

static void test_rows_of_classes(void **state)
{
    (void)state;
    const float scores[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 5, 2, 4, 3, 3, 0, 9};
    expect(&plain, (prediction){PREDICTION_CLASSES, "logits", 2, NULL}, (graph_shape){3, {2, 4, 2}}, scores,
           "{\"example\": 7, \"label\": [1, 1, 0, 1], "
           "\"logits\": [[1, 5], [2, 4], [3, 3], [0, 9]]}\n");
    expect(&plain, (prediction){PREDICTION_CLASSES, "logits", 1, NULL}, (graph_shape){4, {2, 2, 2, 2}}, scores,
           "{\"example\": 7, \"label\": [[1, 0], [0, 1]], "
           "\"logits\": [[[1, 5], [2, 4]], [[3, 3], [0, 9]]]}\n");
}

static void test_yes_or_no(void **state)
{
    (void)state;
    const float odds[] = {0, 0, (float)log(3.0), (float)-log(3.0)}, chances[] = {0, 0.25f};
    const prediction says = {PREDICTION_ODDS, "logits", 0, NULL};
    expect(&named, says, (graph_shape){2, {2, 1}}, odds + 1,
           "{\"example\": 7, \"label\": \"\\\"yes\\\"\", \"probs\": [0.249999996, 0.750000004], "
           "\"logits\": [1.09861231]}\n");
    expect(&plain, says, (graph_shape){2, {2, 1}}, odds,
           "{\"example\": 7, \"label\": 0, \"probs\": [0.5, 0.5], \"logits\": [0]}\n");
    expect(&plain, says, (graph_shape){2, {2, 2}}, odds,
           "{\"example\": 7, \"label\": [1, 0], \"probs\": [0.750000004, 0.249999996], "
           "\"logits\": [1.09861231, -1.09861231]}\n");
    expect(&plain, (prediction){PREDICTION_CHANCES, "probability", 0, NULL}, (graph_shape){2, {2, 1}}, chances,
           "{\"example\": 7, \"label\": 0, \"probs\": [0.75, 0.25], \"probability\": [0.25]}\n");
}

/* Of classes that an example may have any number of, those that it has are said by their words, if there are some. */
static void test_several_classes(void **state)
{
    (void)state;
    const float odds[] = {0, 0, (float)-log(3.0), (float)log(3.0)}, none[] = {9, 9, -1, -1};
    const float chances[] = {0, 0, 0.75f, 0.625f};
    const prediction says = {PREDICTION_ODDS, "logits", 0, NULL};
    const graph_shape shape = {2, {2, 2}};
    expect(&named, says, shape, odds,
           "{\"example\": 7, \"label\": [\"\\\"yes\\\"\"], \"probs\": [0.249999996, 0.750000004], "
           "\"logits\": [-1.09861231, 1.09861231]}\n");
    expect(&named, says, shape, none,
           "{\"example\": 7, \"label\": [], \"probs\": [0.268941421, 0.268941421], \"logits\": [-1, -1]}\n");
    expect(&named, (prediction){PREDICTION_CHANCES, "probability", 0, NULL}, shape, chances,
           "{\"example\": 7, \"label\": [\"no\", \"\\\"yes\\\"\"], \"probs\": [0.75, 0.625], "
           "\"probability\": [0.75, 0.625]}\n");
}

/* The best last position need not be the one with the largest score: it may stand too far ahead. */
static void test_spans(void **state)
{
    (void)state;
    const float scores[] = {0, 0, 0, 0, 0, 0, 1, 9, 4, 0, 2, 7};
    expect(&plain, (prediction){PREDICTION_SPAN, "logits", 0, NULL}, (graph_shape){3, {2, 3, 2}}, scores,
           "{\"example\": 7, \"best_span\": [1, 2], \"logits\": [[1, 9], [4, 0], [2, 7]]}\n");
}

static void test_numbers(void **state)
{
    (void)state;
    const float values[] = {0, 0, 1.5f, (float)NAN};
    expect(&plain, (prediction){PREDICTION_NUMBERS, "prediction", 0, NULL}, (graph_shape){2, {2, 2}}, values,
           "{\"example\": 7, \"prediction\": [1.5, null]}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_a_temperature), cmocka_unit_test(test_rows_of_classes),
        cmocka_unit_test(test_yes_or_no), cmocka_unit_test(test_several_classes),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
