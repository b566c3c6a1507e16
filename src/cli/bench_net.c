#include "cli/bench_net.h"

status bench_net_run(const args *a, error *err)
{
    (void)a;
    return FAIL(err, E_UNSUPPORTED, "bench net: this build cannot measure the network");
}
