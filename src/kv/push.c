#include "kv/state.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"

#include <stdlib.h>

static push *push_take(kv *k)
{
    for (size_t i = 0; i < k->n_pushes; i++)
        if (k->pushes[i].state == PUSH_FREE)
            return &k->pushes[i];
    GROW(k->pushes, k->cap_pushes, k->n_pushes + 1);
    return &k->pushes[k->n_pushes++];
}

/* What is on its way to a server, at most: what it acknowledges in this time. A slow link would only
 * queue more, and go on with it when nobody needs it any more. */
static const double credit_s = 0.5;
enum { RATE_US = 250 * 1000 };              /* a measure takes so long at least */

static void rate_count(rate *r, size_t bytes, int64_t now_us)
{
    r->bytes += bytes;
    r->busy_us += now_us - r->seen_us;
    r->seen_us = now_us;
    if (r->busy_us < RATE_US)
        return;
    r->bytes_per_s = (double)r->bytes / ((double)r->busy_us * 1e-6);
    r->bytes = 0;
    r->busy_us = 0;
}

size_t pushes_credit(const kv *k, int32_t server)
{
    size_t most = k->credit_bytes;
    double in_time = k->servers[server].rate.bytes_per_s * credit_s;
    return in_time > 0 && most != SIZE_MAX && in_time < (double)most ? (size_t)in_time : most;
}

static bool has_credit(const kv *k, int32_t server, size_t bytes)
{
    size_t in_flight = k->servers[server].in_flight;
    return !in_flight || in_flight + bytes <= pushes_credit(k, server);
}

/* Acknowledged, or given up. */
static void push_end(kv *k, push *p)
{
    if (p->state == PUSH_SENT)
        k->servers[p->server].in_flight -= p->sum->bytes;
    p->state = PUSH_FREE;
    span_drop(span_move(&p->sum));
    if (--k->n_under_way == 0)
        k->pushing_us += clock_us() - k->pushing_since_us;
}

static status say_measured(kv *k, const push *p, error *err)
{
    bool is_due = k->hooks.measured && p->head.part == flat_reporting_part(k->flat);
    return is_due ? k->hooks.measured(k->hooks.user, &(kv_beside){k, &p->head}, err) : OK;
}

static status push_send(kv *k, push *p, error *err)
{
    TRY(say_measured(k, p, err));
    server_link *to = &k->servers[p->server];
    int64_t now = clock_us();
    wire_set_push_wire_us(&p->head, k->wire_us[p->head.part]);
    if (!to->in_flight)
        to->rate.seen_us = now;
    to->in_flight += p->sum->bytes;
    backoff_begin(&p->backoff, now);
    p->state = PUSH_SENT;
    return kv_send(k, p->server, &p->head, span_hold(p->sum), err);
}

/* Acknowledgement and copy under way are two things: only what has left is sent once more. */
static status push_again(kv *k, push *p, error *err)
{
    if (span_is_shared(p->sum))
        return OK;
    TRY(say_measured(k, p, err));
    return kv_send(k, p->server, &p->head, span_hold(p->sum), err);
}

status pushes_flow(kv *k, int32_t server, error *err)
{
    for (;;) {
        push *next = NULL;
        for (size_t i = 0; i < k->n_pushes; i++) {
            push *p = &k->pushes[i];
            if (p->state == PUSH_QUEUED && p->server == server &&
                (!next || p->head.part > next->head.part))
                next = p;
        }
        if (!next || !k->servers[server].welcomed || !has_credit(k, server, next->sum->bytes))
            return OK;
        TRY(push_send(k, next, err));
    }
}

status kv_push(kv *k, int32_t part, int64_t step, uint32_t slots, tree_node node, span *sum,
               error *err)
{
    push *p = push_take(k);
    p->server = k->placement[part];
    p->sum = sum;
    p->head = k->identity;
    p->head.type = WIRE_PUSH;
    p->head.flags = net_is_local(k->sockets[p->server]) ? WIRE_LENT : 0;
    p->head.part = part;
    p->head.step = step;
    p->head.slots = slots;
    p->head.node = node;
    p->head.bytes = sum->bytes;
    p->state = PUSH_QUEUED;
    p->queued_us = clock_us();
    if (k->n_under_way++ == 0)
        k->pushing_since_us = p->queued_us;
    return pushes_flow(k, p->server, err);
}

status kv_say_beside(void *beside, int64_t step, uint32_t slot, const ProtobufCMessage *report,
                     error *err)
{
    const kv_beside *b = beside;
    kv *k = b->kv;
    wire_pack(report, &k->packed);
    span payload = span_for_call(k->packed.data, k->packed.size);
    wire_head h = k->identity;
    h.type = WIRE_REPORT;
    h.step = step;
    h.slots = b->push->slots;
    wire_set_report_slot(&h, slot);
    h.bytes = payload.bytes;
    return kv_send(k, k->placement[b->push->part], &h, &payload, err);
}

static bool is_named(const push *p, const wire_head *h)
{
    return p->head.part == h->part && p->head.step == h->step &&
           p->head.node.level == h->node.level && p->head.node.index == h->node.index;
}

static void push_over(kv *k, push *p)
{
    int32_t part = p->head.part;
    int64_t step = p->head.step;
    push_end(k, p);
    if (k->hooks.pushed)
        k->hooks.pushed(k->hooks.user, part, step);
}

void pushes_end(kv *k, int32_t server, const wire_head *h)
{
    for (size_t i = 0; i < k->n_pushes; i++) {
        push *p = &k->pushes[i];
        if (p->state != PUSH_SENT || p->server != server || !is_named(p, h))
            continue;
        int64_t now = clock_us(), wire_us = now - p->queued_us - wire_pushed_server_us(h);
        k->wire_us[h->part] = wire_us > 0 ? wire_us : 0;
        rate_count(&k->servers[server].rate, p->sum->bytes, now);
        if (k->hooks.taken)
            k->hooks.taken(k->hooks.user, &(kv_taking){.took_us = now - p->queued_us,
                                                       .server_us = wire_pushed_server_us(h)});
        push_over(k, p);
        return;
    }
}

void pushes_outdate(kv *k, int32_t part, int64_t version)
{
    for (size_t i = 0; i < k->n_pushes; i++) {
        push *p = &k->pushes[i];
        if (p->state == PUSH_QUEUED && p->head.part == part && p->head.step < version)
            push_over(k, p);
    }
}

void pushes_requeue(kv *k, int32_t server)
{
    for (size_t i = 0; i < k->n_pushes; i++) {
        push *p = &k->pushes[i];
        if (p->state != PUSH_SENT || p->server != server)
            continue;
        k->servers[server].in_flight -= p->sum->bytes;
        p->state = PUSH_QUEUED;
    }
}

status pushes_say_again(kv *k, int64_t now_us, error *err)
{
    for (size_t i = 0; i < k->n_pushes; i++) {
        push *p = &k->pushes[i];
        if (p->state == PUSH_SENT && backoff_expired(&p->backoff, now_us))
            TRY(push_again(k, p, err));
    }
    return OK;
}

void pushes_drop(kv *k)
{
    for (size_t i = 0; i < k->n_pushes; i++)
        if (k->pushes[i].state != PUSH_FREE)
            push_end(k, &k->pushes[i]);
}

size_t kv_unacknowledged(const kv *k, int32_t server)
{
    size_t n = 0;
    for (size_t i = 0; i < k->n_pushes; i++)
        n += k->pushes[i].state != PUSH_FREE && k->pushes[i].server == server;
    return n;
}

int64_t kv_pushing_us(const kv *k)
{
    return k->pushing_us + (k->n_under_way ? clock_us() - k->pushing_since_us : 0);
}

bool kv_is_pushing(const kv *k, int64_t step)
{
    for (size_t i = 0; i < k->n_pushes; i++)
        if (k->pushes[i].state != PUSH_FREE && k->pushes[i].head.step == step)
            return true;
    return false;
}
