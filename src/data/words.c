/* See words.h: a table of hashes (FNV-1a), open addressing. */
#include "data/words.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct words {
    arena *memory;
    const char **at; /* [n] */
    int32_t n, cap;
    int32_t *slots; /* [n_slots] number + 1; 0: free */
    size_t n_slots; /* a power of 2, at least twice n */
};

words *words_create(void)
{
    words *w = xcalloc(1, sizeof *w);
    w->memory = arena_create();
    w->n_slots = 64;
    w->slots = xcalloc(w->n_slots, sizeof *w->slots);
    return w;
}

void words_destroy(words **w)
{
    if (!*w)
        return;
    arena_destroy(&(*w)->memory);
    free((*w)->at);
    free((*w)->slots);
    free(*w);
    *w = NULL;
}

int32_t words_count(const words *w)
{
    return w->n;
}

const char *words_at(const words *w, int32_t number)
{
    return w->at[number];
}

uint64_t words_hash(const char *text)
{
    uint64_t h = 14695981039346656037u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

/* Where the word is, or would be. */
static size_t slot_of(const words *w, const char *text)
{
    size_t i = (size_t)words_hash(text) & (w->n_slots - 1);
    while (w->slots[i] && strcmp(w->at[w->slots[i] - 1], text) != 0)
        i = (i + 1) & (w->n_slots - 1);
    return i;
}

static void fill_slots(words *w)
{
    memset(w->slots, 0, w->n_slots * sizeof *w->slots);
    for (int32_t i = 0; i < w->n; i++)
        w->slots[slot_of(w, w->at[i])] = i + 1;
}

int32_t words_find(const words *w, const char *text)
{
    return w->slots[slot_of(w, text)] - 1;
}

int32_t words_add(words *w, const char *text)
{
    int32_t known = words_find(w, text);
    if (known >= 0)
        return known;
    if (2 * ((size_t)w->n + 1) > w->n_slots) {
        w->n_slots *= 2;
        free(w->slots);
        w->slots = xcalloc(w->n_slots, sizeof *w->slots);
        fill_slots(w);
    }
    GROW(w->at, w->cap, w->n + 1);
    w->at[w->n] = arena_strdup(w->memory, text);
    w->slots[slot_of(w, text)] = ++w->n;
    return w->n - 1;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_value(const void *a, const void *b)
{
    size_t x = strlen(*(const char *const *)a), y = strlen(*(const char *const *)b);
    return x != y ? (x > y) - (x < y) : by_bytes(a, b);
}

static bool all_digits(const words *w, int32_t first)
{
    for (int32_t i = first; i < w->n; i++)
        if (!w->at[i][0] || w->at[i][strspn(w->at[i], "0123456789")])
            return false;
    return true;
}

void words_sort(words *w, int32_t *ret_new)
{
    words_sort_from(w, 0, ret_new);
}

void words_sort_from(words *w, int32_t first, int32_t *ret_new)
{
    const char **old = xmalloc(((size_t)w->n + 1) * sizeof *old);
    for (int32_t i = 0; i < w->n; i++)
        old[i] = w->at[i];
    if (w->n > first)
        qsort(w->at + first, (size_t)(w->n - first), sizeof *w->at, all_digits(w, first) ? by_value : by_bytes);
    fill_slots(w);
    for (int32_t i = 0; i < w->n; i++)
        ret_new[i] = words_find(w, old[i]);
    free(old);
}
