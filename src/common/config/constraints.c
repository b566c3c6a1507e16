#include "common/config/constraints.h"

#include "common/base/alloc.h"
#include "common/base/byte_size.h"
#include "common/base/json.h"
#include "common/config/distributed_constraints.h"
#include "common/config/optimizer_constraints.h"
#include "common/config/options.h"
#include "common/config/reader_sections.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value at a dotted path of sections. */
static json_t *constraints_value_at(const json_t *tree, const char *path)
{
    const json_t *value = tree;
    while (value && *path) {
        size_t n = strcspn(path, ".");
        char key[64];
        BUG_ON(n >= sizeof key);
        memcpy(key, path, n);
        key[n] = '\0';
        value = json_object_get(value, key);
        path += n + (path[n] == '.');
    }
    return (json_t *)value;
}

static status fail_limit(const option_limit *limit, const json_t *value, const json_t *right,
                         error *err)
{
    char *got = json_text(value), *use = json_text(right);
    status st = FAIL(err, E_CONFIG, "%s: %s is not supported by this version; use %s", limit->path,
                     got, use);
    free(got);
    free(use);
    return st;
}

static status check_limit(const option_limit *limit, const json_t *tree, error *err)
{
    json_t *accepted = json_loads(limit->accepted, 0, NULL);
    const json_t *value = constraints_value_at(tree, limit->path);
    size_t n = json_array_size(accepted);
    bool is_accepted = false;
    for (size_t i = 0; i < n; i++)
        is_accepted = is_accepted || json_equal(json_array_get(accepted, i), value);
    status st =
        is_accepted ? OK : fail_limit(limit, value, json_array_get(accepted, n - 1), err);
    json_decref(accepted);
    return st;
}

static status check_tagger(const json_t *tree, error *err)
{
    const json_t *model = constraints_value_at(tree, "model");
    if (json_is_true(json_object_get(model, "calculate_span_f1")) &&
        !json_is_string(json_object_get(model, "label_encoding")))
        return FAIL(err, E_CONFIG, "model.calculate_span_f1: needs label_encoding, which says where spans begin");
    return OK;
}

#define SCHEDULE "trainer.learning_rate_scheduler"
#define PART SCHEDULE ".schedulers[%zu].scheduler"

static bool is_schedule(const json_t *schedule, const char *type)
{
    return strcmp(json_string_value(json_object_get(schedule, "type")), type) == 0;
}

/* A rate by evaluations needs these, and steps, whose votes tell it. */
static status check_plateau(const json_t *tree, const json_t *schedule, error *err)
{
    const char *mode = json_string_value(json_object_get(schedule, "mode"));
    const char *pace = json_string_value(constraints_value_at(tree, "distributed.mode"));
    const json_t *goal = constraints_value_at(tree, "trainer.validation_metric");
    const json_t *only = json_is_array(goal) && json_array_size(goal) == 1 ? json_array_get(goal, 0) : goal;
    const char *right = json_is_array(only) || json_string_value(only)[0] == '+' ? "max" : "min";
    if (!is_schedule(schedule, "reduce_on_plateau"))
        return OK;
    if (json_is_null(json_object_get(tree, "validation_data_path")))
        return FAIL(err, E_CONFIG, SCHEDULE ": reduce_on_plateau goes by evaluations, and there is no "
                                            "validation_data_path");
    if (strcmp(pace, "sync") != 0)
        return FAIL(err, E_CONFIG, SCHEDULE ": reduce_on_plateau takes distributed.mode sync; got %s", pace);
    if (mode && strcmp(mode, right) != 0)
        return FAIL(err, E_CONFIG, SCHEDULE ".mode: '%s' is not what the sign of trainer.validation_metric says; "
                                            "expected '%s', or null",
                    mode, right);
    return OK;
}

/* One of a combined schedule. */
static status check_part(const json_t *schedule, size_t i, bool is_last, error *err)
{
    static const char *const whole[] = {"discriminative_fine_tuning", "gradual_unfreezing"};
    const char *type = json_string_value(json_object_get(schedule, "type"));
    if (strcmp(type, "combined") == 0)
        return FAIL(err, E_CONFIG, PART ".type: a combined schedule has no other in it; list what that one has", i);
    if (strcmp(type, "reduce_on_plateau") == 0 && !is_last)
        return FAIL(err, E_CONFIG, PART ".type: reduce_on_plateau comes last, or alone", i);
    for (size_t k = 0; k < COUNT_OF(whole); k++)
        if (json_is_true(json_object_get(schedule, whole[k])))
            return FAIL(err, E_CONFIG, PART ".%s: not in a combined schedule; use false", i, whole[k]);
    return OK;
}

/* Both say how rates go from layer to layer. */
static status check_layers(const json_t *tree, const json_t *schedule, error *err)
{
    static const char *const others[] = {"discriminative_fine_tuning", "gradual_unfreezing"};
    if (json_is_null(json_object_get(constraints_value_at(tree, "trainer.optimizer"), "layer_decay")))
        return OK;
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (json_is_true(json_object_get(schedule, others[i])))
            return FAIL(err, E_CONFIG, SCHEDULE ".%s: does not go with trainer.optimizer.layer_decay; use one",
                        others[i]);
    return OK;
}

static status check_schedules(const json_t *tree, error *err)
{
    enum { MOST = 8 };
    const json_t *one = constraints_value_at(tree, SCHEDULE), *list = json_object_get(one, "schedulers"), *part;
    size_t i, n = json_array_size(list);
    if (is_schedule(one, "combined") && (n < 1 || n > MOST))
        return FAIL(err, E_CONFIG, SCHEDULE ".schedulers: got %zu; expected 1 to %d", n, MOST);
    json_array_foreach(list, i, part)
    {
        TRY(check_part(json_object_get(part, "scheduler"), i, i + 1 == n, err));
        TRY(check_plateau(tree, json_object_get(part, "scheduler"), err));
    }
    TRY(check_layers(tree, one, err));
    return check_plateau(tree, one, err);
}

static status check_goal(const json_t *tree, error *err)
{
    enum { MOST = 8 };
    const json_t *goal = constraints_value_at(tree, "trainer.validation_metric");
    size_t n = json_array_size(goal);
    if (json_is_array(goal) && (n < 1 || n > MOST))
        return FAIL(err, E_CONFIG, "trainer.validation_metric: got %zu metrics; expected 1 to %d", n, MOST);
    return OK;
}

static status check_schedule(const json_t *tree, error *err)
{
    const json_t *schedule = constraints_value_at(tree, SCHEDULE);
    const json_t *total = json_object_get(schedule, "total_steps");
    int64_t warmup = json_integer_value(json_object_get(schedule, "warmup_steps"));
    if (json_is_integer(total) && json_integer_value(total) <= warmup)
        return FAIL(err, E_CONFIG,
                    "trainer.learning_rate_scheduler.total_steps: %lld is out of range; expected "
                    "more than warmup_steps, which is %lld",
                    (long long)json_integer_value(total), (long long)warmup);
    if (json_array_size(json_object_get(schedule, "milestones")) > 16)
        return FAIL(err, E_CONFIG, "trainer.learning_rate_scheduler.milestones: got %zu; expected 16 at most",
                    json_array_size(json_object_get(schedule, "milestones")));
    if (!json_is_null(constraints_value_at(tree, "trainer.momentum_scheduler")) &&
        !constraints_value_at(tree, "trainer.optimizer.momentum"))
        return FAIL(err, E_CONFIG,
                    "trainer.momentum_scheduler: the optimizer '%s' has no momentum; use sgd, rmsprop or lars",
                    json_string_value(constraints_value_at(tree, "trainer.optimizer.type")));
    return OK;
}

static status check_power_of_two(const json_t *tree, const char *path, error *err)
{
    int exponent;
    const json_t *value = constraints_value_at(tree, path);
    if (!json_is_number(value) || frexp(json_number_value(value), &exponent) == 0.5)
        return OK;
    return FAIL(err, E_CONFIG, "%s: %g is not a power of two; one is %g", path,
                json_number_value(value), ldexp(1, exponent));
}

static status check_loss_scale(const json_t *tree, error *err)
{
    TRY(check_power_of_two(tree, "trainer.loss_scale", err));
    return check_power_of_two(tree, "trainer.loss_scale_start", err);
}

static status check_memory(const json_t *tree, error *err)
{
    const json_t *value = constraints_value_at(tree, "trainer.memory");
    const char *given = json_string_value(value);
    size_t bytes;
    if (json_is_integer(value) && json_integer_value(value) < 1)
        return FAIL(err, E_CONFIG, "trainer.memory: %lld bytes are too few; expected 1 at least, or null",
                    (long long)json_integer_value(value));
    if (!given || byte_size_parse(given, &bytes))
        return OK;
    return FAIL(err, E_CONFIG,
                "trainer.memory: \"%s\" is no size; expected bytes, or a number with kB, MB, GB, TB (powers of 1000) "
                "or KiB, MiB, GiB, TiB (of 1024), as \"8GB\"", given);
}

/* What libraries of a GPU do for factors of half precision alone. */
static status check_of_halves(const json_t *tree, const char *key, error *err)
{
    const char *precision = json_string_value(constraints_value_at(tree, "trainer.precision"));
    bool is_half = strcmp(precision, "bf16") == 0 || strcmp(precision, "f16") == 0;
    if (is_half || !json_is_true(constraints_value_at(tree, key)))
        return OK;
    return FAIL(err, E_CONFIG,
                "%s: true has no meaning with precision %s; expected bf16 or f16, or false", key, precision);
}

/* Whether a step's gradient is finite is known where all of it is. */
static bool scales_dynamically(const json_t *tree)
{
    const json_t *scale = constraints_value_at(tree, "trainer.loss_scale");
    const char *precision = json_string_value(constraints_value_at(tree, "trainer.precision"));
    return json_is_string(scale) || (json_is_null(scale) && strcmp(precision, "f16") == 0);
}

/* Modes in which batches are applied one by one leave no room for what looks at a whole step. */
static status constraints_check_mode(const json_t *tree, error *err)
{
    const char *mode = json_string_value(constraints_value_at(tree, "distributed.mode"));
    if (strcmp(mode, "sync") == 0)
        return OK;
    if (!json_is_null(constraints_value_at(tree, "trainer.grad_norm")))
        return FAIL(err, E_CONFIG,
                    "trainer.grad_norm: mode %s applies every batch to every part by itself, so "
                    "nobody knows its norm; use trainer.grad_clipping, or mode sync",
                    mode);
    if (scales_dynamically(tree))
        return FAIL(err, E_CONFIG,
                    "trainer.loss_scale: mode %s applies every batch to every part by itself, so "
                    "nobody knows whether its gradient is finite; use a number, or mode sync",
                    mode);
    if (json_integer_value(constraints_value_at(tree, "trainer.num_gradient_accumulation_steps")) > 1)
        return FAIL(err, E_CONFIG,
                    "trainer.num_gradient_accumulation_steps: mode %s applies every batch by "
                    "itself; expected 1, with a larger data_loader.batch_size, or mode sync",
                    mode);
    return OK;
}

static status check_test(const json_t *tree, error *err)
{
    bool tests = json_is_true(json_object_get(tree, "evaluate_on_test"));
    if (tests && json_is_null(json_object_get(tree, "test_data_path")))
        return FAIL(err, E_CONFIG, "evaluate_on_test: true needs test_data_path");
    return OK;
}

static status check_metrics(const json_t *tree, error *err)
{
    bool both = json_is_array(constraints_value_at(tree, "model.metrics")) &&
                json_is_array(constraints_value_at(tree, "trainer.metrics"));
    return both ? FAIL(err, E_CONFIG, "trainer.metrics: model.metrics lists metrics already; use one of them") : OK;
}

static status check_sampler(const json_t *tree, error *err)
{
    const char *type = json_string_value(constraints_value_at(tree, "data_loader.batch_sampler.type"));
    if (!type || strcmp(type, "max_tokens_sampler") != 0)
        return OK;
    if (json_is_true(constraints_value_at(tree, "data_loader.drop_last")))
        return FAIL(err, E_CONFIG,
                    "data_loader.drop_last: a smaller batch of each length belongs to max_tokens_sampler; use false");
    if (json_is_string(constraints_value_at(tree, "data_loader.batch_size")))
        return FAIL(err, E_CONFIG, "data_loader.batch_size: max_tokens says how large batches of max_tokens_sampler "
                                   "are; expected a number, the most examples of one");
    return OK;
}

typedef struct inner_augment {
    status st;
    error *err;
} inner_augment;

static void refuse_inner(void *user, json_t *section, const char *place)
{
    inner_augment *found = user;
    const json_t *asked = json_object_get(section, "augment");
    if (found->st == OK && strchr(place, '.') && json_is_object(asked))
        found->st = FAIL(found->err, E_CONFIG, "%s.augment: a reader within another does not change images by chance; "
                                               "leave it out", place);
}

/* The loader changes batches as dataset_reader.augment says: what a reader within it asks for would never happen. */
static status check_inner_augment(const json_t *tree, error *err)
{
    inner_augment found = {.err = err};
    reader_sections_each((json_t *)tree, refuse_inner, &found); /* which only reads it */
    return found.st;
}

static bool is_asked(const json_t *augment, const char *key)
{
    return json_is_object(json_object_get(augment, key));
}

/* Files, or images among the fields of records. */
static bool reads_pictures(const json_t *tree, const char *type)
{
    bool any = strncmp(type, "image_", strlen("image_")) == 0 || strncmp(type, "video_", strlen("video_")) == 0;
    const json_t *fields = constraints_value_at(tree, "dataset_reader.fields");
    for (size_t i = 0; i < json_array_size(fields); i++) {
        const char *kind = json_string_value(json_object_get(json_array_get(fields, i), "type"));
        any = any || (kind && strcmp(kind, "image") == 0);
    }
    return any;
}

static status check_files_alone(const json_t *tree, const json_t *augment, error *err)
{
    const char *type = json_string_value(constraints_value_at(tree, "dataset_reader.type"));
    if (is_asked(augment, "random_resized_crop") && type && !reads_pictures(tree, type))
        return FAIL(err, E_CONFIG, "dataset_reader.augment.random_resized_crop: is of pictures in files, which '%s' "
                                   "does not read here; image_folder, image_list, video_folder, video_list and "
                                   "fields of type image do", type);
    return OK;
}

static status check_ranges(const json_t *tree, error *err)
{
    static const char *const ranges[] = {"random_resized_crop.scale", "random_resized_crop.ratio",
                                         "random_erasing.scale", "random_erasing.ratio"};
    char path[80];
    for (size_t i = 0; i < COUNT_OF(ranges); i++) {
        snprintf(path, sizeof path, "dataset_reader.augment.%s", ranges[i]);
        const json_t *range = constraints_value_at(tree, path);
        double low = json_number_value(json_array_get(range, 0)), high = json_number_value(json_array_get(range, 1));
        if (range && low > high)
            return FAIL(err, E_CONFIG, "%s: [%g, %g] holds nothing; expected the lower one first", path, low, high);
    }
    return OK;
}

static status check_policy(const json_t *augment, error *err)
{
    const json_t *rand = json_object_get(augment, "rand_augment");
    json_int_t magnitude = json_integer_value(json_object_get(rand, "magnitude"));
    json_int_t bins = json_integer_value(json_object_get(rand, "num_magnitude_bins"));
    if (is_asked(augment, "rand_augment") && is_asked(augment, "trivial_augment_wide"))
        return FAIL(err, E_CONFIG, "dataset_reader.augment.trivial_augment_wide: takes the place of rand_augment; use "
                                   "one of them");
    if (is_asked(augment, "rand_augment") && magnitude >= bins)
        return FAIL(err, E_CONFIG, "dataset_reader.augment.rand_augment.magnitude: %lld is not below "
                                   "num_magnitude_bins, %lld", (long long)magnitude, (long long)bins);
    return OK;
}

/* Mixed labels are probabilities of classes, and of one example as of another. */
static status check_mixtures(const json_t *tree, const json_t *augment, error *err)
{
    const char *key = is_asked(augment, "mixup") ? "mixup" : is_asked(augment, "cutmix") ? "cutmix" : NULL;
    const char *loss = json_string_value(constraints_value_at(tree, "model.loss"));
    if (key && loss && strcmp(loss, "cross_entropy") != 0)
        return FAIL(err, E_CONFIG, "dataset_reader.augment.%s: mixes labels of classes, which model.loss \"%s\" has "
                                   "not; it goes with cross_entropy", key, loss);
    if (key && json_is_string(constraints_value_at(tree, "model.sample_weights")))
        return FAIL(err, E_CONFIG, "model.sample_weights: weighs examples, and dataset_reader.augment.%s makes one of "
                                   "two", key);
    return OK;
}

static status check_augment(const json_t *tree, error *err)
{
    const json_t *augment = constraints_value_at(tree, "dataset_reader.augment");
    TRY(check_mixtures(tree, augment, err));
    TRY(check_files_alone(tree, augment, err));
    TRY(check_ranges(tree, err));
    TRY(check_policy(augment, err));
    if (is_asked(augment, "random_crop") && json_integer_value(json_object_get(augment, "shift")) > 0)
        return FAIL(err, E_CONFIG, "dataset_reader.augment.shift: random_crop moves the image too; use one of them");
    return OK;
}

/* A teacher knows something, and is asked for the classes that the labels name. */
static status check_distillation(const json_t *tree, error *err)
{
    static const char at[] = "model.distillation.teacher";
    const json_t *teacher = constraints_value_at(tree, at);
    const char *loss = json_string_value(constraints_value_at(tree, "model.loss"));
    const char *type = json_string_value(json_object_get(teacher, "type"));
    if (!teacher)
        return OK;
    if (loss && strcmp(loss, "cross_entropy") != 0)
        return FAIL(err, E_CONFIG, "model.distillation: model.loss \"%s\" has no classes; it goes with cross_entropy",
                    loss);
    if (is_asked(teacher, "distillation"))
        return FAIL(err, E_CONFIG, "%s.distillation: a teacher is not trained", at);
    if (json_is_string(json_object_get(teacher, "transformer_model_name")))
        return FAIL(err, E_CONFIG, "%s.transformer_model_name: of a teacher the settings and pretrained say all", at);
    if (type && strcmp(type, "onnx") != 0 && !is_asked(teacher, "pretrained"))
        return FAIL(err, E_CONFIG, "%s.pretrained: is missing: where are the teacher's weights?", at);
    return OK;
}

/* The configuration is kept, printed and sent: a password must not stand in it. */
static status check_tracker(const json_t *tracker, size_t i, error *err)
{
    const json_t *files = json_object_get(tracker, "artifacts"), *one;
    const char *uri = json_string_value(json_object_get(tracker, "uri"));
    size_t k;
    if (uri && strncmp(uri, "http://", 7) != 0 && strncmp(uri, "https://", 8) != 0)
        return FAIL(err, E_CONFIG, "trackers[%zu].uri: '%s' is no server's address, as http://HOST:5000", i, uri);
    if (uri && memchr(uri, '@', strcspn(uri, "?#")))
        return FAIL(err, E_CONFIG,
                    "trackers[%zu].uri: names a user; MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD say who "
                    "asks",
                    i);
    json_array_foreach(files, k, one)
        if (json_string_value(one)[0] == '/' || strstr(json_string_value(one), ".."))
            return FAIL(err, E_CONFIG, "trackers[%zu].artifacts: '%s' is no file of the job dir", i,
                        json_string_value(one));
    return OK;
}

static status check_trackers(const json_t *tree, error *err)
{
    size_t i;
    const json_t *one;
    json_array_foreach(json_object_get(tree, "trackers"), i, one)
        TRY(check_tracker(one, i, err));
    return OK;
}

status constraints_check(const json_t *tree, error *err)
{
    for (size_t i = 0; i < option_limit_count; i++)
        TRY(check_limit(&option_limits[i], tree, err));
    TRY(check_test(tree, err));
    TRY(check_metrics(tree, err));
    TRY(check_trackers(tree, err));
    TRY(optimizer_constraints_check(constraints_value_at(tree, "trainer.optimizer"), err));
    TRY(check_tagger(tree, err));
    TRY(distributed_constraints_check(constraints_value_at(tree, "distributed"), err));
    TRY(check_goal(tree, err));
    TRY(check_schedule(tree, err));
    TRY(check_schedules(tree, err));
    TRY(check_loss_scale(tree, err));
    TRY(check_memory(tree, err));
    TRY(check_sampler(tree, err));
    TRY(check_augment(tree, err));
    TRY(check_inner_augment(tree, err));
    TRY(check_distillation(tree, err));
    TRY(check_of_halves(tree, "trainer.half_weight_gradients", err));
    TRY(check_of_halves(tree, "trainer.library_dropout", err));
    return constraints_check_mode(tree, err);
}

/* What chooses among training data does not fit others. */
static void drop_training_choices(json_t *reader)
{
    static const char *const own[] = {"augment", "labels", "range", "stride", "weights"};
    const char *type = json_string_value(json_object_get(reader, "type"));
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        const option *o = option_find("dataset_reader", own[i], type);
        if (o && o->kinds & OPTION_NONE)
            json_object_set_new(reader, own[i], json_null());
    }
}

static void derive_reader(json_t *tree)
{
    if (!json_is_null(constraints_value_at(tree, "validation_dataset_reader")))
        return;
    json_t *reader = json_deep_copy(constraints_value_at(tree, "dataset_reader"));
    json_t *base = json_object_get(reader, "base_reader");
    drop_training_choices(reader);
    if (json_is_object(base))
        drop_training_choices(base);
    json_object_set_new(tree, "validation_dataset_reader", reader);
}

void constraints_derive(json_t *tree)
{
    derive_reader(tree);
    json_t *loader = constraints_value_at(tree, "validation_data_loader");
    json_t *batch = constraints_value_at(tree, "data_loader.batch_size");
    if (json_is_null(json_object_get(loader, "batch_size")) && json_is_integer(batch))
        json_object_set(loader, "batch_size", batch);
}
