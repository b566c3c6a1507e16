/*
 * Where the time of a job's lanes went, from the figures that its tasks tell (counters.def), as live.json has them.
 *
 * A lane is always at one of these: it computes, loads, waits for weights or is idle. For whom it waits it knows from
 * the parts that it waited for (src/worker/stall.h); for what the master let nobody go on, the master knows. What came
 * before the first slot of a lane, or of its worker, counts nowhere, nor does what has not ended yet, but for the time
 * in which a lane has no slot and others end theirs. Of a job, what a worker takes longer for its slots than the
 * others do, while they wait for it, counts as their waiting does.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_COMMON_LIVE_TIME_SHARES_H
#define TEQUIO_COMMON_LIVE_TIME_SHARES_H

#include "common/live/counters.h"

#include <jansson.h>

typedef enum time_share {
#define SHARE(id, key, words) SHARE_##id,
#include "common/live/time_shares.def"
#undef SHARE
    SHARE_COUNT
} time_share;

typedef struct time_share_row {
    const char *key, *words;
} time_share_row;

extern const time_share_row time_share_rows[SHARE_COUNT];

typedef struct time_shares {
    double lane_s;                  /* of all lanes; 0: nothing is known */
    double seconds[SHARE_COUNT];    /* which it is the sum of */
} time_shares;

/* What an object {"<name of a counter>": number} says, in the units of the name; 0: nothing. */
double time_figure(const json_t *figures, counter c);

/* Workers of a document as live.json, added up: what one of them is compared with. */
typedef struct time_sums {
    double slots, computing_s, loading_s;
    double waits_s, lane_s;         /* for other lanes; and all there is */
} time_sums;

time_sums time_sums_of(const json_t *live);
/* Without the one whose figures these are. */
time_sums time_sums_but(const time_sums *all, const json_t *figures);

/* Of a document as live.json, the sum of those of its workers; of one worker among the others; and by what the worker
 * says itself alone. `figures` are its own and `master` the master's. */
void time_shares_of_job(const json_t *live, time_shares *ret);
void time_shares_among(const json_t *figures, const json_t *master, const time_sums *all, time_shares *ret);
void time_shares_of_worker(const json_t *figures, const json_t *master, time_shares *ret);

double time_share_of(const time_shares *t, time_share which);      /* 0 to 1 */
time_share time_shares_bound(const time_shares *t);                 /* the largest one */
/* Tenths of a percent, whose sum is 1000; of nothing, all are 0. */
void time_shares_round(const time_shares *t, int ret[SHARE_COUNT]);

/* {"lane_s": 12.5, "bound": "input", "shares": {"input": 0.7, ...}}; the caller's. */
json_t *time_shares_json(const time_shares *t);

#endif
