/*
 * The end: everybody is told how the job ended. Messages may be lost with their connection, so it
 * is said again until the peers have left, for a bounded time.
 */
#include "master/state.h"

#include "common/base/clock.h"

enum { SAY_US = SECOND_US / 2 };

static bool is_gone(const server *s)
{
    return !s->socket || net_is_local(s->socket) || !s->welcomed;
}

static bool everybody_left(const master *m)
{
    for (int32_t i = 0; i < m->o->n_servers; i++)
        if (!is_gone(&m->servers[i]))
            return false;
    for (size_t i = 0; i < m->members.n; i++)
        if (m->members.at[i].alive && m->members.at[i].connection >= 0)
            return false;
    return true;
}

static void say_stop(master *m, const Wire__Stop *stop)
{
    master_send_workers(m, master_head(m, WIRE_STOP, 0), &stop->base);
    for (int32_t i = 0; i < m->o->n_servers; i++)
        if (m->servers[i].socket)
            master_send(m->servers[i].socket, NULL, master_head(m, WIRE_STOP, 0), &stop->base);
}

static void hear_servers(master *m)
{
    for (int32_t i = 0; i < m->o->n_servers; i++) {
        server *s = &m->servers[i];
        net_event event;
        net_message message;
        while (s->socket && net_receive(s->socket, &message))
            net_payload_close(&message.payload);
        while (s->socket && net_next_event(s->socket, &event))
            if (event.kind == NET_DOWN)
                net_close(&s->socket, 0);
    }
}

/* A worker that lost its connection meanwhile asks anew, and is told. */
static void hear_workers(master *m, const Wire__Stop *stop)
{
    net_event event;
    net_message message;
    while (net_receive(m->listener, &message)) {
        master_send(m->listener, &message.from, master_head(m, WIRE_STOP, 0), &stop->base);
        net_payload_close(&message.payload);
    }
    while (net_next_event(m->listener, &event)) {
        member *left = members_by_connection(&m->members, event.connection);
        if (left)
            left->alive = false;
    }
}

void master_say_goodbye(master *m, status st, const char *text)
{
    Wire__Stop stop = WIRE__STOP__INIT;
    stop.status = st;
    stop.text = (char *)(uintptr_t)text;
    stop.task = (char *)(uintptr_t) "master.0";
    m->phase = OVER;
    say_stop(m, &stop);
    int64_t now = clock_us(), until = now + GOODBYE_US, next = now + SAY_US;
    while (!everybody_left(m) && now < until) {
        if (net_poll(&m->listener, 1, NULL, TICK_MS / 2, NULL) != OK)
            return;
        hear_servers(m);
        hear_workers(m, &stop);
        now = clock_us();
        if (now >= next) {
            say_stop(m, &stop);
            next = now + SAY_US;
        }
    }
}
