/*
 * What servers keep, in numbers small enough to check: of each part its version and which slots of
 * its step have come. A gradient says which slots are in it and a weight which version it is of, so
 * a wrong sum, a sum of another step and torn weights all show.
 */
#ifndef TEQUIO_TESTS_UNIT_WORKER_SUPPORT_KEEP_H
#define TEQUIO_TESTS_UNIT_WORKER_SUPPORT_KEEP_H

#include "common/parts/flat.h"
#include "common/parts/steps.h"
#include "common/parts/tree.h"

enum { KEEP_PARTS = 4, KEEP_LIVE = 3, KEEP_PART_N = 4, KEEP_SLOTS = 6 };

typedef struct keep {
    steps steps;
    int64_t begun; /* the version all parts began with */
    int64_t version[KEEP_LIVE];
    uint32_t have[KEEP_LIVE]; /* slots of step `version`, as bits */
} keep;

/* Parts of KEEP_PART_N elements, the last of them frozen. */
const flat *keep_flat(void);

void keep_begin(keep *k, const steps *s, int64_t version);

/* What a lane makes of a slot, and the weights it makes it from. */
void keep_gradient(int32_t part, int64_t step, uint32_t slot, float *ret);
void keep_weights(int32_t part, int64_t version, float *ret);
bool keep_is_weights(int32_t part, int64_t version, const float *data);

/* A node of a step comes. The test fails when it is of a step that is not yet, or is not the sum it
 * claims to be, or when it moves the part's version two ahead of another's. True: a new version. */
bool keep_push(keep *k, int32_t part, int64_t step, tree_node node, const float *data);

/* All of a part's step comes at once. */
void keep_step(keep *k, int32_t part);

typedef enum keep_answer { KEEP_HERE, KEEP_LATER, KEEP_GONE } keep_answer;
keep_answer keep_pull(const keep *k, int32_t part, int64_t version);

bool keep_all_at(const keep *k, int64_t version);

#endif
