/*
 * Streams and events. What is put on a stream waits there until somebody waits for it (or asks a
 * third time whether it is done), and then no more of it runs than has to; with EMU_RUSH other
 * streams run ahead of it as far as nothing holds them. Under the lock of the devices.
 */
#ifndef TEQUIO_TESTS_CUDA_EMU_STREAM_H
#define TEQUIO_TESTS_CUDA_EMU_STREAM_H

#include <stddef.h>

/* Runs all that is left on the streams of a device, or (-1) of all. */
void emu_streams_finish(int device);
/* Shared memory a block may have at most, on these devices. */
size_t emu_shared_most(void);

#endif
