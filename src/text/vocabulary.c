/* See vocabulary.h: open addressing, at most half full, over texts that lie one behind the other. */
#include "text/vocabulary.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

typedef struct entry {
    uint64_t hash;
    const char *text;
    uint32_t bytes;
    int32_t id;
} entry;

typedef struct name {
    const char *text; /* NULL: no token has this id */
    size_t bytes;
} name;

struct vocabulary {
    arena *texts;
    entry *slots; /* text NULL: free */
    size_t n_slots, n;
    name *names;
    size_t n_names, names_cap;
};

vocabulary *vocabulary_create(void)
{
    vocabulary *v = xcalloc(1, sizeof *v);
    v->texts = arena_create();
    v->n_slots = 1024;
    v->slots = xcalloc(v->n_slots, sizeof *v->slots);
    return v;
}

void vocabulary_destroy(vocabulary **v)
{
    if (!*v)
        return;
    arena_destroy(&(*v)->texts);
    free((*v)->slots);
    free((*v)->names);
    free(*v);
    *v = NULL;
}

/* The slot of that text, or the free one where it belongs. */
static entry *slot_of(const vocabulary *v, uint64_t hash, const char *text, size_t bytes)
{
    for (size_t at = hash & (v->n_slots - 1);; at = (at + 1) & (v->n_slots - 1)) {
        entry *e = &v->slots[at];
        if (!e->text || (e->hash == hash && e->bytes == bytes && memcmp(e->text, text, bytes) == 0))
            return e;
    }
}

static void grow(vocabulary *v)
{
    entry *old = v->slots;
    size_t n = v->n_slots;
    v->n_slots *= 2;
    v->slots = xcalloc(v->n_slots, sizeof *v->slots);
    for (size_t i = 0; i < n; i++)
        if (old[i].text)
            *slot_of(v, old[i].hash, old[i].text, old[i].bytes) = old[i];
    free(old);
}

static void set_name(vocabulary *v, int32_t id, const char *text, size_t bytes, bool moves)
{
    size_t at = (size_t)id;
    GROW(v->names, v->names_cap, at + 1);
    for (; v->n_names <= at; v->n_names++)
        v->names[v->n_names] = (name){.text = NULL};
    if (!v->names[at].text || moves)
        v->names[at] = (name){text, bytes};
}

void vocabulary_add(vocabulary *v, const char *text, size_t bytes, int32_t id, bool moves)
{
    BUG_ON(id < 0 || id >= VOCABULARY_IDS);
    if (2 * (v->n + 1) > v->n_slots)
        grow(v);
    uint64_t hash = vocabulary_hash(text, bytes);
    entry *e = slot_of(v, hash, text, bytes);
    if (!e->text) {
        char *own = arena_alloc(v->texts, bytes + 1);
        memcpy(own, text, bytes);
        *e = (entry){hash, own, (uint32_t)bytes, id};
        v->n++;
    }
    e->id = id;
    set_name(v, id, e->text, bytes, moves);
}

void vocabulary_rename(vocabulary *v, int32_t id, const char *text, size_t bytes)
{
    char *own = arena_alloc(v->texts, bytes + 1);
    memcpy(own, text, bytes);
    set_name(v, id, own, bytes, true);
}

int32_t vocabulary_find(const vocabulary *v, const char *text, size_t bytes)
{
    const entry *e = slot_of(v, vocabulary_hash(text, bytes), text, bytes);
    return e->text ? e->id : VOCABULARY_NONE;
}

const char *vocabulary_text(const vocabulary *v, int64_t id, size_t *ret_bytes)
{
    if (id < 0 || (size_t)id >= v->n_names || !v->names[id].text)
        return NULL;
    if (ret_bytes)
        *ret_bytes = v->names[id].bytes;
    return v->names[id].text;
}

int64_t vocabulary_count(const vocabulary *v)
{
    return (int64_t)v->n;
}

int64_t vocabulary_size(const vocabulary *v)
{
    return (int64_t)v->n_names;
}
