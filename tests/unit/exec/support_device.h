/*
 * A stub device: the kernels of support_stub_backend.h, run as late as can be. What a queue is
 * given waits until somebody waits for it; then just that much is done, and of other queues what it
 * follows. So whoever reads too early finds old bytes, and whoever writes too early spoils what was
 * to be read. What is still to do when a copy goes down fills the place with NaN.
 */
#ifndef TEQUIO_TESTS_UNIT_EXEC_SUPPORT_DEVICE_H
#define TEQUIO_TESTS_UNIT_EXEC_SUPPORT_DEVICE_H

#include "unit/exec/support_rig.h"

enum { DEVICE_CLOCK_NS = 123456789 };   /* its clock is so far in front of the host's */

typedef struct device_control {
    int n_copies[QUEUE_COUNT];      /* given since device_reset */
    int n_played;                   /* segments, since device_reset */
    int n_stamps;                   /* stopwatches that were started or stopped, not those that were recorded */
    bool no_stopwatches;
    int wait_fails;                 /* the n-th wait from here on; 0: none */
    const void *pinned;             /* or NULL */
    bool pin_fails, no_memory;
    size_t free;                    /* what describe() says; 0: enough */
    bool keen;                      /* whoever asks whether an event is reached has it so */
} device_control;

extern device_control device;

/* As new; for every test. If it records segments, then of kernels that have run before. */
const backend_ops *device_reset(bool records_segments);
void device_fault(int32_t node);    /* from stub.ran: it met data it cannot work with */
bool device_owns(const void *p);    /* memory of SPACE_DEVICE */
bool device_is_idle(void);          /* no queue has anything left to do */

/* A test over a rig with such a device, without and with recorded segments. */
#define OVER_DEVICES(test)                                                                         \
    cmocka_unit_test_setup_teardown(test, set_up_plain, tear_down),                                \
        cmocka_unit_test_setup_teardown(test, set_up_recorder, tear_down)
int set_up_plain(void **state);
int set_up_recorder(void **state);

#endif
