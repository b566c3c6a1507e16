/*
 * What the vote on a step decides, the same for all its parts. Threads: pure functions.
 */
#ifndef TEQUIO_COMMON_PARTS_VERDICT_H
#define TEQUIO_COMMON_PARTS_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct verdict {
    float scale; /* multiplies the gradient: clipping by total norm */
    bool skip;   /* the gradient is not finite: nothing moves */
    uint32_t reductions; /* of the learning rate before this step, by evaluations (optim/plateau.h) */
} verdict;

enum { VERDICT_REDUCTIONS = 0xFFFFF }; /* at most */

/* As a number that is never 0: 2^32, 2^33 if the step is skipped, 2^34 for each reduction, and the bits of the
 * scale; and back. */
uint64_t verdict_pack(verdict v);
verdict verdict_unpack(uint64_t packed);
bool verdict_is_packed(uint64_t n);

#endif
