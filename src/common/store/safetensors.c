/*
 * safetensors: parsing goes header text -> JSON tree -> table of tensors sorted by offset. Only
 * after the table was checked from end to end does anybody see a pointer into the file.
 *
 * The writer makes the header from the declarations, padded with spaces so that the data begins at
 * a multiple of 8, and hashes what it writes on the way, so nobody has to read a shard again.
 */
#include "common/store/safetensors.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "common/base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE_BYTES = 8, HEADER_MAX = 100 * 1000 * 1000, HEADER_ALIGN = 8 };

static const char metadata_key[] = "__metadata__";

static const char *const dtype_codes[DTYPE_COUNT] = {
#define X(code, bytes, safetensors, name) [code] = safetensors,
    DTYPE_MAP(X)
#undef X
};

static uint64_t load_u64(const unsigned char *p)
{
    uint64_t x = 0;
    for (int i = SIZE_BYTES - 1; i >= 0; i--)
        x = x << 8 | p[i];
    return x;
}

static void store_u64(unsigned char *p, uint64_t x)
{
    for (int i = 0; i < SIZE_BYTES; i++)
        p[i] = (unsigned char)(x >> (8 * i));
}

/* --- reader --- */

typedef struct placed {
    st_tensor tensor;
    uint64_t begin, end; /* bytes of the data section */
    size_t declared;     /* place in the header: keeps the order of empty tensors */
} placed;

struct st_file {
    char *origin;
    fs_map map;     /* empty when opened over memory */
    json_t *header; /* names and metadata are borrowed from it */
    size_t n;
    st_tensor *tensors;        /* [n] in file order */
    const st_tensor **by_name; /* [n] */
};

static status read_u64_pair(const json_t *pair, uint64_t *ret_begin, uint64_t *ret_end)
{
    if (!json_is_array(pair) || json_array_size(pair) != 2)
        return E_DATA;
    const json_t *begin = json_array_get(pair, 0), *end = json_array_get(pair, 1);
    if (!json_is_integer(begin) || !json_is_integer(end) || json_integer_value(begin) < 0 ||
        json_integer_value(end) < json_integer_value(begin))
        return E_DATA;
    *ret_begin = (uint64_t)json_integer_value(begin);
    *ret_end = (uint64_t)json_integer_value(end);
    return OK;
}

static status read_dtype(const char *origin, const char *name, const json_t *value, dtype *ret,
                         error *err)
{
    if (!json_is_string(value))
        return FAIL(err, E_DATA, "%s: tensor '%s': dtype must be a string, not %s", origin, name,
                    json_kind(value));
    for (int i = 0; i < DTYPE_COUNT; i++) {
        if (strcmp(json_string_value(value), dtype_codes[i]) == 0) {
            *ret = (dtype)i;
            return OK;
        }
    }
    return FAIL(err, E_DATA,
                "%s: tensor '%s': dtype '%s' is not one of F32, F16, BF16, F64, I64, I32, U8, BOOL",
                origin, name, json_string_value(value));
}

static status read_shape(const char *origin, const json_t *shape, st_tensor *t, error *err)
{
    if (!json_is_array(shape) || json_array_size(shape) > TENSOR_RANK)
        return FAIL(err, E_DATA, "%s: tensor '%s': shape must be a list of at most %d dimensions",
                    origin, t->name, TENSOR_RANK);
    t->rank = (int32_t)json_array_size(shape);
    t->bytes = dtype_bytes(t->dtype);
    bool fits = true;
    for (int32_t i = 0; i < t->rank; i++) {
        const json_t *dim = json_array_get(shape, (size_t)i);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0)
            return FAIL(err, E_DATA,
                        "%s: tensor '%s': dimension %d must be an integer of 0 or more", origin,
                        t->name, i);
        t->dim[i] = json_integer_value(dim);
        fits = fits && size_mul(t->bytes, (size_t)t->dim[i], &t->bytes);
    }
    if (!fits)
        return FAIL(err, E_DATA, "%s: tensor '%s': its shape has too many elements", origin,
                    t->name);
    return OK;
}

static status safetensors_read_tensor(const char *origin, const char *name, const json_t *entry, placed *ret,
                                      error *err)
{
    st_tensor *t = &ret->tensor;
    t->name = name;
    if (!json_is_object(entry) || json_object_size(entry) != 3)
        return FAIL(err, E_DATA,
                    "%s: tensor '%s': must be an object of dtype, shape and data_offsets", origin,
                    name);
    TRY(read_dtype(origin, name, json_object_get(entry, "dtype"), &t->dtype, err));
    TRY(read_shape(origin, json_object_get(entry, "shape"), t, err));
    if (read_u64_pair(json_object_get(entry, "data_offsets"), &ret->begin, &ret->end) != OK)
        return FAIL(err, E_DATA, "%s: tensor '%s': data_offsets must be two integers [begin, end]",
                    origin, name);
    if (ret->end - ret->begin != t->bytes)
        return FAIL(err, E_DATA,
                    "%s: tensor '%s': data_offsets hold %llu bytes, its shape needs %zu", origin,
                    name, (unsigned long long)(ret->end - ret->begin), t->bytes);
    return OK;
}

static status check_metadata(const char *origin, const json_t *metadata, error *err)
{
    if (!json_is_object(metadata))
        return FAIL(err, E_DATA, "%s: __metadata__ must be an object, not %s", origin,
                    json_kind(metadata));
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)metadata, key, value)
    {
        if (!json_is_string(value))
            return FAIL(err, E_DATA, "%s: __metadata__ '%s' must be a string, not %s", origin, key,
                        json_kind(value));
    }
    return OK;
}

static int by_offset(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->declared < y->declared ? -1 : 1;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const st_tensor *const *)a)->name, (*(const st_tensor *const *)b)->name);
}

/* Sorted by offset, the tensors must tile the data section: no hole, no overlap, nothing behind. */
static status check_tiling(const char *origin, const placed *at, size_t n, uint64_t data_bytes,
                           error *err)
{
    uint64_t next = 0;
    for (size_t i = 0; i < n; i++) {
        if (at[i].begin != next)
            return FAIL(err, E_DATA, "%s: tensor '%s': begins at byte %llu %s byte %llu", origin,
                        at[i].tensor.name, (unsigned long long)at[i].begin,
                        at[i].begin > next ? "and leaves a hole from" : "and overlaps what ends at",
                        (unsigned long long)next);
        if (at[i].end > data_bytes)
            return FAIL(err, E_DATA, "%s: tensor '%s': ends at byte %llu of %llu (file truncated?)",
                        origin, at[i].tensor.name, (unsigned long long)at[i].end,
                        (unsigned long long)data_bytes);
        next = at[i].end;
    }
    if (next != data_bytes)
        return FAIL(err, E_DATA, "%s: %llu bytes behind the last tensor", origin,
                    (unsigned long long)(data_bytes - next));
    return OK;
}

static status index_tensors(st_file *f, const unsigned char *data, uint64_t data_bytes, error *err)
{
    placed *at = xcalloc(json_object_size(f->header) + 1, sizeof *at);
    status st = OK;
    const char *key;
    json_t *value;
    json_object_foreach(f->header, key, value)
    {
        if (strcmp(key, metadata_key) == 0) {
            TRY_OUT(st, check_metadata(f->origin, value, err));
            continue;
        }
        at[f->n].declared = f->n;
        TRY_OUT(st, safetensors_read_tensor(f->origin, key, value, &at[f->n], err));
        f->n++;
    }
    qsort(at, f->n, sizeof *at, by_offset);
    TRY_OUT(st, check_tiling(f->origin, at, f->n, data_bytes, err));

    f->tensors = xcalloc(f->n + 1, sizeof *f->tensors);
    f->by_name = xcalloc(f->n + 1, sizeof *f->by_name);
    for (size_t i = 0; i < f->n; i++) {
        f->tensors[i] = at[i].tensor;
        f->tensors[i].data = data + at[i].begin;
        f->by_name[i] = &f->tensors[i];
    }
    qsort(f->by_name, f->n, sizeof *f->by_name, by_name);
out:
    free(at);
    return st;
}

static status safetensors_parse(st_file *f, const unsigned char *bytes, size_t n, error *err)
{
    if (n < SIZE_BYTES)
        return FAIL(err, E_DATA, "%s: %zu bytes are too few for a safetensors file", f->origin, n);
    uint64_t header_bytes = load_u64(bytes);
    if (header_bytes > HEADER_MAX)
        return FAIL(err, E_DATA,
                    "%s: a header of %llu bytes, at most %d are allowed (not a safetensors file?)",
                    f->origin, (unsigned long long)header_bytes, HEADER_MAX);
    if (header_bytes > n - SIZE_BYTES)
        return FAIL(err, E_DATA, "%s: a header of %llu bytes in a file of %zu (file truncated?)",
                    f->origin, (unsigned long long)header_bytes, n);
    const char *header = (const char *)bytes + SIZE_BYTES;
    if (header_bytes == 0 || header[0] != '{')
        return FAIL(err, E_DATA, "%s: the header does not begin with '{'", f->origin);
    TRY(json_parse(header, header_bytes, f->origin, E_DATA, &f->header, err));
    if (!json_is_object(f->header))
        return FAIL(err, E_DATA, "%s: the header must be an object", f->origin);
    size_t data_at = SIZE_BYTES + (size_t)header_bytes;
    return index_tensors(f, bytes + data_at, n - data_at, err);
}

status st_open(const char *path, st_file **ret, error *err)
{
    fs_map map;
    TRY(fs_map_open(path, &map, err));
    st_file *f = NULL;
    status st = st_open_memory(map.data, map.bytes, path, &f, err);
    if (st != OK) {
        fs_map_close(&map);
        return st;
    }
    f->map = map;
    *ret = f;
    return OK;
}

status st_open_memory(const void *data, size_t bytes, const char *origin, st_file **ret, error *err)
{
    st_file *f = xcalloc(1, sizeof *f);
    f->origin = xstrdup(origin);
    status st = safetensors_parse(f, data, bytes, err);
    if (st != OK) {
        st_close(&f);
        return st;
    }
    *ret = f;
    return OK;
}

void st_close(st_file **f)
{
    if (!*f)
        return;
    fs_map_close(&(*f)->map);
    json_decref((*f)->header);
    free((*f)->tensors);
    free((*f)->by_name);
    free((*f)->origin);
    free(*f);
    *f = NULL;
}

size_t st_count(const st_file *f)
{
    return f->n;
}

const st_tensor *st_at(const st_file *f, size_t i)
{
    BUG_ON(i >= f->n);
    return &f->tensors[i];
}

const st_tensor *st_find(const st_file *f, const char *name)
{
    const st_tensor wanted = {.name = name}, *key = &wanted;
    const st_tensor **found = bsearch(&key, f->by_name, f->n, sizeof *f->by_name, by_name);
    return found ? *found : NULL;
}

const char *st_metadata(const st_file *f, const char *key)
{
    return json_string_value(json_object_get(json_object_get(f->header, metadata_key), key));
}

const char *st_metadata_key(const st_file *f, size_t i)
{
    void *at = json_object_iter(json_object_get(f->header, metadata_key));
    while (at && i--)
        at = json_object_iter_next(json_object_get(f->header, metadata_key), at);
    return at ? json_object_iter_key(at) : NULL;
}

/* --- writer --- */

struct st_writer {
    char *path, *beside; /* where it goes; where it lies until it is whole */
    int folder;          /* of both: a name may be removed there when the folder itself has got another */
    int fd;
    sha256 hash;
    uint64_t written;  /* bytes of the file so far */
    uint64_t expected; /* bytes of the whole file */
};

static status write_hashed(st_writer *w, const void *data, size_t bytes, error *err)
{
    TRY(fs_write_all(w->fd, data, bytes, w->path, err));
    sha256_add(&w->hash, data, bytes);
    w->written += bytes;
    return OK;
}

/* Adds one tensor to the header and moves *at past its bytes. */
static status safetensors_describe(const char *path, json_t *header, const st_tensor *t, uint64_t *at,
                                   error *err)
{
    BUG_ON(t->rank < 0 || t->rank > TENSOR_RANK);
    size_t bytes = dtype_bytes(t->dtype);
    json_t *shape = json_array();
    bool fits = true;
    for (int32_t i = 0; i < t->rank; i++) {
        BUG_ON(t->dim[i] < 0);
        fits = fits && size_mul(bytes, (size_t)t->dim[i], &bytes);
        json_array_append_new(shape, json_integer(t->dim[i]));
    }
    uint64_t begin = *at;
    if (!fits || __builtin_add_overflow(begin, bytes, at) || *at > INT64_MAX) {
        json_decref(shape);
        return FAIL(err, E_UNSUPPORTED, "'%s': tensor '%s': its shape has too many elements", path,
                    t->name);
    }
    json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype_codes[t->dtype], "shape",
                              shape, "data_offsets", (json_int_t)begin, (json_int_t)*at);
    BUG_ON(!entry);
    bool taken = strcmp(t->name, metadata_key) == 0 || json_object_get(header, t->name);
    if (taken || json_object_set(header, t->name, entry) != 0) {
        json_decref(entry);
        return FAIL(err, E_UNSUPPORTED, "'%s': tensor '%s': %s", path, t->name,
                    taken ? "the name is taken" : "the name is not valid UTF-8");
    }
    json_decref(entry);
    return OK;
}

/* The padded header text, its size in front; *ret_data_bytes is what has to follow. */
static status make_header(const char *path, const st_tensor *tensors, size_t n, const st_meta *meta,
                          size_t n_meta, buf *ret, uint64_t *ret_data_bytes, error *err)
{
    json_t *header = json_object();
    char *text = NULL;
    status st = OK;
    if (n_meta) {
        json_t *metadata = json_object();
        for (size_t i = 0; i < n_meta; i++)
            json_object_set_new(metadata, meta[i].key, json_string(meta[i].value));
        json_object_set_new(header, metadata_key, metadata);
    }
    uint64_t end = 0;
    for (size_t i = 0; i < n; i++)
        TRY_OUT(st, safetensors_describe(path, header, &tensors[i], &end, err));

    text = json_dumps(header, JSON_COMPACT);
    BUG_ON(!text);
    size_t bytes = size_round_up(strlen(text), HEADER_ALIGN);
    if (bytes > HEADER_MAX) {
        st = FAIL(err, E_UNSUPPORTED, "'%s': %zu tensors make a header of %zu bytes, at most %d",
                  path, n, bytes, HEADER_MAX);
        goto out;
    }
    unsigned char size[SIZE_BYTES];
    store_u64(size, bytes);
    buf_add(ret, size, sizeof size);
    buf_adds(ret, text);
    while (ret->size < SIZE_BYTES + bytes)
        buf_adds(ret, " ");
    *ret_data_bytes = end;
out:
    free(text);
    json_decref(header);
    return st;
}

static const char *name_beside(const st_writer *w)
{
    const char *slash = strrchr(w->beside, '/');
    return slash ? slash + 1 : w->beside;
}

static status writer_create(st_writer *w, error *err)
{
    char *folder = fs_parent(w->path);
    w->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    w->fd = w->folder < 0 ? -1
                          : openat(w->folder, name_beside(w), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return w->fd < 0 ? fs_fail(err, "create", w->path) : OK;
}

status st_writer_open(const char *path, const st_tensor *tensors, size_t n, const st_meta *meta,
                      size_t n_meta, st_writer **ret, error *err)
{
    buf header = BUF_INIT;
    uint64_t data_bytes = 0;
    st_writer *w = NULL;
    status st = OK;
    TRY_OUT(st, make_header(path, tensors, n, meta, n_meta, &header, &data_bytes, err));
    w = xcalloc(1, sizeof *w);
    *w = (st_writer){.path = xstrdup(path),
                     .beside = fs_beside(path),
                     .folder = -1,
                     .fd = -1,
                     .expected = header.size + data_bytes};
    TRY_OUT(st, writer_create(w, err));
    sha256_begin(&w->hash);
    TRY_OUT(st, write_hashed(w, header.data, header.size, err));
    *ret = w;
    w = NULL;
out:
    st_writer_abort(&w);
    buf_fini(&header);
    return st;
}

status st_writer_add(st_writer *w, const void *data, size_t bytes, error *err)
{
    BUG_ON(bytes > w->expected - w->written);
    return write_hashed(w, data, bytes, err);
}

static void writer_free(st_writer **w)
{
    sha256_drop(&(*w)->hash);
    if ((*w)->folder >= 0)
        close((*w)->folder);
    free((*w)->path);
    free((*w)->beside);
    free(*w);
    *w = NULL;
}

status st_writer_close(st_writer **w, char *ret_sha256, uint64_t *ret_bytes, error *err)
{
    st_writer *o = *w;
    BUG_ON(o->written != o->expected);
    status st = OK;
    if (fsync(o->fd) != 0)
        st = fs_fail(err, "sync", o->path);
    if (close(o->fd) != 0 && st == OK)
        st = fs_fail(err, "close", o->path);
    o->fd = -1;
    if (st == OK && rename(o->beside, o->path) != 0)
        st = fs_fail(err, "rename to", o->path);
    if (st != OK) {
        st_writer_abort(w);
        return st;
    }
    char digest[SHA256_HEX];
    sha256_end(&o->hash, digest);
    if (ret_sha256)
        memcpy(ret_sha256, digest, sizeof digest);
    if (ret_bytes)
        *ret_bytes = o->written;
    writer_free(w);
    return OK;
}

void st_writer_abort(st_writer **w)
{
    if (!*w)
        return;
    if ((*w)->fd >= 0)
        close((*w)->fd);
    if ((*w)->folder >= 0)
        unlinkat((*w)->folder, name_beside(*w), 0);
    writer_free(w);
}
