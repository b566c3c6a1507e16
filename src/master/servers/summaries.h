/*
 * Summaries: histograms of weights and gradients for the event file, gathered from the servers at
 * versions announced ahead, merged tensor by tensor.
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_SERVERS_SUMMARIES_H
#define TEQUIO_MASTER_SERVERS_SUMMARIES_H

#include "common/store/events.h"
#include "common/wire/wire.h"
#include "master/servers/assign.h"

typedef struct summaries summaries;

summaries *summaries_create(const flat *f, const assign *a, int64_t every_steps);
void summaries_destroy(summaries **s);

/* The version to gather at, to be announced to every server now; -1: nothing to announce. */
int64_t summaries_order(summaries *s, int64_t step, int64_t total);

/* One server's histograms; written when all servers that act for live parts have sent theirs. */
MUST_USE status summaries_take(summaries *s, events *e, int64_t version, const Wire__Histogram *m,
                               error *err);

#endif
