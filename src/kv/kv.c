#include "kv/kv.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/parts/placement.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef enum push_state { PUSH_FREE, PUSH_QUEUED, PUSH_SENT, PUSH_ORPHAN } push_state;

/* When to say again what was not answered: later each time. */
typedef struct patience {
    int64_t wait_us, until_us;
} patience;

enum { PATIENCE_US = 1000000, PATIENCE_MAX_US = 8000000 };

static void patience_begin(patience *p, int64_t now)
{
    *p = (patience){.wait_us = PATIENCE_US, .until_us = now + PATIENCE_US};
}

static bool patience_ends(patience *p, int64_t now)
{
    if (now < p->until_us)
        return false;
    p->wait_us = p->wait_us < PATIENCE_MAX_US / 2 ? 2 * p->wait_us : PATIENCE_MAX_US;
    p->until_us = now + p->wait_us;
    return true;
}

/* A push keeps its memory until the server acknowledged it and the transport let go of it. */
typedef struct push {
    _Atomic(push_state) state;
    atomic_int refs;
    int32_t server;
    wire_head head;
    net_buffer data;
    patience patience;
} push;

typedef struct pull {
    int64_t version;            /* or batch, for the newest; -1: none under way */
    bool newest;
    int64_t floor;              /* that the newest must have */
    patience patience;
} pull;

typedef struct link {
    char *endpoint;
    bool welcomed;
    const char *refused;        /* why it could not be connected to; NULL: nothing is wrong */
    size_t in_flight;           /* bytes sent, not acknowledged */
} link;

struct kv {
    net *net;
    kv_hooks hooks;
    const buf *hello;
    size_t credit_bytes;
    int32_t n_servers;
    link *servers;
    net_socket **sockets;

    const flat *flat;
    int32_t *placement;         /* [n_parts] the server that acts for it */
    wire_head identity;         /* job id, era, incarnation for every head */
    push **pushes;              /* each allocated alone: the transport keeps pointers to them */
    size_t n_pushes, cap_pushes;
    pull *pulls;                /* [n_parts] */
};

static void push_unref(push *p)
{
    if (atomic_fetch_sub(&p->refs, 1) != 1)
        return;
    if (p->data.release)
        p->data.release((void *)(uintptr_t)p->data.data, p->data.hint);
    if (atomic_exchange(&p->state, PUSH_FREE) == PUSH_ORPHAN)
        free(p);
}

static void push_sent(void *data, void *hint)
{
    (void)data;
    push_unref(hint);
}

static push *push_take(kv *k)
{
    for (size_t i = 0; i < k->n_pushes; i++)
        if (atomic_load(&k->pushes[i]->state) == PUSH_FREE)
            return k->pushes[i];
    GROW(k->pushes, k->cap_pushes, k->n_pushes + 1);
    push *p = xcalloc(1, sizeof *p);
    k->pushes[k->n_pushes++] = p;
    return p;
}

/* A server that has left is no failure of ours: it comes back, or the master has a word for us. */
static status send_message(kv *k, int32_t s, const wire_head *h, const net_buffer *payload, error *err)
{
    unsigned char head[NET_HEAD];
    wire_head_encode(h, head);
    error gone = ERROR_INIT;
    status st = net_send(k->sockets[s], NULL, head, payload, &gone);
    if (st == E_LOST)
        LOG_D("SEND", "type=%s server=%s %s", wire_type_name(h->type), k->servers[s].endpoint, gone.text);
    return st == OK || st == E_LOST ? OK : FAIL(err, st, "%s", gone.text);
}

static status send_head(kv *k, int32_t s, wire_type type, int32_t part, int64_t step,
                        const net_buffer *payload, error *err)
{
    wire_head h = k->identity;
    h.type = type;
    h.part = part;
    h.step = step;
    h.bytes = payload ? payload->bytes : 0;
    return send_message(k, s, &h, payload, err);
}

static status say_hello(kv *k, int32_t s, error *err)
{
    net_buffer payload = {.data = k->hello->data, .bytes = k->hello->size};
    return send_head(k, s, WIRE_HELLO, 0, 0, &payload, err);
}

status kv_create(const kv_options *options, kv **ret, error *err)
{
    kv *k = xcalloc(1, sizeof *k);
    k->net = options->net;
    k->hooks = options->hooks;
    k->hello = options->hello;
    k->credit_bytes = options->credit_bytes;
    k->n_servers = options->n_servers;
    k->servers = xcalloc((size_t)k->n_servers, sizeof *k->servers);
    k->sockets = xcalloc((size_t)k->n_servers, sizeof(net_socket *));
    status st = OK;
    for (int32_t s = 0; st == OK && s < k->n_servers; s++) {
        k->servers[s].endpoint = xstrdup(options->servers[s]);
        st = net_dial(k->net, options->servers[s], &k->sockets[s], err);
    }
    if (st != OK)
        kv_destroy(&k);
    else
        *ret = k;
    return st;
}

/* Acknowledged, or given up: our half of the push's life ends. */
static void push_end(kv *k, push *p)
{
    if (atomic_load(&p->state) == PUSH_SENT)
        k->servers[p->server].in_flight -= p->data.bytes;
    else
        push_unref(p);                      /* the transport never got its half */
    push_unref(p);
}

static void drop_all(kv *k)
{
    for (size_t i = 0; i < k->n_pushes; i++) {
        push *p = k->pushes[i];
        if (atomic_load(&p->state) != PUSH_FREE && p->server >= 0) {
            push_end(k, p);
            p->server = -1;                 /* only the transport still holds it */
        }
    }
}

void kv_destroy(kv **k)
{
    if (!k || !*k)
        return;
    drop_all(*k);
    for (int32_t s = 0; s < (*k)->n_servers; s++) {
        net_close(&(*k)->sockets[s], 0);
        free((*k)->servers[s].endpoint);
    }
    /* a push the transport has not let go of yet outlives the kv and frees itself */
    for (size_t i = 0; i < (*k)->n_pushes; i++)
        if (atomic_exchange(&(*k)->pushes[i]->state, PUSH_ORPHAN) == PUSH_FREE)
            free((*k)->pushes[i]);
    free((*k)->pushes);
    free((*k)->pulls);
    free((*k)->placement);
    free((*k)->servers);
    free((*k)->sockets);
    free(*k);
    *k = NULL;
}

status kv_begin(kv *k, uint64_t job_id, uint32_t era, uint32_t incarnation, const flat *f,
                const uint32_t *acting, error *err)
{
    drop_all(k);
    k->identity = (wire_head){.job_id = job_id, .era = era, .incarnation = incarnation};
    k->flat = f;
    k->placement = xrealloc(k->placement, (size_t)f->n_parts * sizeof *k->placement);
    k->pulls = xrealloc(k->pulls, (size_t)f->n_parts * sizeof *k->pulls);
    placement_deal(f, k->n_servers, k->placement);
    for (int32_t p = 0; p < f->n_parts; p++) {
        k->pulls[p] = (pull){.version = -1};
        if (acting)
            k->placement[p] = (int32_t)acting[k->placement[p]];
    }
    /* servers were not ready when they first heard of us; now they are */
    for (int32_t s = 0; s < k->n_servers; s++)
        if (!k->servers[s].welcomed)
            TRY(say_hello(k, s, err));
    return OK;
}

static status push_send(kv *k, push *p, error *err)
{
    link *s = &k->servers[p->server];
    net_buffer payload = p->data;
    payload.release = push_sent;
    payload.hint = p;
    s->in_flight += p->data.bytes;
    patience_begin(&p->patience, clock_us());
    atomic_store(&p->state, PUSH_SENT);
    return send_message(k, p->server, &p->head, &payload, err);
}

/* Sends what the credit of server `s` lets through, front layers first. */
static status pushes_flow(kv *k, int32_t s, error *err)
{
    for (;;) {
        push *next = NULL;
        for (size_t i = 0; i < k->n_pushes; i++) {
            push *p = k->pushes[i];
            if (p->server == s && atomic_load(&p->state) == PUSH_QUEUED &&
                (!next || p->head.part > next->head.part))
                next = p;
        }
        size_t used = k->servers[s].in_flight;
        if (!next || !k->servers[s].welcomed ||
            (used && used + next->data.bytes > k->credit_bytes))
            return OK;
        TRY(push_send(k, next, err));
    }
}

status kv_push(kv *k, int32_t part, int64_t step, uint32_t slots, tree_node node,
               const net_buffer *data, error *err)
{
    push *p = push_take(k);
    p->server = k->placement[part];
    p->data = *data;
    p->head = k->identity;
    p->head.type = WIRE_PUSH;
    p->head.flags = net_is_local(k->sockets[p->server]) ? WIRE_LENT : 0;
    p->head.part = part;
    p->head.step = step;
    p->head.slots = slots;
    p->head.node = node;
    p->head.bytes = data->bytes;
    atomic_store(&p->refs, 2);
    atomic_store(&p->state, PUSH_QUEUED);
    return pushes_flow(k, p->server, err);
}

static status pull_send(kv *k, int32_t part, error *err)
{
    wire_head h = k->identity;
    h.type = WIRE_PULL;
    h.part = part;
    h.step = k->pulls[part].version;
    h.tag = (uint64_t)k->pulls[part].floor;
    return send_message(k, k->placement[part], &h, NULL, err);
}

static status pull_ask(kv *k, int32_t part, pull what, error *err)
{
    k->pulls[part] = what;
    patience_begin(&k->pulls[part].patience, clock_us());
    return k->servers[k->placement[part]].welcomed ? pull_send(k, part, err) : OK;
}

status kv_pull(kv *k, int32_t part, int64_t version, error *err)
{
    return pull_ask(k, part, (pull){.version = version}, err);
}

status kv_pull_newest(kv *k, int32_t part, int64_t batch, int64_t floor, error *err)
{
    return pull_ask(k, part, (pull){.version = batch, .newest = true, .floor = floor}, err);
}

/* After a new connection: everything that server still owes us. */
static status resend(kv *k, int32_t s, error *err)
{
    if (!k->flat)
        return OK;
    for (int32_t p = 0; p < k->flat->n_parts; p++)
        if (k->placement[p] == s && k->pulls[p].version >= 0)
            TRY(pull_send(k, p, err));
    return pushes_flow(k, s, err);
}

static status take_welcome(kv *k, int32_t s, const net_message *m, error *err)
{
    ProtobufCMessage *message = NULL;
    if (wire_unpack(WIRE_WELCOME, net_payload_data(&m->payload), net_payload_bytes(&m->payload),
                    &message, NULL) != OK)
        return OK;
    const Wire__Welcome *welcome = (const Wire__Welcome *)message;
    bool first = welcome->ready && !k->servers[s].welcomed;
    k->servers[s].welcomed = welcome->ready;
    k->hooks.welcome(k->hooks.user, s, welcome);
    wire_free(message);
    return first ? resend(k, s, err) : OK;
}

static bool is_current(const kv *k, const wire_head *h)
{
    return k->flat && h->job_id == k->identity.job_id && h->era == k->identity.era &&
           h->part < k->flat->n_parts;
}

static status take_pushed(kv *k, int32_t s, const wire_head *h, error *err)
{
    for (size_t i = 0; i < k->n_pushes; i++) {
        push *p = k->pushes[i];
        if (atomic_load(&p->state) == PUSH_SENT && p->server == s && p->head.part == h->part &&
            p->head.step == h->step && p->head.node.level == h->node.level &&
            p->head.node.index == h->node.index) {
            push_end(k, p);
            p->server = -1;
            if (k->hooks.pushed)
                k->hooks.pushed(k->hooks.user, h->part, h->step);
            break;
        }
    }
    return pushes_flow(k, s, err);
}

static void take_part(kv *k, const wire_head *h, const net_message *m)
{
    size_t n = net_payload_bytes(&m->payload) / sizeof(float);
    int64_t asked = k->pulls[h->part].version;
    bool is_it = k->pulls[h->part].newest ? (uint64_t)asked == h->tag : asked == h->step;
    if (!is_it || asked < 0 || (int64_t)n != flat_part_elements(k->flat, h->part))
        return;
    k->pulls[h->part].version = -1;
    k->hooks.part(k->hooks.user, h->part, asked, net_payload_data(&m->payload), n);
}

static status take_refused(kv *k, int32_t s, const wire_head *h, const net_message *m, error *err)
{
    ProtobufCMessage *message = NULL;
    if (wire_unpack(WIRE_REFUSED, net_payload_data(&m->payload), net_payload_bytes(&m->payload),
                    &message, NULL) != OK)
        return OK;
    k->hooks.refused(k->hooks.user, s, h, (const Wire__Refused *)message);
    wire_free(message);
    /* a newer era: the server may know its master's address */
    bool is_behind = h->job_id == k->identity.job_id && h->era > k->identity.era;
    return is_behind ? say_hello(k, s, err) : OK;
}

static status take(kv *k, int32_t s, const net_message *m, error *err)
{
    wire_head h;
    if (wire_head_decode(m->head, net_payload_bytes(&m->payload), &h, NULL) != OK ||
        !wire_may_say(h.type, ROLE_PS, ROLE_WORKER))
        return OK;                  /* not ours: never trusted, never fatal */
    if (h.type == WIRE_WELCOME)
        return take_welcome(k, s, m, err);
    if (h.type == WIRE_REFUSED)
        return take_refused(k, s, &h, m, err);
    if (!is_current(k, &h) || k->placement[h.part] != s)
        return OK;
    if (h.type == WIRE_PUSHED)
        return take_pushed(k, s, &h, err);
    if (h.type == WIRE_PART)
        take_part(k, &h, m);
    if (h.type == WIRE_GONE && k->pulls[h.part].version >= 0 && !k->pulls[h.part].newest &&
        (uint64_t)k->pulls[h.part].version == h.tag) {
        k->pulls[h.part].version = -1;
        k->hooks.gone(k->hooks.user, h.part, h.step);
    }
    return OK;
}

/* The connection is gone: its dial is closed, buffers come back, a new one opens. */
static status redial(kv *k, int32_t s, error *err)
{
    LOG_D("REDIAL", "server=%s", k->servers[s].endpoint);
    net_close(&k->sockets[s], 0);
    k->servers[s].welcomed = false;
    TRY(net_dial(k->net, k->servers[s].endpoint, &k->sockets[s], err));
    for (size_t i = 0; i < k->n_pushes; i++) {
        push *p = k->pushes[i];
        if (p->server != s || atomic_load(&p->state) != PUSH_SENT)
            continue;
        k->servers[s].in_flight -= p->data.bytes;
        atomic_fetch_add(&p->refs, 1);      /* the transport's half, for the next time */
        atomic_store(&p->state, PUSH_QUEUED);
    }
    return OK;
}

static status events_take(kv *k, int32_t s, error *err)
{
    net_event event;
    while (net_next_event(k->sockets[s], &event)) {
        k->servers[s].refused = event.why;
        if (event.kind == NET_UP)
            TRY(say_hello(k, s, err));
        else
            return redial(k, s, err);
    }
    return OK;
}

status kv_serve(kv *k, error *err)
{
    for (int32_t s = 0; s < k->n_servers; s++) {
        TRY(events_take(k, s, err));
        net_message m;
        while (net_receive(k->sockets[s], &m)) {
            status st = take(k, s, &m, err);
            net_payload_close(&m.payload);
            TRYF(st, err, "server %s", k->servers[s].endpoint);
        }
    }
    return OK;
}

/* Acknowledgement and copy under way are two things: only what has left is sent once more. */
static status push_again(kv *k, push *p, error *err)
{
    if (atomic_load(&p->refs) > 1)
        return OK;
    net_buffer payload = p->data;
    payload.release = push_sent;
    payload.hint = p;
    atomic_fetch_add(&p->refs, 1);
    return send_message(k, p->server, &p->head, &payload, err);
}

static status say_again(kv *k, int64_t now, error *err)
{
    for (size_t i = 0; i < k->n_pushes; i++) {
        push *p = k->pushes[i];
        if (atomic_load(&p->state) == PUSH_SENT && p->server >= 0 && patience_ends(&p->patience, now))
            TRY(push_again(k, p, err));
    }
    for (int32_t p = 0; k->flat && p < k->flat->n_parts; p++) {
        int32_t s = k->placement[p];
        if (k->pulls[p].version >= 0 && k->servers[s].welcomed &&
            patience_ends(&k->pulls[p].patience, now))
            TRY(pull_send(k, p, err));
    }
    return OK;
}

status kv_greet(kv *k, error *err)
{
    for (int32_t s = 0; s < k->n_servers; s++)
        TRY(say_hello(k, s, err));
    return OK;
}

status kv_tick(kv *k, error *err)
{
    for (int32_t s = 0; s < k->n_servers; s++)
        TRY(k->servers[s].welcomed ? send_head(k, s, WIRE_HEARTBEAT, 0, 0, NULL, err)
                                   : say_hello(k, s, err));
    return say_again(k, clock_us(), err);
}

net_socket *const *kv_sockets(const kv *k)
{
    return k->sockets;
}

int32_t kv_server_of(const kv *k, int32_t part)
{
    return k->placement[part];
}

const char *kv_server_name(const kv *k, int32_t server)
{
    return k->servers[server].endpoint;
}

bool kv_server_is_up(const kv *k, int32_t server)
{
    return k->servers[server].welcomed;
}

const char *kv_server_refused(const kv *k, int32_t server)
{
    return k->servers[server].refused;
}

size_t kv_unacknowledged(const kv *k, int32_t server)
{
    size_t n = 0;
    for (size_t i = 0; i < k->n_pushes; i++)
        n += k->pushes[i]->server == server && atomic_load(&k->pushes[i]->state) != PUSH_FREE;
    return n;
}
