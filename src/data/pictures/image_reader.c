/*
 * Pictures in files, as examples (reader.h): decoded, brought to one size and normalized when they are read. Nothing is
 * kept of them but where they lie; survey.h says what is found wrong at opening, and what only when it is read.
 */
#include "data/reader.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "data/pictures/picture_classes.h"
#include "data/pictures/picture_list.h"
#include "data/pictures/picture_reader.h"
#include "data/pictures/survey.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What two readers must have alike. */
typedef struct picture_print {
    uint64_t bytes, sample, labels;
} picture_print;

static const picture_reader_kind images = {.view = picture_reader_view};

static uint64_t print_labels(const picture_entry *e)
{
    return e->labels ? fnv1a(e->labels, (size_t)e->n_labels * sizeof *e->labels) : fnv1a(&e->label, sizeof e->label);
}

static void take_prints(picture_reader *r)
{
    const picture_set *s = &r->files;
    picture_print *prints = xcalloc(s->n, sizeof *prints);
    for (size_t i = 0; i < s->n; i++)
        prints[i] = (picture_print){s->at[i].bytes, s->at[i].sample, print_labels(&s->at[i])};
    r->prints = prints;
    r->print_bytes = sizeof *prints;
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

static status open_set(picture_reader *r, const reader_request *request, error *err)
{
    words *known = NULL;
    picture_set *s = &r->files;
    bool has_labels = !request->without_labels, skips = strcmp(config_str(request->reader, "on_error"), "skip") == 0;
    TRY(picture_classes_known(request, &known, err));
    TRY(find_pictures(request, known, s, err));
    TRY(picture_survey(s, &r->options.view.decoding, skips, err));
    if (has_labels && !request->vocabulary)
        TRY(picture_classes_check(s, err));
    r->has_many = has_labels && has_many_labels(request->reader);
    if (r->has_many && words_count(s->classes) == 0)
        return FAIL(err, E_DATA, "'%s': no picture has a label", request->path);
    if (has_labels && !r->has_many)
        picture_set_deal(s);
    take_prints(r);
    return OK;
}

static status open_reader(picture_reader *r, const reader_request *request, error *err)
{
    TRY(picture_reader_begin(request, &images, r, err));
    TRY(open_set(r, request, err));
    r->examples = &r->files;
    data_field pixels = picture_options_field(&r->options, "image");
    picture_reader_describe(r, &pixels, request->without_labels);
    return OK;
}

status image_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    picture_reader *r = xcalloc(1, sizeof *r);
    status st = open_reader(r, request, err);
    return picture_reader_end(request, st, r, ret, err);
}

bool image_reader_learns(const config *reader)
{
    (void)reader;
    return true;
}
