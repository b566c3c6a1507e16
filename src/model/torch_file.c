/* See torch_file.h. */
#include "model/torch_file.h"

#include "common/base/fs.h"
#include "data/index/archive.h"
#include "model/state_dict.h"

#include <stdlib.h>
#include <string.h>

struct torch_file {
    fs_map map;
    archive zip;
    arena *memory;
    st_tensor *tensors; /* [n] */
    size_t n;
    const char *origin; /* names it in messages */
};

/* "archive/" of "archive/data.pkl", which all entries begin with; NULL if there is no such entry. */
static const char *folder_of(const torch_file *f)
{
    static const char name[] = "/data.pkl";
    for (size_t i = 0; i < f->zip.n; i++) {
        const char *is = f->zip.at[i].name, *slash = strchr(is, '/');
        if (slash && strcmp(slash, name) == 0)
            return arena_strndup(f->memory, is, (size_t)(slash - is) + 1);
    }
    return NULL;
}

static const archive_member *member_of(const torch_file *f, const char *name)
{
    for (size_t low = 0, high = f->zip.n; low < high;) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, f->zip.at[middle].name);
        if (order == 0)
            return &f->zip.at[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static status check_byte_order(const torch_file *f, const char *path, const char *folder, error *err)
{
    const archive_member *m = member_of(f, arena_printf(f->memory, "%sbyteorder", folder));
    if (!m || (m->bytes == 6 && memcmp(m->data, "little", 6) == 0))
        return OK;
    return FAIL(err, E_DATA, "'%s': its numbers are not little-endian", path);
}

static status locate(const torch_file *f, const char *path, const char *folder, const state_entry *e,
                     st_tensor *ret, error *err)
{
    const archive_member *m = member_of(f, arena_printf(f->memory, "%sdata/%s", folder, e->storage));
    size_t size = dtype_bytes(e->dtype), elements = 1;
    if (!m || m->packing.kind != PACKING_NONE || m->bytes / size != (size_t)e->stored)
        return FAIL(err, E_DATA, "'%s': tensor '%s': its storage '%s' is missing, packed, or not of %lld elements",
                    path, e->name, e->storage, (long long)e->stored);
    *ret = (st_tensor){.name = e->name, .dtype = e->dtype, .rank = e->rank};
    for (int32_t i = 0; i < e->rank; i++) {
        ret->dim[i] = e->dim[i];
        elements *= (size_t)e->dim[i];
    }
    ret->data = m->data + (size_t)e->begin * size;
    ret->bytes = elements * size;
    return OK;
}

static status read_entries(torch_file *f, const char *path, error *err)
{
    state_dict dict;
    const char *folder = folder_of(f);
    if (!folder)
        return FAIL(err, E_DATA, "'%s': has no entry data.pkl, as torch.save makes it", path);
    TRY(check_byte_order(f, path, folder, err));
    const archive_member *m = member_of(f, arena_printf(f->memory, "%sdata.pkl", folder));
    if (m->packing.kind != PACKING_NONE)
        return FAIL(err, E_DATA, "'%s': data.pkl is packed, which torch.save does not do", path);
    TRY(state_dict_read(m->data, m->bytes, path, f->memory, &dict, err));
    f->tensors = arena_alloc(f->memory, (dict.n + 1) * sizeof *f->tensors);
    for (; f->n < dict.n; f->n++)
        TRY(locate(f, path, folder, &dict.at[f->n], &f->tensors[f->n], err));
    return OK;
}

static status open_zip(torch_file *f, const void *data, size_t bytes, const char *origin, error *err)
{
    if (archive_kind_of(data, bytes) != ARCHIVE_ZIP)
        return FAIL(err, E_DATA,
                    "'%s': is no zip file, as torch.save writes since 1.6: load and save it again, or convert it "
                    "to safetensors",
                    origin);
    TRY(archive_open(ARCHIVE_ZIP, data, bytes, origin, &f->zip, err));
    return read_entries(f, origin, err);
}

/* `path`: of a file that is to be mapped, or NULL. */
static status open_either(const char *path, const void *data, size_t bytes, const char *origin, torch_file **ret,
                          error *err)
{
    torch_file *f = xcalloc(1, sizeof *f);
    f->memory = arena_create();
    f->origin = arena_strdup(f->memory, origin);
    status st = path ? fs_map_open(path, &f->map, err) : OK;
    if (st == OK)
        st = open_zip(f, path ? f->map.data : data, path ? f->map.bytes : bytes, origin, err);
    if (st != OK)
        torch_file_close(&f);
    *ret = f;
    return st;
}

status torch_file_open(const char *path, torch_file **ret, error *err)
{
    return open_either(path, NULL, 0, path, ret, err);
}

status torch_file_open_memory(const void *data, size_t bytes, const char *origin, torch_file **ret, error *err)
{
    return open_either(NULL, data, bytes, origin, ret, err);
}

void torch_file_close(torch_file **file)
{
    torch_file *f = *file;
    if (!f)
        return;
    archive_close(&f->zip);
    fs_map_close(&f->map);
    arena_destroy(&f->memory);
    free(f);
    *file = NULL;
}

status torch_file_check(const torch_file *f, error *err)
{
    for (size_t i = 0; i < f->zip.n; i++)
        if (!archive_member_is_whole(&f->zip.at[i]))
            return FAIL(err, E_DATA,
                        "'%s': the bytes of '%s' are not those that were saved, by its checksum: the file is damaged",
                        f->origin, f->zip.at[i].name);
    return OK;
}

size_t torch_file_count(const torch_file *f)
{
    return f->n;
}

const st_tensor *torch_file_at(const torch_file *f, size_t i)
{
    return &f->tensors[i];
}
