#include "data/allennlp_vocabulary.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "data/index/archive.h"
#include "data/index/shards.h"

#include <stdlib.h>
#include <string.h>

static const char ending[] = ".txt", unknown[] = "@@UNKNOWN@@";

bool allennlp_vocabulary_is(const char *path)
{
    fs_map map;
    if (fs_is_folder(path))
        return true;
    if (fs_map_open(path, &map, NULL) != OK)
        return false;
    bool is = gunzip_is_gzip(map.data, map.bytes) || archive_kind_of(map.data, map.bytes) != ARCHIVE_NONE;
    fs_map_close(&map);
    return is;
}

/* --- files --- */

/* The lines of a file, but for the word that stands for unknown ones. */
static status lines_of(const record_source *file, json_t **ret, error *err)
{
    const char *text = (const char *)file->data;
    json_t *list = json_array();
    size_t number = 1;
    for (size_t at = 0, n; at < file->bytes; at += n + 1, number++) {
        const char *line = text + at, *stop = memchr(line, '\n', file->bytes - at);
        n = stop ? (size_t)(stop - line) : file->bytes - at;
        size_t bytes = n && line[n - 1] == '\r' ? n - 1 : n;
        if (bytes == sizeof unknown - 1 && memcmp(line, unknown, bytes) == 0)
            continue;
        if (json_array_append_new(list, json_stringn(line, bytes)) != 0) {
            json_decref(list);
            return FAIL(err, E_DATA, "'%s': line %zu is no UTF-8 text", file->name, number);
        }
    }
    *ret = list;
    return OK;
}

/* Of a file's name "vocabulary/NAMESPACE.txt"; 0: it is of none. */
static size_t find_namespace(const char *file, const char **ret)
{
    const char *slash = strrchr(file, '/');
    *ret = slash ? slash + 1 : file;
    size_t n = strlen(*ret), m = sizeof ending - 1;
    bool is_one = n > m && strcmp(*ret + n - m, ending) == 0 && strcmp(*ret, "non_padded_namespaces.txt") != 0;
    return is_one ? n - m : 0;
}

/* One more in {"labels": ["O", ...], ...}, if the file of that name is of one. */
static status add_namespace(const record_source *file, const char *member, const char *path, json_t *to, error *err)
{
    const char *name;
    json_t *lines = NULL;
    size_t n = find_namespace(member, &name);
    if (n == 0)
        return OK;
    char *key = xasprintf("%.*s", (int)n, name);
    status st = json_object_get(to, key)
                    ? FAIL(err, E_DATA, "'%s': has two files %s%s; expected one vocabulary", path, key, ending)
                    : lines_of(file, &lines, err);
    if (st == OK)
        json_object_set_new(to, key, lines);
    free(key);
    return st;
}

static status read_archive(const char *path, json_t *to, error *err)
{
    shards files;
    status st = OK;
    TRY(shards_open(path, false, &files, err));
    for (size_t i = 0; i < files.n && st == OK; i++)
        st = add_namespace(&files.at[i].source, files.at[i].member ? files.at[i].member : path, path, to, err);
    shards_close(&files);
    return st;
}

static status read_file(const char *folder, const char *name, json_t *to, error *err)
{
    const char *rest;
    fs_map map;
    if (find_namespace(name, &rest) == 0)
        return OK;
    char *path = xasprintf("%s/%s", folder, name);
    status st = fs_map_open(path, &map, err);
    if (st == OK) {
        const record_source file = {.name = path, .data = map.data, .bytes = map.bytes};
        st = add_namespace(&file, name, folder, to, err);
        fs_map_close(&map);
    }
    free(path);
    return st;
}

static status read_folder(const char *path, json_t *to, error *err)
{
    char **names = NULL;
    size_t n = 0;
    status st = OK;
    TRY(fs_list(path, &names, &n, err));
    for (size_t i = 0; i < n && st == OK; i++)
        st = read_file(path, names[i], to, err);
    fs_list_free(names, n);
    return st;
}

bool allennlp_vocabulary_has_classes(const char *folder)
{
    char **names = NULL;
    size_t n = 0;
    bool has = false;
    if (!fs_is_folder(folder) || fs_list(folder, &names, &n, NULL) != OK)
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *name;
        has = has || (find_namespace(names[i], &name) && strcmp(name, "tokens.txt") != 0);
    }
    fs_list_free(names, n);
    return has;
}

/* --- what they say --- */

static bool ends_in(const char *word, const char *end)
{
    size_t n = strlen(word), m = strlen(end);
    return n >= m && strcmp(word + n - m, end) == 0;
}

/* The namespace of what readers call label; NULL: there is none. */
static const char *label_namespace(const json_t *namespaces)
{
    const char *key, *found = NULL;
    json_t *list;
    size_t n = 0;
    if (json_object_get(namespaces, "labels"))
        return "labels";
    json_object_foreach((json_t *)namespaces, key, list)
    {
        if (!ends_in(key, "labels"))
            continue;
        found = key;
        n++;
    }
    return n == 1 ? found : NULL;
}

static status say(const json_t *namespaces, const char *path, buf *ret, error *err)
{
    const char *label = label_namespace(namespaces), *key;
    json_t *all = json_object(), *tags = json_object(), *list;
    json_object_foreach((json_t *)namespaces, key, list)
    {
        if (label && strcmp(key, label) == 0) {
            json_object_set_new(all, "label", json_pack("{s:O}", "label", list));
            json_object_set(tags, "label", list);
        } else if (strcmp(key, "tokens") == 0) {
            json_object_set(all, "words", list);
        } else {
            json_object_set(tags, strcmp(key, "pos") == 0 ? "pos_tags" : key, list);
        }
    }
    bool has_any = json_object_size(tags) > 0;
    json_object_set_new(all, "tags", tags);
    json_object_set_new(all, "tokenizer_sha256", json_null());
    char *text = has_any ? json_text(all) : NULL;
    if (text)
        buf_adds(ret, text);
    free(text);
    json_decref(all);
    if (has_any)
        return OK;
    return FAIL(err, E_DATA,
                "'%s': is no vocabulary of AllenNLP's: it has no labels.txt, nor tags of another name", path);
}

status allennlp_vocabulary_read(const char *path, buf *ret, error *err)
{
    json_t *namespaces = json_object();
    status st = fs_is_folder(path) ? read_folder(path, namespaces, err) : read_archive(path, namespaces, err);
    if (st == OK)
        st = say(namespaces, path, ret, err);
    json_decref(namespaces);
    return st;
}
