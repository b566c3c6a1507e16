/*
 * A stub backend: kernels write down that they ran and fill their outputs with the number of
 * their node plus one. Faults are asked for by the number of the node.
 */
#ifndef TEQUIO_TESTS_UNIT_EXEC_SUPPORT_STUB_BACKEND_H
#define TEQUIO_TESTS_UNIT_EXEC_SUPPORT_STUB_BACKEND_H

#include "backend/backend.h"

enum { STUB_NEVER = -1, STUB_WORKSPACE = 1000 };

typedef struct stub_control {
    bool open_fails, load_fails;
    int32_t prepare_fails, run_fails; /* node or STUB_NEVER */
    void (*ran)(void *user, int32_t node, void *const *addresses, void *workspace);
    void *user;
    int n_open; /* backends, programs and memory that still live */
} stub_control;

extern stub_control stub; /* reset by stub_reset */
extern const backend_ops backend_stub;

void stub_reset(void);

#endif
