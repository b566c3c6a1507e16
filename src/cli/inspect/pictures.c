/* Pictures below a folder, in a list, or one: how many of each class, their sizes, what is broken, and the mean and
 * deviation of their colours. */
#include "cli/inspect/kinds.h"
#include "cli/inspect/text.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "data/pictures/figures.h"
#include "data/pictures/picture_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BROKEN_SHOWN = 20 };

/* --- looking --- */

/* The folder that it lies in, right below the root; "": none. */
static json_t *class_of(const picture_set *s, size_t i)
{
    buf name = BUF_INIT;
    picture_set_name(s, i, &name);
    char *slash = strchr(name.data, '/');
    json_t *class = json_stringn(name.data, slash ? (size_t)(slash - name.data) : 0);
    buf_fini(&name);
    return class;
}

/* [{"class": "cats", "pictures": 3, "broken": 1}]; classes follow each other in the order of paths. */
static json_t *count_classes(const picture_set *s, const picture_figures *f)
{
    json_t *classes = json_array(), *last = NULL;
    for (size_t i = 0; i < s->n; i++) {
        json_t *class = class_of(s, i);
        if (!last || !json_equal(json_object_get(last, "class"), class)) {
            last = json_pack("{s:O, s:i, s:i}", "class", class, "pictures", 0, "broken", 0);
            json_array_append_new(classes, last);
        }
        const char *key = f[i].broken ? "broken" : "pictures";
        json_object_set_new(last, key, json_integer(json_integer_value(json_object_get(last, key)) + 1));
        json_decref(class);
    }
    return classes;
}

/* The same of a list; a picture counts for each label that it has. */
static json_t *count_labels(const picture_set *s, const picture_figures *f)
{
    json_t *classes = json_array();
    for (int32_t c = 0; c < words_count(s->classes); c++) {
        json_int_t n = 0, broken = 0;
        for (size_t i = 0; i < s->n; i++)
            for (int32_t k = 0; k < s->at[i].n_labels; k++)
                *(f[i].broken ? &broken : &n) += s->at[i].labels[k] == c;
        json_array_append_new(classes, json_pack("{s:s, s:I, s:I}", "class", words_at(s->classes, c), "pictures", n,
                                                 "broken", broken));
    }
    return classes;
}

static json_t *list_broken(const picture_set *s, const picture_figures *f)
{
    json_t *broken = json_array();
    for (size_t i = 0; i < s->n; i++) {
        if (!f[i].broken)
            continue;
        buf name = BUF_INIT;
        picture_set_name(s, i, &name);
        json_t *why = json_string(f[i].broken); /* NULL: a path in it is no UTF-8 */
        json_array_append_new(broken, json_pack("{s:s, s:o}", "file", name.data, "why", why ? why : json_null()));
        buf_fini(&name);
    }
    return broken;
}

typedef struct extremes {
    int64_t least, most, sum, n;
} extremes;

static void extend(extremes *e, int64_t x)
{
    e->least = !e->n || x < e->least ? x : e->least;
    e->most = x > e->most ? x : e->most;
    e->sum += x;
    e->n++;
}

static json_t *extremes_report(const extremes *e)
{
    return json_pack("{s:I, s:I, s:f}", "least", (json_int_t)e->least, "most", (json_int_t)e->most, "mean",
                     e->n ? (double)e->sum / (double)e->n : 0.0);
}

static void add_sizes(const picture_set *s, const picture_figures *f, json_t *o)
{
    extremes widths = {.n = 0}, heights = {.n = 0}, bytes = {.n = 0};
    int64_t of_format[PICTURE_FORMATS] = {0}, grey = 0, cmyk = 0, sixteen = 0, turned = 0;
    for (size_t i = 0; i < s->n; i++) {
        const picture_head *h = &f[i].head;
        if (f[i].broken)
            continue;
        extend(&widths, h->width);
        extend(&heights, h->height);
        extend(&bytes, (int64_t)f[i].bytes);
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

/* Lines of "PATH LABEL,LABEL", or cells parted by commas, of which the first is there. */
static bool find_listed(const char *path, picture_set *ret)
{
    static const char separators[] = {'\0', ','};
    for (size_t i = 0; i < COUNT_OF(separators); i++) {
        const picture_list_options o = {.kind = &kind_of_pictures,
                                        .separator = separators[i],
                                        .header = true,
                                        .between = ','};
        if (picture_set_of_list(path, &o, NULL, ret, NULL) != OK)
            continue;
        char *first = picture_set_path(ret, 0);
        bool is_there = fs_exists(first);
        free(first);
        if (is_there)
            return true;
        picture_set_fini(ret);
    }
    return false;
}

/* Takes the set over. */
static status report_set(const char *path, picture_set *s, bool verify, json_t **ret, error *err)
{
    picture_figures *f = NULL;
    status st = picture_figures_take(s, verify, &f, err);
    if (st == OK) {
        json_t *o = json_pack("{s:s, s:s, s:I, s:o, s:o}", "kind", "pictures", "path", path, "left_out",
                              (json_int_t)s->n_left_out, "classes",
                              s->classes ? count_labels(s, f) : count_classes(s, f), "broken", list_broken(s, f));
        BUG_ON(!o);
        add_sizes(s, f, o);
        if (verify)
            add_colours(s, f, o);
        picture_figures_free(f, s->n);
        *ret = o;
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
    return find_listed(path, &s) ? report_set(path, &s, verify, ret, err) : OK;
}

/* --- printing --- */

static void print_extremes(const json_t *report, const char *key, buf *ret)
{
    const json_t *e = json_object_get(report, key);
    buf_addf(ret, "  %-7s %lld to %lld, mean %.0f\n", key, inspect_int(e, "least"), inspect_int(e, "most"),
             json_real_value(json_object_get(e, "mean")));
}

static void print_colours(const json_t *report, const char *key, buf *ret)
{
    const json_t *list = json_object_get(report, key);
    for (size_t c = 0; c < json_array_size(list); c++)
        buf_addf(ret, "%s%.4f", c ? ", " : "", json_real_value(json_array_get(list, c)));
}

static void print_classes(const json_t *classes, buf *ret)
{
    inspect_table t = {.columns = 3};
    if (json_array_size(classes) == 1 && !*inspect_str(json_array_get(classes, 0), "class"))
        return;
    inspect_table_cell(&t, "  class");
    inspect_table_cell(&t, "pictures");
    inspect_table_cell(&t, "broken");
    for (size_t i = 0; i < json_array_size(classes); i++) {
        const json_t *one = json_array_get(classes, i);
        const char *name = inspect_str(one, "class");
        inspect_table_cell(&t, "  %s", *name ? name : "(none)");
        inspect_table_cell(&t, "%lld", inspect_int(one, "pictures"));
        inspect_table_cell(&t, "%lld", inspect_int(one, "broken"));
    }
    inspect_table_flush(&t, ret);
}

void inspect_print_pictures(const json_t *report, buf *ret)
{
    const json_t *broken = json_object_get(report, "broken");
    buf_addf(ret, "%s: %lld pictures (%lld JPEG, %lld PNG, %lld WebP), %zu broken, %lld other files\n",
             inspect_str(report, "path"), inspect_int(report, "pictures"), inspect_int(report, "jpeg"),
             inspect_int(report, "png"), inspect_int(report, "webp"), json_array_size(broken),
             inspect_int(report, "left_out"));
    print_extremes(report, "width", ret);
    print_extremes(report, "height", ret);
    print_extremes(report, "bytes", ret);
    buf_addf(ret, "  grey %lld, CMYK %lld, 16 bits %lld, turned by EXIF %lld\n", inspect_int(report, "grey"),
             inspect_int(report, "cmyk"), inspect_int(report, "sixteen_bits"), inspect_int(report, "turned_by_exif"));
    if (json_array_size(json_object_get(report, "mean")) > 0) {
        buf_adds(ret, "  mean: [");
        print_colours(report, "mean", ret);
        buf_adds(ret, "], std: [");
        print_colours(report, "std", ret);
        buf_adds(ret, "] of pixels as 0 to 1, each picture counting alike\n");
    }
    print_classes(json_object_get(report, "classes"), ret);
    for (size_t i = 0; i < json_array_size(broken) && i < BROKEN_SHOWN; i++)
        buf_addf(ret, "  '%s': %s\n", inspect_str(json_array_get(broken, i), "file"),
                 inspect_str(json_array_get(broken, i), "why"));
    if (json_array_size(broken) > BROKEN_SHOWN)
        buf_addf(ret, "  and %zu more that are broken\n", json_array_size(broken) - BROKEN_SHOWN);
}
