/*
 * For how long a process has not used any processor: one that is stopped uses none, one that waits in a loop or
 * writes does.
 * Threads: pure functions.
 */
#ifndef TEQUIO_JOB_PROCESS_STILLNESS_H
#define TEQUIO_JOB_PROCESS_STILLNESS_H

#include <stdint.h>
#include <sys/types.h>

typedef struct stillness {
    pid_t pid;              /* 0: nobody has been looked at */
    int64_t processor_us;   /* that it has used, all its threads together */
    int64_t since_us;       /* when it was first seen to have */
} stillness;

/* Looks at the process: microseconds from the first look that found it as it is now to this one; 0 at the first
 * look, and where the kernel does not tell. */
int64_t stillness_look(stillness *s, pid_t pid, int64_t now_us);

#endif
