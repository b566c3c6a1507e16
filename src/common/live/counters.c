#include "common/live/counters.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define ROLE_ANY     COUNTER_OF_ANY
#define ONE          1.0
#define MICROSECONDS 1e-6

const counter_row counter_rows[COUNTER_COUNT] = {
#define COUNTER(id, of, type, unit, name, help) {ROLE_##of, unit, #type, name, help},
#include "common/live/counters.def"
#undef COUNTER
};

_Atomic int64_t counter_values[COUNTER_COUNT];

static int64_t resident_bytes(void)
{
    unsigned long long all, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%llu %llu", &all, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return (int64_t)resident * sysconf(_SC_PAGESIZE);
}

static int64_t cpu_us(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (int64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + u.ru_utime.tv_usec + u.ru_stime.tv_usec;
}

void counters_take_process(void)
{
    counter_set(COUNTER_PROCESS_MEMORY, resident_bytes());
    counter_set(COUNTER_PROCESS_CPU, cpu_us());
}
