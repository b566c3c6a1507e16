/* Where ranks, which know no addresses, meet. Pure functions. */
#ifndef TEQUIO_CLI_RUN_MEETING_PLACE_H
#define TEQUIO_CLI_RUN_MEETING_PLACE_H

#include "common/cluster/cluster.h"
#include "common/config/config.h"

/* Where rank 0 listens for the others: distributed.rendezvous, or what the launcher says; NULL when
 * neither does. */
const char *meeting_place(const config *c, const cluster *k);
MUST_USE status meeting_place_check(const config *c, const cluster *k, error *err);

#endif
