/*
 * The end: everybody is told how the job ended. Messages may be lost with their connection, so it
 * is said again until the peers have left, for a bounded time. Who had gone before, and does not see the
 * job dir, is waited for longer: it would find nobody, and not know that the job is over.
 */
#include "master/state.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/wire/hello.h"

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

static void master_say_stop(master *m, const Wire__Stop *stop)
{
    for (size_t i = 0; i < m->members.n; i++) {
        member *one = &m->members.at[i];
        /* without a connection: in this process */
        one->told |= !one->suspect && (one->connection >= 0 || one->alive);
        master_send(m->listener, &one->peer, master_head(m, WIRE_STOP), &stop->base);
    }
    for (int32_t i = 0; i < m->o->n_servers; i++) {
        server *s = &m->servers[i];
        s->told |= s->welcomed;
        if (s->socket)
            master_send(s->socket, NULL, master_head(m, WIRE_STOP), &stop->base);
    }
}

/* Who reads still has come, and leaves once it has heard. */
static void tell_reading(master *m, const Wire__Stop *stop)
{
    for (size_t i = 0; i < m->reading.n; i++) {
        const reading_worker *one = &m->reading.at[i];
        members_met(&m->members, one->trainer, one->index, one->connection);
        master_send(m->listener, &one->peer, master_head(m, WIRE_STOP), &stop->base);
    }
}

/* --- who had gone --- */

/* The first that was of this job and cannot know; false: there is none. */
static bool find_missed(const master *m, char ret[TASK_NAME])
{
    for (size_t i = 0; i < m->members.n; i++) {
        const member *one = &m->members.at[i];
        if (one->told || one->sees_dir || one->trainer || one->refused)
            continue;
        member_name(one, ret);
        return true;
    }
    for (int32_t i = 0; i < m->o->n_servers; i++) {
        const server *s = &m->servers[i];
        if (!s->life || s->told || s->sees_dir || is_local(s))
            continue;
        master_server_name(m, i, ret);
        return true;
    }
    return false;
}

/* After a code that may be tried again there will be another master, and another end. */
static bool misses_any(const master *m, status st)
{
    char name[TASK_NAME];
    return status_exit_code(st) < 128 && find_missed(m, name);
}

static void say_missed(const master *m, status st)
{
    char name[TASK_NAME];
    if (misses_any(m, st) && find_missed(m, name))
        LOG_I("WAIT", "for=%s to hear that the job is over, up to %.0f s: it does not see the job dir",
              name, master_option(m, "distributed.end_timeout"));
}

static bool all_have_heard(const master *m, status st, bool awaits_all)
{
    return everybody_left(m) && (!awaits_all || everybody_came(m)) && !misses_any(m, st);
}

static int64_t timeout_us(const master *m, status st)
{
    return m->ending.is_over_before || misses_any(m, st)
               ? (int64_t)(master_option(m, "distributed.end_timeout") * SECOND_US)
               : SHUTDOWN_US;
}

static bool is_refusal(const net_message *m)
{
    wire_head h;
    return wire_head_decode(m->head, span_bytes(m->payload), &h, NULL) == OK &&
           h.type == WIRE_REFUSED;
}

static void hear_server(master *m, server *s, const Wire__Stop *stop)
{
    net_event event;
    net_message message;
    while (s->socket && net_receive(s->socket, &message)) {
        if (is_refusal(&message))
            s->refuses_us = clock_us();
        span_drop(message.payload);
        if (s->told || s->refuses_us)
            continue;
        s->life = 1; /* the answer to our hello; whose is all the same now */
        s->welcomed = s->told = true;
        master_send(s->socket, NULL, master_head(m, WIRE_STOP), &stop->base);
    }
    while (s->socket && net_next_event(s->socket, &event))
        if (event.kind == NET_DOWN && s->told)
            net_close(&s->socket, 0);
        else if (event.kind == NET_DOWN && master_redial(m, (int32_t)(s - m->servers), NULL) != OK)
            net_close(&s->socket, 0);
        else if (event.kind == NET_UP && !s->told)
            master_say_hello(m, s);
}

/* Only the end of a connection that is admitted is told. */
static void note_hello(master *m, const net_message *message, const Wire__Hello *hello)
{
    task who;
    if (hello_check(hello, m->o->config, (task){.role = ROLE_MASTER}, &who, NULL) == OK)
        net_admit(m->listener, message->connection);
    if (!members_return(&m->members, hello->trainer, hello->index, message))
        members_met(&m->members, hello->trainer, hello->index, message->connection);
}

/* A task that says hello is told, and leaves then; one that says that it failed leaves by itself. */
static void note_guest(master *m, const net_message *message)
{
    wire_head h;
    ProtobufCMessage *p = NULL;
    size_t bytes = span_bytes(message->payload);
    if (wire_head_decode(message->head, bytes, &h, NULL) != OK ||
        (h.type != WIRE_HELLO && h.type != WIRE_FAILED) ||
        wire_unpack(h.type, span_data(message->payload), bytes, &p, NULL) != OK)
        return;
    if (h.type == WIRE_HELLO)
        note_hello(m, message, (const Wire__Hello *)p);
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
        master_send(m->listener, &message.from, master_head(m, WIRE_STOP), &stop->base);
        note_guest(m, &message);
        span_drop(message.payload);
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

void master_shut_down(master *m, status st, const char *text)
{
    Wire__Stop stop = WIRE__STOP__INIT;
    stop.status = st;
    stop.text = (char *)(uintptr_t)text;
    stop.task = (char *)(uintptr_t) "master.0";
    bool awaits_all = m->phase < RUN && st != E_ABORTED;
    m->phase = OVER;
    master_say_stop(m, &stop);
    tell_reading(m, &stop);
    say_missed(m, st);
    int64_t now = clock_us(), next = now + SAY_US;
    net_socket **sockets = xcalloc((size_t)m->o->n_servers + 1, sizeof *sockets);
    while (!all_have_heard(m, st, awaits_all) && clock_us() - now < timeout_us(m, st) &&
           wait_a_little(m, sockets)) {
        for (int32_t i = 0; i < m->o->n_servers; i++)
            hear_server(m, &m->servers[i], &stop);
        hear_workers(m, &stop);
        if (clock_us() >= next) {
            master_say_stop(m, &stop);
            next = clock_us() + SAY_US;
        }
    }
    free(sockets);
    if ((m->ending.is_over_before || misses_any(m, st)) && !all_have_heard(m, st, awaits_all))
        LOG_W("NOT_HEARD", "some have not heard within distributed.end_timeout that the job is over");
}
