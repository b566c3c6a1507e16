/*
 * What a server knows of the time that its parts take, and tells whoever waits for them: of a pull how long it waited
 * for gradients of lanes, and how long for what the server had to do. What is left of the time until the part came is
 * the wire's, which only the worker can know.
 *
 * A message may have lain here, unread, for as long as the server has been busy without a pause: that is the most
 * there can be of it, and what is told. The last gradient of a sum says how long such a push is on its way, of which
 * its worker has heard (kv/push.c): so long all lanes' waits for it are the wire's.
 *
 * Threads: belongs to the server's thread.
 */
#ifndef TEQUIO_PS_PART_TIMES_H
#define TEQUIO_PS_PART_TIMES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ps ps;

/* Of the gradient that completed a sum: how long it was on its way, and unread here. */
typedef struct last_push {
    int64_t wire_us, unread_us;
} last_push;

/* Of a part's newest version. */
typedef struct part_time {
    int64_t summed_us;              /* when the sum that made it was complete; where there is a vote, when that
                                     * was heard */
    int64_t visible_us;             /* when it could be answered */
    last_push last;
} part_time;

typedef struct server_times {
    bool votes;                     /* no part moves before the last gradient of all of them is there */
    int64_t turned_us;              /* when the loop last had waited */
    int64_t busy_since_us;          /* when it last had nothing to do */
    int64_t verdict_us;             /* when the last vote was heard */
    last_push taken, summed;        /* of the push that is taken, and of the one that completed a sum last */
    part_time *parts;               /* [n_parts] */
} server_times;

/* What a PULL waited for, beside the wire. */
typedef struct pull_time {
    int64_t lanes_us, server_us;
} pull_time;

void part_times_begin(server_times *t, int32_t n_parts, bool votes);
void part_times_end(server_times *t);

/* The loop waited for messages, from then to then: what was between such waits is counted, as the server's work. */
void part_times_rest(server_times *t, int64_t from_us, int64_t to_us);

/* How long what is read at that time has lain here, at most; as a head can say it. */
int64_t part_times_unread(const server_times *t, int64_t now_us);
int64_t part_times_head(int64_t us);

void part_times_push(server_times *t, int64_t wire_us, int64_t now_us);
void part_times_summed(server_times *t, int32_t part, int64_t now_us);
void part_times_verdict(server_times *t, int64_t now_us);
void part_times_visible(server_times *t, int32_t part, int64_t now_us);

/* Of a pull that came at `arrived_us`, and had lain unread for so long, of the newest version of the part. */
pull_time part_times_pull(const server_times *t, int32_t part, int64_t arrived_us, int64_t unread_us);

#endif
