/*
 * charsmap: SentencePiece's table of replacements, the `precompiled_charsmap` of a normalizer `Precompiled`, in base64.
 *
 *   4 bytes        the bytes of the trie, little-endian as all that follows
 *   trie           a double array (Darts) of what is replaced; its values are places among the replacements
 *   replacements   UTF-8, each ended by a zero byte
 *
 * As in Hugging Face's `tokenizers`: a cluster (clusters.h) of fewer than 6 bytes that begins with an entry becomes
 * what stands for the shortest such entry, whole; of others each character that is an entry is replaced by itself.
 *
 * Errors: E_DATA, of what is no such table. Threads: it does not change once it is loaded.
 */
#ifndef TEQUIO_TEXT_CHARSMAP_H
#define TEQUIO_TEXT_CHARSMAP_H

#include "text/run.h"

typedef struct charsmap charsmap;

/* `place` names it in messages. */
MUST_USE status charsmap_load(const char *base64, const char *place, charsmap **ret, error *err);
void charsmap_destroy(charsmap **m);

/* The bytes of the longest replacement: no byte of a text becomes more. */
size_t charsmap_longest(const charsmap *m);
/* The rest of the piece. */
void charsmap_rewrite(const charsmap *m, rewrite *w);

#endif
