/* Open addressing with linear probing over FNV-1a; nothing is ever taken out singly. */
#include "graph/names.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"

#include <stdlib.h>
#include <string.h>

static struct names_slot *slot_of(const names *t, const char *name)
{
    uint32_t mask = t->cap - 1;
    uint32_t at = (uint32_t)fnv1a(name, strlen(name)) & mask;
    while (t->slots[at].name && strcmp(t->slots[at].name, name) != 0)
        at = (at + 1) & mask;
    return &t->slots[at];
}

static void grow(names *t)
{
    names bigger = {.n = t->n, .cap = t->cap ? t->cap * 2 : 64};
    bigger.slots = xcalloc(bigger.cap, sizeof *bigger.slots);
    for (uint32_t i = 0; i < t->cap; i++) {
        if (t->slots[i].name)
            *slot_of(&bigger, t->slots[i].name) = t->slots[i];
    }
    free(t->slots);
    *t = bigger;
}

void names_fini(names *t)
{
    free(t->slots);
    *t = (names)NAMES_INIT;
}

void names_clear(names *t)
{
    if (t->cap)
        memset(t->slots, 0, t->cap * sizeof *t->slots);
    t->n = 0;
}

void names_put(names *t, const char *name, int32_t index)
{
    if (2 * (t->n + 1) > t->cap)
        grow(t);
    struct names_slot *slot = slot_of(t, name);
    if (!slot->name)
        t->n++;
    *slot = (struct names_slot){.name = name, .index = index};
}

bool names_get(const names *t, const char *name, int32_t *ret_index)
{
    if (!t->cap)
        return false;
    const struct names_slot *slot = slot_of(t, name);
    if (!slot->name)
        return false;
    if (ret_index)
        *ret_index = slot->index;
    return true;
}
