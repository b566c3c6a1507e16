#include "cuda_emu/place.h"
#include "cuda_emu/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct register_of_places {
    int n, spoilt, test;
    struct {
        emu_place place;
        uint64_t tests;
    } at[EMU_PLACES];
} register_of_places;

static register_of_places *shared; /* NULL: nobody asks */
static _Thread_local bool call_is_spoilt;

void emu_places_share(void)
{
    if (shared)
        return;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("cuda_emu: places");
        abort();
    }
}

static bool is_same(const emu_place *a, const emu_place *b)
{
    return a->line == b->line && strcmp(a->file, b->file) == 0 &&
           strcmp(a->function, b->function) == 0 && strcmp(a->what, b->what) == 0;
}

static int number_of(const emu_place *p)
{
    emu_lock();
    int i = 0;
    while (i < shared->n && !is_same(&shared->at[i].place, p))
        i++;
    if (i == EMU_PLACES) {
        fprintf(stderr, "cuda_emu: more than %d places\n", EMU_PLACES);
        abort();
    }
    if (i == shared->n) {
        shared->at[i].place = *p;
        shared->n++;
    }
    emu_unlock();
    return i + 1;
}

bool emu_place_spoilt(emu_place *p)
{
    if (!shared)
        return false;
    if (!p->number)
        p->number = number_of(p);
    if (!shared->spoilt)
        shared->at[p->number - 1].tests |= (uint64_t)1 << shared->test;
    return p->number == shared->spoilt;
}

void emu_call_spoil(bool is_spoilt)
{
    call_is_spoilt = is_spoilt;
}

bool emu_call_is_spoilt(void)
{
    bool is_spoilt = call_is_spoilt;
    call_is_spoilt = false;
    return is_spoilt;
}

void emu_places_begin(int test)
{
    if (shared)
        shared->test = test % 64;
}

void emu_places_spoil(int number)
{
    shared->spoilt = number;
}

int emu_places_last(void)
{
    return shared->n;
}

emu_place emu_place_get(int number, uint64_t *ret_tests)
{
    *ret_tests = shared->at[number - 1].tests;
    return shared->at[number - 1].place;
}
