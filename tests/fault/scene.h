/*
 * Scenes: for every message a small job in which it passes for sure, so that somebody can be killed
 * at it. Pure tables; played by kill_matrix.c and soak.c.
 */
#ifndef TEQUIO_TESTS_FAULT_SCENE_H
#define TEQUIO_TESTS_FAULT_SCENE_H

#include "fault/process_cluster.h"

#include "common/wire/wire.h"

typedef struct scene {
    const char *name;
    const char *overrides; /* of the configuration, as JSON */
    const char *faults;    /* that bring the message about; "" */
    process_cluster_oddity oddity;
    const char *terminate; /* a task that gets SIGTERM after the first step; NULL */
    bool is_own;           /* its tasks are started one by one, not by the launcher */
    bool may_leave;        /* the job may end with 143, and is then started again */
    bool any_weights;      /* its mode does not promise the same ones, only every batch once */
    int servers;           /* 0: PROCESS_CLUSTER_SERVERS */
} scene;

typedef struct scene_cell {
    const scene *scene;
    const char *victim; /* "worker.1": who says or hears it, and is killed at it */
    int life;           /* in which of its lives */
    int n_sure;         /* that many of the message pass at least in that life */
} scene_cell;

/* Its message passes in every job. */
bool scene_is_common(const scene *s);

scene_cell scene_of(wire_type message, role who, bool is_sent);

#endif
