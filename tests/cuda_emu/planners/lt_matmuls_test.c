/*
 * That cuBLASLt has an algorithm for the matmuls of tests/cuda/lt_matmuls.c: as it is played, and
 * of tests/gpu the real one.
 */
#include "backend/cuda/cuda.h"
#include "backend/cuda/library/lt.h"
#include "cuda/lt_matmuls.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static bool is_for(int arch, const gemm_task *t)
{
    bool is_recent = t->kind == TILE_BF16 || t->kind == TILE_TF32;
    bool has_gelu = t->end.function != TILE_AS_IT_IS;
    return (!is_recent || arch >= MATMUL_ARCH_OF_TF32) && (!has_gelu || (arch >= 90 && arch < 120));
}

static void every_matmul_has_an_algorithm(void **state)
{
    (void)state;
    backend *b = NULL;
    error err = ERROR_INIT;
    if (backend_cuda.open(&(backend_options){0}, &b, &err) != OK)
        fail_msg("%s", err.text);
    backend_program p = {.backend = b};
    for (size_t i = 0; i < n_lt_rows; i++) {
        const lt_row *r = &lt_rows[i];
        lt_matmul *made = NULL;
        const char *why = NULL;
        if (!is_for(b->arch, &r->t))
            continue;
        if (lt_plan(&p, &r->t, r->align, &made, &why, &err) != OK || !made)
            fail_msg("%s: %s", r->name, why ? why : err.text);
        print_message("%s: %zu bytes of scratch\n", r->name, lt_scratch_bytes(made));
    }
    lt_matmuls_destroy(&p);
    backend_cuda.close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_matmul_has_an_algorithm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
