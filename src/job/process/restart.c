#include "job/process/restart.h"

#include "common/base/error.h"

enum { FIRST_PAUSE_US = 200 * 1000, LONGEST_PAUSE_US = 5 * 1000 * 1000 };

restart_limit restart_limit_of(const config *c)
{
    return (restart_limit){
        .most = (int)config_int(c, "distributed.max_restarts"),
        .forgiven_s = config_f64(c, "distributed.restarts_forgiven"),
    };
}

bool restart_may_help(int exit_code)
{
    return exit_code >= 128 && exit_code != status_exit_code(E_PREEMPTED);
}

static int64_t pause_before(int start)
{
    if (start <= 1)
        return 0;
    int64_t pause = FIRST_PAUSE_US;
    for (int i = 2; i < start && pause < LONGEST_PAUSE_US; i++)
        pause *= 2;
    return pause < LONGEST_PAUSE_US ? pause : LONGEST_PAUSE_US;
}

bool restart_plan(restart *r, const restart_limit *limit, int64_t now_us, int64_t *ret_pause_us)
{
    if ((double)(now_us - r->began_us) * 1e-6 >= limit->forgiven_s)
        r->counted = 0;
    if (r->counted >= limit->most)
        return false;
    r->n++;
    *ret_pause_us = pause_before(++r->counted);
    r->due_us = now_us + *ret_pause_us;
    return true;
}

void restart_began(restart *r, int64_t now_us)
{
    r->began_us = now_us;
    restart_cancel(r);
}

void restart_cancel(restart *r)
{
    r->due_us = INT64_MAX;
}
