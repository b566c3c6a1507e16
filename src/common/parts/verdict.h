/*
 * What the vote on a step decides, the same for all its parts. Plain data.
 */
#ifndef TEQUIO_COMMON_PARTS_VERDICT_H
#define TEQUIO_COMMON_PARTS_VERDICT_H

#include <stdbool.h>

typedef struct verdict {
    float scale; /* multiplies the gradient: clipping by total norm */
    bool skip;   /* the gradient is not finite: nothing moves */
} verdict;

#endif
