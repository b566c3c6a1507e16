/*
 * Whether a document is a job: fields.def's names and types, and nothing else.
 * Threads: pure functions; the table is constant.
 * Source: AI Platform's REST reference, v1 (projects.jobs).
 */
#ifndef TEQUIO_JOB_SPEC_SCHEMA_H
#define TEQUIO_JOB_SPEC_SCHEMA_H

#include "job/spec/document.h"

typedef enum field_kind {
    FIELD_ANY,
    FIELD_TEXT,
    FIELD_BOOL,
    FIELD_WHOLE,
    FIELD_NUMBER,
    FIELD_DURATION,
    FIELD_CHOICE,
    FIELD_TEXTS,
    FIELD_NUMBERS,
    FIELD_LABELS,
    FIELD_MESSAGE,
    FIELD_MESSAGES,
} field_kind;

typedef enum field_use { FIELD_TAKEN, FIELD_IGNORED, FIELD_REFUSED, FIELD_CHECKED } field_use;

typedef struct field {
    const char *message, *name;
    field_kind kind;
    const char *detail;
    field_use use;
    const char *note;
} field;

extern const field field_table[];
extern const size_t field_count;

/* Told of every field that is there and ignored. */
typedef void schema_warn(void *user, const doc_node *node, const field *f);

/* Checks the tree from `message` down; its keys get their names in camel case, and the words of
 * choices their spelling (common/base/enum_name.h). A value that is null counts as absent. E_CONFIG with
 * place and what would be right. */
MUST_USE status schema_check(doc_node *top, const char *message, arena *memory, schema_warn *warn,
                             void *user, error *err);

/* Of scalars that were checked. */
int64_t schema_whole(const doc_node *node);
bool schema_bool(const doc_node *node);
double schema_seconds(const doc_node *node); /* of a DURATION */

#endif
