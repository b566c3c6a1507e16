/*
 * Passing a descriptor to another process of the same host and user, over an abstract unix socket, the
 * "listener", with a token that says whose it is. Nothing here blocks.
 *
 * Threads: a listener belongs to one at a time.
 */
#ifndef TEQUIO_COMMON_NET_FD_PASS_H
#define TEQUIO_COMMON_NET_FD_PASS_H

#include <stdbool.h>

enum { FD_PASS_NAME = 32 };

/* A name, or a token: letters and digits, without an end. */
typedef struct fd_pass_name {
    char text[FD_PASS_NAME];
} fd_pass_name;

/* What came in. The descriptors are the caller's to close. */
typedef struct fd_pass_arrival {
    int connection, brought;
    fd_pass_name token;
} fd_pass_arrival;

/* A descriptor to close; -1: the system has none for us. */
int fd_pass_listen(const fd_pass_name *name);

/* Hands `brought` in. Returns the connection, to close; -1: there is no such listener on this host, it
 * is another user's, or too many stand before it. */
int fd_pass_send(const fd_pass_name *name, const fd_pass_name *token, int brought);

/* The next that waits; false: none. Other users, and peers that bring something else, are sent
 * away. */
bool fd_pass_accept(int listener, fd_pass_arrival *ret);

#endif
