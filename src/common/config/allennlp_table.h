/*
 * The rows of allennlp.def, for the files of this folder that read them. Threads: the table is constant.
 */
#ifndef TEQUIO_COMMON_CONFIG_ALLENNLP_TABLE_H
#define TEQUIO_COMMON_CONFIG_ALLENNLP_TABLE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum allennlp_verdict {
    ALLENNLP_SAME,
    ALLENNLP_HOLDS,
    ALLENNLP_MOVED,
    ALLENNLP_LISTED,
    ALLENNLP_SET,
    ALLENNLP_HOST,
    ALLENNLP_PORT,
    ALLENNLP_IGNORED,
    ALLENNLP_REFUSED,
    ALLENNLP_SECTION,
} allennlp_verdict;

typedef struct allennlp_key {
    const char *path, *values, *since;
    allennlp_verdict verdict;
    const char *target, *note;
} allennlp_key;

extern const allennlp_key allennlp_table[];
extern const size_t allennlp_count;

/* The last component of a key's path. */
const char *allennlp_leaf(const allennlp_key *k);
/* It is a key of that section. */
bool allennlp_is_in(const allennlp_key *k, const char *schema);
/* options.def has a key of the same path, for some type; it is ours then, unless the row speaks of values that
 * the option does not list. */
bool allennlp_is_ours(const allennlp_key *k);

#endif
