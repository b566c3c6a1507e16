/*
 * The fake transport's inboxes: what arrived for a socket, and the thread that waits for it. Every
 * inbox has a lock of its own; a waiting thread is woken through a sleeper on its stack.
 */
#ifndef TEQUIO_TESTS_SUPPORT_NET_FAKE_INBOX_H
#define TEQUIO_TESTS_SUPPORT_NET_FAKE_INBOX_H

#include "common/net/net.h"

#include <pthread.h>

/* A message on its way. */
typedef struct parcel {
    struct parcel *next;
    uint32_t line;  /* the connection it came over */
    bool is_shared; /* inproc: the receiver reads the sender's memory */
    unsigned char head[NET_HEAD];
    span *payload; /* held; NULL: there is none */
} parcel;

typedef struct inbox {
    pthread_mutex_t lock;
    parcel *parcels;
    struct happening *happenings;
    struct sleeper *sleeper;
} inbox;

/* The payload moves in, or is copied where it is only there for the call. */
parcel *parcel_make(uint32_t line, bool is_shared, const void *head, span *payload);
void parcel_append(parcel **list, parcel *p);
void parcels_drop(parcel *list);

void inbox_init(inbox *in);
void inbox_fini(inbox *in);
void inbox_put(inbox *in, parcel *p);
void inbox_tell(inbox *in, net_event event);

/* What came over `line` and was not received; the caller drops it, holding no lock. */
parcel *inbox_take_back(inbox *in, uint32_t line);
/* The sender's memory comes back, the messages stay. */
void inbox_keep_copies(inbox *in, uint32_t line);

/* The oldest message, without a sender; false: none. */
bool inbox_receive(inbox *in, net_message *ret, uint32_t *ret_line);
bool inbox_next_event(inbox *in, net_event *ret);

inbox *inbox_of(net_socket *s); /* the socket's */

#endif
