/*
 * What TensorBoard's HParams plugin reads of one run: with which values it began, and how it ended.
 * Threads: as events.h.
 */
#ifndef TEQUIO_COMMON_STORE_EVENTS_HPARAMS_H
#define TEQUIO_COMMON_STORE_EVENTS_HPARAMS_H

#include "common/store/events.h"

#include <stdbool.h>

typedef struct events_hparam {
    const char *name, *word;    /* the value; NULL: it is a number */
    double number;
} events_hparam;

typedef enum events_session { EVENTS_SESSION_RUNNING, EVENTS_SESSION_DONE, EVENTS_SESSION_FAILED } events_session;

void events_hparams_begin(events *e, const events_hparam *values, size_t n);
void events_hparams_end(events *e, events_session how);

#endif
