/*
 * What shall go wrong in a rehearsal: the text of `tequio train --fault` as a list of clauses.
 *
 *     seed=N                   of what is drawn; 1 unless given
 *     kill=TASK@WHEN           SIGKILL to the task's own process
 *     freeze=TASK[@WHEN]:TIME  its process is stopped and goes on after that time
 *     delay=TASK:TIME          every message it sends is held back that long
 *     drop=TASK:P%             that share of the messages it sends is lost
 *
 * Clauses are separated by commas. TASK is master.0, worker.3, ps.1 or evaluator.0, followed by #N
 * where its N-th life is meant. Kills and freezes are of the first life unless it is named, so that
 * a task that was started again is not killed again; delays and drops are of every life. WHEN is a
 * time since the process started ("3s", "250ms") or MESSAGE:N, the N-th message of that type
 * which the task sends or receives; MESSAGE>:N counts only those sent, MESSAGE<:N only those
 * received. Without WHEN the moment of a freeze is drawn from the first seconds.
 *
 * Threads: pure functions; a plan never changes.
 */
#ifndef TEQUIO_COMMON_FAULT_PLAN_H
#define TEQUIO_COMMON_FAULT_PLAN_H

#include "common/wire/wire.h"

typedef enum fault_kind { FAULT_KILL, FAULT_FREEZE, FAULT_DELAY, FAULT_DROP } fault_kind;

typedef struct fault_clause {
    fault_kind kind;
    task task;
    int life;            /* 1: the first; 0: every one */
    wire_type message;   /* kill, freeze: at the `number`-th message of that type; 0: at `at_us` */
    bool sent, received; /* which of them count */
    int64_t number;      /* from 1 */
    int64_t at_us;       /* since the process started */
    int64_t length_us;   /* of a freeze, of a delay */
    double share;        /* of the messages that are lost, 0 to 1 */
    char *text;          /* as it was written */
} fault_clause;

typedef struct fault_plan {
    uint64_t seed;
    fault_clause *clauses; /* [n] */
    size_t n;
} fault_plan;

/* E_USAGE names the clause and says what would be right. */
MUST_USE status fault_plan_parse(const char *text, fault_plan **ret, error *err);
void fault_plan_destroy(fault_plan **p);

/* Is the clause for that life (from 1) of the task? */
bool fault_concerns(const fault_clause *c, task who, int life);

#endif
