/* Which labels and weights a loss reads, and what goes with it (loss.h). */
#include "model/loss.h"

#include <string.h>

/* --- choosing --- */

static const data_field *find_field(const model_request *r, const char *name)
{
    for (size_t i = 0; i < r->n_fields; i++)
        if (strcmp(r->fields[i].name, name) == 0)
            return &r->fields[i];
    return NULL;
}

static bool is(const model_loss *l, const char *kind)
{
    return strcmp(l->kind, kind) == 0;
}

static const char *usual_label(const model_request *r, const model_loss *l, size_t i)
{
    static const char *const of_trees[] = {"head_indices", "head_tags"};
    if (is(l, "dependencies"))
        return of_trees[i];
    static const char answer[] = "answer_span";
    bool is_answer = is(l, "span") && !find_field(r, "label") && find_field(r, answer);
    return is_answer ? answer : "label";
}

static status find_labels(const model_request *r, arena *a, model_loss *l, error *err)
{
    const json_t *names = config_json(r->model, "labels");
    size_t least = is(l, "dependencies") ? 2 : 1, most = is(l, "span") ? 2 : least;
    size_t n = names ? json_array_size(names) : least;
    if (n < least || n > most)
        return FAIL(err, E_CONFIG, "%s.labels: %zu fields, the loss %s takes %s",
                    config_path(r->model), n, l->kind, least == 2 ? "2" : most == 2 ? "1 or 2" : "1");
    for (size_t i = 0; i < n; i++) {
        const char *name = names ? json_string_value(json_array_get(names, i)) : usual_label(r, l, i);
        l->label[i] = find_field(r, name);
        if (!l->label[i] && r->mode != MODEL_PREDICT)
            return FAIL(err, E_CONFIG,
                        "%s: the data have no field '%s' for the loss %s; they have %s%s",
                        config_path(r->model), name, l->kind, model_field_names(r, a),
                        is(l, "dependencies") ? "; dataset_reader.dependencies: true gives both, of "
                                                "universal_dependencies" : "");
    }
    l->n_labels = l->label[0] ? n : 0;
    return OK;
}

static status wants_label(const model_request *r, const model_loss *l, bool fits, const char *what,
                          error *err)
{
    if (fits)
        return OK;
    return FAIL(err, E_CONFIG, "%s: the loss %s takes %s, but the field '%s' is not that",
                config_path(r->model), l->kind, what, l->label[0]->name);
}

static bool is_span(const model_loss *l)
{
    for (size_t i = 0; i < l->n_labels; i++) {
        const data_field *f = l->label[i];
        bool is_pair = f->rank == 1 && f->dim[0] == 2;
        if (f->dtype != DT_I64 || (l->n_labels == 1 ? !is_pair : f->rank != 0))
            return false;
    }
    return true;
}

/* --- what goes with which loss --- */

static status alone(const model_request *r, const model_loss *l, const char *key, const char *with, error *err)
{
    return FAIL(err, E_CONFIG, "%s.%s: the loss %s has none; it goes with %s", config_path(r->model), key, l->kind,
                with);
}

static status check_options(const model_request *r, const model_loss *l, error *err)
{
    static const char classes[] = "cross_entropy", binary[] = "binary_cross_entropy";
    bool has_classes = is(l, classes), is_binary = is(l, binary);
    if (l->class_weights && !has_classes)
        return alone(r, l, "class_weights", classes, err);
    if (l->label_smoothing > 0 && !has_classes)
        return alone(r, l, "label_smoothing", classes, err);
    if (l->focal_gamma > 0 && !has_classes && !is_binary)
        return alone(r, l, "focal_gamma", "cross_entropy and binary_cross_entropy", err);
    if (l->focal_alpha >= 0 && !is_binary)
        return alone(r, l, "focal_alpha", has_classes ? "binary_cross_entropy; here class_weights says it" : binary,
                     err);
    if (l->focal_gamma > 0 && l->label_smoothing > 0)
        return FAIL(err, E_CONFIG,
                    "%s.label_smoothing: does not go with focal_gamma, which is of labels that are sure",
                    config_path(r->model));
    if (is(l, "output") && config_has(r->model, "sample_weights"))
        return FAIL(err, E_CONFIG, "%s.sample_weights: the model makes its loss itself, of all examples at once",
                    config_path(r->model));
    if (is(l, "dependencies") && config_has(r->model, "sample_weights"))
        return FAIL(err, E_CONFIG, "%s.sample_weights: the loss dependencies counts every word alike",
                    config_path(r->model));
    return OK;
}

/* --- labels --- */

/* Classes, or a probability of each along the last axis. */
static status take_classes(const model_request *r, model_loss *l, error *err)
{
    const data_field *f = l->label[0];
    bool are_numbers = f->dtype == DT_F32 && f->rank > 0;
    TRY(wants_label(r, l, are_numbers || (f->dtype == DT_I64 && f->classes > 0),
                    "int64 labels with classes, or float32 ones with a probability for each class", err));
    l->has_probabilities = are_numbers;
    l->features = are_numbers ? f->dim[f->rank - 1] : f->classes;
    if (are_numbers && l->focal_gamma > 0)
        return FAIL(err, E_CONFIG,
                    "%s.focal_gamma: goes with labels that are classes, but '%s' has their probabilities",
                    config_path(r->model), f->name);
    return OK;
}

static status take_numbers(const model_request *r, model_loss *l, error *err)
{
    const data_field *f = l->label[0];
    bool is_binary = is(l, "binary_cross_entropy");
    bool fits = f->dtype == DT_F32 || (is_binary && f->dtype == DT_I64 && f->classes == 2);
    TRY(wants_label(r, l, fits, is_binary ? "float32 labels, or int64 labels of two classes" : "float32 labels", err));
    l->features = data_field_elements(f);
    return OK;
}

/* Heads, and as classes their tags. */
static status take_trees(const model_request *r, model_loss *l, error *err)
{
    const data_field *heads = l->label[0], *tags = l->label[1];
    bool fits = heads->dtype == DT_I64 && heads->rank == 1 && tags && tags->dtype == DT_I64 && tags->rank == 1 &&
                tags->dim[0] == heads->dim[0] && tags->classes > 0;
    TRY(wants_label(r, l, fits, "two int64 fields with a number for each word, its head and, of classes, its tag",
                    err));
    l->features = tags->classes;
    return OK;
}

static status take_labels(const model_request *r, model_loss *l, error *err)
{
    if (is(l, "span")) {
        TRY(wants_label(r, l, is_span(l), "one int64 field of two positions, or two of one each", err));
        l->features = 2;
        return OK;
    }
    if (!l->label[0]) {
        l->features = r->scores;
        return OK;
    }
    if (is(l, "dependencies"))
        return take_trees(r, l, err);
    return is(l, "cross_entropy") ? take_classes(r, l, err) : take_numbers(r, l, err);
}

/* --- weights of examples --- */

/* One for each example, or for each label of it. */
static bool fits_labels(const data_field *f, const model_loss *l)
{
    const data_field *label = l->label[0];
    int32_t axes = label->rank - l->has_probabilities;
    if (f->rank == 0)
        return true;
    for (int32_t i = 0; i < axes && i < f->rank; i++)
        if (f->dim[i] != label->dim[i])
            return false;
    return f->rank == axes;
}

static status find_weights(const model_request *r, arena *a, model_loss *l, error *err)
{
    const char *name = config_str(r->model, "sample_weights");
    if (!name)
        return OK;
    const data_field *f = l->sample_weights = find_field(r, name);
    if (!f && r->mode == MODEL_PREDICT)
        return OK;
    if (!f)
        return FAIL(err, E_CONFIG, "%s.sample_weights: the data have no field '%s'; they have %s",
                    config_path(r->model), name, model_field_names(r, a));
    if (f->dtype != DT_F32 || (l->label[0] && !fits_labels(f, l)))
        return FAIL(err, E_CONFIG,
                    "%s.sample_weights: the field '%s' must be a float32 number for each example, or for each of "
                    "its labels",
                    config_path(r->model), name);
    return OK;
}

status loss_choose(const model_request *r, arena *a, model_loss *ret, error *err)
{
    model_loss l = {
        .kind = config_str(r->model, "loss"),
        .ignore_index = config_int(r->model, "ignore_index"),
        .label_smoothing = config_f64(r->model, "label_smoothing"),
        .class_weights = config_json(r->model, "class_weights"),
        .focal_gamma = config_f64(r->model, "focal_gamma"),
        .focal_alpha = -1.0,
    };
    config_take_f64(r->model, "focal_alpha", &l.focal_alpha);
    TRY(check_options(r, &l, err));
    if (!is(&l, "output"))
        TRY(find_labels(r, a, &l, err));
    TRY(take_labels(r, &l, err));
    TRY(find_weights(r, a, &l, err));
    *ret = l;
    return OK;
}

bool loss_reads(const model_loss *l, const data_field *f)
{
    bool reads = f == l->sample_weights;
    for (size_t i = 0; i < l->n_labels; i++)
        reads |= f == l->label[i];
    return reads;
}
