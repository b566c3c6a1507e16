#include "backend/cpu/team.h"

#include <omp.h>

void team_set(int threads)
{
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
}

int team_size(void)
{
    return omp_get_max_threads();
}

void team_for(int64_t n, int64_t grain, team_body body, void *arg)
{
    if (n <= grain || omp_get_max_threads() == 1) {
        if (n > 0)
            body(0, n, arg);
        return;
    }
    int64_t pieces = (n + grain - 1) / grain;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < pieces; i++) {
        int64_t begin = i * grain, end = begin + grain;
        body(begin, end < n ? end : n, arg);
    }
}
