/*
 * The flight recorder: what this process did last, and what it is doing, kept in memory and written out when something
 * is wrong, so that people see who waited for whom.
 *
 * Events (events.def) go into one ring of the process, newest over oldest; an event that takes long is begun and ended,
 * and while it lasts it is known besides what the ring holds. To note costs some 10 ns and, where the caller has
 * not looked at the clock anyway, that; nothing is concluded from it while the job runs.
 *
 * Threads: any may note. A lane's events in progress are those of its thread, a role's those of the role's.
 */
#ifndef TEQUIO_COMMON_LIVE_RECORDER_H
#define TEQUIO_COMMON_LIVE_RECORDER_H

#include "common/cluster/cluster.h"
#include "common/parts/tree.h"

#include <stdatomic.h>
#include <stdint.h>

typedef enum recorder_kind {
#define EVENT(id, of, name, a, b, c, words) EVENT_##id,
#include "common/live/events.def"
#undef EVENT
    EVENT_COUNT
} recorder_kind;

enum { RECORDER_OF_ANY = ROLE_COUNT };

typedef struct recorder_row {
    int of;                         /* a role, or RECORDER_OF_ANY */
    const char *id, *name, *a, *b, *c, *words;
} recorder_row;

extern const recorder_row recorder_rows[EVENT_COUNT];

typedef struct recorder_event {
    int64_t at_us;                  /* clock_us() as it ended; of one in progress: as it began */
    int64_t took_us;                /* 0: it took no time; of one in progress: -1 */
    int64_t step;                   /* or version; -1: none */
    int64_t c;
    int32_t a, b;
    recorder_kind kind;
    int32_t lane;                   /* -1: none; of a message its part */
} recorder_event;

/* The ring's own form of it: read by any thread while others write. */
enum { RECORDER_EVENTS = 16384, RECORDER_WORDS = 6 };

typedef struct recorder_cell {
    _Atomic uint64_t word[RECORDER_WORDS]; /* the first: number, kind and lane */
} recorder_cell;

extern recorder_cell recorder_ring[RECORDER_EVENTS];
extern _Atomic uint64_t recorder_next;  /* how many were noted so far */
extern atomic_bool recorder_is_on;

enum { RECORDER_BUSY = 1 };          /* of a first word, while it is written */

static inline uint64_t recorder_first_word(const recorder_event *e, uint64_t number)
{
    return UINT64_C(1) << 63 | (number & INT32_MAX) << 32 | (uint64_t)(uint16_t)e->kind << 16 | (uint16_t)e->lane;
}

/* Of two threads that have the ring's length between them the later one leaves the cell as it is. */
static inline void recorder_store(recorder_cell *to, const recorder_event *e, uint64_t number)
{
    const uint64_t words[RECORDER_WORDS] = {0, (uint64_t)e->at_us, (uint64_t)e->took_us, (uint64_t)e->step,
                                            (uint64_t)e->c, (uint64_t)(uint32_t)e->a << 32 | (uint32_t)e->b};
    if (atomic_exchange_explicit(&to->word[0], RECORDER_BUSY, memory_order_acquire) == RECORDER_BUSY)
        return;
    for (int i = 1; i < RECORDER_WORDS; i++)
        atomic_store_explicit(&to->word[i], words[i], memory_order_release);
    atomic_store_explicit(&to->word[0], recorder_first_word(e, number), memory_order_release);
}

/* False: it is being written, or none was. *ret_number: its number, 31 bits of it. */
bool recorder_load(const recorder_cell *from, recorder_event *ret, uint32_t *ret_number);

/* There is a trace (trace.h), which is offered each event. */
extern atomic_bool recorder_is_traced;
void trace_offer(const recorder_event *e);

static inline void recorder_note(const recorder_event *e)
{
    if (atomic_load_explicit(&recorder_is_traced, memory_order_relaxed))
        trace_offer(e);
    if (!atomic_load_explicit(&recorder_is_on, memory_order_relaxed))
        return;
    uint64_t number = atomic_fetch_add_explicit(&recorder_next, 1, memory_order_relaxed);
    recorder_store(&recorder_ring[number % RECORDER_EVENTS], e, number);
}

#define RECORDER_NOTE(...) recorder_note(&(const recorder_event){__VA_ARGS__})

/* --- what is in progress --- */

/* One thing, at depth 0, and within it one more, at depth 1, of each lane and, with lane -1, of each role. */
enum { RECORDER_LANES = 64, RECORDER_DEPTH = 2, RECORDER_ROWS = (RECORDER_LANES + ROLE_COUNT) * RECORDER_DEPTH };

/* It has begun at e->at_us. What lanes beyond RECORDER_LANES begin is not noted. */
void recorder_begin(const recorder_event *e, int depth);
/* It ended at `now_us`, and is noted with what it took. Of one that was not begun nothing is. */
void recorder_end(int32_t lane, recorder_kind kind, int depth, int64_t now_us);
/* It came to nothing, as where a lane is cancelled. */
void recorder_drop(int32_t lane, recorder_kind kind, int depth);

#define RECORDER_BEGIN(depth, ...) recorder_begin(&(const recorder_event){__VA_ARGS__}, (depth))

/* The rows in progress, from 0 to RECORDER_ROWS. False: nothing is. */
bool recorder_in_progress(int row, recorder_event *ret);

/* --- messages --- */

/* What `c` of a message says: of PULL the floor, of all others the rest. */
typedef struct recorder_passing {
    uint32_t bytes;                 /* of the payload, up to 128 MiB */
    uint32_t slots;                 /* of the step, up to 65 535 */
    tree_node node;                 /* of a gradient, among the first 65 536 */
    int64_t floor;                  /* modes ssp and async: all batches below it are required */
} recorder_passing;

recorder_passing recorder_unpack_passing(const recorder_event *message);

/* A message with this head (common/wire/wire.h) has passed: EVENT_SENT or EVENT_RECEIVED. `peer` is the transport's
 * number of the other end, until recorder_peer has said who that is. */
void recorder_message(recorder_kind kind, const unsigned char *head, uint64_t bytes, uint32_t peer);

/* The newest RECORDER_PEERS of these are kept. */
enum { RECORDER_PEERS = 512 };
void recorder_peer(uint32_t peer, task who);
/* The i-th of them, oldest first; false: there is none. */
bool recorder_peer_at(int i, uint32_t *ret_peer, task *ret_who);

#endif
