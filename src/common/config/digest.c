/*
 * The digest: SHA-256 over "path=value" lines of the keys that decide the result, in the order of
 * the table. Lines of single keys carry 8 hex digits of each value's own SHA-256, enough to name the
 * key in which two configurations differ, or the value itself, where two sides tell each other.
 */
#include "common/config/config.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/json.h"
#include "common/config/options.h"

#include <stdlib.h>
#include <string.h>

typedef void leaf_fn(void *user, const char *path, const char *text);

typedef struct walk {
    leaf_fn *leaf;
    void *user;
    const json_t *end; /* values that are visited instead of those of the same path; or NULL */
} walk;

static void visit_section(const walk *w, const char *schema, const char *path,
                          const json_t *section);

static void visit_value(const walk *w, const option *row, const char *path, const json_t *value)
{
    if (json_is_object(value) && (row->kinds & OPTION_SECTION)) {
        visit_section(w, row->bounds, path, value);
        return;
    }
    if (json_is_array(value) && (row->kinds & OPTION_ITEMS)) {
        for (size_t i = 0; i < json_array_size(value); i++) {
            char *item = xasprintf("%s[%zu]", path, i);
            visit_section(w, row->bounds, item, json_array_get(value, i));
            free(item);
        }
        return;
    }
    const json_t *other = row->decides == DECIDES_END ? json_object_get(w->end, path) : NULL;
    char *text = json_text(other ? other : value);
    if (row->decides)
        w->leaf(w->user, path, text);
    free(text);
}

static void visit_section(const walk *w, const char *schema, const char *path,
                          const json_t *section)
{
    const char *type = json_string_value(json_object_get(section, "type"));
    for (size_t i = 0; i < option_count; i++) {
        const option *row = &option_table[i];
        if (!option_is_in(row, schema) || !option_has_type(row, type))
            continue;
        char *below = xasprintf("%s%s%s", path, *path ? "." : "", option_key(row));
        visit_value(w, row, below, json_object_get(section, option_key(row)));
        free(below);
    }
}

static void visit(const config *c, const json_t *end, leaf_fn *leaf, void *user)
{
    BUG_ON(config_path(c)[0]);
    const walk w = {.leaf = leaf, .user = user, .end = end};
    visit_section(&w, "", "", config_json(c, ""));
}

static void hash_leaf(void *user, const char *path, const char *text)
{
    sha256 *h = user;
    sha256_add(h, path, strlen(path));
    sha256_add(h, "=", 1);
    sha256_add(h, text, strlen(text));
    sha256_add(h, "\n", 1);
}

void config_digest_with(const config *c, const json_t *end, char *ret_hex)
{
    sha256 h;
    sha256_begin(&h);
    visit(c, end, hash_leaf, &h);
    sha256_end(&h, ret_hex);
}

void config_digest(const config *c, char *ret_hex)
{
    config_digest_with(c, NULL, ret_hex);
}

json_t *config_end(const config *c)
{
    json_t *end = json_object();
    for (size_t i = 0; i < option_count; i++) {
        const char *path = option_table[i].path;
        if (option_table[i].decides != DECIDES_END)
            continue;
        const json_t *value = config_json(c, path);
        json_object_set_new(end, path, value ? json_deep_copy(value) : json_null());
    }
    return end;
}

static void line_leaf(void *user, const char *path, const char *text)
{
    char hex[SHA256_HEX];
    sha256_hex(text, strlen(text), hex);
    buf_addf(user, "%s=%.8s\n", path, hex);
}

void config_digest_lines(const config *c, buf *ret)
{
    visit(c, NULL, line_leaf, ret);
}

enum { VALUE_CHARS = 60, VALUE_BEGIN = 48 };

/* JSON has no line breaks, and its characters beyond ASCII are not cut in two by being left out. */
static void value_leaf(void *user, const char *path, const char *text)
{
    char hex[SHA256_HEX];
    if (strlen(text) <= VALUE_CHARS) {
        buf_addf(user, "%s=%s\n", path, text);
        return;
    }
    int n = VALUE_BEGIN;
    while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
        n--;
    sha256_hex(text, strlen(text), hex);
    buf_addf(user, "%s=%.*s... (%.8s)\n", path, n, text, hex);
}

void config_value_lines(const config *c, buf *ret)
{
    visit(c, NULL, value_leaf, ret);
}

const char *config_line_value(const char *lines, const char *key, int *ret_n)
{
    size_t n = strlen(key);
    for (size_t length; *lines; lines += length + (lines[length] == '\n')) {
        length = strcspn(lines, "\n");
        if (length > n && memcmp(lines, key, n) == 0 && lines[n] == '=') {
            *ret_n = (int)(length - n - 1);
            return lines + n + 1;
        }
    }
    *ret_n = (int)strlen("absent");
    return "absent";
}

/* Does `text` hold exactly this line? */
static bool has_line(const char *text, const char *line, size_t n)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (length == n && memcmp(text, line, n) == 0)
            return true;
        text += length + (text[length] == '\n');
    }
    return false;
}

static bool first_missing(const char *here, const char *there, char *ret_key, size_t bytes)
{
    while (*here) {
        size_t n = strcspn(here, "\n");
        if (!has_line(there, here, n)) {
            size_t key = strcspn(here, "=\n");
            key = key < bytes ? key : bytes - 1;
            memcpy(ret_key, here, key);
            ret_key[key] = '\0';
            return true;
        }
        here += n + (here[n] == '\n');
    }
    return false;
}

bool config_digest_differs(const char *ours, const char *theirs, char *ret_key, size_t bytes)
{
    return first_missing(ours, theirs, ret_key, bytes) ||
           first_missing(theirs, ours, ret_key, bytes);
}
