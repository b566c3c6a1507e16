#include "cli/bench_step.h"

status bench_step_run(const args *a, error *err)
{
    (void)a;
    return FAIL(err, E_UNSUPPORTED, "bench step: this build cannot measure steps");
}
