/* Rank 0: it hears who has come, and tells all where all are. */
#include "cli/roles/rendezvous/meeting.h"

#include "cli/run/meeting_place.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/thread.h"
#include "common/base/wait_warning.h"
#include "common/wire/hello.h"

#include <stdlib.h>
#include <string.h>

enum { LAST_WORD_MS = 3000, FAILED_S = 3 };

status rank0_listen(meeting *m, error *err)
{
    const char *place = meeting_place(m->o->config, m->o->cluster);
    char name[MEETING_HOST], *endpoint = NULL;
    int port;
    TRY(meeting_split(m, name, &port, err));
    if (place[0] == '@')
        endpoint = xasprintf("ipc://%s", place);
    else
        TRY(meeting_listen_at(m, name, port, &endpoint, err));
    const char *endpoints[] = {endpoint};
    status st = net_listen(m->o->net, endpoints, 1, -1, &m->socket, err);
    free(endpoint);
    if (st != OK && err)
        error_prepend(err, "rendezvous at %s (--rendezvous HOST:PORT names another place)", place);
    m->arrivals = xcalloc((size_t)m->size, sizeof *m->arrivals);
    for (int32_t i = 0; i < m->size; i++)
        m->arrivals[i].connection = -1;
    return st;
}

void rank0_fini(meeting *m)
{
    atomic_store(&m->is_over, true);
    if (m->has_thread)
        pthread_join(m->thread, NULL);
    for (int32_t i = 0; m->arrivals && i < m->size; i++)
        free(m->arrivals[i].address);
    free(m->arrivals);
    m->arrivals = NULL;
}

/* --- what it says --- */

static void say_welcome(meeting *m, const net_peer *to)
{
    char **addresses = xcalloc((size_t)m->size, sizeof *addresses);
    addresses[0] = m->address;
    for (int32_t i = 1; i < m->size; i++)
        addresses[i] = m->arrivals[i].address;
    Wire__Welcome welcome = WIRE__WELCOME__INIT;
    welcome.n_addresses = (size_t)m->size;
    welcome.addresses = addresses;
    buf packed = BUF_INIT;
    wire_pack(&welcome.base, &packed);
    meeting_say(m->socket, to, WIRE_WELCOME, &packed);
    buf_fini(&packed);
    free(addresses);
}

static void say_stop(meeting *m, const net_peer *to, status st, const char *text)
{
    Wire__Stop stop = WIRE__STOP__INIT;
    stop.status = st;
    stop.text = (char *)(uintptr_t)text;
    stop.task = (char *)(uintptr_t) "worker.0";
    buf packed = BUF_INIT;
    wire_pack(&stop.base, &packed);
    meeting_say(m->socket, to, WIRE_STOP, &packed);
    buf_fini(&packed);
}

static void say_refused(meeting *m, const net_peer *to, status st, const char *text)
{
    LOG_W("REFUSED", "%s", text);
    Wire__Refused refused = WIRE__REFUSED__INIT;
    refused.status = st;
    refused.text = (char *)(uintptr_t)text;
    buf packed = BUF_INIT;
    wire_pack(&refused.base, &packed);
    meeting_say(m->socket, to, WIRE_REFUSED, &packed);
    buf_fini(&packed);
}

/* --- what it hears --- */

static status check_rank(const meeting *m, const Wire__Hello *hello, task who, error *err)
{
    char host[MEETING_HOST];
    int port;
    if (who.role != ROLE_WORKER || who.index < 1 || who.index >= m->size ||
        hello->ranks != (uint32_t)m->size)
        return FAIL(err, E_CONFIG,
                    "rank %d of %u on host %s came to rank 0 of %d: each of one job needs a rank "
                    "of its own and the same number of ranks",
                    (int)who.index, hello->ranks, hello->host, (int)m->size);
    const arrival *a = &m->arrivals[who.index];
    if (!m->is_complete && a->address && a->life != hello->life)
        return FAIL(err, E_CONFIG,
                    "two processes say that they are rank %d, the second on host %s: give each a "
                    "rank of its own",
                    (int)who.index, hello->host);
    TRYF(address_split(hello->address, host, sizeof host, &port, err), err, "rank %d", who.index);
    return OK;
}

static bool is_everybody_here(const meeting *m)
{
    for (int32_t i = 1; i < m->size; i++)
        if (m->is_over_before ? !m->arrivals[i].is_told : !m->arrivals[i].address)
            return false;
    return true;
}

static void note(meeting *m, int32_t rank, const Wire__Hello *hello, const net_message *from)
{
    arrival *a = &m->arrivals[rank];
    if (!m->is_complete) {
        free(a->address);
        a->address = xstrdup(hello->address);
        a->life = hello->life;
    }
    a->peer = from->from;
    a->connection = from->connection;
}

static void take_hello(meeting *m, const Wire__Hello *hello, const net_message *from)
{
    error why = ERROR_INIT;
    task who = {.index = -1};
    status st = hello_check(hello, m->o->config, (task){ROLE_WORKER, 0}, &who, &why);
    if (st == OK)
        st = check_rank(m, hello, who, &why);
    if (st != OK) {
        say_refused(m, &from->from, st, why.text);
        return;
    }
    net_admit(m->socket, from->connection);
    bool was_complete = m->is_complete;
    note(m, who.index, hello, from);
    if (m->is_over_before) {
        m->arrivals[who.index].is_told = true;
        say_stop(m, &from->from, m->why, m->text);
        return;
    }
    m->is_complete = is_everybody_here(m);
    for (int32_t i = 1; i < m->size && m->is_complete && !was_complete; i++)
        say_welcome(m, &m->arrivals[i].peer);
    if (was_complete)
        say_welcome(m, &from->from);
}

static void rank0_take(meeting *m, const net_message *message)
{
    wire_head h;
    ProtobufCMessage *hello = NULL;
    const void *data = span_data(message->payload);
    size_t bytes = span_bytes(message->payload);
    error why = ERROR_INIT;
    if (wire_head_decode(message->head, bytes, &h, &why) != OK || h.type != WIRE_HELLO ||
        wire_unpack(h.type, data, bytes, &hello, &why) != OK) {
        LOG_D("STRANGER", "%s", why.text);
        return;
    }
    take_hello(m, (const Wire__Hello *)hello, message);
    wire_free(hello);
}

/* A rank that leaves before all are there may come again, from elsewhere. */
static void forget(meeting *m, int connection)
{
    for (int32_t i = 1; i < m->size; i++) {
        arrival *a = &m->arrivals[i];
        if (a->connection != connection)
            continue;
        a->connection = -1;
        if (m->is_complete)
            continue;
        free(a->address);
        a->address = NULL;
    }
}

static status rank0_serve(meeting *m, error *err)
{
    net_event event;
    net_message message;
    TRY(net_poll(&m->socket, 1, NULL, MEETING_TICK_MS, err));
    while (net_next_event(m->socket, &event))
        if (event.kind == NET_DOWN)
            forget(m, event.connection);
        else if (event.kind == NET_REFUSED)
            LOG_W("STRANGER", "not let in: %s; more like it are only counted", event.why);
    while (net_receive(m->socket, &message)) {
        rank0_take(m, &message);
        span_drop(message.payload);
    }
    return OK;
}

/* --- waiting for all --- */

/* "ranks 2, 5 of 8" */
static void list_missing(const meeting *m, buf *ret)
{
    buf_clear(ret);
    const char *between = "ranks ";
    for (int32_t i = 1; i < m->size; i++)
        if (m->is_over_before ? !m->arrivals[i].is_told : !m->arrivals[i].address) {
            buf_addf(ret, "%s%d", between, (int)i);
            between = ", ";
        }
    buf_addf(ret, " of %d", (int)m->size);
}

static status await_all(meeting *m, buf *missing, error *err)
{
    int64_t begin = clock_us();
    double limit_s = config_f64(m->o->config, "distributed.wait_warning");
    double timeout_s =
        m->why == OK ? config_f64(m->o->config, "distributed.start_timeout") : FAILED_S;
    const char *place = meeting_place(m->o->config, m->o->cluster);
    wait_warning waiting = {0};
    while (!is_everybody_here(m)) {
        double waited;
        if (m->o->stop && atomic_load(m->o->stop))
            return FAIL(err, E_PREEMPTED, "preempted before all ranks had come");
        TRY(rank0_serve(m, err));
        list_missing(m, missing);
        if ((double)(clock_us() - begin) * 1e-6 > timeout_s && !is_everybody_here(m))
            return FAIL(err, E_LOST, "after %.0f s %s have not come to the rendezvous at %s",
                        timeout_s, missing->data, place);
        if (wait_warning_due(&waiting, clock_us(), begin, limit_s, &waited))
            LOG_W("WAIT", "for=%s at=%s since=%.1fs", missing->data, place, waited);
    }
    return OK;
}

status rank0_gather(meeting *m, error *err)
{
    buf missing = BUF_INIT;
    error why = ERROR_INIT;
    status st = await_all(m, &missing, &why);
    buf_fini(&missing);
    if (st == OK) {
        const char **addresses = xcalloc((size_t)m->size, sizeof *addresses);
        for (int32_t i = 0; i < m->size; i++)
            addresses[i] = i ? m->arrivals[i].address : m->address;
        st = meeting_settle(m, addresses, err);
        free(addresses);
        return st;
    }
    for (int32_t i = 1; i < m->size; i++)
        if (m->arrivals[i].connection >= 0)
            say_stop(m, &m->arrivals[i].peer, st, why.text);
    net_close(&m->socket, LAST_WORD_MS);
    return FAIL(err, st, "%s", why.text);
}

status rank0_dismiss(meeting *m, error *err)
{
    buf missing = BUF_INIT;
    if (m->why == OK)
        LOG_I("DONE", "%s; the other ranks are told", m->text);
    error why = ERROR_INIT;
    status st = await_all(m, &missing, &why);
    buf_fini(&missing);
    net_close(&m->socket, LAST_WORD_MS);
    if (st != E_LOST)
        return st == OK ? OK : FAIL(err, st, "%s", why.text);
    LOG_W("NOT_TOLD", "%s", why.text);
    return OK;
}

/* --- and then --- */

static void *stay(void *arg)
{
    meeting *m = arg;
    error why = ERROR_INIT;
    while (!atomic_load(&m->is_over))
        if (rank0_serve(m, &why) != OK) {
            LOG_W("NO_RENDEZVOUS", "ranks that start again are not answered: %s", why.text);
            break;
        }
    return NULL;
}

status rank0_stay(meeting *m, error *err)
{
    TRY(thread_start(&m->thread, "rendezvous", stay, m, err));
    m->has_thread = true;
    return OK;
}
