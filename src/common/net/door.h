/*
 * A door: an abstract unix socket through which processes of one host and one user hand a
 * descriptor to each other, with a token that says whose it is. Nothing here blocks.
 *
 * Threads: a door belongs to one at a time.
 */
#ifndef TEQUIO_COMMON_NET_DOOR_H
#define TEQUIO_COMMON_NET_DOOR_H

#include <stdbool.h>

enum { DOOR_TEXT = 32 };

/* A name, or a token: letters and digits, without an end. */
typedef struct door_text {
    char text[DOOR_TEXT];
} door_text;

/* Who came in. The descriptors are the caller's to close. */
typedef struct door_guest {
    int connection, brought;
    door_text token;
} door_guest;

/* A descriptor to close; -1: the system has none for us. */
int door_open(const door_text *name);

/* Hands `brought` in. Returns the connection, to close; -1: there is no such door on this host, it
 * is another user's, or too many stand before it. */
int door_enter(const door_text *name, const door_text *token, int brought);

/* The next who stands before it; false: nobody. Other users, and who brings something else, are
 * sent away. */
bool door_admit(int door, door_guest *ret);

#endif
