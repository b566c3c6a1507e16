/* A process that stops itself for a while, with all of its threads; any may call. */
#ifndef TEQUIO_COMMON_FAULT_FREEZE_H
#define TEQUIO_COMMON_FAULT_FREEZE_H

#include <stdint.h>

/* Stops this whole process, which goes on here after that time: a child that holds nothing of ours
 * sleeps and says SIGCONT, and goes when we go. Without a child to be had nothing stops. */
void freeze_process(int64_t us);

#endif
