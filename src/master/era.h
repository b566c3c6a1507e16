/*
 * An era of the job: what everybody agrees on from one start of the master, or one rollback, to the next.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_ERA_H
#define TEQUIO_MASTER_ERA_H

#include "common/wire/wire.h"

typedef struct era {
    wire_head identity;             /* job id, era: of what is said */
    int64_t starts;                 /* of the master, before this one */
    uint32_t turns;                 /* eras after this start's first */
    uint32_t lineage;               /* era in which the servers last loaded their parts */
    bool keeps;                     /* this era: the servers go on with what they hold */
    bool taken_back;                /* this lineage: the accounts do not know yet that it began */
    int64_t start;                  /* version it begins with */
    int64_t saved;                  /* the newest checkpoint as it was set up; -1: there is none */
} era;

/* The first one of a start, as it is said before any is set up. */
void era_open(era *e, uint64_t job_id);
/* The next one: its number. E_FAIL: there is none left. */
MUST_USE status era_turn(era *e, error *err);
/* A message of it. */
wire_head era_head(const era *e, wire_type type);

#endif
