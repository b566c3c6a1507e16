/*
 * The table of options: what options.def says, with look-ups. Shared by the files of this folder.
 *
 * A schema is the path of a section's rows ("trainer.optimizer", "model.layers[]", "" at the top).
 * It is not the place of a value: model.layers[3].layers[0] has the schema "model.layers[]".
 *
 * Threads: the table is constant.
 */
#ifndef TEQUIO_COMMON_CONFIG_OPTIONS_H
#define TEQUIO_COMMON_CONFIG_OPTIONS_H

#include "common/base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* What a value may be; a row may allow several. */
typedef enum option_kind {
    OPTION_NONE = 1 << 0, /* null */
    OPTION_BOOL = 1 << 1,
    OPTION_INT = 1 << 2,
    OPTION_NUMBER = 1 << 3,
    OPTION_STRING = 1 << 4,  /* not empty */
    OPTION_CHOICE = 1 << 5,  /* one of the words in `bounds` */
    OPTION_TYPE = 1 << 6,    /* a choice that selects the variant of its section */
    OPTION_INTS = 1 << 7,    /* a list */
    OPTION_NUMBERS = 1 << 8, /* a list */
    OPTION_SECTION = 1 << 9,
    OPTION_ITEMS = 1 << 10,   /* a list of sections */
    OPTION_STRINGS = 1 << 11, /* a list, none empty */
    OPTION_MAP = 1 << 12,     /* an object with any keys, strings their values */
    OPTION_INT_MAP = 1 << 13, /* an object with any keys, integers their values */
} option_kind;

enum { OPTION_ANY_LIST = OPTION_INTS | OPTION_NUMBERS | OPTION_STRINGS | OPTION_ITEMS };

/* Written `false`, `true` and END in the table. */
typedef enum option_share { DECIDES_NOTHING = 0, DECIDES_RESULT = 1, DECIDES_END = 2 } option_share;

typedef struct option {
    const char *path;
    const char *types;
    unsigned kinds;
    const char *initial; /* default, as JSON text; NULL: the key must be given */
    const char *bounds;
    unsigned decides; /* an option_share */
    const char *help;
} option;

extern const option option_table[];
extern const size_t option_count;

/* Values known but refused by this version. */
typedef struct option_limit {
    const char *path;
    const char *accepted; /* a JSON list */
} option_limit;

extern const option_limit option_limits[];
extern const size_t option_limit_count;

const char *option_key(const option *o);                 /* last component of its path */
bool option_is_in(const option *o, const char *schema);  /* a key of that section */
bool option_has_type(const option *o, const char *type); /* type NULL: of any */

/* The row of a key; with `type` NULL the first of any type. NULL if there is none. */
const option *option_find(const char *schema, const char *key, const char *type);

/* A word of a list parted by spaces: false at its end. Start with *cursor = the list. */
bool option_word(const char **cursor, char *ret, size_t bytes);

/* A bound as ">=1": does `value` keep it? Words that are no bounds are kept by every value. */
bool option_bound_holds(const char *word, double value);

/* "an integer >= 1 or null": what would be right. */
void option_expected(const option *o, buf *ret);

#endif
