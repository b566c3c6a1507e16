/* Every rank but 0: it says where it is, and hears where all are. */
#include "cli/roles/rendezvous/meeting.h"

#include "cli/roles/endpoints.h"
#include "cli/run/meeting_place.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/wait_warning.h"
#include "common/wire/hello.h"
#include "job/ports.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAY_AGAIN_US = 1000 * 1000, DYING_US = 5 * 1000 * 1000 };

typedef struct guest {
    meeting *m;
    char *endpoint;         /* of rank 0 */
    char host[MEETING_HOST]; /* of this rank, without brackets */
    buf hello;
    int64_t said_us;
    const char *trouble;    /* why the last connection failed; NULL */
    bool is_over;           /* an answer has come */
} guest;

/* --- where rank 0 is, and where this one --- */

/* On rank 0's host, where its name may be one of the loopback interface, this rank is known as rank
 * 0 is. */
static const char *known_as(const char *host, const char *own)
{
    return host_is_loopback(own) && !host_is_loopback(host) ? host : own;
}

static status other_rank_find_places(guest *g, error *err)
{
    char host[MEETING_HOST];
    int port;
    const config *c = g->m->o->config;
    TRY(meeting_split(g->m, host, &port, err));
    if (!host[0]) {
        g->endpoint = xasprintf("ipc://%s", meeting_place(c, g->m->o->cluster));
        snprintf(g->host, sizeof g->host, "%s", PORTS_HOST);
        return meeting_open(g->m, PORTS_HOST, 0, err);
    }
    TRY(endpoint_dial_at(c, "rank 0", host, port, g->m->o->stop, &g->endpoint, err));
    char own[MEETING_HOST];
    TRYF(endpoint_own_host(host, own, sizeof own, err), err, "rendezvous");
    snprintf(g->host, sizeof g->host, "%s", known_as(host, own));
    return meeting_open(g->m, g->host, 0, err);
}

static void make_hello(guest *g)
{
    hello_pack(
        &(hello_facts){
            .config = g->m->o->config,
            .task = {.role = ROLE_WORKER, .index = g->m->rank},
            .life = hello_life(),
            .ranks = (uint32_t)g->m->size,
            .address = g->m->address,
        },
        &g->hello);
}

/* --- the answer --- */

/* The process that had the port may still be dying. */
static status reopen(meeting *m, const char *host, int port, error *err)
{
    error why = ERROR_INIT;
    int64_t until = clock_us() + DYING_US;
    status st;
    while ((st = meeting_open(m, host, port, &why)) != OK && clock_us() < until) {
        error_clear(&why);
        poll(NULL, 0, MEETING_TICK_MS);
    }
    return st == OK ? OK : FAIL(err, st, "%s", why.text);
}

/* A rank that was started again: the others look for it where it was. */
static status take_place(guest *g, const char *address, error *err)
{
    char host[MEETING_HOST], own[MEETING_HOST];
    int port, own_port;
    meeting *m = g->m;
    TRY(address_split(address, host, sizeof host, &port, err));
    TRY(address_split(m->address, own, sizeof own, &own_port, err));
    if (port == own_port && strcmp(host, own) == 0)
        return OK;
    if (strcmp(host, own) != 0)
        return FAIL(err, E_CONFIG,
                    "rank %d was at %s when this job began, and the others look for it there, not "
                    "at %s: start all ranks anew",
                    (int)m->rank, address, m->address);
    TRYF(reopen(m, g->host, port, err), err,
         "rank %d was at %s when this job began, and may be there still", (int)m->rank, address);
    return OK;
}

static status take_welcome(guest *g, const Wire__Welcome *w, error *err)
{
    if (w->n_addresses != (size_t)g->m->size)
        return FAIL(err, E_PROTOCOL, "rank 0 tells of %zu ranks, not %d", w->n_addresses,
                    (int)g->m->size);
    char host[MEETING_HOST];
    int port;
    for (int32_t i = 0; i < g->m->size; i++)
        TRYF(address_split(w->addresses[i], host, sizeof host, &port, err), err, "rank %d", i);
    TRY(take_place(g, w->addresses[g->m->rank], err));
    g->is_over = true;
    return meeting_settle(g->m, (const char *const *)w->addresses, err);
}

static status take_refused(const Wire__Refused *r, error *err)
{
    bool is_known = r->status > OK && r->status < STATUS_COUNT;
    return FAIL(err, is_known ? (status)r->status : E_PROTOCOL, "rank 0 refuses: %s", r->text);
}

static status take_stop(guest *g, const Wire__Stop *s, error *err)
{
    g->is_over = true;
    if (s->status == OK) {
        LOG_I("DONE", "rank 0: %s", s->text);
        return OK;
    }
    return FAIL(err, s->status < STATUS_COUNT ? (status)s->status : E_PROTOCOL, "rank 0: %s",
                s->text);
}

static status other_rank_take(guest *g, const net_message *message, error *err)
{
    wire_head h;
    ProtobufCMessage *m = NULL;
    size_t bytes = span_bytes(message->payload);
    TRY(wire_head_decode(message->head, bytes, &h, err));
    if (h.type != WIRE_WELCOME && h.type != WIRE_REFUSED && h.type != WIRE_STOP)
        return FAIL(err, E_PROTOCOL, "the rendezvous answers with %s", wire_type_name(h.type));
    TRY(wire_unpack(h.type, span_data(message->payload), bytes, &m, err));
    status st = h.type == WIRE_WELCOME   ? take_welcome(g, (const Wire__Welcome *)m, err)
                : h.type == WIRE_REFUSED ? take_refused((const Wire__Refused *)m, err)
                                         : take_stop(g, (const Wire__Stop *)m, err);
    wire_free(m);
    return st;
}

/* --- asking --- */

static void say_hello(guest *g)
{
    g->said_us = clock_us();
    meeting_say(g->m->socket, NULL, WIRE_HELLO, &g->hello);
}

static status dial(guest *g, error *err)
{
    net_close(&g->m->socket, 0);
    return net_dial(g->m->o->net, g->endpoint, &g->m->socket, err);
}

static status hear_messages(guest *g, error *err)
{
    net_message message;
    while (!g->is_over && net_receive(g->m->socket, &message)) {
        status st = other_rank_take(g, &message, err);
        span_drop(message.payload);
        TRY(st);
    }
    return OK;
}

static status other_rank_hear(guest *g, error *err)
{
    net_event event;
    bool is_down = false;
    TRY(net_poll(&g->m->socket, 1, NULL, MEETING_TICK_MS, err));
    TRY(hear_messages(g, err));
    while (net_next_event(g->m->socket, &event)) {
        is_down = is_down || event.kind == NET_DOWN;
        g->trouble = event.kind == NET_DOWN ? event.why : g->trouble;
        if (event.kind == NET_UP)
            say_hello(g);
    }
    if (!is_down)
        return OK;
    TRY(hear_messages(g, err)); /* the rank that told us to leave may be gone by now */
    return g->is_over ? OK : dial(g, err);
}

static status await_answer(guest *g, error *err)
{
    const config *c = g->m->o->config;
    const atomic_bool *stop = g->m->o->stop;
    int64_t begin = clock_us();
    double waited, limit_s = config_f64(c, "distributed.wait_warning");
    double timeout_s = config_f64(c, "distributed.start_timeout");
    const char *place = meeting_place(c, g->m->o->cluster);
    wait_warning waiting = {0};
    while (!g->is_over) {
        if (stop && atomic_load(stop))
            return FAIL(err, E_PREEMPTED, "preempted before all ranks had come");
        TRY(other_rank_hear(g, err));
        int64_t now = clock_us();
        if (!g->is_over && (double)(now - begin) * 1e-6 > timeout_s)
            return FAIL(err, E_LOST,
                        "after %.0f s rank 0 has not told where the others are; it was looked for "
                        "at %s%s%s",
                        timeout_s, place, g->trouble ? ": " : "", g->trouble ? g->trouble : "");
        if (now - g->said_us > SAY_AGAIN_US && g->said_us)
            say_hello(g);
        if (wait_warning_due(&waiting, now, begin, limit_s, &waited))
            LOG_W("WAIT", "for=rendezvous at=%s since=%.1fs%s%s", place, waited,
                  g->trouble ? ": " : "", g->trouble ? g->trouble : "");
    }
    return OK;
}

status other_rank_join(meeting *m, error *err)
{
    guest g = {.m = m, .hello = BUF_INIT};
    status st = other_rank_find_places(&g, err);
    if (st == OK) {
        make_hello(&g);
        st = dial(&g, err);
    }
    if (st == OK)
        st = await_answer(&g, err);
    net_close(&m->socket, 0);
    buf_fini(&g.hello);
    free(g.endpoint);
    return st;
}
