/*
 * net over ZeroMQ.
 *
 * Blocks of parts are megabytes: malloc must not hand them back to the kernel after every message,
 * a fresh mapping each halves the throughput, hence the mallopt calls.
 *
 * What a peer of ours may have on its way is bounded by credits one floor up. Against others a
 * listener has high-water marks: what it has not read stays with the sender, and a peer that does not read
 * gets no more answers. Dials have none, and heartbeats of ZeroMQ's own nobody has: with marks they
 * bring the library down (docs/decisions/010), and a connection that is stuck they do not notice.
 * The kernel does: it resets what takes nothing for as long as the patience lasts.
 */
#include "common/net/net_zmq.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/descriptors.h"
#include "common/live/counters.h"
#include "common/live/links.h"
#include "common/live/recorder.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum { KEEPALIVE_S = 5 };

/* A descriptor a connection: as many as this process may have, so that strangers' connections do
 * not soon leave it without any for its files. */
static void prepare_process(void)
{
    descriptors_take();
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 16 << 20);
}

status net_create(net **ret, error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare_process);
    void *context = zmq_ctx_new();
    if (!context)
        return FAIL(err, E_FAIL, "start ZeroMQ: %s", zmq_strerror(errno));
    *ret = xcalloc(1, sizeof **ret);
    (*ret)->context = context;
    (*ret)->send_timeout_ms = NET_SEND_TIMEOUT_MS;
    return OK;
}

void net_set_send_timeout(net *n, int ms)
{
    n->send_timeout_ms = ms;
}

void net_share_memory(net *n)
{
    n->shares = true;
}

/* Keeping small frames where they came costs a buffer for each that waits. Of libzmq's draft options,
 * without a name in the header of others. */
enum { ZERO_COPY_RECEIVE = 10 };

void net_limit_strangers(net *n, int tasks)
{
    n->strangers = strangers_at_once(tasks);
    zmq_ctx_set(n->context, ZERO_COPY_RECEIVE, 0);
}

void net_admit(net_socket *s, int connection)
{
    if (s->strangers)
        strangers_admit(s->strangers, connection);
}

void net_watch_memory(net_socket *s, const net_memory *m)
{
    s->memory = *m;
}

void net_destroy(net **n)
{
    if (!n || !*n)
        return;
    while (zmq_ctx_term((*n)->context) != 0 && errno == EINTR)
        ;
    curve_end(&(*n)->curve);
    free(*n);
    *n = NULL;
}

void socket_set(void *socket, int option, int value)
{
    if (zmq_setsockopt(socket, option, &value, sizeof value) != 0)
        BUG("ZeroMQ option %d: %s", option, zmq_strerror(errno));
}

/* A peer that has not greeted by then is cut off. If none answers, the address is looked up again: not much later
 * than the kernel asks a second time, as it waits twice as long before each further one, and a network that
 * heals would be waited for that long. */
enum { HANDSHAKE_MS = 5000, CONNECT_MS = 1500 };

status socket_open(net *n, int type, net_socket **ret, error *err)
{
    net_socket *s = xcalloc(1, sizeof *s);
    s->is_listener = type == ZMQ_ROUTER;
    s->fault = fault_current();
    s->socket = zmq_socket(n->context, type);
    if (!s->socket) {
        status st = FAIL(err, E_FAIL, "open a socket: %s", zmq_strerror(errno));
        free(s);
        return st;
    }
    socket_set(s->socket, ZMQ_SNDHWM, 0);
    socket_set(s->socket, ZMQ_RCVHWM, 0);
    socket_set(s->socket, ZMQ_LINGER, 0);
    socket_set(s->socket, ZMQ_IPV6, 1);
    socket_set(s->socket, ZMQ_TCP_KEEPALIVE, 1);
    socket_set(s->socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS);
    socket_set(s->socket, ZMQ_TCP_KEEPALIVE_IDLE, KEEPALIVE_S);
    socket_set(s->socket, ZMQ_TCP_KEEPALIVE_INTVL, KEEPALIVE_S);
    socket_set(s->socket, ZMQ_TCP_MAXRT, n->send_timeout_ms);
    int64_t limit = NET_PAYLOAD_MAX;
    zmq_setsockopt(s->socket, ZMQ_MAXMSGSIZE, &limit, sizeof limit);
    status st = monitor_open(n, s, err);
    if (st != OK) {
        net_close(&s, 0);
        return st;
    }
    watch_begin(&s->messages, s->socket);
    watch_begin(&s->events, s->monitor);
    *ret = s;
    return OK;
}

static _Atomic uint32_t n_dials;

status net_dial(net *n, const char *endpoint, net_socket **ret, error *err)
{
    net_socket *s = NULL;
    TRY(socket_open(n, ZMQ_DEALER, &s, err));
    socket_set(s->socket, ZMQ_RECONNECT_IVL, 20);
    socket_set(s->socket, ZMQ_RECONNECT_IVL_MAX, 500);
    socket_set(s->socket, ZMQ_CONNECT_TIMEOUT, CONNECT_MS);
    s->peer = atomic_fetch_add(&n_dials, 1) + 1;
    bool is_tcp4 = strncmp(endpoint, NET_TCP4, strlen(NET_TCP4)) == 0;
    if (is_tcp4)
        socket_set(s->socket, ZMQ_IPV6, 0);
    snprintf(s->endpoint, sizeof s->endpoint, "%s%s", is_tcp4 ? "tcp://" : "",
             endpoint + (is_tcp4 ? strlen(NET_TCP4) : 0));
    s->is_local = strncmp(endpoint, "inproc://", 9) == 0;
    s->announce_up = s->is_local;
    s->shared = n->shares && !s->is_local ? shared_dial() : NULL;
    curve_apply(n->curve, s);
    if (zmq_connect(s->socket, s->endpoint) != 0) {
        status st = FAIL(err, E_CONFIG, "connect to '%s': %s", endpoint, zmq_strerror(errno));
        net_close(&s, 0);
        return st;
    }
    *ret = s;
    return OK;
}

void net_close(net_socket **s, int linger_ms)
{
    if (!s || !*s)
        return;
    if (linger_ms)
        net_send_delayed(*s, INT64_MAX);
    if (net_dropped(*s))
        LOG_D("DROPPED", "messages=%llu endpoint=%s", (unsigned long long)net_dropped(*s), (*s)->endpoint);
    delay_queue_fini(&(*s)->delayed);
    shared_end(&(*s)->shared);
    zmq_socket_monitor((*s)->socket, NULL, 0);
    strangers_end(&(*s)->strangers);
    if ((*s)->monitor) {
        socket_set((*s)->monitor, ZMQ_LINGER, 0);
        zmq_close((*s)->monitor);
    }
    socket_set((*s)->socket, ZMQ_LINGER, linger_ms);
    zmq_close((*s)->socket);
    free(*s);
    *s = NULL;
}

/* Dials count from 1; libzmq's names for who connects are a 0 and a number that begins anywhere. */
uint32_t net_peer_number(const net_socket *s, const net_peer *peer)
{
    uint32_t number = s->peer;
    if (peer && peer->size > sizeof number)
        memcpy(&number, peer->id + peer->size - sizeof number, sizeof number);
    return number;
}

const char *net_endpoint(const net_socket *s)
{
    return s->endpoint;
}

bool net_is_local(const net_socket *s)
{
    return s->is_local;
}

bool net_is_up(const net_socket *s)
{
    return s->is_up || s->is_local;
}

uint64_t net_dropped(const net_socket *s)
{
    return s->dropped;
}

uint64_t net_refused(const net_socket *s)
{
    return atomic_load(&((net_socket *)(uintptr_t)s)->n_refused);
}

/* Unless it is only borrowed for the call. */
static void give_back(span *payload)
{
    if (payload && payload->release)
        span_drop(payload);
}

/* libzmq is done with a payload. */
static void let_go(void *data, void *hint)
{
    (void)data;
    span_drop(hint);
}

static status send_failed(error *err)
{
    if (errno == EHOSTUNREACH)
        return FAIL(err, E_LOST, "the peer is gone");
    if (errno == EAGAIN)
        return FAIL(err, E_LOST, "the peer does not read: %d messages wait for it", NET_QUEUE);
    return FAIL(err, E_LOST, "send: %s", zmq_strerror(errno));
}

/* Whom it is for, where that must be said, and the head. */
static bool send_head(net_socket *s, const net_peer *to, const void *head, bool more)
{
    s->messages.is_drained = false;
    return (!to || zmq_send(s->socket, to->id, to->size, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0) &&
           zmq_send(s->socket, head, NET_HEAD, ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)) >= 0;
}

/* The payload lies where the peer maps it too: an empty frame, and which extent it is. */
static status send_extent(net_socket *s, const net_peer *to, const void *head, const extent *lent,
                          error *err)
{
    if (send_head(s, to, head, true) &&
        zmq_send(s->socket, "", 0, ZMQ_DONTWAIT | ZMQ_SNDMORE) >= 0 &&
        zmq_send(s->socket, lent, sizeof *lent, ZMQ_DONTWAIT) >= 0)
        return OK;
    status st = send_failed(err);
    shared_unlend(s->shared, to, lent);
    return st;
}

static status send_payload(net_socket *s, span *payload, error *err)
{
    zmq_msg_t msg;
    if (payload->release) {
        if (zmq_msg_init_data(&msg, payload->data, payload->bytes, let_go, payload) != 0)
            BUG("out of memory for a message");
    } else {
        if (zmq_msg_init_size(&msg, payload->bytes) != 0)
            return FAIL(err, E_NOMEM, "send %zu bytes: out of memory", payload->bytes);
        memcpy(zmq_msg_data(&msg), payload->data, payload->bytes);
    }
    if (zmq_msg_send(&msg, s->socket, ZMQ_DONTWAIT) < 0) {
        status st = send_failed(err);
        zmq_msg_close(&msg);
        return st;
    }
    return OK;
}

static status send_now(net_socket *s, const net_peer *to, const void *head, span *payload,
                       error *err)
{
    size_t bytes = payload ? payload->bytes : 0;
    bool more = bytes > 0;
    extent lent;
    uint32_t peer = net_peer_number(s, to);
    recorder_message(EVENT_SENT, head, bytes, peer);
    link_note(peer, true, (int64_t)(NET_HEAD + bytes));
    counter_add(COUNTER_SENT_MESSAGES, 1);
    counter_add(COUNTER_SENT_BYTES, (int64_t)(NET_HEAD + bytes));
    if (more && shared_lend(s->shared, to, payload, &lent))
        return send_extent(s, to, head, &lent, err);
    bool sent = send_head(s, to, head, more);
    status st = sent ? OK : send_failed(err);
    if (sent && more)
        return send_payload(s, payload, err);
    give_back(payload);
    return st;
}

void net_send_delayed(net_socket *s, int64_t by_us)
{
    delayed_message m;
    while (delay_queue_take(&s->delayed, by_us, &m))
        (void)send_now(s, m.has_to ? &m.to : NULL, m.head, m.payload, NULL);
}

status net_send(net_socket *s, const net_peer *to, const void *head, span *payload, error *err)
{
    if (!s->fault)
        return send_now(s, to, head, payload, err);
    if (fault_on_send(s->fault, head)) {
        give_back(payload);
        return OK;
    }
    int64_t delay_us = fault_delay_us(s->fault);
    if (!delay_us)
        return send_now(s, to, head, payload, err);
    delay_queue_add(&s->delayed, to, head, payload, clock_us() + delay_us);
    return OK;
}

/* Reads away the rest of a message that is not ours. */
static void drop_rest(net_socket *s)
{
    s->dropped++;
    counter_add(COUNTER_DROPPED_MESSAGES, 1);
    zmq_msg_t msg;
    while (socket_has_more(s->socket)) {
        zmq_msg_init(&msg);
        if (zmq_msg_recv(&msg, s->socket, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&msg);
            return;
        }
        zmq_msg_close(&msg);
    }
}

/* ZeroMQ leaves small frames where they lie in its read buffer; floats want to be read in place. */
static bool align_payload(zmq_msg_t *msg)
{
    if ((uintptr_t)zmq_msg_data(msg) % sizeof(float) == 0)
        return true;
    zmq_msg_t copy;
    if (zmq_msg_init_size(&copy, zmq_msg_size(msg)) != 0)
        return false;
    memcpy(zmq_msg_data(&copy), zmq_msg_data(msg), zmq_msg_size(msg));
    zmq_msg_move(msg, &copy);
    zmq_msg_close(&copy);
    return true;
}

typedef enum frame_result { FRAME_OK, FRAME_NONE, FRAME_BAD, FRAME_OURS } frame_result;

static span *receive_extent(net_socket *s, const net_peer *from)
{
    extent lent;
    bool is_one = zmq_recv(s->socket, &lent, sizeof lent, ZMQ_DONTWAIT) == sizeof lent &&
                  !socket_has_more(s->socket);
    return is_one ? shared_borrow(s->shared, from, &lent) : NULL;
}

/* What follows a head: the payload, or nothing and where it lies. */
static frame_result receive_payload(net_socket *s, net_message *ret)
{
    zmq_msg_t msg;
    zmq_msg_init(&msg);
    bool is_there = zmq_msg_recv(&msg, s->socket, ZMQ_DONTWAIT) >= 0;
    if (is_there && !socket_has_more(s->socket))
        ret->payload = align_payload(&msg) ? payload_span(&msg) : NULL;
    else if (is_there && zmq_msg_size(&msg) == 0)
        ret->payload = receive_extent(s, &ret->from);
    zmq_msg_close(&msg);
    return ret->payload ? FRAME_OK : FRAME_BAD;
}

/* A frame alone that is no head may be a word between two nets. */
static frame_result receive_word(net_socket *s, const net_peer *from, zmq_msg_t *frame)
{
    bool is_word = !socket_has_more(s->socket) &&
                   shared_take_word(s, from, zmq_msg_data(frame), zmq_msg_size(frame));
    return is_word ? FRAME_OURS : FRAME_BAD;
}

/* Routing id (listeners), head, optional payload or its place; and nothing after it. */
static frame_result receive_one(net_socket *s, net_message *ret)
{
    if (s->is_listener) {
        int n = zmq_recv(s->socket, ret->from.id, NET_PEER, ZMQ_DONTWAIT);
        if (n < 0)
            return FRAME_NONE;
        ret->from.size = (uint8_t)n;
        if (n > NET_PEER || !socket_has_more(s->socket))
            return FRAME_BAD;
    }
    zmq_msg_t head;
    zmq_msg_init(&head);
    if (zmq_msg_recv(&head, s->socket, ZMQ_DONTWAIT) < 0) {
        zmq_msg_close(&head);
        return FRAME_NONE;
    }
    bool good = zmq_msg_size(&head) == NET_HEAD;
    if (good)
        memcpy(ret->head, zmq_msg_data(&head), NET_HEAD);
    ret->connection = s->is_listener ? zmq_msg_get(&head, ZMQ_SRCFD) : -1;
    frame_result other = good ? FRAME_OK : receive_word(s, &ret->from, &head);
    zmq_msg_close(&head);
    if (!good)
        return other;
    return socket_has_more(s->socket) ? receive_payload(s, ret) : FRAME_OK;
}

/* Nothing has arrived any more: now whoever is gone may be. */
static bool receive_nothing(net_socket *s)
{
    if (s->may_sweep)
        shared_sweep(s->shared);
    s->may_sweep = false;
    return false;
}

static void note_received(const net_socket *s, const net_message *m, size_t bytes)
{
    counter_add(COUNTER_RECEIVED_MESSAGES, 1);
    counter_add(COUNTER_RECEIVED_BYTES, (int64_t)(NET_HEAD + bytes));
    uint32_t peer = net_peer_number(s, s->is_listener ? &m->from : NULL);
    recorder_message(EVENT_RECEIVED, m->head, bytes, peer);
    link_note(peer, false, (int64_t)(NET_HEAD + bytes));
}

bool net_receive(net_socket *s, net_message *ret)
{
    if (watch_spares_look(&s->messages))
        return receive_nothing(s);
    for (;;) {
        ret->from.size = 0;
        ret->payload = NULL;
        switch (receive_one(s, ret)) {
        case FRAME_OK:
            note_received(s, ret, ret->payload ? span_bytes(ret->payload) : 0);
            if (s->fault)
                fault_on_receive(s->fault, ret->head);
            return true;
        case FRAME_NONE:
            s->messages.is_drained = true;
            atomic_fetch_add(&s->looks, 1);
            return receive_nothing(s);
        case FRAME_OURS:
            break;
        case FRAME_BAD:
            drop_rest(s);
        }
    }
}

const char *net_library_version(char *buffer, size_t bytes)
{
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    snprintf(buffer, bytes, "%d.%d.%d", major, minor, patch);
    return buffer;
}
