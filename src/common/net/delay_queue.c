#include "common/net/delay_queue.h"

#include "common/base/alloc.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Makes room behind the last one; moves them only when that pays. */
static void make_room(delay_queue *h)
{
    if (h->first > h->n && h->first + h->n == h->cap) {
        memmove(h->at, h->at + h->first, h->n * sizeof *h->at);
        h->first = 0;
    }
    GROW(h->at, h->cap, h->first + h->n + 1);
}

void delay_queue_add(delay_queue *h, const net_peer *to, const void *head, span *payload, int64_t due_us)
{
    make_room(h);
    delayed_message *m = &h->at[h->first + h->n++];
    *m = (delayed_message){.has_to = to != NULL, .due_us = due_us};
    if (to)
        m->to = *to;
    memcpy(m->head, head, NET_HEAD);
    if (payload)
        m->payload = payload->release ? payload : span_copy(payload->data, payload->bytes);
}

bool delay_queue_take(delay_queue *h, int64_t now_us, delayed_message *ret)
{
    if (!h->n || h->at[h->first].due_us > now_us)
        return false;
    *ret = h->at[h->first++];
    if (!--h->n)
        h->first = 0;
    return true;
}

int delay_queue_wait_ms(const delay_queue *h, int64_t now_us)
{
    if (!h->n)
        return -1;
    int64_t ms = (h->at[h->first].due_us - now_us + 999) / 1000;
    return ms < 0 ? 0 : ms > INT_MAX ? INT_MAX : (int)ms;
}

void delay_queue_fini(delay_queue *h)
{
    for (size_t i = 0; i < h->n; i++)
        span_drop(h->at[h->first + i].payload);
    free(h->at);
    *h = (delay_queue){.at = NULL};
}
