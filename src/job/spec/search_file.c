/* A search from a jsonnet file: the same tree as that of a job file, with the same names and checks. */
#include "common/config/jsonnet.h"
#include "job/spec/schema.h"
#include "job/spec/search.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct reading {
    const char *path;
    arena *memory;
} reading;

static const char *text_of(const reading *r, const json_t *value)
{
    if (json_is_string(value))
        return arena_strdup(r->memory, json_string_value(value));
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    const char *kept = arena_strdup(r->memory, text);
    free(text);
    return kept;
}

static doc_node *node_of(const reading *r, const json_t *value)
{
    if (json_is_object(value))
        return document_empty(r->memory, r->path, DOC_MAP);
    if (json_is_array(value))
        return document_empty(r->memory, r->path, DOC_LIST);
    if (json_is_null(value))
        return document_empty(r->memory, r->path, DOC_NULL);
    doc_node *n = document_scalar(r->memory, r->path, text_of(r, value));
    n->is_quoted = json_is_string(value);
    return n;
}

static void fill(const reading *r, doc_node *node, const json_t *from);

/* Evaluated values stand in no line: messages name the path. */
static void settle(const reading *r, doc_node *node, const json_t *from)
{
    node->origin = arena_printf(r->memory, "%s: %s", r->path, node->path);
    fill(r, node, from);
}

static void fill(const reading *r, doc_node *node, const json_t *from)
{
    const char *key;
    json_t *value;
    size_t i;
    json_object_foreach((json_t *)(uintptr_t)from, key, value) {
        doc_node *n = node_of(r, value);
        document_put(r->memory, node, arena_strdup(r->memory, key), n);
        settle(r, n, value);
    }
    json_array_foreach(from, i, value) {
        doc_node *n = node_of(r, value);
        document_append(r->memory, node, n);
        settle(r, n, value);
    }
}

status search_read_file(const char *path, arena *memory, schema_warn *warn, void *user, search *ret, error *err)
{
    const reading r = {.path = arena_strdup(memory, path), .memory = memory};
    json_t *tree = NULL;
    TRY(jsonnet_read_file("space", path, &tree, err));
    doc_node *spec = node_of(&r, tree);
    fill(&r, spec, tree);
    json_decref(tree);
    TRY(schema_check(spec, "HyperparameterSpec", memory, warn, user, err));
    return search_read(spec, memory, warn, user, ret, err);
}
