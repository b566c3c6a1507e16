#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/rng.h"

#include <stdlib.h>
#include <string.h>

static void mem_is_aligned_and_zero(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 63, 64, 65, 4097, 1 << 20};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        void *p = NULL;
        assert_int_equal(mem_alloc(sizes[i], "test", &p, NULL), OK);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % MEM_ALIGN, 0);
        for (size_t b = 0; b < sizes[i]; b++)
            assert_int_equal(((unsigned char *)p)[b], 0);
        mem_free(p);
    }
    mem_free(NULL);
}

static void too_much_memory_is_an_error(void **state)
{
    (void)state;
    void *p = &p;
    error err = ERROR_INIT;
    assert_int_equal(mem_alloc(SIZE_MAX - 3, "weights", &p, &err), E_NOMEM);
    assert_string_equal(err.text, "weights: 18446744073709551612 bytes cannot be addressed");
    assert_ptr_equal(p, &p);
}

static void sizes_are_checked(void **state)
{
    (void)state;
    size_t x = 7;
    assert_false(size_mul(SIZE_MAX / 2, 3, &x));
    assert_false(size_add(SIZE_MAX, 1, &x));
    assert_true(size_mul(6, 7, &x));
    assert_int_equal(x, 42);
    assert_true(size_add(1, 2, &x));
    assert_int_equal(x, 3);
    assert_int_equal(size_round_up(65, 64), 128);
    assert_int_equal(size_round_up(64, 64), 64);
}

static void arrays_grow(void **state)
{
    (void)state;
    int *array = NULL;
    size_t cap = 0;
    for (int i = 0; i < 1000; i++) {
        GROW(array, cap, (size_t)i + 1);
        array[i] = i;
    }
    assert_true(cap >= 1000);
    GROW(array, cap, 5000);
    assert_true(cap >= 5000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(array[i], i);
    free(array);
}

/* Blocks of an arena are zero, aligned, and do not touch one another. */
static void arena_blocks_are_apart(void **state)
{
    (void)state;
    enum { BLOCKS = 2000 };
    static unsigned char *block[BLOCKS];
    static size_t bytes[BLOCKS];
    rng r = rng_make(1, RNG_TEST, 0);
    arena *a = arena_create();
    for (uint64_t i = 0; i < BLOCKS; i++) {
        bytes[i] = rng_below(&r, i, i % 100 ? 200 : 50000);
        block[i] = arena_alloc(a, bytes[i]);
        assert_int_equal((uintptr_t)block[i] % 16, 0);
        for (size_t b = 0; b < bytes[i]; b++)
            assert_int_equal(block[i][b], 0);
        memset(block[i], (int)(i % 255) + 1, bytes[i]);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        for (size_t b = 0; b < bytes[i]; b++)
            assert_int_equal(block[i][b], i % 255 + 1);
    arena_destroy(&a);
    assert_null(a);
    arena_destroy(&a);
    arena_destroy(NULL);
}

static void arena_copies_text(void **state)
{
    (void)state;
    arena *a = arena_create();
    char text[] = "weight";
    char *copy = arena_strdup(a, text), *head = arena_strndup(a, text, 3);
    char *whole = arena_strndup(a, text, 99), *made = arena_printf(a, "%s.%d", text, 7);
    text[0] = 'x';
    assert_string_equal(copy, "weight");
    assert_string_equal(head, "wei");
    assert_string_equal(whole, "weight");
    assert_string_equal(made, "weight.7");
    arena_destroy(&a);
}

static void text_helpers_copy(void **state)
{
    (void)state;
    char *a = xstrdup("abc"), *b = xstrndup("abcdef", 2), *c = xasprintf("%s-%05d", "n", 42);
    assert_string_equal(a, "abc");
    assert_string_equal(b, "ab");
    assert_string_equal(c, "n-00042");
    free(a);
    free(b);
    free(c);
    free(xmalloc(0));
    free(xcalloc(0, 8));
    free(xrealloc(NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mem_is_aligned_and_zero), cmocka_unit_test(too_much_memory_is_an_error),
        cmocka_unit_test(sizes_are_checked),       cmocka_unit_test(arrays_grow),
        cmocka_unit_test(arena_blocks_are_apart),  cmocka_unit_test(arena_copies_text),
        cmocka_unit_test(text_helpers_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
