/* Of places that are spoilt, the one that makes no difference is told apart. */
#include "cuda_emu/kernel_test.h"

#include "cuda_emu/scenes.h"
#include "cuda_emu/spoil.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void compare(int n, int stride)
{
    float y[256], *on = device_alloc(sizeof *y * (size_t)((n - 1) * stride + 1));
    scene_spread(kernel_test_stream(), on, n, stride);
    from_device(y, on, sizeof *y * (size_t)((n - 1) * stride + 1));
    for (int i = 0; i < n; i++)
        assert_true(y[i * stride] == (float)(63 - i));
}

static void a_row_of_one_shows_little(void **state)
{
    (void)state;
    compare(1, 3);
}

static void rows_are_spread(void **state)
{
    (void)state;
    compare(40, 3);
}

static const struct {
    const char *what, *verdict;
} expected[] = {
    {"__syncthreads()", "noticed"},
    {"__syncthreads()", "missed"},
    {"LD(stride)", "noticed"},
    {"IN(i < n)", "noticed"},
};
enum { EXPECTED = sizeof expected / sizeof *expected };

/* How many lines of the ledger are as expected, in the order in which places are passed. */
static int compare_ledger(FILE *ledger)
{
    char file[64], function[64], what[64], verdict[16];
    int n = 0, line;
    while (fscanf(ledger, "%63[^\t] %d %63[^\t] %63[^\t] %15s ", file, &line, function, what,
                  verdict) == 5 &&
           n < EXPECTED && strcmp(file, "scenes.cu") == 0 && strcmp(function, "spread") == 0 &&
           strcmp(what, expected[n].what) == 0 && strcmp(verdict, expected[n].verdict) == 0)
        n++;
    return n;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(a_row_of_one_shows_little),
        KERNEL_TEST(rows_are_spread),
    };
    const char *path = argc > 1 ? argv[1] : "place_test.ledger";
    int failed = spoil_places(tests, sizeof tests / sizeof *tests, "other.cu scenes.cu", path);
    FILE *ledger = fopen(path, "re");
    int n = ledger ? compare_ledger(ledger) : 0;
    if (n != EXPECTED)
        printf("line %d of %s is not as it should be\n", n + 1, path);
    if (ledger)
        fclose(ledger);
    return failed || n != EXPECTED;
}
