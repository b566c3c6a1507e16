/* See settings.h. */
#include "metric/settings.h"

#include "common/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MOST = 8 }; /* of one metric */

struct metric_settings {
    arena *a;
    const char *key;
    metric_options *options;
    size_t n;
    const char **names;
    size_t n_names;
};

static int64_t *integers(arena *a, const config *c, const char *key, size_t *ret_n)
{
    const json_t *list = config_json(c, key);
    *ret_n = json_array_size(list);
    int64_t *ret = list ? arena_alloc(a, (*ret_n + 1) * sizeof *ret) : NULL;
    for (size_t i = 0; i < *ret_n; i++)
        ret[i] = json_integer_value(json_array_get(list, i));
    return ret;
}

static double *numbers(arena *a, const config *c, const char *key, size_t *ret_n)
{
    const json_t *list = config_json(c, key);
    *ret_n = json_array_size(list);
    double *ret = list ? arena_alloc(a, (*ret_n + 1) * sizeof *ret) : NULL;
    for (size_t i = 0; i < *ret_n; i++)
        ret[i] = json_number_value(json_array_get(list, i));
    return ret;
}

static const char **words(arena *a, const config *c, const char *key, size_t *ret_n)
{
    const json_t *list = config_json(c, key);
    *ret_n = json_array_size(list);
    const char **ret = list ? arena_alloc(a, (*ret_n + 1) * sizeof *ret) : NULL;
    for (size_t i = 0; i < *ret_n; i++)
        ret[i] = json_string_value(json_array_get(list, i));
    return ret;
}

/* The place of the option's value among `choices`; the first stands for null. */
static size_t choice(const config *c, const char *key, const char *const *choices, size_t n)
{
    const char *word = config_str(c, key);
    for (size_t i = 1; word && i < n; i++)
        if (strcmp(choices[i], word) == 0)
            return i;
    return 0;
}

static metric_encoding encoding_of(const config *c, const char *key)
{
    static const char *const encodings[] = {
        [METRIC_BIO] = "BIO", [METRIC_BIOUL] = "BIOUL", [METRIC_IOB1] = "IOB1", [METRIC_BMES] = "BMES"};
    return (metric_encoding)choice(c, key, encodings, COUNT_OF(encodings));
}

static metric_options read_one(arena *a, const config *c)
{
    static const char *const averages[] = {
        [METRIC_PER_CLASS] = "", [METRIC_MICRO] = "micro", [METRIC_MACRO] = "macro", [METRIC_WEIGHTED] = "weighted"};
    metric_options o = {
        .kind = config_str(c, "type"),
        .name = config_str(c, "name"),
        .top_k = config_int(c, "top_k"),
        .tie_break = config_bool(c, "tie_break"),
        .positive_label = config_has(c, "positive_label") ? config_int(c, "positive_label") : METRIC_NO_LABEL,
        .beta = config_f64(c, "beta"),
        .average = (metric_average)choice(c, "average", averages, COUNT_OF(averages)),
        .threshold = config_f64(c, "threshold"),
        .encoding = encoding_of(c, "label_encoding"),
        .bins = config_int(c, "bins"),
        .ngram_size = config_int(c, "ngram_size"),
    };
    o.labels = integers(a, c, "labels", &o.n_labels);
    o.tags = words(a, c, "tags", &o.n_tags);
    o.ignore_classes = words(a, c, "ignore_classes", &o.n_ignore_classes);
    o.ignore_pos = words(a, c, "ignore_pos", &o.n_ignore_pos);
    o.ngram_weights = numbers(a, c, "ngram_weights", &o.n_ngram_weights);
    o.exclude = integers(a, c, "exclude_indices", &o.n_exclude);
    return o;
}

static void add_names(metric_settings *s, const metric_options *o)
{
    char *names[NAMES_MOST];
    size_t n = metrics_names(o, names, NAMES_MOST);
    for (size_t i = 0; i < n; i++) {
        s->names[s->n_names++] = arena_strdup(s->a, names[i]);
        free(names[i]);
    }
}

/* What a model is judged by where the configuration does not say it: kinds parted by blanks. */
static const struct {
    const char *type, *kinds;
} usual[] = {
    {"transformer_qa", "start_acc end_acc span_acc per_instance squad"},
};

static const char *usual_kinds(const config *c)
{
    const char *type = config_str(c, "model.type");
    for (size_t i = 0; i < COUNT_OF(usual); i++)
        if (strcmp(usual[i].type, type) == 0)
            return usual[i].kinds;
    return "";
}

static void take_usual(metric_settings *s, const config *c)
{
    char *rest = NULL, *kinds = arena_strdup(s->a, usual_kinds(c));
    s->options = arena_alloc(s->a, (strlen(kinds) + 1) * sizeof *s->options);
    for (char *kind = strtok_r(kinds, " ", &rest); kind; kind = strtok_r(NULL, " ", &rest))
        s->options[s->n++] = (metric_options){.kind = kind};
}

/* AllenNLP's: the label among the three highest, and spans where tags say where these are. */
static void take_of_tagger(metric_settings *s, const config *c)
{
    bool has_spans = config_has(c, "model.calculate_span_f1") ? config_bool(c, "model.calculate_span_f1")
                                                              : config_has(c, "model.label_encoding");
    s->options = arena_alloc(s->a, 2 * sizeof *s->options);
    s->options[s->n++] = (metric_options){.kind = "categorical_accuracy", .name = "accuracy3", .top_k = 3};
    if (has_spans)
        s->options[s->n++] =
            (metric_options){.kind = "span_based_f1", .encoding = encoding_of(c, "model.label_encoding")};
}

/* AllenNLP's: of all words but punctuation and symbols. */
static void take_of_parser(metric_settings *s)
{
    static const char *const ignored[] = {"``", "''", ":", ",", ".", "PU", "PUNCT", "SYM"};
    s->options = arena_alloc(s->a, sizeof *s->options);
    s->options[s->n++] = (metric_options){
        .kind = "attachment_scores", .ignore_pos = ignored, .n_ignore_pos = COUNT_OF(ignored)};
}

static void take_listed(metric_settings *s, const config *c, const char *key)
{
    s->key = key;
    s->n = config_count(c, key);
    s->options = arena_alloc(s->a, (s->n + 1) * sizeof *s->options);
    for (size_t i = 0; i < s->n; i++) {
        char at[48];
        snprintf(at, sizeof at, "%s[%zu]", key, i);
        s->options[i] = read_one(s->a, config_section(c, at));
    }
}

metric_settings *metric_settings_create(const config *c)
{
    metric_settings *s = xcalloc(1, sizeof *s);
    s->a = arena_create();
    s->key = "model.metrics";
    if (config_has(c, "model.metrics"))
        take_listed(s, c, "model.metrics");
    else if (config_has(c, "trainer.metrics"))
        take_listed(s, c, "trainer.metrics");
    else if (strcmp(config_str(c, "model.type"), "simple_tagger") == 0)
        take_of_tagger(s, c);
    else if (strcmp(config_str(c, "model.type"), "biaffine_parser") == 0)
        take_of_parser(s);
    else
        take_usual(s, c);
    s->names = arena_alloc(s->a, (s->n * NAMES_MOST + 1) * sizeof *s->names);
    for (size_t i = 0; i < s->n; i++)
        add_names(s, &s->options[i]);
    return s;
}

void metric_settings_destroy(metric_settings **s)
{
    if (!s || !*s)
        return;
    arena_destroy(&(*s)->a);
    free(*s);
    *s = NULL;
}

const metric_options *metric_settings_options(const metric_settings *s, size_t *ret_n)
{
    *ret_n = s->n;
    return s->options;
}

const char *const *metric_settings_names(const metric_settings *s, size_t *ret_n)
{
    *ret_n = s->n_names;
    return s->names;
}

const char *metric_settings_key(const metric_settings *s)
{
    return s->key;
}
