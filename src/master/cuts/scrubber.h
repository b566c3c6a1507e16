/*
 * The scrubber: reads a checkpoint that is kept, to see whether it is still what was written. It does so in a
 * thread that gives way to all others, for the processor and the disk.
 *
 * Threads: what is called here belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_CUTS_SCRUBBER_H
#define TEQUIO_MASTER_CUTS_SCRUBBER_H

#include "common/store/jobdir.h"

typedef struct scrubber scrubber;

scrubber *scrubber_create(void);
/* What is being read is left: waits for 64 KiB of it at most. */
void scrubber_destroy(scrubber **s);

/* False: it reads still, or what it read was not taken yet. */
bool scrubber_is_free(const scrubber *s);
/* Begins to read the checkpoint; it must be free. */
void scrubber_begin(scrubber *s, const jobdir *d, int64_t step);
/* False: nothing was read to its end. *ret_st is E_DATA if it is damaged, which was read twice, or is not there
 * any more; `why` says what is wrong, and other failures. */
bool scrubber_take(scrubber *s, int64_t *ret_step, status *ret_st, error *why);

#endif
