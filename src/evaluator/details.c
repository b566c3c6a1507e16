/* See details.h. */
#include "evaluator/details.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "evaluator/example_picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char per_class[] = "--per-class", errors[] = "--errors", temperature[] = "--temperature";

enum { EXAMPLE, LOSS, LABEL, PREDICTED, COLUMNS }; /* of worst_examples */
enum { PICTURES_MOST = 100 };                      /* each is read again, and takes up to 37 kB as text */

bool details_any(const evaluation_details *d)
{
    return d->per_class || d->temperature || d->errors > 0;
}

static bool has_many_labels(const metric_source *s)
{
    return s->input == METRIC_YES_NO && s->labels > 1;
}

size_t details_options(const evaluation_details *d, const metric_source *source, metric_options ret[DETAILS])
{
    size_t n = 0;
    if (d->per_class)
        ret[n++] = (metric_options){.kind = has_many_labels(source) ? "fbeta_multi_label" : "fbeta",
                                    .name = per_class,
                                    .average = METRIC_PER_CLASS,
                                    .threshold = 0.5};
    if (d->errors > 0)
        ret[n++] = (metric_options){.kind = "worst_examples", .name = errors, .top_k = d->errors};
    if (d->temperature)
        ret[n++] = (metric_options){.kind = "temperature", .name = temperature};
    return n;
}

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

/* NULL: it has none. */
static json_t *word(const dataset *data, int64_t label)
{
    buf text = BUF_INIT;
    json_t *ret = dataset_label_word(data, label, &text) ? json_words(text.data) : NULL;
    buf_fini(&text);
    return ret;
}

/* --- classes --- */

static const double *of_classes(const metric_figures *f, const char *ending)
{
    char name[32];
    snprintf(name, sizeof name, "%s%s", per_class, ending);
    return metric_figures_find(f, name)->values;
}

static json_t *list_classes(const metric_source *source, const dataset *data, const metric_figures *f)
{
    json_t *list = json_array();
    const double *precision = of_classes(f, "_precision"), *recall = of_classes(f, "_recall"), *f1 = of_classes(f, "");
    const double *support = of_classes(f, "_support");
    for (int64_t i = 0; i < metric_figures_find(f, per_class)->columns; i++) {
        json_t *one = json_pack("{sI}", "class", (json_int_t)i);
        json_t *name = has_many_labels(source) ? NULL : word(data, i);
        if (name)
            json_object_set_new(one, "word", name);
        json_object_set_new(one, "precision", number(precision[i]));
        json_object_set_new(one, "recall", number(recall[i]));
        json_object_set_new(one, "f1", number(f1[i]));
        json_object_set_new(one, "support",
                            isfinite(support[i]) ? json_integer((json_int_t)support[i]) : json_null());
        json_array_append_new(list, one);
    }
    return list;
}

/* --- errors --- */

static json_t *label(const metric_source *source, const dataset *data, double x)
{
    if (source->input == METRIC_NUMBERS)
        return number(x);
    json_t *name = source->is_span ? NULL : word(data, (int64_t)x);
    return name ? name : json_integer((json_int_t)x);
}

static json_t *list_errors(const metric_source *source, const dataset *data, const metric_figures *f, bool pictures)
{
    json_t *list = json_array();
    const metric_figure *found = metric_figures_find(f, errors);
    for (int64_t i = 0; i < found->rows && !isnan(found->values[i * COLUMNS]); i++) {
        const double *row = found->values + i * COLUMNS;
        buf place = BUF_INIT, drawn = BUF_INIT;
        dataset_place(data, (int64_t)row[EXAMPLE], &place);
        json_t *one = json_pack("{sI, so}", "example", (json_int_t)row[EXAMPLE], "place", json_words(place.data));
        json_object_set_new(one, "loss", number(row[LOSS]));
        if (source->labels == 1) {
            json_object_set_new(one, "label", label(source, data, row[LABEL]));
            json_object_set_new(one, "predicted", label(source, data, row[PREDICTED]));
        }
        if (pictures && i < PICTURES_MOST && example_picture(data, (int64_t)row[EXAMPLE], &drawn))
            json_object_set_new(one, "picture", json_string(drawn.data));
        json_array_append_new(list, one);
        buf_fini(&drawn);
        buf_fini(&place);
    }
    return list;
}

/* --- the temperature --- */

static json_t *tell_temperature(const metric_figures *f)
{
    static const struct {
        const char *ending, *key;
    } told[] = {{"", "temperature"},
                {"_loss_before", "loss_before"},
                {"_loss_after", "loss_after"},
                {"_error_before", "expected_calibration_error_before"},
                {"_error_after", "expected_calibration_error_after"}};
    json_t *o = json_object();
    for (size_t i = 0; i < COUNT_OF(told); i++) {
        char name[48];
        snprintf(name, sizeof name, "%s%s", temperature, told[i].ending);
        json_object_set_new(o, told[i].key, number(metric_figures_find(f, name)->values[0]));
    }
    json_object_set_new(o, "bins", json_integer(METRIC_BINS));
    return o;
}

/* --- all of them --- */

static bool begins(const char *name, const char *beginning)
{
    return strncmp(name, beginning, strlen(beginning)) == 0;
}

static void forget(metric_figures *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        const char *name = f->at[i].name;
        if (begins(name, per_class) || begins(name, errors) || begins(name, temperature)) {
            free(f->at[i].name);
            free(f->at[i].values);
        } else {
            f->at[n++] = f->at[i];
        }
    }
    f->n = n;
}

json_t *details_take(const evaluation_details *d, const metric_source *source, const dataset *data,
                     metric_figures *figures)
{
    json_t *ret = json_object();
    if (d->per_class)
        json_object_set_new(ret, "classes", list_classes(source, data, figures));
    if (d->errors > 0)
        json_object_set_new(ret, "errors", list_errors(source, data, figures, d->pictures));
    if (d->temperature)
        json_object_set_new(ret, "temperature", tell_temperature(figures));
    forget(figures);
    return ret;
}
