#include "job/spec/document.h"

#include "common/base/fs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* Above any job, and soon reached by a file that only means to take memory. */
enum { DEPTH_MOST = 32, NODES_MOST = 100000, FILE_MOST = 4 << 20 };

typedef struct anchor {
    const char *name;
    doc_node *node;
    bool is_open; /* its node is being read */
} anchor;

typedef struct reading {
    yaml_parser_t parser;
    const char *text, *end;
    const char *origin;
    arena *memory;
    anchor *anchors;
    int n_anchors, cap_anchors;
    int depth, n_nodes;
    error *err;
} reading;

static status fail_at(const reading *r, const yaml_mark_t *at, const char *what)
{
    return FAIL(r->err, E_CONFIG, "%s:%zu:%zu: %s", r->origin, at->line + 1, at->column + 1, what);
}

/* The first tab before anything else in a line, counted from 0; its column likewise. */
static bool has_tab(const reading *r, size_t line, size_t *ret_column)
{
    const char *at = r->text;
    for (; line && at < r->end; line--) {
        const char *end = memchr(at, '\n', (size_t)(r->end - at));
        at = end ? end + 1 : r->end;
    }
    const char *start = at;
    while (at < r->end && *at == ' ')
        at++;
    *ret_column = (size_t)(at - start);
    return at < r->end && *at == '\t';
}

/* Between brackets tabs are blanks; elsewhere they have no width. */
static bool is_indented_by_tab(const reading *r, size_t line, yaml_mark_t *ret)
{
    *ret = (yaml_mark_t){.line = line};
    return !r->parser.flow_level && has_tab(r, line, &ret->column);
}

static const char tab[] = "a tab indents this line; YAML indents with blanks only";

static status fail_parser(const reading *r)
{
    const yaml_parser_t *p = &r->parser;
    yaml_mark_t at;
    if (p->error == YAML_SCANNER_ERROR && is_indented_by_tab(r, p->problem_mark.line, &at))
        return fail_at(r, &at, tab);
    if (p->error == YAML_READER_ERROR)
        return FAIL(r->err, E_CONFIG, "%s: byte %zu: %s", r->origin, p->problem_offset, p->problem);
    return fail_at(r, &p->problem_mark, p->problem ? p->problem : "this is no YAML");
}

static status next(reading *r, yaml_event_t *ret)
{
    return yaml_parser_parse(&r->parser, ret) ? OK : fail_parser(r);
}

/* --- building --- */

static doc_node *node_create(arena *memory, const char *origin, doc_kind kind)
{
    doc_node *n = arena_alloc(memory, sizeof *n);
    *n = (doc_node){.kind = kind, .origin = origin, .path = ""};
    return n;
}

doc_node *document_scalar(arena *memory, const char *origin, const char *text)
{
    doc_node *n = node_create(memory, origin, DOC_SCALAR);
    n->text = text;
    n->is_quoted = true;
    return n;
}

doc_node *document_empty(arena *memory, const char *origin, doc_kind kind)
{
    return node_create(memory, origin, kind);
}

/* The old arrays stay in the arena: they double, so that is once more what is used. */
static void document_make_room(arena *memory, doc_node *parent)
{
    if (parent->n < parent->cap)
        return;
    int cap = parent->cap ? 2 * parent->cap : 8;
    doc_node **item = arena_alloc(memory, (size_t)cap * sizeof(doc_node *));
    const char **key = arena_alloc(memory, (size_t)cap * sizeof(char *));
    if (parent->n) {
        memcpy(item, parent->item, (size_t)parent->n * sizeof(doc_node *));
        memcpy(key, parent->key, (size_t)parent->n * sizeof(char *));
    }
    parent->item = item;
    parent->key = key;
    parent->cap = cap;
}

void document_graft(arena *memory, doc_node *map, const char *key, doc_node *value)
{
    BUG_ON(map->kind != DOC_MAP || document_get(map, key));
    document_make_room(memory, map);
    map->key[map->n] = key;
    map->item[map->n++] = value;
}

void document_put(arena *memory, doc_node *map, const char *key, doc_node *value)
{
    value->path = map->path[0] ? arena_printf(memory, "%s.%s", map->path, key) : key;
    document_graft(memory, map, key, value);
}

void document_set(arena *memory, doc_node *map, const char *key, doc_node *value)
{
    for (int i = 0; i < map->n; i++)
        if (strcmp(map->key[i], key) == 0) {
            value->path = map->item[i]->path;
            map->item[i] = value;
            return;
        }
    document_put(memory, map, key, value);
}

void document_append(arena *memory, doc_node *list, doc_node *value)
{
    BUG_ON(list->kind != DOC_LIST);
    document_make_room(memory, list);
    value->path = arena_printf(memory, "%s[%d]", list->path, list->n);
    list->key[list->n] = "";
    list->item[list->n++] = value;
}

/* --- reading --- */

static doc_node *place(reading *r, doc_kind kind, const yaml_mark_t *at, const char *path)
{
    doc_node *n = node_create(r->memory, r->origin, kind);
    n->line = (int)at->line + 1;
    n->column = (int)at->column + 1;
    n->path = path;
    return n;
}

static bool is_null_text(const char *text)
{
    return !*text || strcmp(text, "~") == 0 || strcmp(text, "null") == 0 ||
           strcmp(text, "Null") == 0 || strcmp(text, "NULL") == 0;
}

/* A key behind a tab would go on with the value above it. */
static status check_lines(const reading *r, const yaml_event_t *e)
{
    yaml_mark_t at;
    if (e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return OK;
    for (size_t line = e->start_mark.line + 1; line <= e->end_mark.line; line++)
        if (is_indented_by_tab(r, line, &at))
            return fail_at(r, &at, tab);
    return OK;
}

static status read_scalar(reading *r, const yaml_event_t *e, const char *path, doc_node **ret)
{
    const char *text = (const char *)e->data.scalar.value;
    if (strlen(text) != e->data.scalar.length)
        return fail_at(r, &e->start_mark, "a zero byte stands in this text");
    bool is_quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    TRY(check_lines(r, e));
    bool is_null = !is_quoted && is_null_text(text);
    doc_node *n = place(r, is_null ? DOC_NULL : DOC_SCALAR, &e->start_mark, path);
    n->is_quoted = is_quoted;
    n->text = arena_strdup(r->memory, text);
    *ret = n;
    return OK;
}

static status remember(reading *r, const yaml_char_t *name, doc_node *node)
{
    if (!name)
        return OK;
    GROW(r->anchors, r->cap_anchors, r->n_anchors + 1);
    r->anchors[r->n_anchors++] =
        (anchor){arena_strdup(r->memory, (const char *)name), node, node->kind >= DOC_LIST};
    return OK;
}

static const char *path_below(const reading *r, const doc_node *parent, const char *key)
{
    if (!key)
        return arena_printf(r->memory, "%s[%d]", parent->path, parent->n);
    return parent->path[0] ? arena_printf(r->memory, "%s.%s", parent->path, key) : key;
}

static void add(const reading *r, doc_node *parent, const char *key, doc_node *value)
{
    document_make_room(r->memory, parent);
    parent->key[parent->n] = key ? key : "";
    parent->item[parent->n++] = value;
}

/* What an alias stands for is a tree of its own: a caller that changes one place does not mean the
 * other. */
static status document_copy(reading *r, const doc_node *from, const char *path, doc_node **ret)
{
    if (++r->n_nodes > NODES_MOST)
        return DOC_FAIL(r->err, from, "with its aliases this file has too many values");
    doc_node *n = node_create(r->memory, from->origin, from->kind);
    n->text = from->text;
    n->is_quoted = from->is_quoted;
    n->line = from->line;
    n->column = from->column;
    n->path = path;
    for (int i = 0; i < from->n; i++) {
        const char *key = from->kind == DOC_MAP ? from->key[i] : NULL;
        doc_node *item = NULL;
        TRY(document_copy(r, from->item[i], path_below(r, n, key), &item));
        add(r, n, key, item);
    }
    *ret = n;
    return OK;
}

static status recall(reading *r, const yaml_event_t *e, const char *path, doc_node **ret)
{
    const char *name = (const char *)e->data.alias.anchor;
    for (int i = r->n_anchors; i-- > 0;) {
        const anchor *a = &r->anchors[i];
        if (strcmp(a->name, name) != 0)
            continue;
        if (a->is_open)
            return fail_at(r, &e->start_mark, "this alias stands within what it names");
        return document_copy(r, a->node, path, ret);
    }
    return fail_at(r, &e->start_mark, "nothing has the name of this alias");
}

static status read_node(reading *r, const yaml_event_t *e, const char *path, doc_node **ret);

static status read_key(const reading *r, const yaml_event_t *e, const doc_node *map,
                       const char **ret)
{
    if (e->type != YAML_SCALAR_EVENT)
        return fail_at(r, &e->start_mark, "a key must be a word");
    const char *key = (const char *)e->data.scalar.value;
    if (strlen(key) != e->data.scalar.length)
        return fail_at(r, &e->start_mark, "a zero byte stands in this key");
    if (strcmp(key, "<<") == 0)
        return fail_at(r, &e->start_mark, "merge keys (<<) are not read; write the keys out");
    if (document_get(map, key))
        return fail_at(r, &e->start_mark,
                       arena_printf(r->memory, "the key '%s' stands here a second time", key));
    *ret = arena_strdup(r->memory, key);
    return OK;
}

/* One key with its value, or one item; *ret_end at the end. */
static status read_member(reading *r, doc_node *parent, bool *ret_end)
{
    yaml_event_t e;
    TRY(next(r, &e));
    status st = OK;
    const char *key = NULL;
    *ret_end = e.type == YAML_MAPPING_END_EVENT || e.type == YAML_SEQUENCE_END_EVENT;
    if (!*ret_end && parent->kind == DOC_MAP) {
        st = read_key(r, &e, parent, &key);
        yaml_event_delete(&e);
        TRY(st);
        TRY(next(r, &e));
    }
    doc_node *value = NULL;
    if (!*ret_end) {
        st = read_node(r, &e, path_below(r, parent, key), &value);
    }
    yaml_event_delete(&e);
    if (st == OK && !*ret_end)
        add(r, parent, key, value);
    return st;
}

static status read_members(reading *r, doc_node *parent)
{
    if (++r->depth > DEPTH_MOST)
        return DOC_FAIL(r->err, parent, "more than %d levels deep", DEPTH_MOST);
    for (bool end = false; !end;)
        TRY(read_member(r, parent, &end));
    r->depth--;
    return OK;
}

static status read_collection(reading *r, const yaml_event_t *e, const char *path, doc_node **ret)
{
    bool is_map = e->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *name =
        is_map ? e->data.mapping_start.anchor : e->data.sequence_start.anchor;
    doc_node *n = place(r, is_map ? DOC_MAP : DOC_LIST, &e->start_mark, path);
    TRY(remember(r, name, n));
    int mine = r->n_anchors - 1;
    TRY(read_members(r, n));
    if (name)
        r->anchors[mine].is_open = false;
    *ret = n;
    return OK;
}

static bool has_tag(const yaml_event_t *e)
{
    const yaml_char_t *tag = e->type == YAML_SCALAR_EVENT          ? e->data.scalar.tag
                             : e->type == YAML_MAPPING_START_EVENT ? e->data.mapping_start.tag
                             : e->type == YAML_SEQUENCE_START_EVENT
                                 ? e->data.sequence_start.tag
                                 : NULL;
    return tag != NULL;
}

static status read_node(reading *r, const yaml_event_t *e, const char *path, doc_node **ret)
{
    if (++r->n_nodes > NODES_MOST)
        return fail_at(r, &e->start_mark, "this file has too many values");
    if (has_tag(e))
        return fail_at(r, &e->start_mark, "tags (!) are not read");
    if (e->type == YAML_ALIAS_EVENT)
        return recall(r, e, path, ret);
    if (e->type != YAML_SCALAR_EVENT)
        return read_collection(r, e, path, ret);
    TRY(read_scalar(r, e, path, ret));
    return remember(r, e->data.scalar.anchor, *ret);
}

/* Of the stream's events the first and the last, and all of a document's, are here. */
static status read_stream(reading *r, doc_node **ret)
{
    *ret = node_create(r->memory, r->origin, DOC_NULL);
    int documents = 0;
    for (yaml_event_type_t type = YAML_NO_EVENT; type != YAML_STREAM_END_EVENT;) {
        yaml_event_t e;
        TRY(next(r, &e));
        type = e.type;
        status st = OK;
        if (type == YAML_DOCUMENT_START_EVENT && documents++)
            st = fail_at(r, &e.start_mark, "a second document begins here; one file is one job");
        else if (type == YAML_SCALAR_EVENT || type == YAML_MAPPING_START_EVENT ||
                 type == YAML_SEQUENCE_START_EVENT || type == YAML_ALIAS_EVENT)
            st = read_node(r, &e, "", ret);
        yaml_event_delete(&e);
        TRY(st);
    }
    return OK;
}

status document_read(const char *text, size_t bytes, const char *origin, arena *memory,
                     doc_node **ret, error *err)
{
    reading r = {.text = text,
                 .end = text + bytes,
                 .origin = arena_strdup(memory, origin),
                 .memory = memory,
                 .err = err};
    if (!yaml_parser_initialize(&r.parser))
        return FAIL(err, E_NOMEM, "%s: no memory to read it", origin);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, bytes);
    doc_node *top = NULL;
    status st = read_stream(&r, &top);
    yaml_parser_delete(&r.parser);
    free(r.anchors);
    if (st == OK)
        *ret = top;
    return st;
}

status document_read_file(const char *path, arena *memory, doc_node **ret, error *err)
{
    buf text = BUF_INIT;
    status st = fs_read_config("submit: --config", path, FILE_MOST, &text, err);
    if (st == OK)
        st = document_read(text.data ? text.data : "", text.size, path, memory, ret, err);
    buf_fini(&text);
    return st;
}

/* --- looking and telling --- */

doc_node *document_get(const doc_node *map, const char *key)
{
    if (!map || map->kind != DOC_MAP)
        return NULL;
    for (int i = 0; i < map->n; i++)
        if (strcmp(map->key[i], key) == 0)
            return map->item[i];
    return NULL;
}

const char *document_kind(const doc_node *node, char *ret, size_t bytes)
{
    static const char *const names[] = {
        [DOC_NULL] = "nothing", [DOC_LIST] = "a list", [DOC_MAP] = "keys with values"};
    if (node->kind == DOC_SCALAR)
        snprintf(ret, bytes, "'%s'", node->text);
    else
        snprintf(ret, bytes, "%s", names[node->kind]);
    return ret;
}

void document_where(const doc_node *node, char *ret, size_t bytes)
{
    if (!node->line)
        snprintf(ret, bytes, "%s", node->origin);
    else
        snprintf(ret, bytes, "%s:%d:%d%s%s", node->origin, node->line, node->column,
                 node->path[0] ? ": " : "", node->path);
}

status document_fail(error *err, const doc_node *node, const char *format, ...)
{
    char where[512], what[1024];
    document_where(node, where, sizeof where);
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    return FAIL(err, E_CONFIG, "%s: %s", where, what);
}
