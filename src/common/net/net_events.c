/* What a socket's monitor tells, as net's events. */
#include "common/net/net_zmq.h"

#include "common/base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

/* Before a dial that was refused is taken for lost, and may be dialled anew. */
enum { PAUSE_US = 250 * 1000 };

status monitor_open(net *n, net_socket *s, error *err)
{
    int events = ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                 ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
    if (!s->is_listener)
        events |= ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
    else if (n->strangers)
        events |= ZMQ_EVENT_LISTENING | ZMQ_EVENT_ACCEPTED;
    /* never a name used before: a closed socket's monitor holds on to its own for a while */
    static atomic_uint_fast64_t number;
    char name[64];
    snprintf(name, sizeof name, "inproc://monitor-%" PRIuFAST64, atomic_fetch_add(&number, 1));
    if (zmq_socket_monitor(s->socket, name, events) != 0)
        return FAIL(err, E_FAIL, "watch a socket: %s", zmq_strerror(errno));
    s->monitor = zmq_socket(n->context, ZMQ_PAIR);
    if (!s->monitor || zmq_connect(s->monitor, name) != 0)
        return FAIL(err, E_FAIL, "watch a socket: %s", zmq_strerror(errno));
    return OK;
}

/* Frame 1: u16 event, u32 value; frame 2: the address, of libzmq's own. */
enum { MONITOR_FRAME = 6 };

bool monitor_read(void *monitor, int *ret_event, int *ret_value)
{
    unsigned char frame[MONITOR_FRAME];
    if (zmq_recv(monitor, frame, sizeof frame, ZMQ_DONTWAIT) < 0)
        return false;
    char address[256];
    if (socket_has_more(monitor))
        zmq_recv(monitor, address, sizeof address, ZMQ_DONTWAIT);
    uint16_t event;
    int32_t value;
    memcpy(&event, frame, 2);
    memcpy(&value, frame + 2, 4);
    *ret_event = event;
    *ret_value = value;
    return true;
}

void monitor_write(void *monitor, int event, int value)
{
    unsigned char frame[MONITOR_FRAME];
    uint16_t what = (uint16_t)event;
    int32_t of = value;
    memcpy(frame, &what, 2);
    memcpy(frame + 2, &of, 4);
    zmq_send(monitor, frame, sizeof frame, ZMQ_DONTWAIT);
}

static bool next_monitored(net_socket *s, int *ret_event, int *ret_value)
{
    bool is_there = monitor_read(s->monitor, ret_event, ret_value);
    s->events.is_drained |= !is_there;
    return is_there;
}

/* A dial that was refused is lost a little later, or whoever dials anew at once would do it all the
 * time. Some refusals libzmq follows up by itself, others it does not: this dial is over. */
static void begin_pause(net_socket *s)
{
    s->down_at_us = clock_us() + PAUSE_US;
    zmq_disconnect(s->socket, s->endpoint);
    s->messages.is_drained = false;
}

static bool end_pause(net_socket *s, net_event *ret)
{
    for (int event, value; next_monitored(s, &event, &value);)
        ; /* whatever is said of it now is of no interest */
    if (clock_us() < s->down_at_us)
        return false;
    s->down_at_us = 0;
    *ret = (net_event){.kind = NET_DOWN, .connection = -1, .why = refusal_text(s, s->refusal)};
    return true;
}

static net_event refused_for(const net_socket *s, refusal why)
{
    return (net_event){.kind = NET_REFUSED, .connection = -1, .why = refusal_text(s, why)};
}

/* false: it tells nobody anything */
static bool take_monitored(net_socket *s, int event, int value, net_event *ret)
{
    switch (event) {
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        s->is_up = true;
        shared_ask(s);
        *ret = (net_event){.kind = NET_UP, .connection = -1};
        return true;
    case ZMQ_EVENT_DISCONNECTED:
        *ret = (net_event){.kind = NET_DOWN, .connection = s->is_listener ? value : -1};
        if (!s->is_listener)
            shared_end(&s->shared);
        if (s->is_listener || s->is_up)
            return true;
        begin_pause(s);
        return false;
    case MONITOR_REFUSED:
        *ret = refused_for(s, (refusal)value);
        return true;
    default:
        if (!refusal_note(s, refusal_of(s, event, value)) || !s->is_listener)
            return false;
        *ret = refused_for(s, s->refusal);
        return true;
    }
}

bool net_next_event(net_socket *s, net_event *ret)
{
    if (s->announce_up) {
        s->announce_up = false;
        *ret = (net_event){.kind = NET_UP, .connection = -1};
        return true;
    }
    if (s->down_at_us)
        return end_pause(s, ret);
    if (watch_spares_look(&s->events))
        return false;
    for (int event, value; next_monitored(s, &event, &value);)
        if (take_monitored(s, event, value, ret))
            return true;
    return s->down_at_us && end_pause(s, ret);
}
