/*
 * The innards of a net over ZeroMQ, for the files of this room only: its structs, `watch`
 * (net_poll.c), the monitor (net_events.c), and who may connect (net_curve.c, strangers.h).
 *
 * A ZeroMQ socket's descriptor tells of news only once the socket has been looked at and was empty,
 * and anything sent through it may swallow the sign. Looking costs system calls, so each socket
 * remembers what its descriptor is worth. Threads: as net.h says.
 */
#ifndef TEQUIO_COMMON_NET_NET_ZMQ_H
#define TEQUIO_COMMON_NET_NET_ZMQ_H

#include "common/fault/fault.h"
#include "common/net/delay_queue.h"
#include "common/net/net.h"
#include "common/net/shared.h"
#include "common/net/strangers.h"

#include <stdatomic.h>

typedef struct curve curve;
struct zmq_msg_t;

/* Why a connection did not come about. */
typedef enum refusal {
    REFUSAL_BROKEN,    /* the greeting was none of ours; listeners: or was not finished */
    REFUSAL_MUTE,      /* dials: no greeting came */
    REFUSAL_HUNG_UP,   /* dials: the connection ended in the greeting */
    REFUSAL_KEY,       /* another key, or a replay */
    REFUSAL_PLAIN,     /* only we encrypt */
    REFUSAL_ENCRYPTED, /* only the peer does */
    REFUSAL_SILENT,    /* of strangers: not admitted in time */
    REFUSAL_CROWD,     /* of strangers: too many at once */
    REFUSALS
} refusal;

struct net {
    void *context;
    curve *curve; /* NULL: in the clear */
    int send_timeout_ms;
    bool shares;
    int strangers; /* of a listener at a time; 0: nobody is one */
};

/* What is known of a ZeroMQ socket's input without looking. */
typedef struct watch {
    void *socket;
    int fd;
    bool is_drained; /* it was empty and nothing was sent since: fd will tell of news */
    bool is_quiet;   /* net_poll has just found nothing: the next look can be spared */
} watch;

struct net_socket {
    void *socket, *monitor;
    watch messages, events; /* of the one and of the other */
    bool is_listener, is_local;
    bool announce_up;   /* inproc has no monitor: say NET_UP once */
    bool encrypts;      /* over tcp */
    bool is_up;         /* dials */
    int64_t down_at_us; /* dials that were refused: when NET_DOWN is said; 0: not refused */
    refusal refusal;    /* the last one */
    unsigned refusals;  /* set of those that there were; known to whoever reads libzmq's monitor */
    uint32_t peer;          /* dials: the peer's number for the flight recorder */
    uint64_t dropped;
    atomic_uint_fast64_t n_refused;
    atomic_uint looks;    /* of listeners: how often nothing was there to receive */
    strangers *strangers; /* NULL: they are not limited */
    shared *shared; /* NULL: nothing */
    net_memory memory; /* told of mapped memory */
    bool may_sweep; /* shared_descriptor tells of something */
    char endpoint[256];
    fault *fault; /* of the task whose socket it is; NULL: nothing goes wrong on purpose */
    delay_queue delayed;    /* what a fault delays */
};

/* Sends what is held and due by then; what was for a peer that is gone is lost. */
void net_send_delayed(net_socket *s, int64_t by_us);

void watch_begin(watch *w, void *socket);
bool watch_spares_look(watch *w);

/* With what all sockets have; `type` is libzmq's. */
MUST_USE status socket_open(net *n, int type, net_socket **ret, error *err);
void socket_set(void *socket, int option, int value);

bool socket_has_more(void *socket); /* frames of the message being read */

/* What a frame carries, held for the caller; the frame is empty then. */
span *payload_span(struct zmq_msg_t *frame);

/* What strangers.c writes where the owner of a limited listener expects libzmq's events: the first
 * refusal of a cause, which is the value. */
enum { MONITOR_REFUSED = 0x8000 };

MUST_USE status monitor_open(net *n, net_socket *s, error *err);
bool monitor_read(void *monitor, int *ret_event, int *ret_value); /* false: nothing there */
void monitor_write(void *monitor, int event, int value);

/* Before the socket is bound or connected; `c` may be NULL. */
void curve_apply(const curve *c, net_socket *s);
void curve_end(curve **c); /* after the end of the context */

/* Why a handshake failed, as the monitor tells it. */
refusal refusal_of(const net_socket *s, int event, int value);
bool refusal_note(net_socket *s, refusal why); /* false if there was one of its kind */
const char *refusal_text(const net_socket *s, refusal why);

#endif
