/* Sockets for tests of the transport: a listener and its dial, and waits that end. */
#ifndef TEQUIO_TESTS_UNIT_COMMON_SUPPORT_NET_H
#define TEQUIO_TESTS_UNIT_COMMON_SUPPORT_NET_H

#include "common/net/net.h"

enum { LIMIT_MS = 20000 };

/* A listener and one dial to it. */
typedef struct pair {
    net *net;
    net_socket *listener, *dial;
} pair;

net_socket *listen_on(net *n, const char *endpoint);
net_socket *dial_to(net *n, const char *endpoint);
pair pair_make(const char *endpoint);
void pair_fini(pair *p);

/* These fail after LIMIT_MS. The next event; and one that must be of that kind. */
net_event next_event(net_socket *s);
net_event wait_event(net_socket *s, net_event_kind kind);
void wait_message(net_socket *s, net_message *ret);

/* A head of nothing but `fill`; overwritten by the next. */
const unsigned char *head_of(int fill);

#endif
