/*
 * A relay between one caller and a listener on this host that records what the caller says. A
 * thread of its own; made for one conversation, which may then be said again.
 */
#ifndef TEQUIO_TESTS_UNIT_COMMON_SUPPORT_RELAY_H
#define TEQUIO_TESTS_UNIT_COMMON_SUPPORT_RELAY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { RELAY_TURNS = 64 };

typedef struct relay {
    char endpoint[64]; /* to dial instead of the listener's */
    const char *to;
    int listen_fd;
    pthread_t thread;
    unsigned char *said; /* by the caller, all of it */
    size_t n_said;
    size_t turns[RELAY_TURNS]; /* how much it had said each time it was answered */
    int n_turns;
} relay;

/* `to` is kept until relay_end. */
void relay_start(relay *r, const char *to);

/* Waits until the caller has hung up. */
void relay_wait(relay *r);

/* Says the recorded words to the listener, all at once or waiting for the answers in between, and
 * waits until it hangs up. */
void relay_replay(const relay *r, const char *to, bool in_turns);
void relay_fini(relay *r);

#endif
