/*
 * A standby link: the connection of an acting server to one that stands by for it. It is dialled,
 * says who we are, is open once the other side is in our era, and knows for how long what is owed
 * was not acknowledged.
 *
 * Threads: belongs to the server's thread.
 */
#ifndef TEQUIO_PS_STANDBY_LINK_H
#define TEQUIO_PS_STANDBY_LINK_H

#include "common/base/buf.h"
#include "common/net/net.h"
#include "common/wire/wire.h"

typedef struct standby_link {
    net *net;
    const buf *hello;
    wire_head identity; /* job id and era of what is said */
    net_socket *socket; /* NULL: stands by for none of ours */
    char *endpoint;
    int32_t index;       /* the task ps.N */
    bool is_open;        /* it is in our era */
    int64_t answered_us; /* when nothing was owed, or something of it was acknowledged */
    int64_t rest_us;     /* given up: how long it is left alone, longer each time, */
    int64_t rest_until_us;
} standby_link;

void standby_link_fini(standby_link *l);

/* A new era: dialled, unless it is, or closed. */
MUST_USE status standby_link_begin(standby_link *l, bool is_needed, const char *endpoint,
                                   error *err);
MUST_USE status standby_link_redial(standby_link *l, error *err);

void standby_link_say(const standby_link *l, wire_head h, span *payload);
void standby_link_say_proto(const standby_link *l, wire_head h, const ProtobufCMessage *m);
void standby_link_say_hello(const standby_link *l); /* not while it is left alone */

/* Something was acknowledged. */
void standby_link_answered(standby_link *l);
/* Call several times a second. True: for `limit_us`, and whenever that has passed again, nothing of
 * what is owed was acknowledged. */
bool standby_link_is_stuck(standby_link *l, bool owes, int64_t limit_us, int64_t now_us);
bool standby_link_rests(const standby_link *l);
/* All is well: the next rest is a short one. */
void standby_link_trust(standby_link *l);

#endif
