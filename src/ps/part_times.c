#include "ps/part_times.h"

#include "common/base/alloc.h"
#include "common/live/counters.h"

#include <stdlib.h>

/* A shorter one is no pause: only the call. */
enum { REST_US = 20 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t above_zero(int64_t us)
{
    return us > 0 ? us : 0;
}

void part_times_begin(server_times *t, int32_t n_parts, bool votes)
{
    t->votes = votes;
    t->parts = xcalloc((size_t)n_parts, sizeof *t->parts);
}

void part_times_end(server_times *t)
{
    free(t->parts);
    t->parts = NULL;
}

void part_times_rest(server_times *t, int64_t from_us, int64_t to_us)
{
    if (t->turned_us)
        counter_add(COUNTER_PS_BUSY, from_us - t->turned_us);
    t->turned_us = to_us;
    if (to_us - from_us >= REST_US)
        t->busy_since_us = to_us;
}

int64_t part_times_unread(const server_times *t, int64_t now_us)
{
    return t->busy_since_us ? now_us - t->busy_since_us : 0;
}

int64_t part_times_head(int64_t us)
{
    return least(above_zero(us), UINT32_MAX);
}

void part_times_push(server_times *t, int64_t wire_us, int64_t now_us)
{
    t->taken = (last_push){.wire_us = wire_us, .unread_us = part_times_unread(t, now_us)};
}

void part_times_summed(server_times *t, int32_t part, int64_t now_us)
{
    t->summed = t->taken;
    t->parts[part].summed_us = now_us;
    t->parts[part].last = t->taken;
}

void part_times_verdict(server_times *t, int64_t now_us)
{
    t->verdict_us = now_us;
}

void part_times_visible(server_times *t, int32_t part, int64_t now_us)
{
    part_time *one = &t->parts[part];
    one->visible_us = now_us;
    if (t->votes) {
        one->summed_us = t->verdict_us;
        one->last = t->summed;
    }
}

pull_time part_times_pull(const server_times *t, int32_t part, int64_t arrived_us, int64_t unread_us)
{
    const part_time *one = &t->parts[part];
    int64_t until_summed = above_zero(one->summed_us - arrived_us);
    int64_t from_us = one->summed_us > arrived_us ? one->summed_us : arrived_us;
    int64_t unread = least(until_summed, one->last.unread_us);
    int64_t wire = least(until_summed - unread, one->last.wire_us);
    return (pull_time){.lanes_us = until_summed - unread - wire,
                       .server_us = unread_us + unread + above_zero(one->visible_us - from_us)};
}
