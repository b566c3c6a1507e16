#include "common/live/links.h"

#include <stdatomic.h>

/* Numbers are looked for in so many places from their own on; the newest of those that want one place has it. */
enum { PLACES = 4096, PROBES = 16 };

static struct {
    _Atomic uint64_t who;       /* 0: nobody; else role and index, plus a bit */
    _Atomic int64_t sent, received;
} links[LINKS_MOST];

static _Atomic uint64_t places[PLACES]; /* a peer's number, and above it its link; 0: free */

/* It, or a free one that is its from now on. */
static uint64_t find_link(task who)
{
    uint64_t name = UINT64_C(1) << 40 | (uint64_t)who.role << 32 | (uint32_t)who.index;
    for (uint64_t i = LINK_OTHER + 1; i < LINKS_MOST; i++) {
        uint64_t free = 0;
        if (atomic_load_explicit(&links[i].who, memory_order_relaxed) == name ||
            atomic_compare_exchange_strong(&links[i].who, &free, name) || free == name)
            return i;
    }
    return LINK_OTHER;
}

static _Atomic uint64_t *place_of(uint32_t peer, int probe)
{
    return &places[(peer + (uint32_t)probe) % PLACES];
}

void link_meet(uint32_t peer, task who)
{
    uint64_t entry = find_link(who) << 32 | peer;
    for (int i = 0; i < PROBES; i++) {
        uint64_t is = atomic_load(place_of(peer, i));
        if ((!is || (uint32_t)is == peer) && atomic_compare_exchange_strong(place_of(peer, i), &is, entry))
            return;
    }
    atomic_store(place_of(peer, 0), entry);
}

static uint64_t link_of(uint32_t peer)
{
    for (int i = 0; i < PROBES; i++) {
        uint64_t is = atomic_load_explicit(place_of(peer, i), memory_order_relaxed);
        if (!is)
            return LINK_OTHER;
        if ((uint32_t)is == peer)
            return is >> 32;
    }
    return LINK_OTHER;
}

void link_note(uint32_t peer, bool is_sent, int64_t bytes)
{
    uint64_t i = link_of(peer);
    atomic_fetch_add_explicit(is_sent ? &links[i].sent : &links[i].received, bytes, memory_order_relaxed);
}

bool link_look(int i, link_state *ret)
{
    uint64_t name = i < LINKS_MOST ? atomic_load_explicit(&links[i].who, memory_order_relaxed) : 0;
    if (i != LINK_OTHER && !name)
        return false;
    *ret = (link_state){
        .who = {(role)(name >> 32 & 0xff), (int32_t)(uint32_t)name},
        .sent = atomic_load_explicit(&links[i].sent, memory_order_relaxed),
        .received = atomic_load_explicit(&links[i].received, memory_order_relaxed),
    };
    return true;
}
