/* The heads and tags that scores speak for: never the word itself nor what is no word, the first of equals, and NaN is
 * told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "metric/arcs.h"

#include <math.h>

enum { PLACES = 3, N_TAGS = 2 };

typedef struct arcs {
    int64_t heads[PLACES], tags[PLACES];
    float scores[PLACES];
} arcs;

static arcs decode(const float *heads, const float *tags, bool tags_of_heads, const unsigned char *is_word)
{
    const arc_scores s = {
        .heads = heads, .tags = tags, .tags_of_heads = tags_of_heads, .places = PLACES, .n_tags = N_TAGS};
    arcs ret;
    arcs_decode(&s, is_word, ret.heads, ret.tags, ret.scores);
    return ret;
}

static const unsigned char all[PLACES] = {1, 1, 1}, but_second[PLACES] = {1, 0, 1};
static const float tags[PLACES * N_TAGS] = {0, 1, 2, 2, 5, 4};

static void test_the_highest_score_of_another_word(void **state)
{
    (void)state;
    static const float heads[PLACES * (PLACES + 1)] = {1, 9, 3, 2, 4, 4, 8, 4, -1, -3, -2, 0};
    arcs a = decode(heads, tags, false, all);
    assert_int_equal(a.heads[0], 2); /* not itself, 9 */
    assert_int_equal(a.heads[1], 0); /* the first of three fours */
    assert_int_equal(a.heads[2], 0);
    assert_int_equal(a.tags[0], 1);
    assert_int_equal(a.tags[1], 0);
    assert_int_equal(a.tags[2], 0);
    assert_true(a.scores[0] == 4.0f && a.scores[1] == 6.0f && a.scores[2] == 4.0f);
    a = decode(heads, tags, false, but_second);
    assert_int_equal(a.heads[0], 3); /* place 2 is no word */
    assert_int_equal(a.heads[1], ARC_NO_HEAD);
    assert_int_equal(a.tags[1], ARC_NO_HEAD);
    assert_true(a.scores[1] == 0.0f);
}

static void test_tags_at_the_head(void **state)
{
    (void)state;
    static const float heads[PLACES * (PLACES + 1)] = {0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0};
    float at_heads[PLACES * (PLACES + 1) * N_TAGS] = {0};
    at_heads[(0 * (PLACES + 1) + 3) * N_TAGS + 1] = 1.0f;
    at_heads[(1 * (PLACES + 1) + 3) * N_TAGS + 1] = 1.0f; /* another head's */
    at_heads[(2 * (PLACES + 1) + 2) * N_TAGS + 1] = 1.0f;
    arcs a = decode(heads, at_heads, true, all);
    assert_int_equal(a.heads[0], 3);
    assert_int_equal(a.heads[1], 0);
    assert_int_equal(a.heads[2], 2);
    assert_int_equal(a.tags[0], 1);
    assert_int_equal(a.tags[1], 0);
    assert_int_equal(a.tags[2], 1);
}

/* Masks may be -infinity; NaN and +infinity are no scores, but where nothing looks. */
static void test_scores_that_are_none(void **state)
{
    (void)state;
    const float heads[PLACES * (PLACES + 1)] = {-INFINITY, NAN, -INFINITY, 1, 0, NAN, 0, 0, INFINITY, 0, 0, 0};
    arcs a = decode(heads, tags, false, all);
    assert_int_equal(a.heads[0], 3);
    assert_true(a.scores[0] == 2.0f);
    assert_true(isnan(a.scores[1]));
    assert_true(isnan(a.scores[2]));
}

int main(void)
{
    const struct CMUnitTest tests_of_arcs[] = {
        cmocka_unit_test(test_the_highest_score_of_another_word),
        cmocka_unit_test(test_tags_at_the_head),
        cmocka_unit_test(test_scores_that_are_none),
    };
    return cmocka_run_group_tests(tests_of_arcs, NULL, NULL);
}
