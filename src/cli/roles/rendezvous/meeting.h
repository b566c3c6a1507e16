/*
 * A meeting of ranks: rank0.c is the side of rank 0, other_rank.c that of all others. Only for the files
 * of this folder. Threads: see rendezvous.h.
 */
#ifndef TEQUIO_CLI_ROLES_RENDEZVOUS_MEETING_H
#define TEQUIO_CLI_ROLES_RENDEZVOUS_MEETING_H

#include "cli/roles/rendezvous/rendezvous.h"
#include "common/wire/wire.h"

#include <pthread.h>

enum { MEETING_TICK_MS = 100, MEETING_HOST = 256 };

/* A rank that has come. */
typedef struct arrival {
    char *address;      /* NULL: it has not, or has left before all were there */
    uint64_t life;
    net_peer peer;
    int connection;     /* -1: left */
    bool is_told;       /* that there is no meeting */
} arrival;

typedef struct meeting {
    rendezvous seen;    /* first, so that one address serves both */
    const rendezvous_options *o;
    int32_t rank, size;
    cluster *cluster;   /* seen.cluster */
    char *listen;       /* seen.listen */
    char *address;      /* as the others are told */

    net_socket *socket;
    arrival *arrivals;  /* [size], rank 0's, of the others */
    bool is_complete;   /* rank 0's: all have come */
    bool is_over_before; /* rank 0's: there is no meeting, and why not: OK if the job is done */
    status why;
    const char *text;
    pthread_t thread;
    bool has_thread;
    atomic_bool is_over;
} meeting;

/* Host and port of meeting_place; the host is empty where all are on this host. */
MUST_USE status meeting_split(const meeting *m, char ret_host[MEETING_HOST], int *ret_port,
                              error *err);

/* endpoint_listen_at, but everywhere where this host's own name is one of the loopback interface,
 * as Debian has it in /etc/hosts: others do not reach it there. */
MUST_USE status meeting_listen_at(const meeting *m, const char *host, int port, char **ret,
                                  error *err);

/* Listens for what comes after the meeting, at that host (port 0: any). */
MUST_USE status meeting_open(meeting *m, const char *host, int port, error *err);

void meeting_close_listener(meeting *m);

/* All addresses are known. */
MUST_USE status meeting_settle(meeting *m, const char *const *addresses, error *err);

/* Rank 0 listens at the meeting's place; `m` is served by meeting_serve. */
MUST_USE status rank0_listen(meeting *m, error *err);
MUST_USE status rank0_gather(meeting *m, error *err);
MUST_USE status rank0_dismiss(meeting *m, error *err);
MUST_USE status rank0_stay(meeting *m, error *err);      /* a thread goes on answering */
void rank0_fini(meeting *m);

MUST_USE status other_rank_join(meeting *m, error *err);

/* Says it if the other side is there to hear. */
void meeting_say(net_socket *s, const net_peer *to, wire_type type, const buf *packed);

#endif
