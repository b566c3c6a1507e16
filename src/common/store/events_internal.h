/* What the writers of events share. Threads: as events.h. */
#ifndef TEQUIO_COMMON_STORE_EVENTS_INTERNAL_H
#define TEQUIO_COMMON_STORE_EVENTS_INTERNAL_H

#include "common/store/events.h"
#include "proto/event.pb-c.h"

/* A summary of that value; it is copied. */
void events_add_value(events *e, int64_t step, Tequio__Tb__Summary__Value *v);

#endif
