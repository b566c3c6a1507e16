/*
 * Runs of a test take opposite schedules of the emulation in turn. With EMU_LEDGER=file the tests of
 * the operators that EMU_TESTS names run, and then with places spoilt (spoil.h).
 */
#include "cuda_emu/machine.h"
#include "cuda_emu/spoil.h"
#include "numeric/support_tested.h"

#include <stdlib.h>

void tested_turn(int turn)
{
    emu_schedule_set(turn % 2 ? EMU_DESCENDING | EMU_EAGER | EMU_RUSH : 0);
}

static int begin(void **state)
{
    (void)state;
    spoil_test_begins();
    return 0;
}

static int spoil(const struct CMUnitTest *tests, size_t n, const char *ledger)
{
    struct CMUnitTest *picked = xcalloc(n, sizeof *picked);
    size_t n_picked = 0;
    for (size_t i = 0; i < n; i++) {
        if (!spoil_names(getenv("EMU_TESTS"), tests[i].name))
            continue;
        picked[n_picked] = tests[i];
        picked[n_picked++].setup_func = begin;
    }
    int failed = spoil_places(picked, n_picked, getenv("EMU_SPOIL"), ledger);
    free(picked);
    return failed;
}

int tested_run(const struct CMUnitTest *tests, size_t n)
{
    const char *ledger = getenv("EMU_LEDGER");
    return ledger ? spoil(tests, n, ledger)
                  : _cmocka_run_group_tests("operators", tests, n, NULL, NULL);
}
