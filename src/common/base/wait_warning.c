#include "common/base/wait_warning.h"

double wait_warning_of_heartbeat(double limit_s)
{
    static const double signs = 3.0;
    return limit_s > signs ? limit_s : signs;
}

bool wait_warning_due(wait_warning *w, int64_t now_us, int64_t since_us, double limit_s, double *ret_s)
{
    int64_t waited = now_us - since_us;
    if ((double)waited < limit_s * 1e6) {
        w->next_us = 0;
        return false;
    }
    if (now_us < w->next_us)
        return false;
    w->next_us = now_us + 2 * waited;
    *ret_s = (double)waited * 1e-6;
    return true;
}
