/* See pixel_labels.h. */
#include "data/pixel_labels.h"

#include "data/augment.h"

#include <string.h>

/* What becomes of such fields. */
typedef struct effect {
    const char *key;
    bool tears;                     /* images move or are mixed, and what does not is left behind */
    bool spoils;                    /* a label that is an image by its form does not stay one of these pixels, ... */
    bool of_bytes;                  /* ... where it is bytes */
} effect;

static const effect effects[] = {
    {"random_resized_crop", .tears = true, .spoils = true},
    {"random_crop", .tears = true, .spoils = true},
    {"color_jitter", .spoils = true, .of_bytes = true},
    {"rand_augment", .tears = true, .spoils = true},
    {"trivial_augment_wide", .tears = true, .spoils = true},
    {"flip", .tears = true},
    {"shift", .tears = true, .spoils = true},
    {"random_erasing", .spoils = true},
    {"mixup", .tears = true, .spoils = true},
    {"cutmix", .tears = true, .spoils = true},
};

static bool is_viewed(const data_field *f)
{
    return f->is_viewed;
}

/* What moves some images alone, or otherwise than others. */
static const struct {
    const char *key;
    bool (*is_moved)(const data_field *f);
    const char *why;
} partial[] = {
    {"random_resized_crop", is_viewed, "it is of pictures in files"},
    {"random_crop", is_viewed, "of pictures in files it takes windows of another size"},
    {"rand_augment", augment_is_picture, "it is of pictures in bytes with 1 or 3 channels"},
    {"trivial_augment_wide", augment_is_picture, "it is of pictures in bytes with 1 or 3 channels"},
};

static bool is_asked(const config *section, const char *key)
{
    const json_t *value = config_json(section, key);
    return json_is_object(value) || json_is_true(value) || json_integer_value(value) > 0;
}

/* --- which fields they are --- */

static bool is_label(const json_t *labels, const data_field *f)
{
    bool found = !labels && strcmp(f->name, "label") == 0;
    for (size_t i = 0; i < json_array_size(labels); i++)
        found = found || strcmp(f->name, json_string_value(json_array_get(labels, i))) == 0;
    return found;
}

/* The image or video of whose size such a field is, the first; NULL: none. */
static const data_field *image_of(const json_t *labels, const data_field *fields, size_t n, const data_field *f)
{
    for (size_t i = 0; f->rank >= 2 && i < n; i++) {
        const data_field *image = &fields[i];
        if (image != f && augment_moves(image) && !is_label(labels, image) &&
            memcmp(image->dim + image->rank - 2, f->dim + f->rank - 2, 2 * sizeof *f->dim) == 0)
            return image;
    }
    return NULL;
}

/* --- what is asked for --- */

static bool harms(const effect *e, const data_field *f)
{
    if (!augment_moves(f))
        return e->tears;
    return e->spoils && (!e->of_bytes || f->dtype == DT_U8 || f->bytes.channels);
}

static status refuse(const config *section, const char *key, const data_field *f, const data_field *image, error *err)
{
    const char *path = config_path(section);
    long long height = (long long)f->dim[f->rank - 2], width = (long long)f->dim[f->rank - 1];
    if (augment_moves(f))
        return FAIL(err, E_CONFIG, "%s.%s: '%s' is a label of the %lld x %lld pixels of '%s', and would no longer fit; "
                                   "of such data flip alone changes both alike", path, key, f->name, height, width,
                    image->name);
    return FAIL(err, E_CONFIG, "%s.%s: would change '%s', and leave '%s', which says something of its %lld x %lld "
                               "pixels, as it is; leave it out, or augment both where the data are made",
                path, key, image->name, f->name, height, width);
}

/* Of two images of one size. */
static status check_images(const config *section, const data_field *a, const data_field *b, error *err)
{
    for (size_t k = 0; k < COUNT_OF(partial); k++)
        if (is_asked(section, partial[k].key) && partial[k].is_moved(a) != partial[k].is_moved(b))
            return FAIL(err, E_CONFIG, "%s.%s: would not move '%s' and '%s', images of the same %lld x %lld pixels, "
                                       "alike, for %s; leave it out, or augment both where the data are made",
                        config_path(section), partial[k].key, a->name, b->name, (long long)a->dim[a->rank - 2],
                        (long long)a->dim[a->rank - 1], partial[k].why);
    return OK;
}

status pixel_labels_check(const config *section, const json_t *labels, const data_field *fields, size_t n, error *err)
{
    for (size_t i = 0; section && i < n; i++) {
        const data_field *f = &fields[i], *image = image_of(labels, fields, n, f);
        if (!image)
            continue;
        if (augment_moves(f) && !is_label(labels, f)) {
            TRY(check_images(section, image, f, err));
            continue;
        }
        for (size_t k = 0; k < COUNT_OF(effects); k++)
            if (harms(&effects[k], f) && is_asked(section, effects[k].key))
                return refuse(section, effects[k].key, f, image, err);
    }
    return OK;
}
