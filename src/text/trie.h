/*
 * trie: texts by their bytes, to find all that a text begins with.
 * Threads: it does not change once it is filled; then any number of them walk.
 */
#ifndef TEQUIO_TEXT_TRIE_H
#define TEQUIO_TEXT_TRIE_H

#include <stddef.h>
#include <stdint.h>

typedef struct trie trie;

enum { TRIE_ROOT = 0, TRIE_NONE = -1 };

trie *trie_create(void);
void trie_destroy(trie **t);

/* A root of its own. */
int32_t trie_add_root(trie *t);
/* A text below `root`, with a value >= 0. */
void trie_add(trie *t, int32_t root, const char *text, size_t bytes, int32_t value);

/* The node one byte on, TRIE_NONE: none. */
int32_t trie_step(const trie *t, int32_t node, unsigned char byte);
/* The value of the text that ends at `node`; TRIE_NONE: none does. */
int32_t trie_value(const trie *t, int32_t node);

#endif
