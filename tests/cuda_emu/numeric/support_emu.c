/*
 * Runs of a test take opposite schedules of the emulation in turn. EMU_TESTS names operators: only
 * their tests run. With EMU_LEDGER=file they run again, with places spoilt (spoil.h).
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

int tested_run(const struct CMUnitTest *tests, size_t n)
{
    const char *ledger = getenv("EMU_LEDGER");
    struct CMUnitTest *picked = xcalloc(n, sizeof *picked);
    size_t n_picked = 0;
    for (size_t i = 0; i < n; i++) {
        if (!spoil_names(getenv("EMU_TESTS"), tests[i].name))
            continue;
        picked[n_picked] = tests[i];
        if (ledger)
            picked[n_picked].setup_func = begin;
        n_picked++;
    }
    int failed = ledger ? spoil_places(picked, n_picked, getenv("EMU_SPOIL"), ledger)
                        : _cmocka_run_group_tests("operators", picked, n_picked, NULL, NULL);
    free(picked);
    return failed;
}
