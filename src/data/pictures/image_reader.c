/*
 * Pictures in files, as examples (reader.h): decoded, brought to one size and normalized when they are read. Nothing is
 * kept of them but where they lie; survey.h says what is found wrong at opening, and what only when it is read.
 */
#include "data/reader.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "data/pictures/picture_classes.h"
#include "data/pictures/picture_list.h"
#include "data/pictures/picture_options.h"
#include "data/pictures/survey.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FIELD_IMAGE, FIELD_LABEL };

/* What two readers must have alike. */
typedef struct picture_print {
    uint64_t bytes, sample, labels;
} picture_print;

typedef struct image_reader {
    dataset base;
    picture_set set;
    picture_options options;
    picture_print *prints;                      /* [set.n] */
    bool has_many;                              /* labels a picture: a share of 1 of each class that it has */
    char *vocabulary;
} image_reader;

static void close_reader(dataset *d)
{
    image_reader *r = (image_reader *)d;
    picture_set_fini(&r->set);
    free(r->prints);
    free(r->vocabulary);
    free(r);
}

/* --- reading --- */

static status take_picture(const image_reader *r, size_t i, const picture_draws *draws, unsigned char *ret, error *err)
{
    buf file = BUF_INIT;
    TRY(picture_set_read(&r->set, i, &file, err));
    status st = picture_view_take(&r->options.view, draws, (const unsigned char *)file.data, file.size, ret, err);
    buf_fini(&file);
    if (st != OK) {
        char *path = picture_set_path(&r->set, i);
        error_prepend(err, "'%s'", path);
        free(path);
    }
    return st;
}

static void give_labels(const image_reader *r, const picture_entry *e, float *ret)
{
    for (int32_t c = 0; c < words_count(r->set.classes); c++)
        ret[c] = 0.0f;
    for (int32_t i = 0; i < e->n_labels; i++)
        ret[e->labels[i]] = 1.0f;
}

static status read_drawn_bytes(const dataset *d, int64_t example, const picture_draws *draws, void *const *ret,
                               error *err)
{
    const image_reader *r = (const image_reader *)d;
    TRY(take_picture(r, (size_t)example, draws, ret[FIELD_IMAGE], err));
    if (d->n_fields > FIELD_LABEL && r->has_many)
        give_labels(r, &r->set.at[example], ret[FIELD_LABEL]);
    else if (d->n_fields > FIELD_LABEL)
        *(int64_t *)ret[FIELD_LABEL] = r->set.at[example].label;
    return OK;
}

static status read_drawn(const dataset *d, int64_t example, const picture_draws *draws, bool as_bytes,
                         void *const *ret, error *err)
{
    TRY(read_drawn_bytes(d, example, draws, ret, err));
    if (!as_bytes)
        data_bytes_spread(&d->fields[FIELD_IMAGE], ret[FIELD_IMAGE]);
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

static const char *vocabulary(const dataset *d)
{
    return ((const image_reader *)d)->vocabulary;
}

static bool label_word(const dataset *d, int64_t label, buf *to)
{
    const words *classes = ((const image_reader *)d)->set.classes;
    if (!classes || label < 0 || label >= words_count(classes))
        return false;
    buf_adds(to, words_at(classes, (int32_t)label));
    return true;
}

static bool example_name(const dataset *d, int64_t example, buf *to)
{
    picture_set_name(&((const image_reader *)d)->set, (size_t)example, to);
    return true;
}

static void contents(const dataset *d, content_digest *ret)
{
    const image_reader *r = (const image_reader *)d;
    content_digest_add(ret, r->prints + d->first, (size_t)d->examples * sizeof *r->prints);
}

/* Of a file that cannot be read any more there is nothing, so the hash is another. */
static void whole_contents(const dataset *d, char ret_hex[SHA256_HEX])
{
    const image_reader *r = (const image_reader *)d;
    sha256 h = {.context = NULL};
    sha256_begin(&h);
    for (int64_t i = d->first; i < d->first + d->examples; i++) {
        buf file = BUF_INIT;
        if (picture_set_read(&r->set, (size_t)i, &file, NULL) == OK)
            sha256_add(&h, file.data, file.size);
        buf_fini(&file);
    }
    sha256_end(&h, ret_hex);
}

static const reader_ops image_reader_ops = {.read = read_example,
                                            .read_bytes = read_bytes,
                                            .read_drawn = read_drawn,
                                            .close = close_reader,
                                            .vocabulary = vocabulary,
                                            .label_word = label_word,
                                            .example_name = example_name,
                                            .contents = contents,
                                            .whole_contents = whole_contents};

/* --- opening --- */

static uint64_t print_labels(const picture_entry *e)
{
    return e->labels ? fnv1a(e->labels, (size_t)e->n_labels * sizeof *e->labels) : fnv1a(&e->label, sizeof e->label);
}

static void take_prints(image_reader *r)
{
    r->prints = xcalloc(r->set.n, sizeof *r->prints);
    for (size_t i = 0; i < r->set.n; i++)
        r->prints[i] = (picture_print){r->set.at[i].bytes, r->set.at[i].sample, print_labels(&r->set.at[i])};
}

static bool is_list(const config *reader)
{
    return strcmp(config_str(reader, "type"), "image_list") == 0;
}

static bool has_many_labels(const config *reader)
{
    return is_list(reader) && strcmp(config_str(reader, "label_is"), "labels") == 0;
}

/* What the path names. A picture, or a folder of some, needs no list where there are no labels. */
static status find_pictures(const reader_request *request, words *known, picture_set *ret, error *err)
{
    const config *reader = request->reader;
    struct stat info;
    bool is_folder = stat(request->path, &info) == 0 && S_ISDIR(info.st_mode);
    bool is_picture = picture_format_of_name(request->path, NULL) >= 0;
    if (request->without_labels && (!is_list(reader) || is_folder || is_picture))
        return picture_set_of_files(request->path, known, ret, err);
    if (!is_list(reader))
        return picture_set_of_folders(request->path, known, ret, err);
    const char *separator = config_str(reader, "separator");
    if (separator && (strlen(separator) != 1 || strchr("\"\n\r", separator[0]))) {
        words_destroy(&known);
        return FAIL(err, E_CONFIG, "%s.separator: '%s' is no single character that can part cells", config_path(reader),
                    separator);
    }
    if (has_many_labels(reader) && strlen(config_str(reader, "label_separator")) != 1) {
        words_destroy(&known);
        return FAIL(err, E_CONFIG, "%s.label_separator: '%s' is no single character", config_path(reader),
                    config_str(reader, "label_separator"));
    }
    picture_list_options o = {.root = config_str(reader, "root"),
                              .separator = separator ? separator[0] : '\0',
                              .header = config_bool(reader, "header"),
                              .path_column = config_str(reader, "path"),
                              .label_column = config_str(reader, "label"),
                              .between = has_many_labels(reader) ? config_str(reader, "label_separator")[0] : '\0',
                              .without_labels = request->without_labels};
    return picture_set_of_list(request->path, &o, known, ret, err);
}

static status open_set(image_reader *r, const reader_request *request, error *err)
{
    words *known = NULL;
    bool has_labels = !request->without_labels, skips = strcmp(config_str(request->reader, "on_error"), "skip") == 0;
    TRY(picture_classes_known(request, &known, err));
    TRY(find_pictures(request, known, &r->set, err));
    TRY(picture_survey(&r->set, &r->options.view.decoding, skips, err));
    if (has_labels && !request->vocabulary)
        TRY(picture_classes_check(&r->set, err));
    r->has_many = has_labels && has_many_labels(request->reader);
    if (r->has_many && words_count(r->set.classes) == 0)
        return FAIL(err, E_DATA, "'%s': no picture has a label", request->path);
    if (has_labels && !r->has_many)
        picture_set_deal(&r->set);
    take_prints(r);
    r->vocabulary = r->set.classes ? picture_classes_vocabulary(r->set.classes) : NULL;
    return OK;
}

static void describe_fields(image_reader *r, bool without_labels)
{
    r->base.fields[FIELD_IMAGE] = picture_options_field(&r->options, "image");
    r->base.n_fields = 1;
    r->base.examples = (int64_t)r->set.n;
    r->base.reading = picture_options_reading(&r->options, r->set.reading);
    if (without_labels)
        return;
    int32_t classes = words_count(r->set.classes);
    r->base.fields[FIELD_LABEL] = (data_field){.name = "label", .dtype = DT_I64, .classes = classes};
    if (r->has_many)
        r->base.fields[FIELD_LABEL] = (data_field){.name = "label", .dtype = DT_F32, .rank = 1, .dim = {classes}};
    r->base.n_fields = 2;
}

status image_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    image_reader *r = xcalloc(1, sizeof *r);
    r->base.ops = &image_reader_ops;
    status st;
    const config *reader = request->reader, *augment = NULL;
    if (config_has(reader, "augment"))
        augment = config_section(reader, "augment");
    TRY_OUT(st, picture_options_read(reader, augment, &r->options, err));
    TRY_OUT(st, open_set(r, request, err));
    describe_fields(r, request->without_labels);
out:
    if (st != OK) {
        close_reader(&r->base);
        return st;
    }
    return dataset_cut(request, &r->base, ret, err);
}

bool image_reader_learns(const config *reader)
{
    (void)reader;
    return true;
}
