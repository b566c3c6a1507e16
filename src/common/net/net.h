/*
 * The transport: messages of one 64-byte head and at most one payload, between tasks.
 *
 * The only room that knows ZeroMQ. A listener (ROUTER) serves many peers and answers each by the
 * `net_peer` its message came from; a dial (DEALER) has one peer. Endpoints are "tcp://host:port",
 * "tcp://host:0" (the kernel picks a port), "ipc://@name" (processes of one host; a name that is gone
 * with its listener) or "inproc://name" (threads of one process). A dial's
 * host may be a name, which is looked up again at every attempt: a dial finds a task that comes
 * back elsewhere under its name. "tcp4://name:port" takes IPv4 addresses only.
 *
 * Payloads are spans (common/base/span.h) and travel without copying: sent from the caller's memory,
 * which the transport holds until it has left, and read in place where they were received, aligned
 * for floats. What does not have exactly the shape of a message is counted and dropped here; what
 * the head says is wire's business.
 *
 * With a key (net_use_key) what goes over tcp is encrypted, and only tasks with the key of the job can
 * connect or be connected to; the others are refused, which is counted.
 *
 * One dial per peer. When its connection is lost the event NET_DOWN says so: close the dial (its
 * spans come back) and open a new one. Nothing here blocks but net_poll.
 *
 * Threads: a net may be shared, once it has its key; a socket belongs to one thread at a time;
 * net_waker_wake may be called from any. A span that is sent may be dropped by any thread.
 */
#ifndef TEQUIO_COMMON_NET_NET_H
#define TEQUIO_COMMON_NET_NET_H

#include "common/base/error.h"
#include "common/base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { NET_HEAD = 64, NET_PEER = 16, NET_PAYLOAD_MAX = 64 << 20, NET_POLL_MAX = 256 };

#define NET_TCP4 "tcp4://"

struct jobkey;
/* Messages a listener keeps for one peer, either way; and how long a connection lives that takes
 * nothing of what is sent there. */
enum { NET_QUEUE = 1024, NET_SEND_TIMEOUT_MS = 20000 };

typedef struct net net;
typedef struct net_socket net_socket;
typedef struct net_waker net_waker;

typedef struct net_peer {
    uint8_t size;
    unsigned char id[NET_PEER];
} net_peer;

typedef struct net_message {
    net_peer from;                  /* listeners only */
    int connection;                 /* listeners: matches net_event.connection; -1 unknown */
    unsigned char head[NET_HEAD];
    span *payload;                  /* the receiver's alone; NULL when there was none. To be written
                                     * unless the head says that it is lent (WIRE_LENT) */
} net_message;

typedef enum net_event_kind {
    NET_UP,      /* dials only */
    NET_DOWN,
    NET_REFUSED, /* listeners only, once for each cause: somebody was not let in */
} net_event_kind;

typedef struct net_event {
    net_event_kind kind;
    int connection;                 /* listeners: which one, as in net_message */
    const char *why;                /* NET_REFUSED, and NET_DOWN of a dial that never was up: the
                                     * cause, a constant text; else NULL */
} net_event;

MUST_USE status net_create(net **ret, error *err);
void net_destroy(net **n);          /* after all its sockets are closed */
void net_set_send_timeout(net *n, int ms);  /* of sockets opened from now on */

/* Of sockets opened from now on: lent payloads to and from tasks on this host that share as well go
 * through memory that both map, where there is room in it, and over the connection else. What is sent,
 * what is received and when memory comes back is as before. */
void net_share_memory(net *n);

/* Of tcp listeners opened from now on, of a cluster of so many tasks: a peer that connects is a stranger
 * until net_admit says otherwise. What strangers send is held to a few kilobytes each and not
 * delivered beyond, only so many are here at a time (TRANSPORT.md, "Limits"), and each is hung up on
 * after ten seconds. No NET_DOWN is said of them. Listeners on ipc let in our own user only. */
void net_limit_strangers(net *n, int tasks);

/* Of a message's connection: its peer has said who it is. Again is fine. */
void net_admit(net_socket *listener, int connection);

/* The hooks that are told of memory in which payloads from a peer lie: on the socket's thread before the first
 * does, and before it is unmapped, when the last of them is closed or the connection ended, by the
 * thread that did so. Both may be NULL. */
typedef struct net_memory {
    void (*mapped)(void *user, void *p, size_t bytes);
    void (*unmapped)(void *user, void *p);
    void *user;
} net_memory;
void net_watch_memory(net_socket *s, const net_memory *m);  /* a dial, that is not up yet */

/* Of tcp, not of inproc. Before the first socket; the key itself is not kept. */
MUST_USE status net_use_key(net *n, const struct jobkey *key, error *err);

/* Binds every endpoint; `listen_fd` >= 0 is a listening socket to use for the first tcp one
 * instead of binding. E_CONFIG names the endpoint ("port 2222 is in use"). */
MUST_USE status net_listen(net *n, const char *const *endpoints, size_t n_endpoints, int listen_fd,
                           net_socket **ret, error *err);

/* Starts connecting and keeps trying; NET_DOWN also if the listener refuses us, or we it. E_CONFIG
 * for an endpoint that is none. */
MUST_USE status net_dial(net *n, const char *endpoint, net_socket **ret, error *err);

/* Waits at most linger_ms for what is still to be sent. */
void net_close(net_socket **s, int linger_ms);

const char *net_endpoint(const net_socket *s);      /* as bound (real port) or dialled */
/* The flight recorder's number for a listener's peer or, `peer` NULL, for whom a dial dials. */
uint32_t net_peer_number(const net_socket *s, const net_peer *peer);
bool net_is_local(const net_socket *s);             /* a dial over inproc: payloads are shared memory */
bool net_is_up(const net_socket *s);                /* a dial whose NET_UP was told, or that is local */
uint64_t net_dropped(const net_socket *s);          /* messages dropped for their shape */
uint64_t net_refused(const net_socket *s);          /* handshakes that failed; grows by events read */

/* `to` is NULL on a dial. payload may be NULL; it moves in, also on failure. One without `release`,
 * which is there for the call only, is copied. E_LOST when a listener's peer is gone or does not
 * read: NET_QUEUE messages wait for it. */
MUST_USE status net_send(net_socket *s, const net_peer *to, const void *head, span *payload,
                         error *err);

bool net_receive(net_socket *s, net_message *ret);  /* false: nothing there */
bool net_next_event(net_socket *s, net_event *ret);

static inline bool net_peer_equal(const net_peer *a, const net_peer *b)
{
    return a->size == b->size && memcmp(a->id, b->id, a->size) == 0;
}

MUST_USE status net_waker_create(net_waker **ret, error *err);
void net_waker_destroy(net_waker **w);
void net_waker_wake(net_waker *w);                  /* also from signal handlers */

/* Waits until a socket has a message or event, the waker was woken, or timeout_ms passed (-1: no
 * limit). At most NET_POLL_MAX sockets; NULL entries are skipped. */
MUST_USE status net_poll(net_socket *const *sockets, size_t n, net_waker *waker, int timeout_ms,
                         error *err);

/* "4.3.4" */
const char *net_library_version(char *buffer, size_t bytes);

#endif
