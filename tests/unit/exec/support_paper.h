/*
 * A backend of paper: kernels write down that they ran and fill their outputs with the number of
 * their node plus one. Faults are asked for by the number of the node.
 */
#ifndef TEQUIO_TESTS_UNIT_EXEC_SUPPORT_PAPER_H
#define TEQUIO_TESTS_UNIT_EXEC_SUPPORT_PAPER_H

#include "backend/backend.h"

enum { PAPER_NEVER = -1, PAPER_WORKSPACE = 1000 };

typedef struct paper_control {
    bool open_fails, load_fails;
    int32_t prepare_fails, run_fails; /* node or PAPER_NEVER */
    void (*ran)(void *user, int32_t node, void *const *addresses, void *workspace);
    void *user;
    int n_open; /* backends, programs and memory that still live */
} paper_control;

extern paper_control paper; /* reset by paper_reset */
extern const backend_ops backend_paper;

void paper_reset(void);

#endif
