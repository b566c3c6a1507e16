/*
 * Peers: the engines of one process, each with a device of its own, that add up gradients among
 * themselves before the sum comes down.
 *
 * A group is made for one step: its members, in the order of slots, contribute the gradients of nodes of
 * the tree of slots that lie side by side and make up one node. Every part is cut into as many
 * pieces as there are members. Once all have made a part, each takes its own piece of it from all
 * others, adds them up in the order of the tree, and sends the sum down, all to the first member's
 * memory on the host; that one hands it over (exec_hooks.sum). So the bits are those of the tree,
 * whoever adds, and a device's way to the host carries an n-th.
 *
 * A group closes when a member leaves it before it is over. What all had made by then is added up
 * still, of all else each member hands over its own. Nobody waits forever for a member that does not
 * wait for all others: a lane that is cancelled leaves, and so do all others then.
 *
 * Threads: an engine's own for what it takes part in; the worker's thread for the life cycle, and
 * for peers_reset while no engine runs; any for peers_wake.
 */
#ifndef TEQUIO_EXEC_PEERS_H
#define TEQUIO_EXEC_PEERS_H

#include "common/parts/flat.h"
#include "common/parts/tree.h"

typedef struct peers peers;
typedef struct reduce_group reduce_group;

/* For n engines; `f` is kept. They join by exec_join. */
peers *peers_create(int32_t n, const flat *f);
void peers_destroy(peers **p);
/* Bytes of its device that each takes for what the others send; 0 without peers. */
size_t peers_workspace(const peers *p);

/* Once all stand: finds the ways between their devices. E_UNSUPPORTED if one could not join. Before
 * it, and if it fails, nobody is united. They stand until peers_destroy. */
MUST_USE status peers_connect(peers *p, error *err);
/* Which way: "by NCCL", or "by copies" and why. */
const char *peers_way(const peers *p);

/* Member i, which has called itself members[i], contributes nodes[i]; together they are `sum`, a top.
 * NULL: it cannot be done, or too many groups are under way, and this one is done without. */
reduce_group *reduce_group_form(peers *p, uint32_t n_slots, tree_node sum, const int32_t *members,
                                const tree_node *nodes, int32_t n);
/* Of a member that was to contribute and does not. */
void reduce_group_leave(reduce_group *u);
/* Ends all groups. */
void peers_reset(peers *p);
/* A lane that waits for others looks whether it is cancelled. NULL: nobody does. */
void peers_wake(peers *p);

#endif
