/* Pictures below a folder, in a list, or one: how many of each class, their sizes, what is broken, and the mean and
 * deviation of their colours. */
#include "cli/inspect/kinds.h"
#include "cli/inspect/media.h"
#include "cli/inspect/text.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "data/pictures/figures.h"
#include "data/videos/frame_folders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- looking --- */

static void add_sizes(const picture_set *s, const picture_figures *f, json_t *o)
{
    extremes widths = {.n = 0}, heights = {.n = 0}, bytes = {.n = 0};
    int64_t of_format[PICTURE_FORMATS] = {0}, grey = 0, cmyk = 0, sixteen = 0, turned = 0;
    for (size_t i = 0; i < s->n; i++) {
        const picture_head *h = &f[i].head;
        if (f[i].broken)
            continue;
        extremes_add(&widths, h->width);
        extremes_add(&heights, h->height);
        extremes_add(&bytes, (int64_t)f[i].bytes);
        of_format[h->format]++;
        grey += h->channels == 1;
        cmyk += h->is_cmyk;
        sixteen += h->bits == 16;
        turned += h->orientation != 1;
    }
    json_object_set_new(o, "pictures", json_integer(widths.n));
    json_object_set_new(o, "width", extremes_report(&widths));
    json_object_set_new(o, "height", extremes_report(&heights));
    json_object_set_new(o, "bytes", extremes_report(&bytes));
    json_object_set_new(o, "jpeg", json_integer(of_format[PICTURE_JPEG]));
    json_object_set_new(o, "png", json_integer(of_format[PICTURE_PNG]));
    json_object_set_new(o, "webp", json_integer(of_format[PICTURE_WEBP]));
    json_object_set_new(o, "grey", json_integer(grey));
    json_object_set_new(o, "cmyk", json_integer(cmyk));
    json_object_set_new(o, "sixteen_bits", json_integer(sixteen));
    json_object_set_new(o, "turned_by_exif", json_integer(turned));
}

/* Each picture counts alike, whatever its size. */
static void add_colours(const picture_set *s, const picture_figures *f, json_t *o)
{
    json_t *means = json_array(), *deviations = json_array();
    int64_t n = json_integer_value(json_object_get(o, "pictures"));
    for (size_t c = 0; n > 0 && c < PICTURE_CHANNELS; c++) {
        double mean = 0.0, square = 0.0;
        for (size_t i = 0; i < s->n; i++) {
            mean += f[i].broken ? 0.0 : (double)f[i].mean[c];
            square += f[i].broken ? 0.0 : (double)f[i].square[c];
        }
        mean /= (double)n;
        double variance = square / (double)n - mean * mean;
        json_array_append_new(means, json_real(mean));
        json_array_append_new(deviations, json_real(variance > 0.0 ? sqrt(variance) : 0.0));
    }
    json_object_set_new(o, "mean", means);
    json_object_set_new(o, "std", deviations);
}

/* Where each folder of a class holds folders alone these may be videos, of frames. The set is sorted anew. */
static void add_videos(picture_set *s, json_t *o)
{
    frame_folders videos;
    extremes frames = {.n = 0};
    if (s->classes)
        return;
    if (frame_folders_find(s, true, &videos, NULL) == OK) {
        for (size_t i = 0; i < videos.videos.n; i++)
            extremes_add(&frames, (int64_t)videos.n[i]);
        json_object_set_new(o, "folders_of_frames", json_integer((json_int_t)videos.videos.n));
        json_object_set_new(o, "frames", extremes_report(&frames));
    }
    frame_folders_fini(&videos);
}

static json_t *report_figures(const char *path, const picture_set *s, const picture_figures *f)
{
    char **broken = xcalloc(s->n + 1, sizeof *broken);
    for (size_t i = 0; i < s->n; i++)
        broken[i] = f[i].broken;
    json_t *o = json_pack("{s:s, s:o, s:I, s:o, s:o}", "kind", "pictures", "path", json_words(path), "left_out",
                          (json_int_t)s->n_left_out, "classes", media_classes(s, broken, "pictures"), "broken",
                          media_broken(s, broken));
    BUG_ON(!o);
    free(broken);
    add_sizes(s, f, o);
    return o;
}

/* Takes the set over. */
static status report_set(const char *path, picture_set *s, bool verify, json_t **ret, error *err)
{
    picture_figures *f = NULL;
    status st = picture_figures_take(s, verify, &f, err);
    if (st == OK) {
        *ret = report_figures(path, s, f);
        if (verify)
            add_colours(s, f, *ret);
        picture_figures_free(f, s->n);
        add_videos(s, *ret);
    }
    picture_set_fini(s);
    return st;
}

status inspect_look_pictures(const char *path, bool verify, json_t **ret, error *err)
{
    picture_set s;
    bool any = picture_set_of_files(path, &kind_of_pictures, NULL, &s, NULL) == OK;
    return any ? report_set(path, &s, verify, ret, err) : OK;
}

status inspect_look_list(const char *path, bool verify, json_t **ret, error *err)
{
    picture_set s;
    return media_find_listed(path, &kind_of_pictures, &s) ? report_set(path, &s, verify, ret, err) : OK;
}

/* --- printing --- */

static void print_colours(const json_t *report, const char *key, buf *ret)
{
    const json_t *list = json_object_get(report, key);
    for (size_t c = 0; c < json_array_size(list); c++)
        buf_addf(ret, "%s%.4f", c ? ", " : "", json_real_value(json_array_get(list, c)));
}

void inspect_print_pictures(const json_t *report, buf *ret)
{
    const json_t *broken = json_object_get(report, "broken");
    buf_addf(ret, "%s: %lld pictures (%lld JPEG, %lld PNG, %lld WebP), %zu broken, %lld other files\n",
             inspect_str(report, "path"), inspect_int(report, "pictures"), inspect_int(report, "jpeg"),
             inspect_int(report, "png"), inspect_int(report, "webp"), json_array_size(broken),
             inspect_int(report, "left_out"));
    media_print_extremes(report, "width", ret);
    media_print_extremes(report, "height", ret);
    media_print_extremes(report, "bytes", ret);
    buf_addf(ret, "  grey %lld, CMYK %lld, 16 bits %lld, turned by EXIF %lld\n", inspect_int(report, "grey"),
             inspect_int(report, "cmyk"), inspect_int(report, "sixteen_bits"), inspect_int(report, "turned_by_exif"));
    if (json_array_size(json_object_get(report, "mean")) > 0) {
        buf_adds(ret, "  mean: [");
        print_colours(report, "mean", ret);
        buf_adds(ret, "], std: [");
        print_colours(report, "std", ret);
        buf_adds(ret, "] of pixels as 0 to 1, each picture counting alike\n");
    }
    if (inspect_int(report, "folders_of_frames")) {
        buf_addf(ret, "  in %lld folders below those of classes, as videos have their frames\n",
                 inspect_int(report, "folders_of_frames"));
        media_print_extremes(report, "frames", ret);
    }
    media_print_classes(json_object_get(report, "classes"), "pictures", ret);
    media_print_broken(broken, ret);
}
