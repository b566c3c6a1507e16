/* See picture_reader.h. */
#include "data/pictures/picture_reader.h"

#include "data/pictures/picture_classes.h"
#include "data/pictures/picture_find.h"
#include "data/pictures/survey.h"

#include <stdlib.h>

enum { FIELD_PIXELS, FIELD_LABEL };

static const picture_reader *reader_of(const dataset *d)
{
    return (const picture_reader *)d;
}

static void close_reader(dataset *d)
{
    picture_reader *r = (picture_reader *)d;
    if (r->kind->close)
        r->kind->close(r);
    picture_set_fini(&r->files);
    free(r->prints);
    free(r->vocabulary);
    free(r);
}

/* --- examples --- */

status picture_reader_view(const picture_reader *r, size_t file, const picture_draws *draws, unsigned char *ret,
                           error *err)
{
    buf bytes = BUF_INIT;
    TRY(picture_set_read(&r->files, file, &bytes, err));
    status st = picture_view_take(&r->options.view, draws, (const unsigned char *)bytes.data, bytes.size, ret, err);
    buf_fini(&bytes);
    if (st != OK) {
        char *path = picture_set_path(&r->files, file);
        error_prepend(err, "'%s'", path);
        free(path);
    }
    return st;
}

static void give_label(const picture_reader *r, const picture_entry *e, void *ret)
{
    float *shares = ret;
    if (!r->has_many) {
        *(int64_t *)ret = e->label;
        return;
    }
    for (int32_t c = 0; c < words_count(r->files.classes); c++)
        shares[c] = 0.0f;
    for (int32_t i = 0; i < e->n_labels; i++)
        shares[e->labels[i]] = 1.0f;
}

static status read_drawn(const dataset *d, int64_t example, const picture_draws *draws, bool as_bytes,
                         void *const *ret, error *err)
{
    const picture_reader *r = reader_of(d);
    TRY(r->kind->view(r, (size_t)example, draws, ret[FIELD_PIXELS], err));
    if (!d->fields[FIELD_PIXELS].bytes.channels)
        r->kind->spread(r, ret[FIELD_PIXELS]);
    else if (!as_bytes)
        data_bytes_spread(&d->fields[FIELD_PIXELS], ret[FIELD_PIXELS]);
    if (d->n_fields > FIELD_LABEL)
        give_label(r, &r->examples->at[example], ret[FIELD_LABEL]);
    return OK;
}

static status read_bytes(const dataset *d, int64_t example, void *const *ret, error *err)
{
    return read_drawn(d, example, NULL, true, ret, err);
}

static status read_example(const dataset *d, int64_t example, void *const *ret, error *err)
{
    return read_drawn(d, example, NULL, false, ret, err);
}

/* --- what is known of them --- */

static const char *vocabulary(const dataset *d)
{
    return reader_of(d)->vocabulary;
}

static bool label_word(const dataset *d, int64_t label, buf *to)
{
    const words *classes = reader_of(d)->files.classes;
    if (!classes || label < 0 || label >= words_count(classes))
        return false;
    buf_adds(to, words_at(classes, (int32_t)label));
    return true;
}

static bool example_name(const dataset *d, int64_t example, buf *to)
{
    const picture_set *examples = reader_of(d)->examples;
    if (*examples->at[example].path)
        picture_set_name(examples, (size_t)example, to);
    else
        buf_adds(to, "."); /* a video whose frames lie right in the folder that was given */
    return true;
}

static void contents(const dataset *d, content_digest *ret)
{
    const picture_reader *r = reader_of(d);
    content_digest_add(ret, (const unsigned char *)r->prints + (size_t)d->first * r->print_bytes,
                       (size_t)d->examples * r->print_bytes);
}

/* Of a file that cannot be read any more there is nothing, so the hash is another. */
static void whole_contents(const dataset *d, char ret_hex[SHA256_HEX])
{
    const picture_reader *r = reader_of(d);
    sha256 h = {.context = NULL};
    sha256_begin(&h);
    for (int64_t i = d->first; i < d->first + d->examples; i++) {
        size_t first = (size_t)i, n = r->kind->files ? r->kind->files(r, (size_t)i, &first) : 1;
        for (size_t k = 0; k < n; k++) {
            buf file = BUF_INIT;
            if (picture_set_read(&r->files, first + k, &file, NULL) == OK)
                sha256_add(&h, file.data, file.size);
            buf_fini(&file);
        }
    }
    sha256_end(&h, ret_hex);
}

static const reader_ops picture_reader_ops = {.read = read_example,
                                              .read_bytes = read_bytes,
                                              .read_drawn = read_drawn,
                                              .close = close_reader,
                                              .vocabulary = vocabulary,
                                              .label_word = label_word,
                                              .example_name = example_name,
                                              .contents = contents,
                                              .whole_contents = whole_contents};

/* --- opening --- */

status picture_reader_begin(const reader_request *request, const picture_reader_kind *kind, picture_reader *r,
                            error *err)
{
    const config *augment = NULL;
    r->base.ops = &picture_reader_ops;
    r->kind = kind;
    if (config_has(request->reader, "augment"))
        augment = config_section(request->reader, "augment");
    return picture_options_read(request->reader, augment, &r->options, err);
}

status picture_reader_deal(const reader_request *request, picture_reader *r, picture_set *examples, error *err)
{
    bool has_labels = !request->without_labels;
    r->examples = examples;
    if (has_labels && !request->vocabulary)
        TRY(picture_classes_check(examples, err));
    r->has_many = has_labels && picture_find_has_many(request->reader);
    if (r->has_many && words_count(examples->classes) == 0)
        return FAIL(err, E_DATA, "'%s': no %s has a label", request->path, r->files.kind->one);
    if (has_labels && !r->has_many)
        picture_set_deal(examples);
    return OK;
}

void picture_reader_describe(picture_reader *r, const data_field *pixels, bool without_labels)
{
    r->base.fields[FIELD_PIXELS] = *pixels;
    r->base.n_fields = 1;
    r->base.examples = (int64_t)r->examples->n;
    r->base.reading = picture_options_reading(&r->options, r->files.reading);
    r->vocabulary = r->files.classes ? picture_classes_vocabulary(r->files.classes) : NULL;
    if (without_labels)
        return;
    int32_t classes = words_count(r->files.classes);
    r->base.fields[FIELD_LABEL] = (data_field){.name = "label", .dtype = DT_I64, .classes = classes};
    if (r->has_many)
        r->base.fields[FIELD_LABEL] = (data_field){.name = "label", .dtype = DT_F32, .rank = 1, .dim = {classes}};
    r->base.n_fields = 2;
}

status picture_reader_end(const reader_request *request, status st, picture_reader *r, dataset **ret, error *err)
{
    if (st == OK)
        return dataset_cut(request, &r->base, ret, err);
    close_reader(&r->base);
    return st;
}
