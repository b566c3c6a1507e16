/*
 * Regular expressions that are looked for anywhere in the names of parameters, as AllenNLP does: in the name here, or
 * in the one that AllenNLP's model of the same type gives the parameter.
 *
 * Threads: one at a time.
 */
#ifndef TEQUIO_MODEL_NAME_PATTERNS_H
#define TEQUIO_MODEL_NAME_PATTERNS_H

#include "common/base/alloc.h"
#include "common/config/config.h"
#include "text/pattern.h"

typedef struct name_patterns {
    const json_t *list; /* of strings; borrowed */
    const config *model;
    pattern **at; /* [n] */
    size_t n;
    pattern_scratch *scratch;
    arena *memory; /* of AllenNLP's names */
} name_patterns;

/* `place` names the list in messages. E_CONFIG: one is no expression. */
MUST_USE status name_patterns_init(name_patterns *p, const json_t *list, const char *place, const config *model,
                                   error *err);
void name_patterns_fini(name_patterns *p);

/* Does expression i match that name? Does any? */
MUST_USE status name_patterns_match(const name_patterns *p, size_t i, const char *name, bool *ret, error *err);
MUST_USE status name_patterns_any(const name_patterns *p, const char *name, bool *ret, error *err);

#endif
