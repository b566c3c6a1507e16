/*
 * The connection to the master, and what is said over it.
 *
 * Threads: belongs to the worker's thread.
 */
#ifndef TEQUIO_WORKER_MASTER_LINK_H
#define TEQUIO_WORKER_MASTER_LINK_H

#include "common/live/clock_offset.h"
#include "common/net/net.h"
#include "common/wire/wire.h"

typedef struct master_link {
    net *net;
    net_socket *socket;             /* NULL until its address is known */
    char *endpoint;
    const char *refused;            /* why it could not be connected to; NULL: nothing is wrong */
    bool is_up;                     /* the connection... */
    bool welcomed;                  /* ...over which it has said WELCOME */
    bool refuses_us;                /* then it need not hear why we leave */
    bool hangs;                     /* said so, and not heard since */
    int64_t heard_us;
    clock_offset clock;             /* its, by what this connection has heard */
    wire_head identity;             /* job id, era, incarnation: of all that is said */
    buf hello;                      /* packed */
    buf packed;                     /* the payload being sent; kept, so that steps allocate nothing */
} master_link;

/* As net_dial. What was connected before is closed. `endpoint` may be l->endpoint. */
MUST_USE status master_link_dial(master_link *l, const char *endpoint, error *err);
void master_link_fini(master_link *l, int linger_ms);

/* `h`: the type, and the fields that it has of its own. `m`: NULL if it is all in the head. A master that left
 * is no error: it comes back, or its silence is noticed, or its last word is still unread. E_NOMEM. */
MUST_USE status master_link_say(master_link *l, wire_head h, const ProtobufCMessage *m, error *err);
MUST_USE status master_link_say_hello(master_link *l, error *err);
/* HEARTBEAT, with the head's fields in `h`. */
MUST_USE status master_link_say_alive(master_link *l, wire_head h, error *err);
/* What ALIVE tells of the master's clock. */
void master_link_take_alive(master_link *l, const net_message *m);
/* What a slot measured: REPORT. `link` is a master_link. */
MUST_USE status master_link_report(void *link, int64_t step, uint32_t slot, const ProtobufCMessage *m,
                                   error *err);

double master_link_silence_s(const master_link *l);

#endif
