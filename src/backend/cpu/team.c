#include "backend/cpu/team.h"

#include <omp.h>
#include <string.h>

enum { COPY_GRAIN = 1 << 17 }; /* bytes */

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

typedef struct copy_task {
    char *to;
    const char *from;
} copy_task;

static void copy_span(int64_t begin, int64_t end, void *arg)
{
    const copy_task *t = arg;
    memcpy(t->to + begin, t->from + begin, (size_t)(end - begin));
}

static void zero_span(int64_t begin, int64_t end, void *arg)
{
    const copy_task *t = arg;
    memset(t->to + begin, 0, (size_t)(end - begin));
}

void team_copy(void *to, const void *from, size_t bytes)
{
    team_for((int64_t)bytes, COPY_GRAIN, copy_span, &(copy_task){.to = to, .from = from});
}

void team_zero(void *to, size_t bytes)
{
    team_for((int64_t)bytes, COPY_GRAIN, zero_span, &(copy_task){.to = to});
}

void team_each(int64_t n, team_item body, void *arg)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++)
        body(i, omp_get_thread_num(), arg);
}
