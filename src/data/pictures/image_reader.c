/*
 * Pictures in files, as examples (reader.h): decoded, brought to one size and normalized when they are read. Nothing is
 * kept of them but where they lie; survey.h says what is found wrong at opening, and what only when it is read.
 */
#include "data/reader.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "data/pictures/picture_classes.h"
#include "data/pictures/picture_find.h"
#include "data/pictures/picture_reader.h"
#include "data/pictures/survey.h"

#include <string.h>

/* What two readers must have alike. */
typedef struct picture_print {
    uint64_t bytes, sample, labels;
} picture_print;

static const picture_reader_kind images = {.view = picture_reader_view};

static void take_prints(picture_reader *r)
{
    const picture_set *s = &r->files;
    picture_print *prints = xcalloc(s->n, sizeof *prints);
    for (size_t i = 0; i < s->n; i++)
        prints[i] = (picture_print){s->at[i].bytes, s->at[i].sample, picture_entry_labels(&s->at[i])};
    r->prints = prints;
    r->print_bytes = sizeof *prints;
}

static status open_set(picture_reader *r, const reader_request *request, error *err)
{
    words *known = NULL;
    picture_set *s = &r->files;
    bool skips = strcmp(config_str(request->reader, "on_error"), "skip") == 0;
    TRY(picture_classes_known(request, &known, err));
    TRY(picture_find(request, &kind_of_pictures, known, s, err));
    TRY(picture_survey(s, &r->options.view.decoding, skips, err));
    TRY(picture_reader_deal(request, r, s, err));
    take_prints(r);
    return OK;
}

static status open_reader(picture_reader *r, const reader_request *request, error *err)
{
    TRY(picture_reader_begin(request, &images, r, err));
    TRY(open_set(r, request, err));
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
