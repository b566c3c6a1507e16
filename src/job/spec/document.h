/*
 * A file in YAML 1.1, or in JSON, which is YAML too, as a tree whose nodes know where they stand.
 *
 * A scalar keeps its text; what it means is up to the reader: `8`, "8" and '8' are all whole
 * numbers where a number is wanted. Anchors and aliases work; merge keys (`<<`), tags, keys that
 * are no scalars, keys that stand twice and a second document are refused.
 *
 * Ownership: nodes live in the arena they were read into. Threads: one at a time.
 * Source: YAML 1.1 (https://yaml.org/spec/1.1), by libyaml.
 */
#ifndef TEQUIO_JOB_SPEC_DOCUMENT_H
#define TEQUIO_JOB_SPEC_DOCUMENT_H

#include "common/base/alloc.h"

typedef enum doc_kind { DOC_NULL, DOC_SCALAR, DOC_LIST, DOC_MAP } doc_kind;

typedef struct doc_node doc_node;
struct doc_node {
    doc_kind kind;
    const char *text;   /* DOC_SCALAR: UTF-8, without zero bytes */
    bool is_quoted;     /* so it is text, and never null or a truth value */
    const char *origin; /* the file, or the flag that gave it */
    int line, column;   /* from 1; 0: a flag's */
    const char *path;   /* "trainingInput.args[2]"; "" at the top */
    int n, cap;
    doc_node **item;    /* [n]: of a list, and the values of a map */
    const char **key;   /* [n]: of a map */
};

/* `origin` names the text in messages. E_CONFIG with line and column. An empty text is DOC_NULL. */
MUST_USE status document_read(const char *text, size_t bytes, const char *origin, arena *memory,
                              doc_node **ret, error *err);
MUST_USE status document_read_file(const char *path, arena *memory, doc_node **ret, error *err);

/* The value of a key; NULL if the node is NULL, no map, or has it not. */
doc_node *document_get(const doc_node *map, const char *key);

/* For values that come from elsewhere. */
doc_node *document_scalar(arena *memory, const char *origin, const char *text);
doc_node *document_empty(arena *memory, const char *origin, doc_kind kind);
void document_put(arena *memory, doc_node *map, const char *key, doc_node *value); /* a new key */
void document_set(arena *memory, doc_node *map, const char *key, doc_node *value); /* or in its place */
/* A new key whose value keeps the path that it has. */
void document_graft(arena *memory, doc_node *map, const char *key, doc_node *value);
void document_append(arena *memory, doc_node *list, doc_node *value);

/* "a list", "'nine'": for messages */
const char *document_kind(const doc_node *node, char *ret, size_t bytes);

/* Fails with E_CONFIG "config.yaml:3:9: trainingInput.workerCount: ..." */
#define DOC_FAIL(err, node, ...) document_fail((err), (node), __VA_ARGS__)
status document_fail(error *err, const doc_node *node, const char *format, ...) PRINTF_LIKE(3, 4);

/* "config.yaml:3:9: trainingInput.workerCount", "--worker-count" */
void document_where(const doc_node *node, char *ret, size_t bytes);

#endif
