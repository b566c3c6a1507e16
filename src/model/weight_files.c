#include "model/weight_files.h"

#include "common/base/fs.h"
#include "common/base/json.h"
#include "model/allennlp_names.h"

#include <stdlib.h>
#include <string.h>

static bool is_of_torch(const char *path)
{
    static const char *const ends[] = {".bin", ".pt", ".pth", ".th"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < COUNT_OF(ends); i++)
        if (strcmp(dot, ends[i]) == 0)
            return true;
    return false;
}

static void take_torch(weight_files *w, torch_file *f)
{
    GROW(w->torch_files, w->cap_torch, w->n_torch + 1);
    w->torch_files[w->n_torch++] = f;
    GROW(w->tensors, w->cap, w->n + torch_file_count(f));
    for (size_t i = 0; i < torch_file_count(f); i++)
        w->tensors[w->n++] = torch_file_at(f, i);
}

static void take_safetensors(weight_files *w, st_file *f)
{
    GROW(w->files, w->cap_files, w->n_files + 1);
    w->files[w->n_files++] = f;
    GROW(w->tensors, w->cap, w->n + st_count(f));
    for (size_t i = 0; i < st_count(f); i++)
        w->tensors[w->n++] = st_at(f, i);
}

static status open_file(weight_files *w, const char *path, error *err)
{
    st_file *f = NULL;
    torch_file *t = NULL;
    if (is_of_torch(path)) {
        TRY(torch_file_open(path, &t, err));
        take_torch(w, t);
        w->is_allennlp = w->is_allennlp || allennlp_is_file(path);
        return OK;
    }
    TRY(st_open(path, &f, err));
    take_safetensors(w, f);
    return OK;
}

/* --- model.tar.gz --- */

static status open_members(weight_files *w, const archive *a, error *err)
{
    const archive_member *ours = archive_find(a, "model.safetensors"), *theirs = archive_find(a, "weights.th");
    st_file *f = NULL;
    torch_file *t = NULL;
    if (ours) {
        TRY(st_open_memory(ours->data, ours->bytes, w->path, &f, err));
        take_safetensors(w, f);
        return OK;
    }
    if (!theirs)
        return FAIL(err, E_DATA, "'%s': is no model.tar.gz: it has neither model.safetensors nor weights.th", w->path);
    TRY(torch_file_open_memory(theirs->data, theirs->bytes, w->path, &t, err));
    take_torch(w, t);
    w->is_allennlp = true;
    return OK;
}

static status open_archive(weight_files *w, error *err)
{
    TRY(packed_archive_open(w->path, &w->archive, err));
    return open_members(w, &w->archive.members, err);
}

/* --- folders and indices --- */

/* A shard lies beside its index, under a plain name. */
static status open_shard(weight_files *w, const char *index, const char *name, error *err)
{
    if (!name || !*name || strchr(name, '/') || strcmp(name, "..") == 0)
        return FAIL(err, E_DATA, "'%s': shard '%s' is not the name of a file beside it", index,
                    name ? name : "");
    const char *slash = strrchr(index, '/');
    int folder = slash ? (int)(slash - index) + 1 : 0;
    return open_file(w, arena_printf(w->memory, "%.*s%s", folder, index, name), err);
}

static status open_shards(weight_files *w, const char *index, const json_t *map, error *err)
{
    const char *tensor;
    json_t *name, *opened = json_object();
    status st = OK;
    json_object_foreach((json_t *)map, tensor, name)
    {
        const char *shard = json_string_value(name);
        if (shard && json_object_get(opened, shard))
            continue;
        st = open_shard(w, index, shard, err);
        if (st != OK)
            break;
        json_object_set_new(opened, shard, json_true());
    }
    json_decref(opened);
    return st;
}

static status open_index(weight_files *w, const char *index, error *err)
{
    json_t *root = NULL;
    TRY(json_read_file(index, &root, err));
    const json_t *map = json_object_get(root, "weight_map");
    status st = json_is_object(map) ? open_shards(w, index, map, err)
                                    : FAIL(err, E_DATA, "'%s': has no object weight_map", index);
    json_decref(root);
    return st;
}

/* The first of the names that transformers gives weights in a folder; safetensors before torch.save. */
static status open_folder(weight_files *w, error *err)
{
    static const char *const names[] = {"model.safetensors.index.json", "model.safetensors",
                                        "pytorch_model.bin.index.json", "pytorch_model.bin"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *path = arena_printf(w->memory, "%s/%s", w->path, names[i]);
        if (fs_exists(path))
            return i % 2 == 0 ? open_index(w, path, err) : open_file(w, path, err);
    }
    return FAIL(err, E_DATA, "'%s': has no weights: neither model.safetensors nor pytorch_model.bin, nor an index of "
                "either", w->path);
}

status weight_files_open(const char *path, weight_files *ret, error *err)
{
    const char *dot = strrchr(path, '.');
    *ret = (weight_files){.path = path, .memory = arena_create()};
    if (fs_is_folder(path))
        return open_folder(ret, err);
    if (dot && (strcmp(dot, ".gz") == 0 || strcmp(dot, ".tgz") == 0))
        return open_archive(ret, err);
    return dot && strcmp(dot, ".json") == 0 ? open_index(ret, path, err) : open_file(ret, path, err);
}

status weight_files_check(const weight_files *w, error *err)
{
    for (size_t i = 0; i < w->n_torch; i++)
        TRY(torch_file_check(w->torch_files[i], err));
    return OK;
}

void weight_files_close(weight_files *w)
{
    for (size_t i = 0; i < w->n_files; i++)
        st_close(&w->files[i]);
    for (size_t i = 0; i < w->n_torch; i++)
        torch_file_close(&w->torch_files[i]);
    free(w->files);
    free(w->torch_files);
    free(w->tensors);
    packed_archive_close(&w->archive);
    arena_destroy(&w->memory);
    *w = (weight_files){.path = NULL};
}
