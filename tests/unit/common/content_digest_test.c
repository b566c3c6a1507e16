/* Hashes of contents: what they notice, and that a sample costs the same however long its pieces
 * are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/content_digest.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 3 * CONTENT_DIGEST_SAMPLE + 12345, SHORT = 1000 };

typedef void hash_fn(const content_digest *s, char ret_hex[SHA256_HEX]);

typedef struct memory {
    unsigned char *big, *small;
} memory;

static int begin(void **state)
{
    memory *m = malloc(sizeof *m);
    *m = (memory){.big = malloc(LONG), .small = malloc(SHORT)};
    memset(m->big, 1, LONG);
    memset(m->small, 2, SHORT);
    *state = m;
    return 0;
}

static int end(void **state)
{
    memory *m = *state;
    free(m->big);
    free(m->small);
    free(m);
    return 0;
}

static void hash(const memory *m, hash_fn *how, char ret_hex[SHA256_HEX])
{
    content_digest all = {.at = NULL};
    content_digest_add(&all, m->big, LONG);
    content_digest_add(&all, m->small, SHORT);
    assert_int_equal(content_digest_bytes(&all), LONG + SHORT);
    how(&all, ret_hex);
    content_digest_fini(&all);
}

static bool notices(memory *m, hash_fn *how, unsigned char *at, size_t bytes)
{
    char before[SHA256_HEX], after[SHA256_HEX], restored[SHA256_HEX];
    hash(m, how, before);
    for (size_t i = 0; i < bytes; i++)
        at[i] ^= 0x40;
    hash(m, how, after);
    for (size_t i = 0; i < bytes; i++)
        at[i] ^= 0x40;
    hash(m, how, restored);
    assert_string_equal(before, restored);
    return strcmp(before, after) != 0;
}

static void test_ends_and_short_pieces_are_hashed_whole(void **state)
{
    memory *m = *state;
    hash_fn *const both[] = {content_digest_whole, content_digest_sampled};
    for (size_t i = 0; i < 2; i++) {
        assert_true(notices(m, both[i], m->big, 1));
        assert_true(notices(m, both[i], m->big + LONG - 1, 1));
        assert_true(notices(m, both[i], m->small + SHORT / 2, 1));
    }
}

/* A difference that is longer than two stretches holds a block. */
static void test_a_sample_notices_what_is_long_or_frequent(void **state)
{
    memory *m = *state;
    size_t stretches = CONTENT_DIGEST_SAMPLE / CONTENT_DIGEST_BLOCK / 2,
           two = 2 * (LONG / (stretches - 2));
    for (size_t at = CONTENT_DIGEST_BLOCK; at + two < LONG; at += LONG / 7)
        assert_true(notices(m, content_digest_sampled, m->big + at, two));
    size_t unnoticed = 0;
    for (size_t at = 5 * CONTENT_DIGEST_BLOCK; at + 1 < LONG; at += LONG / 13)
        unnoticed += !notices(m, content_digest_sampled, m->big + at, 1);
    assert_true(unnoticed > 0); /* it does not read all of it */
    for (size_t at = 5 * CONTENT_DIGEST_BLOCK; at + 1 < LONG; at += LONG / 5)
        assert_true(notices(m, content_digest_whole, m->big + at, 1));
}

static void test_lengths_count(void **state)
{
    memory *m = *state;
    char one[SHA256_HEX], two[SHA256_HEX];
    hash_fn *const both[] = {content_digest_whole, content_digest_sampled};
    for (size_t i = 0; i < 2; i++) {
        content_digest a = {.at = NULL}, b = {.at = NULL};
        content_digest_add(&a, m->small, 10);
        content_digest_add(&a, m->small, 20);
        content_digest_add(&b, m->small, 20);
        content_digest_add(&b, m->small, 10);
        both[i](&a, one);
        both[i](&b, two);
        assert_string_not_equal(one, two);
        content_digest_fini(&a);
        content_digest_fini(&b);
    }
}

static void test_nothing_has_a_hash(void **state)
{
    (void)state;
    char hex[SHA256_HEX];
    content_digest none = {.at = NULL};
    content_digest_sampled(&none, hex);
    assert_int_equal(strlen(hex), SHA256_HEX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ends_and_short_pieces_are_hashed_whole, begin, end),
        cmocka_unit_test_setup_teardown(test_a_sample_notices_what_is_long_or_frequent, begin, end),
        cmocka_unit_test_setup_teardown(test_lengths_count, begin, end),
        cmocka_unit_test(test_nothing_has_a_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
