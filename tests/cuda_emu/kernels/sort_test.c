/* Sorting: ascending keys, equal ones as they stood, for any number of them and of their bits. */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/kernels/sort.h"
#include "common/base/alloc.h"

#include <stdlib.h>

enum { MOST = 8200 };

static uint32_t keys[MOST], from[MOST], sorted[MOST], order[MOST], want[MOST];

static int by_key(const void *a, const void *b)
{
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    if (keys[i] != keys[k])
        return keys[i] < keys[k] ? -1 : 1;
    return i < k ? -1 : i > k;
}

/* Many keys are alike, whatever their bits. */
static void make_keys(size_t n, int bits, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        keys[i] = (seed >> 7) % 700 * 2654435761u >> (32 - bits);
        from[i] = seed;
        want[i] = (uint32_t)i;
    }
    qsort(want, n, sizeof *want, by_key);
}

static void sort_and_compare(size_t n, int bits, bool has_numbers)
{
    size_t bytes = n * sizeof(uint32_t);
    make_keys(n, bits, (uint32_t)(31 * n) + (uint32_t)bits);
    launch_sort_call c = {
        .n = (int64_t)n,
        .bits = bits,
        .keys = on_device(keys, bytes),
        .from = has_numbers ? on_device(from, bytes) : NULL,
        .sorted = device_alloc(bytes),
        .order = device_alloc(bytes),
        .workspace = device_alloc(launch_sort_workspace_bytes((int64_t)n)),
    };
    launch_sort(kernel_test_stream(), &c);
    from_device(sorted, c.sorted, bytes);
    from_device(order, c.order, bytes);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(sorted[i], keys[want[i]]);
        assert_int_equal(order[i], has_numbers ? from[want[i]] : want[i]);
    }
    from_device(sorted, c.keys, bytes);
    assert_memory_equal(sorted, keys, bytes);
}

static void numbers_stand_in_the_order_of_their_keys(void **state)
{
    (void)state;
    sort_and_compare(1, 1, false);
    sort_and_compare(33, 17, true);
    sort_and_compare(513, 32, false);
    sort_and_compare(4096, 8, true);
    sort_and_compare(4097, 9, false);
    sort_and_compare(MOST, 24, true);
}

/* More counts than one round of the middle kernel takes: 4096. */
static void tiles_are_in_their_order(void **state)
{
    (void)state;
    enum { N = 16 * 4096 + 5 };
    uint32_t *many = xcalloc(N, sizeof *many), *got = xcalloc(N, sizeof *got);
    for (uint32_t i = 0; i < N; i++)
        many[i] = i / 5 % 3;
    launch_sort_call c = {
        .n = N,
        .bits = 2,
        .keys = on_device(many, N * sizeof *many),
        .sorted = device_alloc(N * sizeof *many),
        .order = device_alloc(N * sizeof *many),
        .workspace = device_alloc(launch_sort_workspace_bytes(N)),
    };
    launch_sort(kernel_test_stream(), &c);
    from_device(got, c.order, N * sizeof *got);
    size_t at = 0;
    for (uint32_t key = 0; key < 3; key++)
        for (uint32_t i = 0; i < N; i++)
            if (many[i] == key)
                assert_int_equal(got[at++], i);
    free(many);
    free(got);
}

static void nothing_is_sorted_at_no_cost(void **state)
{
    (void)state;
    launch_sort(kernel_test_stream(), &(launch_sort_call){.bits = 1});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(numbers_stand_in_the_order_of_their_keys),
        KERNEL_TEST(tiles_are_in_their_order),
        KERNEL_TEST(nothing_is_sorted_at_no_cost),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
