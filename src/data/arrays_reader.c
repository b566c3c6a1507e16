/*
 * The tensors of a safetensors file as examples (reader.h): the first axis counts them. The file is
 * mapped; nothing is copied before it is read.
 */
#include "data/reader.h"

#include "common/base/alloc.h"
#include "common/store/safetensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A label of this value does not count (model.ignore_index), so it is no class. */
enum { IGNORED = -100 };

typedef struct arrays_reader {
    dataset base;
    char *path;
    st_file *file;
    const unsigned char *data[DATA_FIELDS];
} arrays_reader;

static void close_reader(dataset *d)
{
    arrays_reader *r = (arrays_reader *)d;
    st_close(&r->file);
    free(r->path);
    free(r);
}

static status check_finite(const arrays_reader *r, const data_field *f, int64_t example,
                           const float *values, error *err)
{
    size_t n = data_field_bytes(f) / sizeof *values;
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return FAIL(err, E_DATA, "'%s': '%s', example %lld: value %zu is not a finite number",
                        r->path, f->name, (long long)example, i);
    return OK;
}

static status read_example(const dataset *d, int64_t example, void *const *ret, error *err)
{
    const arrays_reader *r = (const arrays_reader *)d;
    for (size_t i = 0; i < d->n_fields; i++) {
        const data_field *f = &d->fields[i];
        size_t bytes = data_field_bytes(f);
        memcpy(ret[i], r->data[i] + (size_t)example * bytes, bytes);
        if (f->dtype == DT_F32)
            TRY(check_finite(r, f, example, ret[i], err));
    }
    return OK;
}

static void contents(const dataset *d, content_digest *ret)
{
    const arrays_reader *r = (const arrays_reader *)d;
    for (size_t i = 0; i < d->n_fields; i++) {
        size_t bytes = data_field_bytes(&d->fields[i]);
        content_digest_add(ret, r->data[i] + (size_t)d->first * bytes, (size_t)d->examples * bytes);
    }
}

static void place(const dataset *d, int64_t example, buf *ret)
{
    buf_addf(ret, "'%s': index %lld", ((const arrays_reader *)d)->path, (long long)example);
}

static const reader_ops arrays_ops = {
    .read = read_example, .close = close_reader, .contents = contents, .place = place};

static bool is_known(dtype t)
{
    return t == DT_F32 || t == DT_I64 || t == DT_I32 || t == DT_U8 || t == DT_BOOL;
}

static status add_field(arrays_reader *r, const st_tensor *t, error *err)
{
    dataset *d = &r->base;
    if (!is_known(t->dtype))
        return FAIL(err, E_DATA,
                    "'%s': '%s' is %s; examples are float32, int64, int32, uint8 or bool", r->path,
                    t->name, dtype_name(t->dtype));
    if (t->rank < 1 || t->bytes == 0)
        return FAIL(err, E_DATA, "'%s': '%s' has no axis that counts examples, or an empty one",
                    r->path, t->name);
    if (d->n_fields > 0 && t->dim[0] != d->examples)
        return FAIL(err, E_DATA,
                    "'%s': '%s' has %lld examples, but '%s' %lld: the first axis counts them",
                    r->path, d->fields[0].name, (long long)d->examples, t->name,
                    (long long)t->dim[0]);
    d->examples = t->dim[0];
    data_field *f = &d->fields[d->n_fields];
    *f = (data_field){.name = t->name, .dtype = t->dtype, .rank = t->rank - 1};
    memcpy(f->dim, t->dim + 1, sizeof *t->dim * (size_t)f->rank);
    r->data[d->n_fields++] = t->data;
    return OK;
}

static status add_fields(arrays_reader *r, const arrays_reader_options *o, error *err)
{
    size_t n = st_count(r->file);
    if (n == 0 || n > DATA_FIELDS)
        return FAIL(err, E_DATA, "'%s': has %zu tensors; examples have 1 to %d fields", r->path, n,
                    DATA_FIELDS);
    for (size_t i = 0; i < n; i++)
        if (!o->without_labels || strcmp(st_at(r->file, i)->name, o->label) != 0)
            TRY(add_field(r, st_at(r->file, i), err));
    return r->base.n_fields ? OK : FAIL(err, E_DATA, "'%s': holds labels alone", r->path);
}

/* How many classes a label of int64 has, and whether each is one of them. */
static status count_classes(arrays_reader *r, size_t field, int64_t classes, error *err)
{
    data_field *f = &r->base.fields[field];
    int64_t per_example = (int64_t)(data_field_bytes(f) / sizeof(int64_t)), highest = 0;
    int64_t last = classes ? classes - 1 : INT32_MAX - 1;
    for (int64_t i = 0; i < r->base.examples * per_example; i++) {
        int64_t label;
        memcpy(&label, r->data[field] + (size_t)i * sizeof label, sizeof label);
        bool is_class = label >= 0 && label <= last;
        if (!is_class && label != IGNORED)
            return FAIL(err, E_DATA,
                        "'%s': '%s', example %lld: label %lld; classes are 0 to %lld, and %d counts "
                        "as none",
                        r->path, f->name, (long long)(i / per_example), (long long)label,
                        (long long)last, IGNORED);
        highest = label > highest ? label : highest;
    }
    f->classes = classes ? classes : highest + 1;
    f->classes_option = classes ? NULL : "classes";
    return OK;
}

static status find_labels(arrays_reader *r, const arrays_reader_options *o, error *err)
{
    for (size_t i = 0; i < r->base.n_fields; i++) {
        const data_field *f = &r->base.fields[i];
        if (f->dtype == DT_I64 && strcmp(f->name, o->label) == 0)
            return count_classes(r, i, o->classes, err);
    }
    if (o->classes)
        return FAIL(err, E_DATA,
                    "'%s': has no tensor '%s' of int64 whose classes dataset_reader.classes counts",
                    r->path, o->label);
    return OK;
}

status arrays_reader_open(const arrays_reader_options *options, const char *path, dataset **ret,
                          error *err)
{
    arrays_reader *r = xcalloc(1, sizeof *r);
    r->base.ops = &arrays_ops;
    r->path = xstrdup(path);
    status st = st_open(path, &r->file, err);
    if (st == OK)
        st = add_fields(r, options, err);
    if (st == OK && !options->without_labels)
        st = find_labels(r, options, err);
    if (st == OK)
        *ret = &r->base;
    else
        close_reader(&r->base);
    return st;
}

status arrays_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    const config *reader = request->reader;
    arrays_reader_options options = {
        .label = config_str(reader, "label"),
        .classes = config_has(reader, "classes") ? config_int(reader, "classes") : 0,
        .without_labels = request->without_labels,
    };
    dataset *d = NULL;
    TRY(arrays_reader_open(&options, request->path, &d, err));
    return dataset_cut(request, d, ret, err);
}
