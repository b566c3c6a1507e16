#include "common/live/recorder.h"

#include "common/base/clock.h"
#include "common/live/links.h"
#include "common/wire/wire.h"

#include <stddef.h>
#include <string.h>

#define ROLE_ANY RECORDER_OF_ANY

const recorder_row recorder_rows[EVENT_COUNT] = {
#define EVENT(id, of, name, a, b, c, words) {ROLE_##of, #id, name, a, b, c, words},
#include "common/live/events.def"
#undef EVENT
};

recorder_cell recorder_ring[RECORDER_EVENTS];
_Atomic uint64_t recorder_next;
atomic_bool recorder_is_on;

static recorder_cell rows[RECORDER_ROWS];

bool recorder_load(const recorder_cell *from, recorder_event *ret, uint32_t *ret_number)
{
    uint64_t word[RECORDER_WORDS];
    for (int i = 0; i < RECORDER_WORDS; i++)
        word[i] = atomic_load_explicit(&from->word[i], memory_order_acquire);
    bool is_whole = word[0] >> 63 && word[0] == atomic_load_explicit(&from->word[0], memory_order_relaxed);
    recorder_kind kind = (recorder_kind)(word[0] >> 16 & UINT16_MAX);
    if (!is_whole || kind >= EVENT_COUNT)
        return false;
    *ret = (recorder_event){.at_us = (int64_t)word[1],
                            .took_us = (int64_t)word[2],
                            .step = (int64_t)word[3],
                            .c = (int64_t)word[4],
                            .a = (int32_t)(uint32_t)(word[5] >> 32),
                            .b = (int32_t)(uint32_t)word[5],
                            .kind = kind,
                            .lane = (int16_t)(uint16_t)word[0]};
    *ret_number = (uint32_t)(word[0] >> 32) & INT32_MAX;
    return true;
}

/* --- what is in progress --- */

/* NULL: a lane too many. */
static recorder_cell *row_of(int32_t lane, recorder_kind kind, int depth)
{
    int of = recorder_rows[kind].of;
    if (lane >= RECORDER_LANES || (lane < 0 && of == RECORDER_OF_ANY))
        return NULL;
    return &rows[(lane < 0 ? RECORDER_LANES + of : lane) * RECORDER_DEPTH + depth];
}

static bool is_noting(void)
{
    return atomic_load_explicit(&recorder_is_on, memory_order_relaxed) ||
           atomic_load_explicit(&recorder_is_traced, memory_order_relaxed);
}

void recorder_begin(const recorder_event *e, int depth)
{
    recorder_event begun = *e;
    recorder_cell *row = row_of(e->lane, e->kind, depth);
    begun.took_us = -1;
    if (row && is_noting())
        recorder_store(row, &begun, 0);
}

static bool take(int32_t lane, recorder_kind kind, int depth, recorder_event *ret)
{
    uint32_t number;
    recorder_cell *row = row_of(lane, kind, depth);
    bool is_there = row && recorder_load(row, ret, &number) && ret->kind == kind;
    if (is_there)
        atomic_store_explicit(&row->word[0], 0, memory_order_relaxed);
    return is_there;
}

void recorder_end(int32_t lane, recorder_kind kind, int depth, int64_t now_us)
{
    recorder_event e;
    if (!take(lane, kind, depth, &e))
        return;
    e.took_us = now_us - e.at_us;
    e.at_us = now_us;
    recorder_note(&e);
}

void recorder_drop(int32_t lane, recorder_kind kind, int depth)
{
    recorder_event e;
    (void)take(lane, kind, depth, &e);
}

bool recorder_in_progress(int row, recorder_event *ret)
{
    uint32_t number;
    return recorder_load(&rows[row], ret, &number);
}

/* --- messages --- */

/* Where a head has them (common/wire/wire.h). */
enum { TYPE_AT = 4, PART_AT = 24, SLOTS_AT = 28, STEP_AT = 32, INDEX_AT = 40, LEVEL_AT = 44, TAG_AT = 56 };

static uint64_t number_at(const unsigned char *p, int bytes)
{
    uint64_t n = 0;
    for (int i = 0; i < bytes; i++)
        n |= (uint64_t)p[i] << 8 * i;
    return n;
}

/* From the lowest bit: 27 of the bytes, 16 of the slots, 16 of the node's index, 5 of its level. A PULL has none of
 * these. */
static int64_t pack_passing(const unsigned char *head, uint64_t bytes)
{
    if (head[TYPE_AT] == WIRE_PULL)
        return (int64_t)number_at(head + TAG_AT, 8);
    return (int64_t)((bytes & 0x7ffffff) | number_at(head + SLOTS_AT, 2) << 27 | number_at(head + INDEX_AT, 2) << 43 |
                     (uint64_t)head[LEVEL_AT] << 59);
}

recorder_passing recorder_unpack_passing(const recorder_event *message)
{
    uint64_t packed = (uint64_t)message->c;
    if (message->a == WIRE_PULL)
        return (recorder_passing){.floor = message->c};
    return (recorder_passing){.bytes = (uint32_t)packed & 0x7ffffff,
                              .slots = (uint32_t)(packed >> 27) & UINT16_MAX,
                              .node = {(uint8_t)(packed >> 59), (uint32_t)(packed >> 43) & UINT16_MAX}};
}

void recorder_message(recorder_kind kind, const unsigned char *head, uint64_t bytes, uint32_t peer)
{
    if (!is_noting())
        return;
    RECORDER_NOTE(.kind = kind, .at_us = clock_us(), .step = (int64_t)number_at(head + STEP_AT, 8),
                  .lane = (int32_t)(number_at(head + PART_AT, 2) & INT16_MAX), .a = head[TYPE_AT], .b = (int32_t)peer,
                  .c = pack_passing(head, bytes));
}

/* Bit 63 says that there is one. */
static _Atomic uint64_t peers[RECORDER_PEERS];
static _Atomic uint32_t n_peers;

void recorder_peer(uint32_t peer, task who)
{
    uint32_t i = atomic_fetch_add_explicit(&n_peers, 1, memory_order_relaxed);
    uint64_t one = UINT64_C(1) << 63 | (uint64_t)who.role << 56 | (uint64_t)(who.index & 0xffffff) << 32 | peer;
    atomic_store_explicit(&peers[i % RECORDER_PEERS], one, memory_order_relaxed);
    link_meet(peer, who);
}

bool recorder_peer_at(int i, uint32_t *ret_peer, task *ret_who)
{
    uint32_t n = atomic_load_explicit(&n_peers, memory_order_relaxed), first = n > RECORDER_PEERS ? n : 0;
    uint64_t one = atomic_load_explicit(&peers[(first + (uint32_t)i) % RECORDER_PEERS], memory_order_relaxed);
    if (!one)
        return false;
    *ret_peer = (uint32_t)one;
    *ret_who = (task){(role)(one >> 56 & 0x7f), (int32_t)(one >> 32 & 0xffffff)};
    return true;
}
