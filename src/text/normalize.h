/*
 * Normalizers: what is done to a text before it is parted, such as lower case.
 * Threads: a normalizer does not change once it is loaded; what it works with belongs to one thread at a time.
 */
#ifndef TEQUIO_TEXT_NORMALIZE_H
#define TEQUIO_TEXT_NORMALIZE_H

#include "common/base/json.h"
#include "text/forms.h"
#include "text/pattern.h"
#include "text/run.h"

typedef struct normalizer normalizer;

typedef struct normalize_scratch {
    run between[2];
    forms_scratch forms;
    pattern_scratch *patterns;
    uint64_t most; /* bytes that the step at work may leave in its run */
} normalize_scratch;

void normalize_scratch_fini(normalize_scratch *s);

/* NULL, and OK, if `value` is NULL: nothing is done. */
MUST_USE status normalizer_load(const json_t *value, const char *place, normalizer **ret, error *err);
void normalizer_destroy(normalizer **n);

/* Appends what becomes of the piece to `out`. E_DATA: it grew beyond every use, as by replacements of replacements. */
MUST_USE status normalizer_apply(const normalizer *n, normalize_scratch *s, const run *in, piece of, run *out,
                                 error *err);

#endif
