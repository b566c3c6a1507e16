/*
 * The end: everybody is told how the job ended. Messages may be lost with their connection, so it
 * is said again until the peers have left, for a bounded time.
 */
#include "master/state.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"

#include <stdlib.h>

enum { SAY_US = SECOND_US / 2 };

/* In this process, which tells it by itself. */
static bool is_local(const server *s)
{
    return s->socket && net_is_local(s->socket);
}

static bool is_gone(const server *s)
{
    return !s->socket || is_local(s) || !s->welcomed;
}

/* A job that fails as it starts waits for those who are about to come, too: they would wait long
 * for a master that is not there any more. */
static bool everybody_came(const master *m)
{
    for (int32_t i = 0; i < m->o->n_servers; i++)
        if (!m->servers[i].life && !m->servers[i].refuses_us && !is_local(&m->servers[i]))
            return false;
    return (int32_t)members_came(&m->members) >= m->o->n_workers;
}

/* Also one that was silent for too long but has a connection still: frozen, or only slow. */
static bool may_hear(const member *one)
{
    return one->connection >= 0 && (one->alive || !one->suspect);
}

static bool everybody_left(const master *m)
{
    for (int32_t i = 0; i < m->o->n_servers; i++)
        if (!is_gone(&m->servers[i]))
            return false;
    for (size_t i = 0; i < m->members.n; i++)
        if (may_hear(&m->members.at[i]))
            return false;
    return !members_have_guests(&m->members);
}

static void say_stop(master *m, const Wire__Stop *stop)
{
    for (size_t i = 0; i < m->members.n; i++)
        master_send(m->listener, &m->members.at[i].peer, master_head(m, WIRE_STOP, 0), &stop->base);
    for (int32_t i = 0; i < m->o->n_servers; i++)
        if (m->servers[i].socket)
            master_send(m->servers[i].socket, NULL, master_head(m, WIRE_STOP, 0), &stop->base);
}

static bool is_refusal(const net_message *m)
{
    wire_head h;
    return wire_head_decode(m->head, net_payload_bytes(&m->payload), &h, NULL) == OK &&
           h.type == WIRE_REFUSED;
}

static void hear_server(master *m, server *s, const Wire__Stop *stop)
{
    net_event event;
    net_message message;
    while (s->socket && net_receive(s->socket, &message)) {
        if (is_refusal(&message))
            s->refuses_us = clock_us();
        net_payload_close(&message.payload);
        if (s->life || s->refuses_us)
            continue;
        s->life = 1; /* the answer to our hello; whose is all the same now */
        s->welcomed = true;
        master_send(s->socket, NULL, master_head(m, WIRE_STOP, 0), &stop->base);
    }
    while (s->socket && net_next_event(s->socket, &event))
        if (event.kind == NET_DOWN && s->life)
            net_close(&s->socket, 0);
        else if (event.kind == NET_UP && !s->life)
            master_say_hello(m, s);
}

/* Who says hello is told, and leaves then; who says that it failed leaves by itself. */
static void note_guest(master *m, const net_message *message)
{
    wire_head h;
    ProtobufCMessage *p = NULL;
    size_t bytes = net_payload_bytes(&message->payload);
    if (wire_head_decode(message->head, bytes, &h, NULL) != OK ||
        (h.type != WIRE_HELLO && h.type != WIRE_FAILED) ||
        wire_unpack(h.type, net_payload_data(&message->payload), bytes, &p, NULL) != OK)
        return;
    const Wire__Hello *hello = (const Wire__Hello *)p;
    if (h.type == WIRE_HELLO)
        members_met(&m->members, hello->trainer, hello->index, message->connection);
    else
        master_note_failed(m, (const Wire__Stop *)p);
    wire_free(p);
}

/* A worker that lost its connection meanwhile asks anew, and is told. */
static void hear_workers(master *m, const Wire__Stop *stop)
{
    net_event event;
    net_message message;
    while (net_receive(m->listener, &message)) {
        master_send(m->listener, &message.from, master_head(m, WIRE_STOP, 0), &stop->base);
        note_guest(m, &message);
        net_payload_close(&message.payload);
    }
    while (net_next_event(m->listener, &event)) {
        members_lost(&m->members, event.connection);
        member *left = members_by_connection(&m->members, event.connection);
        if (left) {
            left->alive = false;
            left->connection = -1;
        }
    }
}

/* All are polled: what is to be sent may wait for it. */
static bool wait_a_little(const master *m, net_socket **sockets)
{
    size_t n = (size_t)m->o->n_servers;
    for (size_t i = 0; i < n; i++)
        sockets[i] = m->servers[i].socket;
    sockets[n] = m->listener;
    return net_poll(sockets, n + 1, NULL, TICK_MS / 2, NULL) == OK;
}

void master_say_goodbye(master *m, status st, const char *text)
{
    Wire__Stop stop = WIRE__STOP__INIT;
    stop.status = st;
    stop.text = (char *)(uintptr_t)text;
    stop.task = (char *)(uintptr_t) "master.0";
    bool awaits_all = m->phase < RUN && st != E_ABORTED;
    m->phase = OVER;
    say_stop(m, &stop);
    int64_t now = clock_us(), until = now + GOODBYE_US, next = now + SAY_US;
    net_socket **sockets = xcalloc((size_t)m->o->n_servers + 1, sizeof *sockets);
    while (now < until && !(everybody_left(m) && (!awaits_all || everybody_came(m))) &&
           wait_a_little(m, sockets)) {
        for (int32_t i = 0; i < m->o->n_servers; i++)
            hear_server(m, &m->servers[i], &stop);
        hear_workers(m, &stop);
        now = clock_us();
        if (now >= next) {
            say_stop(m, &stop);
            next = now + SAY_US;
        }
    }
    free(sockets);
}
