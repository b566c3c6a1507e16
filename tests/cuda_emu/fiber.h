/* Stacks for the threads of a block, and the switch between them. Under the lock of the devices. */
#ifndef TEQUIO_TESTS_CUDA_EMU_FIBER_H
#define TEQUIO_TESTS_CUDA_EMU_FIBER_H

#include <stdbool.h>

/* Takes a stack that is not in use. */
int emu_stack_take(void);
void emu_stack_give(int stack);
/* What emu_switch loads to enter `main`, which never returns, on that stack. */
void *emu_stack_begin(int stack, void (*main)(void));
/* Whether p lies below a stack, where nothing may be. */
bool emu_stack_overran(const void *p);

/* Keeps where we are in *save and goes on where `load` was kept. */
void emu_switch(void **save, void *load);

#endif
