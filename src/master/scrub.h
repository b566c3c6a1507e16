/*
 * Scrubbing: checkpoints that are kept are read again now and then, one at a time.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_SCRUB_H
#define TEQUIO_MASTER_SCRUB_H

#include "common/base/error.h"
#include "master/cuts/scrubber.h"

typedef struct master master;

typedef struct scrubbing {
    scrubber *scrubber;
    int64_t begun_us;               /* when one was last begun to be read, */
    int64_t step;                   /* and which */
    int64_t doubted;                /* that the evaluator cannot read: the one that was read last for it, */
    int64_t doubted_us;             /* and when */
    bool is_doubted;                /* that one is being read */
} scrubbing;

/* Once a second; which checkpoints that are kept are damaged. */
MUST_USE status master_scrub(master *m, int64_t now_us, error *err);

#endif
