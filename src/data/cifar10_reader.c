/*
 * CIFAR-10 in its binary form (reader.h; https://www.cs.toronto.edu/~kriz/cifar.html): records of a
 * label and 32 x 32 pixels of red, then of green, then of blue. Sizes and labels are checked at
 * opening, so reading cannot fail.
 */
#include "data/reader.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "data/source.h"

#include <stdlib.h>
#include <string.h>

enum { FIELD_IMAGE, FIELD_LABEL, FIELDS };
enum { CLASSES = 10, SIDE = 32, PLANE = SIDE * SIDE, RECORD = 1 + CHANNELS * PLANE, FILES = 16 };

typedef struct cifar10_reader {
    dataset base;
    source files[FILES];
    char *paths[FILES];
    int64_t records[FILES];
    size_t n_files;
    float scale[CHANNELS], offset[CHANNELS]; /* pixel = x * scale + offset */
} cifar10_reader;

static void close_reader(dataset *d)
{
    cifar10_reader *r = (cifar10_reader *)d;
    for (size_t i = 0; i < r->n_files; i++) {
        source_close(&r->files[i]);
        free(r->paths[i]);
    }
    free(r);
}

/* The file that holds it; *example becomes its number there. */
static size_t find_file(const cifar10_reader *r, int64_t *example)
{
    size_t file = 0;
    for (; *example >= r->records[file]; file++)
        *example -= r->records[file];
    return file;
}

static const unsigned char *find_record(const cifar10_reader *r, int64_t example)
{
    size_t file = find_file(r, &example);
    return r->files[file].data + (size_t)example * RECORD;
}

static void place(const dataset *d, int64_t example, buf *ret)
{
    const cifar10_reader *r = (const cifar10_reader *)d;
    size_t file = find_file(r, &example);
    buf_addf(ret, "'%s': index %lld", r->paths[file], (long long)example);
}

static status read_example(const dataset *d, int64_t example, void *const *ret, error *err)
{
    (void)err;
    const cifar10_reader *r = (const cifar10_reader *)d;
    const unsigned char *record = find_record(r, example);
    float *image = ret[FIELD_IMAGE];
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = c * PLANE; i < (c + 1) * PLANE; i++)
            image[i] = (float)record[1 + i] * r->scale[c] + r->offset[c];
    *(int64_t *)ret[FIELD_LABEL] = record[0];
    return OK;
}

static status read_bytes(const dataset *d, int64_t example, void *const *ret, error *err)
{
    (void)err;
    const unsigned char *record = find_record((const cifar10_reader *)d, example);
    memcpy(ret[FIELD_IMAGE], record + 1, RECORD - 1);
    *(int64_t *)ret[FIELD_LABEL] = record[0];
    return OK;
}

static void contents(const dataset *d, content_digest *ret)
{
    const cifar10_reader *r = (const cifar10_reader *)d;
    int64_t first = d->first, end = d->first + d->examples;
    for (size_t i = 0; i < r->n_files; i++) {
        int64_t n = r->records[i], from = first > 0 ? first : 0, to = end < n ? end : n;
        if (from < to)
            content_digest_add(ret, r->files[i].data + from * RECORD, (size_t)(to - from) * RECORD);
        first -= n;
        end -= n;
    }
}

static const reader_ops cifar10_ops = {.read = read_example,
                                       .read_bytes = read_bytes,
                                       .close = close_reader,
                                       .contents = contents,
                                       .place = place};

static status cifar10_reader_add_file(cifar10_reader *r, const char *path, error *err)
{
    if (r->n_files == FILES)
        return FAIL(err, E_DATA, "'%s': there are more than %d files", path, FILES);
    source *f = &r->files[r->n_files];
    TRY(source_open(path, f, err));
    r->paths[r->n_files++] = xstrdup(path);
    if (f->bytes % RECORD)
        return FAIL(err, E_DATA,
                    "'%s': %zu bytes are no multiple of %d: this is no CIFAR-10 in its binary form",
                    path, f->bytes, RECORD);
    for (size_t at = 0; at < f->bytes; at += RECORD)
        if (f->data[at] >= CLASSES)
            return FAIL(err, E_DATA, "'%s': byte %zu, a label, is %d; labels are 0 to %d", path, at,
                        f->data[at], CLASSES - 1);
    r->records[r->n_files - 1] = (int64_t)(f->bytes / RECORD);
    r->base.examples += r->records[r->n_files - 1];
    return OK;
}

/* The training files of an unpacked archive: data_batch_1.bin and so on. */
static status cifar10_reader_add_folder(cifar10_reader *r, const char *path, error *err)
{
    char **names = NULL;
    size_t n = 0;
    TRY(fs_list(path, &names, &n, err));
    status st = OK;
    for (size_t i = 0; i < n && st == OK; i++) {
        if (strncmp(names[i], "data_batch_", strlen("data_batch_")) != 0)
            continue;
        char *file = xasprintf("%s/%s", path, names[i]);
        st = cifar10_reader_add_file(r, file, err);
        free(file);
    }
    fs_list_free(names, n);
    if (st == OK && r->n_files == 0)
        st = FAIL(err, E_DATA, "'%s': holds no data_batch_*.bin; name a file, or the folder of these",
                  path);
    return st;
}

status cifar10_reader_open(const cifar10_reader_options *options, const char *path, dataset **ret,
                           error *err)
{
    cifar10_reader *r = xcalloc(1, sizeof *r);
    r->base.ops = &cifar10_ops;
    status st = fs_is_folder(path) ? cifar10_reader_add_folder(r, path, err) : cifar10_reader_add_file(r, path, err);
    if (st != OK) {
        close_reader(&r->base);
        return st;
    }
    data_bytes bytes = {.channels = CHANNELS, .background = -1};
    for (size_t c = 0; c < CHANNELS; c++) {
        bytes.scale[c] = r->scale[c] = (float)(1.0 / (255.0 * options->std[c]));
        bytes.offset[c] = r->offset[c] = (float)(-options->mean[c] / options->std[c]);
    }
    r->base.fields[FIELD_IMAGE] = (data_field){.name = "image",
                                               .dtype = DT_F32,
                                               .rank = 3,
                                               .dim = {CHANNELS, SIDE, SIDE},
                                               .bytes = bytes};
    r->base.fields[FIELD_LABEL] =
        (data_field){.name = "label", .dtype = DT_I64, .classes = CLASSES};
    r->base.n_fields = FIELDS;
    *ret = &r->base;
    return OK;
}

static void take_three(const config *reader, const char *key, double if_absent, double *ret)
{
    const json_t *list = config_json(reader, key);
    for (size_t c = 0; c < CHANNELS; c++)
        ret[c] = list ? json_number_value(json_array_get(list, c)) : if_absent;
}

status cifar10_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    cifar10_reader_options options;
    take_three(request->reader, "mean", 0.0, options.mean);
    take_three(request->reader, "std", 1.0, options.std);
    dataset *d = NULL;
    TRY(cifar10_reader_open(&options, request->path, &d, err));
    return dataset_cut(request, d, ret, err);
}
