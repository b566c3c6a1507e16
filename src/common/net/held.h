/*
 * Messages that a socket holds back: a queue in the order they were given, each with the time from
 * which it may go. Its payload has moved in, as in net_send.
 *
 * Threads: its socket's.
 */
#ifndef TEQUIO_COMMON_NET_HELD_H
#define TEQUIO_COMMON_NET_HELD_H

#include "common/net/net.h"

typedef struct held_message {
    bool has_to;
    net_peer to;
    unsigned char head[NET_HEAD];
    span *payload; /* held; NULL: there is none */
    int64_t due_us;
} held_message;

typedef struct held { /* all zero: empty */
    held_message *at; /* [cap], those from `first` on, n of them */
    size_t first, n, cap;
} held;

void held_add(held *h, const net_peer *to, const void *head, span *payload, int64_t due_us);

/* The oldest, when it is due; it is the caller's then. */
bool held_take(held *h, int64_t now_us, held_message *ret);

/* Until the oldest is due, rounded up; -1: there is none. */
int held_wait_ms(const held *h, int64_t now_us);

/* Drops all. */
void held_fini(held *h);

#endif
