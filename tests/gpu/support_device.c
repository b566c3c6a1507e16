/* A real GPU: it orders what it does by itself. Without one nothing is tested. */
#include "backend/cuda/cuda.h"
#include "numeric/support_tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SKIPPED = 77 }; /* what CTest takes for "skipped" */

int tested_run(const struct CMUnitTest *tests, size_t n)
{
    return _cmocka_run_group_tests("operators", tests, n, NULL, NULL);
}

void tested_turn(int turn)
{
    (void)turn;
}

__attribute__((constructor)) static void need_a_gpu(void)
{
    error err = ERROR_INIT;
    if (cuda_find(0, &err) == OK)
        return;
    printf("skipped: %s\n", err.text);
    exit(SKIPPED);
}
