/*
 * Which checkpoints the evaluator cannot read: eval/damaged.json in the job dir. It talks to nobody, so this is how
 * a master learns of damage before it needs the checkpoint, and that there will be no evaluation of it. Any thread.
 */
#ifndef TEQUIO_COMMON_STORE_EVAL_DAMAGE_H
#define TEQUIO_COMMON_STORE_EVAL_DAMAGE_H

#include "common/store/jobdir.h"

#include <stddef.h>
#include <stdint.h>

/* The evaluator: all there are, in place of what it said before; of none there is no file. What cannot be written
 * is written another time. */
void eval_damage_tell(const jobdir *d, const int64_t *steps, size_t n);

/* The master: what is said, the caller's to free. NULL: nothing is. */
int64_t *eval_damage_list(const jobdir *d, size_t *ret_n);

#endif
