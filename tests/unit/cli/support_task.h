/*
 * A task that only pretends: the launcher starts this very program again, and main hands over to it
 * when TF_CONFIG is set. What it does stands in its arguments, one word a task:
 *
 *     worker.1=exit:3
 *
 * ok, exit:N, blame:N (say that worker N failed, exit 3), kill:N (raise a signal), wait (until
 * SIGTERM, then exit 143), stubborn (ignores SIGTERM), print:N (N lines), bar, partial (a line
 * without an end), mortal:N (says which life it is; lives up to the N-th are killed, the next one
 * waits at $SUPPORT_FIFO for an `await`), await (waits for a `mortal` that lives).
 */
#ifndef TEQUIO_TESTS_UNIT_CLI_SUPPORT_TASK_H
#define TEQUIO_TESTS_UNIT_CLI_SUPPORT_TASK_H

#include <stdbool.h>

bool support_is_task(void);
int support_play(int argc, char **argv);

#endif
