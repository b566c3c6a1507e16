/* What a wait graph is made of, for the files of wait_graph.h. Threads: as there. */
#ifndef TEQUIO_CLI_LOOK_WAIT_GRAPH_INTERNAL_H
#define TEQUIO_CLI_LOOK_WAIT_GRAPH_INTERNAL_H

#include "cli/look/wait_graph.h"

/* More would be no help, and what is behind them is found by the first as well. */
enum { GRAPH_WAITS_MOST = 4096, GRAPH_DEPTH_MOST = 64 };

/* Behind what somebody has sent. */
#define GRAPH_UNDERWAY ", which has not arrived: the link is slow or broken"

/* --- what is found --- */

/* False: it was there, or there are enough. */
bool graph_add_wait(wait_graph *g, const graph_wait *w);
/* Somebody waits so for that step: whom it leads to was followed. */
bool graph_has_wait(const wait_graph *g, graph_wait_kind kind, int64_t step);
/* The same words of a task are one; age_us -1: not known. */
void PRINTF_LIKE(4, 5) graph_add_end(wait_graph *g, int at, int64_t age_us, const char *format, ...);

/* --- what tasks have written --- */

/* NULL: nothing. */
const recording *graph_recording(const wait_graph *g, int at);
/* NULL: it says nothing more, and is an end. */
const recording *graph_speaking(wait_graph *g, int at);

/* Whose a number of that recording's is; -1: not known. */
int graph_peer(const wait_graph *g, const recording *r, uint32_t peer);
int graph_master(const wait_graph *g);

/* --- what all modes have --- */

/* For what the master, which has written, lets nobody go on: shards of checkpoints up to that step, an evaluation.
 * False: for neither. */
bool graph_follow_holds(wait_graph *g, int master, int64_t until);

/* --- modes ssp and async --- */

/* From the lanes of a task, from those who ask a server and have left nothing, and from the master. */
void graph_follow_leased_lanes(wait_graph *g, int at, const recording *r);
void graph_follow_leased_pulls(wait_graph *g, int at, const recording *r);
void graph_follow_leases(wait_graph *g, int at, const recording *r);

#endif
