#include "cli/run/model_archive.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "data/index/archive.h"
#include "data/index/archive_write.h"

#include <stdlib.h>
#include <string.h>

static const char config_name[] = "config.json", weights_name[] = "model.safetensors",
                  vocabulary_name[] = "vocabulary.json";

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

static const archive_member *find_member(const archive *a, const char *name)
{
    for (size_t i = 0; i < a->n; i++) {
        const char *own = a->at[i].name;
        if (strcmp(strncmp(own, "./", 2) == 0 ? own + 2 : own, name) == 0)
            return &a->at[i];
    }
    return NULL;
}

static status unpack_member(const archive *a, const char *path, const char *name, bool is_needed,
                            const char *folder, error *err)
{
    const archive_member *m = find_member(a, name);
    if (!m && is_needed)
        return FAIL(err, E_DATA, "'%s' is no model.tar.gz of Tequio: it lacks %s%s", path, name,
                    find_member(a, "weights.th") ? ", and weights.th, as AllenNLP has it, is not read" : "");
    if (!m)
        return OK;
    char *file = xasprintf("%s/%s", folder, name);
    status st = fs_write_atomic(file, m->data, m->bytes, err);
    free(file);
    return st;
}

static status unpack_members(const archive *a, const char *path, char **ret_folder, error *err)
{
    char *folder = NULL;
    TRY(fs_make_temporary("model", &folder, err));
    status st = unpack_member(a, path, config_name, true, folder, err);
    if (st == OK)
        st = unpack_member(a, path, weights_name, true, folder, err);
    if (st == OK)
        st = unpack_member(a, path, vocabulary_name, false, folder, err);
    if (st == OK) {
        *ret_folder = folder;
        return OK;
    }
    (void)!fs_remove_tree(folder, NULL);
    free(folder);
    return st;
}

static status unpack_tar(const void *tar, size_t bytes, const char *path, char **ret_folder, error *err)
{
    archive a;
    if (archive_kind_of(tar, bytes) != ARCHIVE_TAR)
        return FAIL(err, E_DATA, "'%s': what is compressed there is no tar file", path);
    TRY(archive_open(ARCHIVE_TAR, tar, bytes, path, &a, err));
    status st = unpack_members(&a, path, ret_folder, err);
    archive_close(&a);
    return st;
}

status model_archive_unpack(const char *path, char **ret_folder, error *err)
{
    fs_map map;
    void *tar = NULL;
    size_t bytes = 0;
    TRY(fs_map_open(path, &map, err));
    status st = gunzip_whole(map.data, map.bytes, (packing){PACKING_GZIP, 0}, path, &tar, &bytes, err);
    fs_map_close(&map);
    TRY(st);
    st = unpack_tar(tar, bytes, path, ret_folder, err);
    mem_free(tar);
    return st;
}
