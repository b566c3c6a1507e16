/* See contact_sheet.h. Pixels are those of the batch, but that normalization is undone; small ones are drawn larger. */
#include "cli/inspect/contact_sheet.h"

#include "cli/run/model_archive.h"
#include "common/base/alloc.h"
#include "common/config/training.h"
#include "data/data.h"
#include "data/drawing.h"
#include "data/png.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pictures of a batch that are shown at most; the least pixels of a side they are drawn with, and those between. */
enum { SHOWN = 64, LEAST = 96, GAP = 6, CAPTION = 12, RGB = 3, LABELS_SHOWN = 3 };

typedef struct sheet {
    config *config;
    dataset *data;
    loader *loader;
    const data_batch *batch;
    size_t image, label;            /* fields; label == n_fields: there is none */
    int64_t n;                      /* pictures that are shown */
    int zoom, across, down, width, height; /* pixels of a pixel; pictures in a row, rows; of the whole */
    float low, high;                /* of pixels that are not bytes in their file */
    drawing words;
    unsigned char *pixels;          /* [height][width][RGB] */
} sheet;

/* --- what is shown --- */

static bool is_picture(const data_field *f)
{
    return f->dtype == DT_F32 && f->rank == 3 && (f->dim[0] == 1 || f->dim[0] == RGB);
}

static status find_fields(sheet *s, error *err)
{
    size_t n;
    const data_field *fields = loader_fields(s->loader, &n);
    while (s->image < n && !is_picture(&fields[s->image]))
        s->image++;
    while (s->label < n && strcmp(fields[s->label].name, "label") != 0)
        s->label++;
    return s->image < n ? OK
                        : FAIL(err, E_CONFIG,
                               "--pictures: train_data_path holds none: no field is float32 [1 or 3, height, width]");
}

static status sheet_take_batch(sheet *s, const args *a, error *err)
{
    const config *c = s->config;
    TRYF(dataset_open(config_section(c, "dataset_reader"), config_str(c, "train_data_path"), &s->data, err), err,
         "train_data_path");
    steps batches = training_steps(c, dataset_examples(s->data), &(steps_kinds){.n = 0}, 1);
    loader_options o = {.dataset = s->data,
                        .batch_size = batches.batch_size,
                        .seed = (uint64_t)config_int(c, "random_seed"),
                        .shuffle = config_bool(c, "data_loader.shuffle"),
                        .augment = config_section(c, "dataset_reader.augment"),
                        .depth = 2};
    TRY(loader_create(&o, &s->loader, err));
    TRY(find_fields(s, err));
    step_slot slot = steps_slot(&batches, args_count(a, "batch", 0), 0);
    return loader_take(s->loader, &slot, &s->batch, err);
}

static void lay_out(sheet *s)
{
    const data_field *f = &s->batch->fields[s->image];
    int64_t longer = f->dim[1] > f->dim[2] ? f->dim[1] : f->dim[2];
    s->n = s->batch->slot.n < SHOWN ? s->batch->slot.n : SHOWN;
    s->zoom = longer < LEAST ? (int)((LEAST + longer - 1) / longer) : 1;
    s->across = (int)ceil(sqrt((double)s->n));
    s->down = (int)((s->n + s->across - 1) / s->across);
    s->width = GAP + s->across * ((int)f->dim[2] * s->zoom + GAP);
    s->height = GAP + s->down * ((int)f->dim[1] * s->zoom + CAPTION + GAP);
    s->words = drawing_create(s->width, s->height);
    s->pixels = xcalloc((size_t)s->width * (size_t)s->height, RGB);
    memset(s->pixels, 0xff, (size_t)s->width * (size_t)s->height * RGB);
}

/* --- pixels --- */

static const float *image_of(const sheet *s, int64_t i)
{
    return (const float *)s->batch->data[s->image] + i * data_field_elements(&s->batch->fields[s->image]);
}

static void find_range(sheet *s)
{
    int64_t n = s->n * data_field_elements(&s->batch->fields[s->image]);
    const float *x = image_of(s, 0);
    s->low = s->high = x[0];
    for (int64_t i = 0; i < n; i++) {
        s->low = x[i] < s->low ? x[i] : s->low;
        s->high = x[i] > s->high ? x[i] : s->high;
    }
}

static unsigned char byte_of(const sheet *s, const data_field *f, int32_t c, float x)
{
    int32_t of = f->bytes.channels > 1 ? c : 0;
    float range = s->high > s->low ? s->high - s->low : 1.0f;
    float y = f->bytes.channels ? (x - f->bytes.offset[of]) / f->bytes.scale[of] : (x - s->low) / range * 255.0f;
    return y >= 255.0f ? 255 : y > 0.0f ? (unsigned char)(y + 0.5f) : 0;
}

static void draw_picture(sheet *s, int64_t i, int left, int top)
{
    const data_field *f = &s->batch->fields[s->image];
    const float *image = image_of(s, i);
    int64_t height = f->dim[1], width = f->dim[2];
    for (int y = 0; y < height * s->zoom; y++)
        for (int x = 0; x < width * s->zoom; x++) {
            unsigned char *to = s->pixels + ((size_t)(top + y) * (size_t)s->width + (size_t)(left + x)) * RGB;
            for (int32_t c = 0; c < RGB; c++) {
                int32_t from = f->dim[0] == 1 ? 0 : c;
                to[c] = byte_of(s, f, from, image[((int64_t)from * height + y / s->zoom) * width + x / s->zoom]);
            }
        }
}

/* --- words --- */

static void add_class(const sheet *s, int64_t label, buf *to)
{
    if (!dataset_label_word(s->data, label, to))
        buf_addf(to, "%lld", (long long)label);
}

/* "cat", or the largest of several: "cat 0.70, dog 0.30". */
static void say_label(const sheet *s, int64_t i, buf *to)
{
    const data_field *f = &s->batch->fields[s->label];
    int64_t n = data_field_elements(f);
    if (f->dtype == DT_I64 && n == 1) {
        add_class(s, ((const int64_t *)s->batch->data[s->label])[i], to);
        return;
    }
    if (f->dtype != DT_F32)
        return;
    const float *shares = (const float *)s->batch->data[s->label] + i * n;
    bool *is_said = xcalloc((size_t)n, sizeof *is_said);
    for (int k = 0; k < LABELS_SHOWN; k++) {
        int64_t largest = -1;
        for (int64_t c = 0; c < n; c++)
            if (shares[c] > 0.0f && !is_said[c] && (largest < 0 || shares[c] > shares[largest]))
                largest = c;
        if (largest < 0)
            break;
        buf_adds(to, k ? ", " : "");
        add_class(s, largest, to);
        if (shares[largest] < 1.0f)
            buf_addf(to, " %.2f", (double)shares[largest]);
        is_said[largest] = true;
    }
    free(is_said);
}

/* What does not fit beneath the picture is cut off. */
static void draw_label(sheet *s, int64_t i, int left, int top, int width)
{
    buf text = BUF_INIT;
    if (s->label < s->batch->n_fields)
        say_label(s, i, &text);
    while (text.size > 0 && drawing_text_width(text.data, 1) > width)
        text.data[--text.size] = '\0';
    if (text.size > 0)
        drawing_text(&s->words, left, top, 1, 1, text.data);
    buf_fini(&text);
}

static void draw_all(sheet *s)
{
    const data_field *f = &s->batch->fields[s->image];
    int width = (int)f->dim[2] * s->zoom, height = (int)f->dim[1] * s->zoom;
    for (int64_t i = 0; i < s->n; i++) {
        int left = GAP + (int)(i % s->across) * (width + GAP);
        int top = GAP + (int)(i / s->across) * (height + CAPTION + GAP);
        draw_picture(s, i, left, top);
        draw_label(s, i, left, top + height + 2, width);
    }
    for (size_t i = 0; i < (size_t)s->width * (size_t)s->height; i++)
        if (s->words.pixels[i])
            memset(s->pixels + i * RGB, 0, RGB);
}

/* --- all of it --- */

static status sheet_write(sheet *s, const args *a, error *err)
{
    const char *path = args_text(a, "pictures");
    const data_field *f;
    TRY(sheet_take_batch(s, a, err));
    f = &s->batch->fields[s->image];
    lay_out(s);
    find_range(s);
    draw_all(s);
    png_image image = {.width = s->width, .height = s->height, .pixels = s->pixels};
    TRY(png_write(path, &image, err));
    printf("%s: %lld of %lld pictures of batch %lld, [%lld, %lld, %lld]\n", path, (long long)s->n,
           (long long)s->batch->slot.n, (long long)s->batch->slot.batch_id, (long long)f->dim[0], (long long)f->dim[1],
           (long long)f->dim[2]);
    return OK;
}

status inspect_contact_sheet(const args *a, error *err)
{
    sheet s = {.config = NULL};
    config_source source = {
        .path = a->operands[0], .overrides = args_text(a, "overrides"), .read_archive = model_archive_config};
    status st = config_load(&source, &s.config, err);
    if (st == OK)
        st = sheet_write(&s, a, err);
    if (s.batch)
        loader_release(s.loader, s.batch);
    loader_destroy(&s.loader);
    dataset_close(&s.data);
    config_destroy(&s.config);
    drawing_fini(&s.words);
    free(s.pixels);
    return st;
}
