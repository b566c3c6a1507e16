/*
 * Reading objects of a tokenizer.json: each key is asked for by name, and those that nobody asked for are refused,
 * with the place in the file: "tokenizer.json: model.dropout: ...".
 *
 * Threads: one at a time. Values are borrowed from the JSON.
 */
#ifndef TEQUIO_TEXT_FIELDS_H
#define TEQUIO_TEXT_FIELDS_H

#include "common/base/error.h"
#include "common/base/json.h"

#include <stdbool.h>

enum { FIELDS_ASKED = 24, FIELDS_PLACE = 512, FIELDS_DEPTH = 8 };

typedef struct fields {
    const json_t *object;
    char place[FIELDS_PLACE]; /* the file and the path to the object */
    const char *asked[FIELDS_ASKED];
    int n_asked;
} fields;

/* `place` is the file, or what fields_inside gave. E_DATA if it is no object. */
MUST_USE status fields_begin(const json_t *value, const char *place, fields *ret, error *err);
/* "<place>.<key>", with index >= 0 "<place>.<key>[index]". */
void fields_inside(const fields *f, const char *key, int index, char ret[FIELDS_PLACE]);

/* NULL where it is absent or null. */
const json_t *fields_any(fields *f, const char *key);
MUST_USE status fields_bool(fields *f, const char *key, bool otherwise, bool *ret, error *err);
MUST_USE status fields_count(fields *f, const char *key, int64_t otherwise, int64_t *ret, error *err);
/* `otherwise` NULL: it must be there. */
MUST_USE status fields_text(fields *f, const char *key, const char *otherwise, const char **ret, error *err);
/* One of `words`, which end with NULL: its place. otherwise < 0: it must be there. */
MUST_USE status fields_choice(fields *f, const char *key, const char *const *words, int otherwise, int *ret,
                              error *err);
/* A text of one character: its code point. `otherwise` as for a text. */
MUST_USE status fields_char(fields *f, const char *key, const char *otherwise, uint32_t *ret, error *err);
/* An array, which must be there. */
MUST_USE status fields_list(fields *f, const char *key, const json_t **ret, error *err);
/* A key that changes nothing here. */
void fields_ignore(fields *f, const char *key);
/* E_DATA of a key that nobody asked for. */
MUST_USE status fields_end(const fields *f, error *err);

#endif
