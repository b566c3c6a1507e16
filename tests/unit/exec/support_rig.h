/*
 * An exec over the stub backend, with the model it runs and what it writes down: nodes that
 * ran, parts that were needed and ready, in their order.
 */
#ifndef TEQUIO_TESTS_UNIT_EXEC_SUPPORT_RIG_H
#define TEQUIO_TESTS_UNIT_EXEC_SUPPORT_RIG_H

#include "exec/exec.h"
#include "unit/exec/support_stub_backend.h"

enum { WIDE = 700, EVENTS = 512 };

/* Two layers, a frozen factor, a parameter nothing reads that fills whole parts. */
typedef struct model {
    graph *graph;
    graph_val x, factor, loss;
} model;

typedef enum event_kind { NODE, NEED, READY } event_kind;

typedef struct event {
    event_kind kind;
    int32_t index;
    const float *grad;
} event;

typedef struct rig {
    const backend_ops *backend;
    model model, small; /* full batch, smaller last batch */
    flat *flat;
    float *params;
    exec *exec;
    exec_hooks hooks;
    bool traces; /* the exec does, that is made next */
    event events[EVENTS];
    size_t n_events;
    int32_t cancel_at; /* node */
    atomic_bool cancel;
    status ready_status;
    void *workspace;
    void *const *addresses;
} rig;

/* cmocka: fails the running test with the error's text unless `st` is OK. */
void must(status st, const error *err);

model make_model(int64_t batch, bool backward);
flat *layout_of(const graph *g);    /* of its parameters; the caller destroys it */

MUST_USE status rig_create(rig *r, const graph *first, const graph *second, const flat *f,
                           error *err);

/* For cmocka: *state is a rig, with an exec of both variants or still without one. */
int set_up(void **state);
int set_up_without_exec(void **state);
int tear_down(void **state);

/* Writes down a run anew. */
void run(rig *r, size_t variant);

/* Index of the only such event; -1 if there is none. */
int find_event(const rig *r, event_kind kind, int32_t index);

/* First and last node that touch a part, straight from the graph; -1: none. With `reads_only`,
 * gradients do not count. */
void part_span(const rig *r, const graph *g, int32_t part, bool reads_only, int32_t *ret_first,
               int32_t *ret_last);

#endif
