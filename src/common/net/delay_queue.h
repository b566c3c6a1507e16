/*
 * Messages that a socket holds back: a queue in the order they were given, each with the time from
 * which it may go. Its payload has moved in, as in net_send.
 *
 * Threads: its socket's.
 */
#ifndef TEQUIO_COMMON_NET_DELAY_QUEUE_H
#define TEQUIO_COMMON_NET_DELAY_QUEUE_H

#include "common/net/net.h"

typedef struct delayed_message {
    bool has_to;
    net_peer to;
    unsigned char head[NET_HEAD];
    span *payload; /* held; NULL: there is none */
    int64_t due_us;
} delayed_message;

typedef struct delay_queue { /* all zero: empty */
    delayed_message *at; /* [cap], those from `first` on, n of them */
    size_t first, n, cap;
} delay_queue;

void delay_queue_add(delay_queue *h, const net_peer *to, const void *head, span *payload, int64_t due_us);

/* The oldest, when it is due; it is the caller's then. */
bool delay_queue_take(delay_queue *h, int64_t now_us, delayed_message *ret);

/* Until the oldest is due, rounded up; -1: there is none. */
int delay_queue_wait_ms(const delay_queue *h, int64_t now_us);

/* Drops all. */
void delay_queue_fini(delay_queue *h);

#endif
