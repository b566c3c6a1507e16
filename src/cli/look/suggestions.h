/*
 * What a job might be changed in, so that it takes less time, and what that would save: at the most, and how that was
 * worked out from where its time went.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_CLI_LOOK_SUGGESTIONS_H
#define TEQUIO_CLI_LOOK_SUGGESTIONS_H

#include "cli/look/explain_facts.h"

enum { SUGGESTIONS_MOST = 16 };

typedef struct suggestion {
    double saves;               /* of the time, 0 to 1 */
    char what[160], how[240];
} suggestion;

typedef struct suggestions {
    suggestion at[SUGGESTIONS_MOST];
    size_t n;
} suggestions;

/* Those that save a hundredth at least, the best first. */
void suggestions_make(const explain_facts *f, suggestions *ret);

/* How many times as fast the job would be. */
double suggestion_speed(double saves);

#endif
