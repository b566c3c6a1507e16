/* Included in front of the engine's files: its waits between queues are places (place.h). */
#ifndef TEQUIO_TESTS_CUDA_EMU_HOST_PLACES_H
#define TEQUIO_TESTS_CUDA_EMU_HOST_PLACES_H

#include "cuda_emu/place.h"

#define EMU_CALL(what, b) (emu_call_spoil(EMU_PLACE(what)), (b))
#define follow(b, ...)    follow(EMU_CALL("follow", b), __VA_ARGS__)
#define mark(b, ...)      mark(EMU_CALL("mark", b), __VA_ARGS__)
#define wait(b, ...)      wait(EMU_CALL("wait", b), __VA_ARGS__)

#endif
