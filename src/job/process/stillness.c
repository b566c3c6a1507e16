#include "job/process/stillness.h"

#include <time.h>

/* -1: the kernel does not tell. */
static int64_t processor_us(pid_t pid)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return -1;
    return (int64_t)used.tv_sec * 1000000 + used.tv_nsec / 1000;
}

int64_t stillness_look(stillness *s, pid_t pid, int64_t now_us)
{
    int64_t used = processor_us(pid);
    if (used < 0 || s->pid != pid || s->processor_us != used)
        *s = (stillness){.pid = pid, .processor_us = used, .since_us = now_us};
    return now_us - s->since_us;
}
