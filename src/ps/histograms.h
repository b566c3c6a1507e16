/*
 * Histograms of weights and gradients at a version the master names ahead, tensor by tensor, over
 * the parts this server acts for. The master merges what the servers send.
 * Threads: belongs to the server's thread.
 */
#ifndef TEQUIO_PS_HISTOGRAMS_H
#define TEQUIO_PS_HISTOGRAMS_H

#include "common/base/buf.h"
#include "common/parts/holders.h"
#include "ps/table.h"

typedef struct histograms histograms;

/* shards[]: who holds the shards that `placement` names. */
histograms *histograms_create(const flat *f, const int32_t *placement, const holders *shards,
                              int32_t server);
void histograms_destroy(histograms **h);

/* Gather at `version`; a later order replaces one not yet begun. One that comes too late, when some
 * part is there already, is not carried out. */
void histograms_order(histograms *h, const table *t, int64_t version);

/* `part` has just reached `version` by `grad`. */
MUST_USE status histograms_applied(histograms *h, table *t, int32_t part, int64_t version,
                                   const float *grad, error *err);

/* A complete gathering as a packed Histogram message; false: none. */
bool histograms_next(histograms *h, int64_t *ret_version, buf *ret);

#endif
