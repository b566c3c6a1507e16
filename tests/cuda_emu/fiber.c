#include "cuda_emu/fiber.h"
#include "cuda_emu/block.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

enum { STACK = 64 << 10, GUARD = 4 << 10 };

static char *stacks;
static int unused[EMU_THREADS], n_unused;

/* The registers a call must keep, and the stack. It returns by a jump: the processor's memory of
 * calls and returns would always guess wrong here, and pay for it. */
__asm__(".text\n.globl emu_switch\n.type emu_switch,@function\nemu_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\n"
        "pop %rcx\njmp *%rcx\n.size emu_switch,.-emu_switch\n");

static void map_stacks(void)
{
    size_t bytes = (size_t)EMU_THREADS * STACK;
    stacks = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
    if (stacks == MAP_FAILED) {
        perror("cuda_emu: stacks");
        abort();
    }
    for (int i = 0; i < EMU_THREADS; i++) {
        mprotect(stacks + (size_t)i * STACK, GUARD, PROT_NONE);
        unused[i] = EMU_THREADS - 1 - i;
    }
    n_unused = EMU_THREADS;
}

int emu_stack_take(void)
{
    if (!stacks)
        map_stacks();
    return unused[--n_unused];
}

void emu_stack_give(int stack)
{
    unused[n_unused++] = stack;
}

void *emu_stack_begin(int stack, void (*main)(void))
{
    char *low = stacks + (size_t)stack * STACK;
    size_t stagger = 256 + (size_t)(stack % 32) * 192; /* not all tops in one set of the cache */
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(low + GUARD, STACK - GUARD);
#endif
    void **sp = (void **)((uintptr_t)(low + STACK - stagger) & ~(uintptr_t)15);
    *--sp = NULL; /* aligned as after a call */
    *--sp = (void *)main;
    for (int i = 0; i < 6; i++)
        *--sp = NULL;
    return sp;
}

bool emu_stack_overran(const void *p)
{
    intptr_t at = (intptr_t)p - (intptr_t)stacks;
    bool is_below_all = at < 0 && at >= -16 * STACK;
    bool is_in_guard = at >= 0 && at < (intptr_t)EMU_THREADS * STACK && at % STACK < GUARD;
    return stacks && (is_below_all || is_in_guard);
}
