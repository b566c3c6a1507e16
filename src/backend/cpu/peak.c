/* What this processor can do: the measure that models are held against. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/dnnl/shim.h"
#include "backend/cpu/team.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"

enum { SIDE = 1024, TRIES = 20 };

double cpu_peak_flops(int threads)
{
    error err = ERROR_INIT;
    void *memory = NULL;
    int64_t best = INT64_MAX;
    if (mem_alloc(3 * SIDE * SIDE * sizeof(float), "matrices", &memory, &err) != OK)
        return 0.0;
    float *a = memory, *b = a + SIDE * SIDE, *c = b + SIDE * SIDE;
    for (int i = 0; i < SIDE * SIDE; i++) {
        a[i] = (float)(i % 7);
        b[i] = (float)(i % 5);
    }
    team_set(threads);
    shim_matrix left = {.data = a, .stride = SIDE}, right = {.data = b, .stride = SIDE};
    for (int i = 0; i < TRIES; i++) {
        int64_t begin = clock_us();
        if (shim_gemm(SIDE, SIDE, SIDE, 1.0f, left, right, 0.0f, c, SIDE, &err) != OK)
            break;
        int64_t took = clock_us() - begin;
        best = took < best ? took : best;
    }
    mem_free(memory);
    return best < INT64_MAX ? 2.0 * SIDE * SIDE * SIDE / ((double)best * 1e-6) : 0.0;
}
