#include "kv/state.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/live/recorder.h"
#include "common/parts/placement.h"
#include "common/wire/hello.h"

#include <stdlib.h>

/* On a connection that is not up hellos would pile up; once it is, one is said. */
static status kv_say_hello(kv *k, int32_t s, error *err)
{
    if (!net_is_up(k->sockets[s]))
        return OK;
    span payload = span_for_call(k->hello->data, k->hello->size);
    wire_head h = k->identity;
    h.type = WIRE_HELLO;
    wire_set_hello_server(&h, k->first_server + s);
    h.bytes = payload.bytes;
    return kv_send(k, s, &h, &payload, err);
}

static status dial(kv *k, int32_t s, error *err)
{
    TRY(net_dial(k->net, k->servers[s].endpoint, &k->sockets[s], err));
    recorder_peer(net_peer_number(k->sockets[s], NULL), (task){ROLE_PS, k->first_server + s});
    net_watch_memory(k->sockets[s], &k->memory);
    return OK;
}

status kv_create(const kv_options *options, kv **ret, error *err)
{
    kv *k = xcalloc(1, sizeof *k);
    k->net = options->net;
    k->hooks = options->hooks;
    k->hello = options->hello;
    k->memory = options->memory;
    k->credit_bytes = options->credit_bytes;
    k->n_servers = options->n_servers;
    k->first_server = options->first_server;
    k->servers = xcalloc((size_t)k->n_servers, sizeof *k->servers);
    k->sockets = xcalloc((size_t)k->n_servers, sizeof(net_socket *));
    status st = OK;
    for (int32_t s = 0; st == OK && s < k->n_servers; s++) {
        k->servers[s].endpoint = xstrdup(options->servers[s]);
        st = dial(k, s, err);
    }
    if (st != OK)
        kv_destroy(&k);
    else
        *ret = k;
    return st;
}

void kv_destroy(kv **k)
{
    if (!k || !*k)
        return;
    pushes_drop(*k);
    for (int32_t s = 0; s < (*k)->n_servers; s++) {
        net_close(&(*k)->sockets[s], 0);
        free((*k)->servers[s].endpoint);
    }
    free((*k)->pushes);
    buf_fini(&(*k)->packed);
    free((*k)->pulls);
    free((*k)->wire_us);
    free((*k)->placement);
    free((*k)->servers);
    free((*k)->sockets);
    free(*k);
    *k = NULL;
}

/* The connection is gone: its dial is closed, buffers come back, a new one opens. */
static status redial(kv *k, int32_t s, error *err)
{
    LOG_D("REDIAL", "server=%s", k->servers[s].endpoint);
    net_close(&k->sockets[s], 0);
    k->servers[s].welcomed = false;
    TRY(dial(k, s, err));
    pushes_requeue(k, s);
    return OK;
}

static bool acts(const kv *k, int32_t s)
{
    for (int32_t p = 0; p < k->flat->n_parts; p++)
        if (k->placement[p] == s)
            return true;
    return false;
}

/* A server that hangs keeps its connection, and what we lent to it; who acts for nothing may hang. */
static status part_from_idle(kv *k, error *err)
{
    for (int32_t s = 0; s < k->n_servers; s++)
        if (k->servers[s].welcomed && !acts(k, s))
            TRY(redial(k, s, err));
    return OK;
}

status kv_begin(kv *k, uint64_t job_id, uint32_t era, uint32_t incarnation, const flat *f,
                const uint32_t *acting, error *err)
{
    pushes_drop(k);
    k->identity = (wire_head){.job_id = job_id, .era = era, .incarnation = incarnation};
    k->flat = f;
    k->placement = xrealloc(k->placement, (size_t)f->n_parts * sizeof *k->placement);
    k->pulls = xrealloc(k->pulls, (size_t)f->n_parts * sizeof *k->pulls);
    k->wire_us = xrealloc(k->wire_us, (size_t)f->n_parts * sizeof *k->wire_us);
    placement_deal(f, k->n_servers, k->placement);
    for (int32_t p = 0; p < f->n_parts; p++) {
        k->pulls[p] = (pull){.version = -1};
        k->wire_us[p] = 0;
        if (acting)
            k->placement[p] = (int32_t)acting[k->placement[p]];
    }
    TRY(part_from_idle(k, err));
    /* servers were not ready when they first heard of us; now they are */
    for (int32_t s = 0; s < k->n_servers; s++)
        if (!k->servers[s].welcomed)
            TRY(kv_say_hello(k, s, err));
    return OK;
}

static status pull_send(kv *k, int32_t part, uint8_t flags, error *err)
{
    wire_head h = k->identity;
    h.type = WIRE_PULL;
    h.flags = flags;
    h.part = part;
    wire_set_pull_unit(&h, k->pulls[part].version);
    wire_set_pull_floor(&h, k->pulls[part].floor);
    return kv_send(k, k->placement[part], &h, NULL, err);
}

static status pull_ask(kv *k, int32_t part, pull what, error *err)
{
    what.asked_us = clock_us();
    k->pulls[part] = what;
    backoff_begin(&k->pulls[part].backoff, what.asked_us);
    return k->servers[k->placement[part]].welcomed ? pull_send(k, part, 0, err) : OK;
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
            TRY(pull_send(k, p, 0, err));
    return pushes_flow(k, s, err);
}

static status kv_take_welcome(kv *k, int32_t s, const net_message *m, error *err)
{
    ProtobufCMessage *message = NULL;
    if (wire_unpack(WIRE_WELCOME, span_data(m->payload), span_bytes(m->payload),
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

static void take_part(kv *k, const wire_head *h, const net_message *m)
{
    pull *asked = &k->pulls[h->part];
    int64_t version = asked->version;
    bool is_it = version == (asked->newest ? wire_part_batch(h) : wire_part_version(h));
    if (!is_it || version < 0 || (int64_t)span_n(m->payload) != flat_part_elements(k->flat, h->part))
        return;
    loss_scale scale = {.exponent = 0};
    if (!asked->newest && !wire_part_scale(h, &scale))
        return;
    if (!asked->newest)
        pushes_outdate(k, h->part, version);
    asked->version = -1;
    k->hooks.part(k->hooks.user, &(kv_part){.part = h->part,
                                            .version = version,
                                            .scale = scale,
                                            .weights = m->payload,
                                            .times = {.asked_us = asked->asked_us,
                                                      .lanes_us = wire_part_lanes_us(h),
                                                      .server_us = wire_part_server_us(h),
                                                      .came_us = clock_us()}});
}

static void take_gone(kv *k, const wire_head *h)
{
    pull *asked = &k->pulls[h->part];
    if (asked->version < 0 || asked->newest || asked->version != wire_gone_asked(h))
        return;
    pushes_outdate(k, h->part, wire_gone_newest(h));
    asked->version = -1;
    k->hooks.gone(k->hooks.user, h->part, wire_gone_newest(h));
}

static status kv_take_refused(kv *k, int32_t s, const wire_head *h, const net_message *m, error *err)
{
    ProtobufCMessage *message = NULL;
    if (wire_unpack(WIRE_REFUSED, span_data(m->payload), span_bytes(m->payload),
                    &message, NULL) != OK)
        return OK;
    k->hooks.refused(k->hooks.user, s, h, (const Wire__Refused *)message);
    wire_free(message);
    /* a newer era: the server may know its master's address */
    bool is_behind = h->job_id == k->identity.job_id && h->era > k->identity.era;
    return is_behind ? kv_say_hello(k, s, err) : OK;
}

static status kv_take(kv *k, int32_t s, const net_message *m, error *err)
{
    wire_head h;
    if (wire_head_decode(m->head, span_bytes(m->payload), &h, NULL) != OK ||
        !wire_may_say(h.type, ROLE_PS, ROLE_WORKER))
        return OK;                  /* not ours: never trusted, never fatal */
    if (h.type == WIRE_WELCOME)
        return kv_take_welcome(k, s, m, err);
    if (h.type == WIRE_REFUSED)
        return kv_take_refused(k, s, &h, m, err);
    if (!is_current(k, &h) || k->placement[h.part] != s)
        return OK;
    if (h.type == WIRE_PUSHED) {
        pushes_end(k, s, &h);
        return pushes_flow(k, s, err);
    }
    if (h.type == WIRE_PART)
        take_part(k, &h, m);
    if (h.type == WIRE_GONE)
        take_gone(k, &h);
    return OK;
}

static status events_take(kv *k, int32_t s, error *err)
{
    net_event event;
    while (net_next_event(k->sockets[s], &event)) {
        k->servers[s].refused = event.why;
        if (event.kind == NET_UP)
            TRY(kv_say_hello(k, s, err));
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
            status st = kv_take(k, s, &m, err);
            span_drop(m.payload);
            TRYF(st, err, "server %s", k->servers[s].endpoint);
        }
    }
    return OK;
}

static status say_again(kv *k, int64_t now, error *err)
{
    TRY(pushes_say_again(k, now, err));
    for (int32_t p = 0; k->flat && p < k->flat->n_parts; p++) {
        int32_t s = k->placement[p];
        if (k->pulls[p].version >= 0 && k->servers[s].welcomed &&
            backoff_expired(&k->pulls[p].backoff, now))
            TRY(pull_send(k, p, WIRE_AGAIN, err));
    }
    return OK;
}

status kv_greet(kv *k, error *err)
{
    for (int32_t s = 0; s < k->n_servers; s++)
        TRY(kv_say_hello(k, s, err));
    return OK;
}

status kv_tick(kv *k, error *err)
{
    wire_head alive = k->identity;
    alive.type = WIRE_HEARTBEAT;
    for (int32_t s = 0; s < k->n_servers; s++)
        TRY(k->servers[s].welcomed ? kv_send(k, s, &alive, NULL, err) : kv_say_hello(k, s, err));
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

static size_t count_pulls(const kv *k, int32_t server)
{
    size_t n = 0;
    for (int32_t p = 0; k->flat && p < k->flat->n_parts; p++)
        n += k->placement[p] == server && k->pulls[p].version >= 0;
    return n;
}

void kv_describe(const kv *k, int32_t server, kv_link *ret)
{
    const server_link *to = &k->servers[server];
    *ret = (kv_link){
        .index = k->first_server + server,
        .is_up = to->welcomed,
        .in_flight = to->in_flight,
        .credit = pushes_credit(k, server),
        .pushes = kv_unacknowledged(k, server),
        .pulls = count_pulls(k, server),
    };
}
