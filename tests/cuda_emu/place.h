/*
 * Places: what the tests spoil, one at a time, to see that they notice. A barrier or a wait is left
 * out, LD(x) is x + 1, IN(x) is true. Each tells of itself when it is passed; IN(x) is where x is
 * false. Costs little while nobody asks.
 *
 * Threads: any. What is known of places is shared with processes forked after emu_places_share.
 */
#ifndef TEQUIO_TESTS_CUDA_EMU_PLACE_H
#define TEQUIO_TESTS_CUDA_EMU_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One in the source; in a template, each instance has its own of the same line. */
typedef struct emu_place {
    const char *what, *file, *function;
    int line;
    int number; /* in what is shared, from 1 on; 0: was not passed in this process */
} emu_place;

/* Notes that it is passed. Whether it is the one that is spoilt. */
bool emu_place_spoilt(emu_place *p);

#define EMU_PLACE(what)                                                                            \
    __extension__({                                                                                \
        static emu_place place_ = {what, __FILE__, __func__, __LINE__, 0};                         \
        emu_place_spoilt(&place_);                                                                 \
    })

/* Of calls of the runtime: the next one of this thread that marks an event or waits for one is left
 * out. */
void emu_call_spoil(bool is_spoilt);
bool emu_call_is_spoilt(void); /* and the next one is not */

/* For who spoils. A test has a number below 64. */
enum { EMU_PLACES = 1024 };
void emu_places_share(void);
void emu_places_begin(int test);   /* passes are its from now on */
void emu_places_spoil(int number); /* 0: none */
int emu_places_last(void);         /* number */
emu_place emu_place_get(int number, uint64_t *ret_tests);

#ifdef __cplusplus
}
#endif

#endif
