/* Files of flight recorders as tests make them, in folder_path(), and what explain tells of them. */
#ifndef TEQUIO_TESTS_UNIT_CLI_SUPPORT_WRITTEN_H
#define TEQUIO_TESTS_UNIT_CLI_SUPPORT_WRITTEN_H

#include "common/live/recording.h"
#include "common/wire/wire.h"

#include <jansson.h>

enum { MOST = 32, NOW = 100 * 1000000, SECOND = 1000000 };

/* Peers are called by their tasks: 100 times the role, and the index. Lanes of the modes ssp and async have a
 * connection each: a second one of the same two tasks. */
enum { MASTER = 0, WORKER_0 = 100, WORKER_1 = 101, PS_0 = 200, PS_1 = 201, WORKER_0_TOO = 1100, PS_0_TOO = 1200 };

typedef struct written {
    recording_head head;
    recording_event in_progress[MOST], events[MOST];
} written;

written written_by(role of, int32_t index, recording_reason why);

/* Its moment is how long before the file was written, as `ago_s` and `since_s` are. */
void written_add(written *w, recorder_event e);
void written_says(written *w, recorder_kind kind, wire_type type, int peer, int part, int64_t step, double ago_s);
/* Of a step of two slots: the gradient of one. */
void written_pushes(written *w, recorder_kind kind, int peer, int part, int64_t step, uint32_t slot);
void written_is_in(written *w, recorder_kind kind, int lane, int64_t step, int a, double since_s);

/* As log/events/NAME. */
void written_leave(written *w, const char *name);

/* Of a job of two workers and two servers. */
extern json_t *told_slots;          /* of live.json; NULL: it has none */
json_t *told_waits(void);
/* The first whom the others wait for, a part of what it does, and how many wait. */
void told_holds_up(const char *who, const char *does, int waiters);
void told_text_says(const char *what);
void told_text_says_not(const char *what);

/* Nothing is written. */
int written_set_up(void **state);

#endif
