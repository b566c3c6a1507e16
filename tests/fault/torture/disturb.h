/*
 * Does to a job what its plan says, when it has come so far. Threads: one.
 */
#ifndef TEQUIO_TESTS_FAULT_TORTURE_DISTURB_H
#define TEQUIO_TESTS_FAULT_TORTURE_DISTURB_H

#include "fault/torture/tasks.h"

typedef enum afterwards { DIE, THAW, KILL_HUNG, RESTORE, EMPTY_DISK } afterwards;

/* What follows of a disturbance. */
typedef struct followup {
    int64_t due_us;
    afterwards what;
    pid_t pid;
    int from, to;
    uint32_t choice;
} followup;

enum { MOST_FOLLOWUPS = 256 };

typedef struct disturber {
    tasks *tasks;
    int64_t due_us[MOST_DISTURBANCES]; /* 0: the job has not come so far */
    bool is_done[MOST_DISTURBANCES];
    followup followups[MOST_FOLLOWUPS];
    int n_followups;
    int fired[KINDS];
} disturber;

/* `steps` are done. */
void disturber_turn(disturber *s, int steps);

/* Nothing is left to follow: nobody is frozen, and no link impaired. */
bool disturber_is_idle(const disturber *s);

#endif
