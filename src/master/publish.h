/*
 * What the master publishes of the job while it runs, for whoever looks at the job dir (common/store/live_file.h): how
 * far training is, who is there, who computes and holds what, and for whom all wait. Nothing follows from it.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_PUBLISH_H
#define TEQUIO_MASTER_PUBLISH_H

#include <jansson.h>
#include <stdint.h>

typedef struct master master;

typedef struct publishing {
    int64_t last_us;
    uint64_t evaluator_trace;       /* its sign of life, as last seen... */
    int64_t evaluator_moved_us;     /* ...and when that had changed; 0: never */
    int32_t *shard_of;              /* [parts] as dealt; NULL: not known yet */
    int64_t *shard_bytes;           /* [servers] of the weights in each shard; likewise */
} publishing;

/* Now and then; `now_us` is clock_us. */
void master_publish(master *m, int64_t now_us);
/* It is over: the last time. */
void master_publish_end(master *m);
void master_publish_fini(master *m);

/* Where the time of lanes went (common/live/time_shares.h); NULL: not known. The caller's. */
json_t *master_lane_time(const master *m);

#endif
