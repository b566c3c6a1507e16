#include "cli/run/model_archive.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "data/index/archive_write.h"
#include "data/index/packed_archive.h"

#include <stdlib.h>
#include <string.h>

static const char config_name[] = "config.json", weights_name[] = "model.safetensors",
                  vocabulary_name[] = "vocabulary.json", allennlp_name[] = "weights.th";

/* --- writing --- */

static status add_members(archive_writer *w, const char *text, const fs_map *weights, const char *vocabulary,
                          error *err)
{
    TRY(archive_writer_add(w, config_name, text, strlen(text), err));
    TRY(archive_writer_add(w, weights_name, weights->data, weights->bytes, err));
    return vocabulary ? archive_writer_add(w, vocabulary_name, vocabulary, strlen(vocabulary), err) : OK;
}

status model_archive_write(const char *path, const config *c, const char *weights, const char *vocabulary,
                           error *err)
{
    fs_map map;
    archive_writer *w = NULL;
    TRY(fs_map_open(weights, &map, err));
    char *text = config_dump(c);
    status st = archive_writer_create(path, &w, err);
    if (st == OK)
        st = add_members(w, text, &map, vocabulary, err);
    if (st == OK)
        st = archive_writer_finish(&w, err);
    archive_writer_abandon(&w);
    free(text);
    fs_map_close(&map);
    return st;
}

/* --- reading --- */

bool model_archive_is(const char *path)
{
    fs_map map;
    if (fs_map_open(path, &map, NULL) != OK)
        return false;
    bool is = gunzip_is_gzip(map.data, map.bytes);
    fs_map_close(&map);
    return is;
}

static status unpack_member(const archive *a, const char *path, const char *name, bool is_needed,
                            const char *folder, error *err)
{
    const archive_member *m = archive_find(a, name);
    if (!m && is_needed)
        return FAIL(err, E_DATA, "'%s' is no model.tar.gz: it lacks %s", path, name);
    if (!m)
        return OK;
    char *file = xasprintf("%s/%s", folder, name);
    status st = fs_write_atomic(file, m->data, m->bytes, err);
    free(file);
    return st;
}

/* A file of AllenNLP's folder of words and classes. */
static bool is_of_words(const char *name)
{
    static const char below[] = "vocabulary/", ending[] = ".txt";
    size_t n = strlen(name);
    return n > sizeof below + sizeof ending - 2 && strncmp(name, below, sizeof below - 1) == 0 &&
           !strchr(name + sizeof below - 1, '/') && strcmp(name + n - sizeof ending + 1, ending) == 0;
}

static status unpack_words(const archive *a, const char *path, const char *folder, error *err)
{
    char *below = xasprintf("%s/vocabulary", folder);
    status st = fs_mkdirs(below, err);
    for (size_t i = 0; st == OK && i < a->n; i++) {
        const char *name = a->at[i].name + (strncmp(a->at[i].name, "./", 2) == 0 ? 2 : 0);
        if (is_of_words(name))
            st = unpack_member(a, path, name, false, folder, err);
    }
    free(below);
    return st;
}

static status unpack_members(const archive *a, const char *path, char **ret_folder, error *err)
{
    bool is_allennlp = !archive_find(a, weights_name) && archive_find(a, allennlp_name);
    char *folder = NULL;
    TRY(fs_make_temporary("model", &folder, err));
    status st = unpack_member(a, path, config_name, true, folder, err);
    if (st == OK)
        st = unpack_member(a, path, is_allennlp ? allennlp_name : weights_name, true, folder, err);
    if (st == OK)
        st = is_allennlp ? unpack_words(a, path, folder, err)
                         : unpack_member(a, path, vocabulary_name, false, folder, err);
    if (st == OK) {
        *ret_folder = folder;
        return OK;
    }
    (void)!fs_remove_tree(folder, NULL);
    free(folder);
    return st;
}

status model_archive_unpack(const char *path, char **ret_folder, error *err)
{
    packed_archive a;
    TRY(packed_archive_open(path, &a, err));
    status st = unpack_members(&a.members, path, ret_folder, err);
    packed_archive_close(&a);
    return st;
}

status model_archive_config(const char *path, json_t **ret, error *err)
{
    packed_archive a;
    TRY(packed_archive_open(path, &a, err));
    const archive_member *m = archive_find(&a.members, config_name);
    status st = m ? json_parse((const char *)m->data, m->bytes, path, E_DATA, ret, err)
                  : FAIL(err, E_DATA, "'%s' is no model.tar.gz: it lacks %s", path, config_name);
    packed_archive_close(&a);
    return st;
}
