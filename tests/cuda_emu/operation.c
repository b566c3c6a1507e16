/* What streams have to do, as a thing to keep, and the memory it may touch. */
#include "cuda_emu/machine.h"
#include "cuda_emu/memory.h"
#include "cuda_emu/stream.h"

#include <stdlib.h>
#include <string.h>

struct emu_ranges {
    int uses;
    size_t n;
    emu_range list[];
};

static _Thread_local emu_ranges *current;

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

static emu_ranges *keep(emu_ranges *r)
{
    if (r)
        r->uses++;
    return r;
}

static void drop(emu_ranges *r)
{
    if (r && --r->uses == 0)
        free(r);
}

void emu_ranges_set(const emu_range *list, size_t n)
{
    emu_ranges *r = NULL;
    if (n) {
        r = must(malloc(sizeof *r + n * sizeof *list));
        *r = (emu_ranges){.uses = 1, .n = n};
        memcpy(r->list, list, n * sizeof *list);
    }
    emu_lock();
    drop(current);
    current = r;
    emu_unlock();
}

emu_ranges *emu_ranges_take(void)
{
    return keep(current);
}

/* In none of the ranges: in an allocation without any? */
static bool lies_apart(const emu_ranges *r, const void *p)
{
    for (size_t i = 0; i < r->n; i++)
        if (emu_memory_is_together(p, r->list[i].from))
            return false;
    return true;
}

bool emu_ranges_hold(const emu_ranges *r, const void *p_, size_t bytes, bool writes)
{
    const char *p = p_;
    if (!r)
        return true;
    for (size_t i = 0; i < r->n; i++) {
        const emu_range *one = &r->list[i];
        if (p >= one->from && p + bytes <= one->from + one->bytes && (one->is_written || !writes))
            return true;
    }
    return !writes && lies_apart(r, p);
}

emu_operation emu_operation_twin(const emu_operation *o)
{
    emu_operation twin = *o;
    keep(o->ranges);
    if (o->kernel.arguments) {
        twin.kernel.arguments = must(emu_arguments(o->kernel.argument_bytes));
        memcpy(twin.kernel.arguments, o->kernel.arguments, o->kernel.argument_bytes);
    }
    return twin;
}

void emu_operation_free(emu_operation *o)
{
    free(o->kernel.arguments);
    drop(o->ranges);
}
