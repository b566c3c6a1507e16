/*
 * What a flight recorder has written: a file of a process's events, by the process itself (recorder_output.h), read by
 * whoever looks for the one that others wait for.
 *
 * In the file: the head, what was in progress, who the peers are, the events; all as they lie in memory, little-endian,
 * and nothing behind them. A file is read by the program that wrote it, or one whose kinds of events are the same.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_COMMON_LIVE_RECORDING_H
#define TEQUIO_COMMON_LIVE_RECORDING_H

#include "common/base/error.h"
#include "common/live/recorder.h"

/* Why it was written: the word for programs, the words for people. */
#define RECORDING_REASONS(X)                                                                       \
    X(SIGNAL, "signal", "it was asked by SIGUSR1")                                                 \
    X(DEATH, "death", "it died of a signal")                                                       \
    X(WAIT, "wait", "a wait took too long")                                                        \
    X(FAILURE, "failure", "it gave up")                                                            \
    X(ASKED, "asked", "the master asked for it")

typedef enum recording_reason {
#define X(id, word, words) RECORDING_##id,
    RECORDING_REASONS(X)
#undef X
    RECORDING_REASON_COUNT
} recording_reason;

const char *recording_reason_word(recording_reason r);
const char *recording_reason_words(recording_reason r);

enum { RECORDING_VERSION = 2, RECORDING_HOST = 64, RECORDING_TEXT = 256 };

#define RECORDING_MAGIC "TQEVENTS"

typedef struct recording_head {
    char magic[8];
    uint32_t version, kinds;        /* kinds: recording_kinds() of the program that wrote it */
    uint32_t n_in_progress, n_peers, n_events;
    uint32_t reason;
    int32_t signal;                 /* of SIGNAL and DEATH */
    int32_t role, index;            /* the task that the process is */
    int32_t indexes[ROLE_COUNT];    /* of the roles in it; -1: has none */
    int32_t is_trainer;             /* its worker is the lanes beside the master */
    int64_t pid;
    int64_t at_us;                  /* when it was written, by the clock of the events... */
    int64_t wall_us;                /* ...and since 1970 */
    int64_t offset_us, error_us;    /* the master's clock minus this one, give or take; error_us -1: not known */
    uint64_t noted;                 /* events in all, those that were overwritten among them */
    char host[RECORDING_HOST], text[RECORDING_TEXT];
    uint32_t checksum;              /* CRC-32C of what follows, and then of the head with 0 here */
    uint32_t zero;
} recording_head;

typedef struct recording_event {
    int64_t at_us, took_us, step, c;
    int32_t a, b;
    uint16_t kind;
    int16_t lane;
    uint32_t number;
} recording_event;

typedef struct recording_peer {
    uint32_t peer;
    int32_t role, index;
    uint32_t zero;
} recording_peer;

_Static_assert(sizeof(recording_event) == 48 && sizeof(recording_peer) == 16 && sizeof(recording_head) % 8 == 0,
               "written as they are");

/* What decides what the numbers of a file mean. */
uint32_t recording_kinds(void);

typedef struct recording {
    recording_head head;            /* its texts are terminated */
    recorder_event *in_progress, *events;   /* [head.n_in_progress], [head.n_events], oldest first */
    recording_peer *peers;
} recording;

/* E_DATA says what is wrong. */
MUST_USE status recording_parse(const void *data, size_t bytes, recording *ret, error *err);
/* The same of a file, which the message names. */
MUST_USE status recording_read(const char *path, recording *ret, error *err);
void recording_fini(recording *r);

/* Who a peer's number is. False: it has not said. */
bool recording_peer_of(const recording *r, uint32_t peer, task *ret);

#endif
