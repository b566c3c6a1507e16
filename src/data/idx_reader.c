/*
 * Labelled images in two IDX files (reader.h). Everything that can be wrong with labels and sizes
 * is found at opening, so that a long run cannot fail on it in its last hour; pixels that are not
 * finite (float files only) are found when they are read.
 */
#include "data/reader.h"

#include "common/base/alloc.h"
#include "data/idx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD_IMAGE, FIELD_LABEL, FIELDS };

typedef struct idx_reader {
    dataset base;
    idx images, labels;
    float scale, offset; /* pixel = x * scale + offset */
} idx_reader;

static void close_reader(dataset *d)
{
    idx_reader *r = (idx_reader *)d;
    idx_close(&r->images);
    idx_close(&r->labels);
    free(r);
}

static status read_numbers(const idx_reader *r, size_t first, size_t n, float *out, error *err)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = (float)idx_number(&r->images, first + i) * r->scale + r->offset;
        if (!isfinite(out[i]))
            return FAIL(err, E_DATA, "'%s': example %zu, value %zu is not a finite number",
                        r->images.path, first / n, i);
    }
    return OK;
}

static void read_label(const idx_reader *r, int64_t example, void *const *ret)
{
    if (r->base.n_fields > FIELD_LABEL)
        *(int64_t *)ret[FIELD_LABEL] = idx_integer(&r->labels, (size_t)example);
}

static status read_example(const dataset *d, int64_t example, void *const *ret, error *err)
{
    const idx_reader *r = (const idx_reader *)d;
    size_t n = r->images.values_per_item, first = (size_t)example * n;
    float *out = ret[FIELD_IMAGE];
    if (r->images.type == IDX_U8)
        for (size_t i = 0; i < n; i++)
            out[i] = (float)r->images.values[first + i] * r->scale + r->offset;
    else
        TRY(read_numbers(r, first, n, out, err));
    read_label(r, example, ret);
    return OK;
}

static status read_bytes(const dataset *d, int64_t example, void *const *ret, error *err)
{
    const idx_reader *r = (const idx_reader *)d;
    size_t n = r->images.values_per_item;
    if (r->images.type != IDX_U8)
        return read_example(d, example, ret, err);
    memcpy(ret[FIELD_IMAGE], r->images.values + (size_t)example * n, n);
    read_label(r, example, ret);
    return OK;
}

static void add_items(const dataset *d, const idx *f, content_digest *ret)
{
    size_t item = f->values_per_item * idx_type_bytes(f->type);
    content_digest_add(ret, f->values + (size_t)d->first * item, (size_t)d->examples * item);
}

static void contents(const dataset *d, content_digest *ret)
{
    const idx_reader *r = (const idx_reader *)d;
    add_items(d, &r->images, ret);
    if (d->n_fields > FIELD_LABEL)
        add_items(d, &r->labels, ret);
}

static void place(const dataset *d, int64_t example, buf *ret)
{
    buf_addf(ret, "'%s': index %lld", ((const idx_reader *)d)->images.path, (long long)example);
}

static const reader_ops idx_ops = {.read = read_example,
                                   .read_bytes = read_bytes,
                                   .close = close_reader,
                                   .contents = contents,
                                   .place = place};

/* "dir/train-images-idx3-ubyte.gz" -> "dir/train-labels-idx1-ubyte.gz"; NULL if there is no
 * "images" in the file's name. The caller frees it. */
static char *labels_path(const char *images)
{
    char *path = xstrdup(images);
    char *base = strrchr(path, '/');
    base = base ? base : path;
    char *word = strstr(base, "images");
    if (!word) {
        free(path);
        return NULL;
    }
    memcpy(word, "labels", 6);
    char *kind = strstr(word, "idx3");
    if (kind)
        kind[3] = '1';
    return path;
}

/* The path with ".gz" added or taken away. */
static char *other_packing(const char *path)
{
    size_t n = strlen(path);
    if (n > 3 && strcmp(path + n - 3, ".gz") == 0)
        return xstrndup(path, n - 3);
    return xasprintf("%s.gz", path);
}

static status open_labels(const char *given, const char *images, idx *ret, error *err)
{
    if (given)
        return idx_open(given, ret, err);
    char *path = labels_path(images);
    if (!path)
        return FAIL(err, E_DATA,
                    "'%s': its labels cannot be found by name (no \"images\" in it); set "
                    "dataset_reader.labels",
                    images);
    char *other = other_packing(path);
    status st;
    if (fs_exists(path))
        st = idx_open(path, ret, err);
    else if (fs_exists(other))
        st = idx_open(other, ret, err);
    else
        st = FAIL(err, E_DATA,
                  "'%s': its labels are missing: neither '%s' nor '%s' exists; set "
                  "dataset_reader.labels",
                  images, path, other);
    free(path);
    free(other);
    return st;
}

static status check_images(const idx_reader *r, error *err)
{
    char text[IDX_DIMS_TEXT];
    if (r->images.rank < 2 || r->images.rank > 4)
        return FAIL(err, E_DATA, "'%s': holds %s; images are N x D, N x H x W or N x C x H x W",
                    r->images.path, idx_dims_text(&r->images, text));
    if (r->images.dim[0] == 0 || r->images.values_per_item == 0)
        return FAIL(err, E_DATA, "'%s': holds %s: no examples", r->images.path,
                    idx_dims_text(&r->images, text));
    return OK;
}

static status check_counts(const idx_reader *r, error *err)
{
    char text[IDX_DIMS_TEXT];
    if (r->labels.rank != 1 || !idx_is_integer(&r->labels))
        return FAIL(err, E_DATA, "'%s': holds %s; labels are one row of integers", r->labels.path,
                    idx_dims_text(&r->labels, text));
    if (r->images.dim[0] != r->labels.dim[0])
        return FAIL(err, E_DATA, "'%s' holds %lld images, but '%s' %lld labels", r->images.path,
                    (long long)r->images.dim[0], r->labels.path, (long long)r->labels.dim[0]);
    return OK;
}

static status idx_reader_check_labels(const idx_reader *r, int64_t classes, int64_t *ret_classes, error *err)
{
    int64_t largest = 0;
    for (int64_t i = 0; i < r->base.examples; i++) {
        int64_t label = idx_integer(&r->labels, (size_t)i);
        if (label < 0 || (classes > 0 && label >= classes))
            return FAIL(err, E_DATA,
                        "'%s': example %lld has label %lld; with %lld classes, 0 to "
                        "%lld are valid",
                        r->labels.path, (long long)i, (long long)label, (long long)classes,
                        (long long)classes - 1);
        largest = label > largest ? label : largest;
    }
    *ret_classes = classes > 0 ? classes : largest + 1;
    return OK;
}

static void describe_images(idx_reader *r)
{
    const idx *f = &r->images;
    data_field image = {.name = "image", .dtype = DT_F32, .background = r->offset};
    if (f->rank == 3)
        image.dim[image.rank++] = 1;
    for (int32_t i = 1; i < f->rank; i++)
        image.dim[image.rank++] = f->dim[i];
    if (f->type == IDX_U8)
        image.bytes = (data_bytes){.channels = 1, .scale = {r->scale}, .offset = {r->offset}};
    r->base.fields[FIELD_IMAGE] = image;
    r->base.n_fields = FIELD_LABEL;
}

static status add_labels(idx_reader *r, const idx_reader_options *o, const char *images, error *err)
{
    int64_t classes = 0;
    TRY(open_labels(o->labels, images, &r->labels, err));
    TRY(check_counts(r, err));
    TRY(idx_reader_check_labels(r, o->classes, &classes, err));
    r->base.fields[FIELD_LABEL] =
        (data_field){.name = "label", .dtype = DT_I64, .classes = classes};
    if (!o->classes)
        r->base.fields[FIELD_LABEL].classes_option = "classes";
    r->base.n_fields = FIELDS;
    return OK;
}

status idx_reader_open(const idx_reader_options *options, const char *path, dataset **ret,
                       error *err)
{
    idx_reader *r = xcalloc(1, sizeof *r);
    r->base.ops = &idx_ops;
    status st;
    TRY_OUT(st, idx_open(path, &r->images, err));
    TRY_OUT(st, check_images(r, err));
    r->base.examples = r->images.dim[0];

    double range = r->images.type == IDX_U8 ? 255.0 : 1.0;
    r->scale = (float)(1.0 / (range * options->std));
    r->offset = (float)(-options->mean / options->std);
    describe_images(r);
    if (!options->without_labels)
        TRY_OUT(st, add_labels(r, options, path, err));
    *ret = &r->base;
out:
    if (st != OK)
        close_reader(&r->base);
    return st;
}

status idx_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    const config *reader = request->reader;
    idx_reader_options options = {
        .labels = config_str(reader, "labels"),
        .mean = config_has(reader, "mean") ? config_f64(reader, "mean") : 0.0,
        .std = config_has(reader, "std") ? config_f64(reader, "std") : 1.0,
        .classes = config_has(reader, "classes") ? config_int(reader, "classes") : 0,
        .without_labels = request->without_labels,
    };
    dataset *d = NULL;
    TRY(idx_reader_open(&options, request->path, &d, err));
    return dataset_cut(request, d, ret, err);
}
