#include "worker/variants.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "data/making.h"
#include "data/sorting_keys.h"
#include "metric/goal.h"
#include "metric/metric.h"
#include "metric/settings.h"
#include "metric/training_metrics.h"
#include "model/depth.h"
#include "model/groups.h"
#include "model/label_scores.h"
#include "model/model.h"
#include "optim/settings.h"

#include <stdlib.h>
#include <string.h>

static model_request request_of(const config *c, const variants *v, batch_shape shape, data_field *fields)
{
    size_t n_fields;
    const data_field *longest = dataset_fields(v->data, &n_fields);
    data_fields_of_length(longest, n_fields, shape.length, fields);
    mix m = mix_read(config_section(c, "dataset_reader.augment"));
    mix_fields(&m, fields, n_fields);
    return (model_request){
        .model = config_section(c, "model"),
        .fields = fields,
        .n_fields = n_fields,
        .batch_size = shape.examples,
        .seed = (uint64_t)config_int(c, "random_seed"),
        .mode = MODEL_TRAIN,
        .freeze = config_json(c, "trainer.freeze"),
        .train = config_json(c, "trainer.train"),
        .no_grad = config_json(c, "trainer.no_grad"),
        .optimizer = config_json(c, "trainer.optimizer"),
        .sam = config_section(c, "trainer.sam"),
        .precision = model_precision(c),
        .half_weight_gradients = config_bool(c, "trainer.half_weight_gradients"),
        .library_dropout = config_bool(c, "trainer.library_dropout"),
        .keep_scores = v->keeps_scores,
    };
}

static status build_one(const config *c, const variants *v, batch_shape shape, buf *teacher, graph **ret, error *err)
{
    data_field fields[DATA_FIELDS];
    model_request request = request_of(c, v, shape, fields);
    request.teacher = teacher;
    return model_build(&request, ret, err);
}

status variants_graph(const config *c, const variants *v, batch_shape shape, graph **ret, error *err)
{
    return build_one(c, v, shape, NULL, ret, err);
}

static int64_t most_examples(const variants *v)
{
    int64_t most = 0;
    for (size_t i = 0; i < v->n; i++)
        most = v->shapes[i].examples > most ? v->shapes[i].examples : most;
    return most;
}

loader_options variants_loader(const config *c, const variants *v, int n_readers)
{
    return (loader_options){
        .dataset = v->data,
        .batch_size = most_examples(v),
        .seed = (uint64_t)config_int(c, "random_seed"),
        .shuffle = config_bool(c, "data_loader.shuffle"),
        .buckets = v->buckets,
        .augment = config_section(c, "dataset_reader.augment"),
        .depth = (size_t)config_int(c, "data_loader.prefetch") + 2,
        .workers = n_readers,
    };
}

steps_kinds variants_kinds(const variants *v)
{
    return v->buckets ? bucketing_kinds(v->buckets) : (steps_kinds){.n = 0};
}

/* The names of the numbers that evaluations of the model give. */
static size_t evaluated_names(const variants *v, const metric_settings *listed, const char ***ret)
{
    static const char *const known[] = {"loss", "accuracy", "perplexity"};
    size_t n_fields, n_listed, n = 0;
    const data_field *fields = dataset_fields(v->data, &n_fields);
    const char *const *names = metric_settings_names(listed, &n_listed);
    *ret = xcalloc(COUNT_OF(known) + n_listed, sizeof **ret);
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (model_gives(v->graphs[0], fields, n_fields, known[i]))
            (*ret)[n++] = known[i];
    for (size_t i = 0; i < n_listed; i++)
        (*ret)[n++] = names[i];
    return n;
}

static status name_unknown(const char *name, int sign, const char *const *given, size_t n, error *err)
{
    buf names = BUF_INIT;
    const char *near = config_did_you_mean(name, given, n);
    char better = sign > 0 ? '+' : '-';
    for (size_t i = 0; i < n; i++)
        buf_addf(&names, "%s%s", i ? ", " : "", given[i]);
    if (near)
        buf_addf(&names, "; did you mean '%c%s'?", better, near);
    status st = FAIL(err, E_CONFIG,
                     "trainer.validation_metric: '%c%s': evaluations of this model have no '%s'; they have %s", better,
                     name, name, names.data);
    buf_fini(&names);
    return st;
}

/* Spans have figures of each label too, "span_f1-PER" or "recall-PER" beside "recall-overall": the evaluation knows
 * them. */
static bool is_of_label(const char *name, const metric_settings *listed)
{
    size_t n;
    const char *const *names = metric_settings_names(listed, &n);
    for (size_t i = 0; i < n; i++) {
        const char *all = strstr(names[i], "-overall");
        size_t common = all ? (size_t)(all - names[i]) : strlen(names[i]);
        if (strncmp(name, names[i], common) == 0 && name[common] == '-')
            return true;
    }
    return false;
}

/* What is asked of evaluations is known before the first step: the model's, as metrics go. */
static status check_metric(const config *c, const variants *v, error *err)
{
    const char **given;
    metric_goal goal;
    TRY(metric_goal_settings(c, &goal, err));
    metric_settings *listed = metric_settings_create(c);
    size_t n = evaluated_names(v, listed, &given);
    status st = OK;
    for (size_t g = 0; g < goal.n && st == OK; g++) {
        bool known = is_of_label(goal.at[g].name, listed);
        for (size_t i = 0; i < n; i++)
            known = known || strcmp(goal.at[g].name, given[i]) == 0;
        st = known ? OK : name_unknown(goal.at[g].name, goal.at[g].sign, given, n, err);
    }
    free(given);
    metric_settings_destroy(&listed);
    return st;
}

/* Of batches that are all of one length. */
static void find_sizes(const config *c, variants *v)
{
    int64_t examples = dataset_examples(v->data), full = config_int(c, "data_loader.batch_size");
    if (examples >= full)
        v->shapes[v->n++].examples = full;
    if (examples % full && !config_bool(c, "data_loader.drop_last"))
        v->shapes[v->n++].examples = examples % full;
}

static status variants_find_shapes(const config *c, variants *v, error *err)
{
    const config *sampler = config_section(c, "data_loader.batch_sampler");
    if (!sampler) {
        find_sizes(c, v);
        return OK;
    }
    bucketing_options options = {
        .dataset = v->data,
        .batches = {.seed = (uint64_t)config_int(c, "random_seed"),
                    .batch_size = config_int(c, "data_loader.batch_size"),
                    .padding_noise = config_f64(sampler, "padding_noise"),
                    .drop_last = config_bool(c, "data_loader.drop_last"),
                    .shuffle = config_bool(c, "data_loader.shuffle")},
        .max_tokens = config_has(sampler, "max_tokens") ? config_int(sampler, "max_tokens") : 0,
        .lengths = (int)config_int(sampler, "lengths"),
        .multiple = (uint32_t)config_int(sampler, "multiple"),
    };
    TRYF(bucketing_create(&options, &v->buckets, err), err, "data_loader.batch_sampler");
    TRY(sorting_keys_check(config_section(c, "dataset_reader"), v->data, config_json(sampler, "sorting_keys"),
                           "data_loader.batch_sampler.sorting_keys", err));
    v->n = bucketing_shapes(v->buckets, v->shapes);
    return OK;
}

/* --- metrics of training --- */

enum { SCORES_MOST = 1 << 22 };

status variants_scores(const config *c, const variants *v, label_scores **ret, error *err)
{
    data_field fields[DATA_FIELDS];
    model_request request = request_of(c, v, v->shapes[0], fields);
    metric_settings *listed = metric_settings_create(c);
    label_scores *scores = NULL;
    status st = label_scores_open(v->data, &request, v->graphs[0], metric_settings_key(listed), &scores, err);
    metric_settings_destroy(&listed);
    if (st == OK)
        *ret = scores;
    else
        label_scores_close(&scores);
    return st;
}

static int64_t scores_of_batch(const variants *v, const label_scores *s)
{
    int64_t n = 0;
    for (size_t i = 0; i < LABEL_SCORES_OUTPUTS && label_scores_output(s, i); i++)
        n += graph_shape_elements(
            &graph_value_at(v->graphs[0], graph_find(v->graphs[0], label_scores_output(s, i)))->shape);
    return n;
}

/* Unless it is told to, training does not copy more than SCORES_MOST scores off a device in every step. */
static status make_recipe(const config *c, variants *v, const metric_settings *listed, const label_scores *s,
                          error *err)
{
    size_t n;
    const metric_options *options = metric_settings_options(listed, &n);
    bool is_told = config_has(c, "trainer.training_metrics");
    int64_t scores = scores_of_batch(v, s);
    if (!is_told && scores > SCORES_MOST) {
        buf_addf(&v->uncounted, "all that are listed: a batch has %lld scores, and more than %d are counted only with "
                 "trainer.training_metrics: true", (long long)scores, SCORES_MOST);
        return OK;
    }
    TRYF(training_recipe_make(options, n, label_scores_source(s), &v->recipe, &v->uncounted, err), err, "%s",
         metric_settings_key(listed));
    if (v->uncounted.size)
        buf_adds(&v->uncounted, ": these keep every score or answer, or count too much");
    return OK;
}

static status find_recipe(const config *c, variants *v, const metric_settings *listed, error *err)
{
    label_scores *scores = NULL;
    error why = ERROR_INIT;
    status st = variants_scores(c, v, &scores, &why);
    if (st == OK)
        st = label_scores_keep(scores, v->graphs[0], &why);
    if (st != OK)
        buf_addf(&v->uncounted, "all that are listed: %s", why.text);
    st = st == OK ? make_recipe(c, v, listed, scores, err) : OK;
    label_scores_close(&scores);
    return st;
}

/* Builds the largest graph, with copies of its scores if they are read. */
static status build_first(const config *c, variants *v, error *err)
{
    size_t n;
    metric_settings *listed = metric_settings_create(c);
    metric_settings_options(listed, &n);
    bool is_told = config_has(c, "trainer.training_metrics");
    v->keeps_scores = n > 0 && (!is_told || config_bool(c, "trainer.training_metrics"));
    status st = build_one(c, v, v->shapes[0], &v->teacher, &v->graphs[0], err);
    if (st == OK && v->keeps_scores)
        st = find_recipe(c, v, listed, err);
    metric_settings_destroy(&listed);
    if (st != OK || !v->keeps_scores || v->recipe.size)
        return st;
    v->keeps_scores = false;
    graph_destroy(&v->graphs[0]);
    return build_one(c, v, v->shapes[0], NULL, &v->graphs[0], err);
}

/* --- all of it --- */

/* What servers would refuse. */
static status check_groups(const config *c, const flat *f, error *err)
{
    optim_group *groups;
    size_t n;
    TRY(optim_groups_settings(c, f, (training_span){.steps = 1, .epoch_steps = 1}, &groups, &n, err));
    free(groups);
    return OK;
}

static status build_all(const config *c, variants *v, error *err)
{
    const char *path = config_str(c, "train_data_path");
    TRYF(dataset_open(config_section(c, "dataset_reader"), path, &v->data, err), err,
         "train_data_path");
    TRY(making_check(config_section(c, "dataset_reader.augment"), config_json(c, "model.labels"), v->data, err));
    int64_t examples = dataset_examples(v->data);
    int64_t full = config_int(c, "data_loader.batch_size");
    if (config_bool(c, "data_loader.drop_last") && examples < full)
        return FAIL(err, E_CONFIG,
                    "data_loader.drop_last: %lld examples do not fill one batch of %lld",
                    (long long)examples, (long long)full);
    TRY(variants_find_shapes(c, v, err));
    TRY(build_first(c, v, err));
    for (size_t i = 1; i < v->n; i++)
        TRY(build_one(c, v, v->shapes[i], NULL, &v->graphs[i], err));
    TRY(check_metric(c, v, err));
    TRY(model_flat(v->graphs[0], &v->flat, err));
    TRY(check_groups(c, v->flat, err));
    for (size_t i = 1; v->buckets && i < v->n; i++)
        TRY(model_check_length(v->flat, v->shapes[0].length, v->graphs[i], v->shapes[i].length, err));
    return OK;
}

status variants_build(const config *c, variants *ret, error *err)
{
    variants v = {.data = NULL};
    status st = build_all(c, &v, err);
    if (st == OK)
        *ret = v;
    else
        variants_fini(&v);
    return st;
}

status variants_moving(const config *c, const variants *v, trainable *ret, error *err)
{
    TRY(trainable_of(c, v->graphs[0], ret, err));
    char *guesses = trainable_guesses(c, ret);
    if (guesses)
        LOG_W("GUESS", "%s", guesses);
    free(guesses);
    return OK;
}

/* word_ids is for the few models that want words. */
static void warn_of_fields(const config *c, const variants *v)
{
    size_t n;
    const data_field *fields = dataset_fields(v->data, &n);
    buf names = BUF_INIT;
    for (size_t i = 0; i < n; i++)
        if (graph_find(v->graphs[0], fields[i].name) == GRAPH_NONE && strcmp(fields[i].name, "word_ids") != 0)
            buf_addf(&names, "%s'%s'", names.size ? ", " : "", fields[i].name);
    if (names.size)
        LOG_W("UNREAD", "model.type \"%s\" does not read all of the data: %s",
              config_str(c, "model.type"), names.data);
    buf_fini(&names);
}

static void warn_of_groups(const config *c, const variants *v)
{
    buf text = BUF_INIT;
    error err = ERROR_INIT;
    if (groups_unmatched(c, v->graphs[0], &text, &err) != OK)
        LOG_W("GROUPS", "%s", err.text);
    else if (text.size)
        LOG_W("GROUPS", "no parameter matches %s", text.data);
    buf_fini(&text);
}

/* Training's figures look worse than they are. */
static void tell_mixtures(const config *c)
{
    const mix m = mix_read(config_section(c, "dataset_reader.augment"));
    if (mix_is_on(&m))
        LOG_I("MIXED", "dataset_reader.augment mixes labels: training's accuracy says how often the class with the "
                       "larger share is found");
}

static void tell_layers(const config *c, const variants *v)
{
    buf text = BUF_INIT;
    depth_describe(v->graphs[0], config_json(c, "trainer.optimizer"), &text);
    if (text.size)
        LOG_I("LAYERS", "shares of the learning rate by trainer.optimizer.layer_decay: %s", text.data);
    buf_fini(&text);
}

void variants_warn(const config *c, const variants *v)
{
    bool stops = config_has(c, "trainer.patience");
    int64_t wanted = config_int(c, "data_loader.batch_size"), examples = dataset_examples(v->data);
    if (wanted > examples)
        LOG_W("BATCH",
              "data_loader.batch_size is %lld, but train_data_path holds %lld examples: a batch has "
              "no more",
              (long long)wanted, (long long)examples);
    if (stops && !config_has(c, "validation_data_path"))
        LOG_W("PATIENCE", "trainer.patience does nothing without validation_data_path");
    if (v->teacher.size)
        LOG_I("WEIGHTS", "%s", v->teacher.data);
    if (v->uncounted.size && config_has(c, "trainer.training_metrics"))
        LOG_W("TRAINING_METRICS", "trainer.training_metrics is true, but only evaluations count %s", v->uncounted.data);
    else if (v->uncounted.size)
        LOG_I("TRAINING_METRICS", "only evaluations count %s", v->uncounted.data);
    warn_of_fields(c, v);
    warn_of_groups(c, v);
    tell_layers(c, v);
    tell_mixtures(c);
}

void variants_fini(variants *v)
{
    flat_destroy(&v->flat);
    for (size_t i = 0; i < v->n; i++)
        graph_destroy(&v->graphs[i]);
    bucketing_destroy(&v->buckets);
    dataset_close(&v->data);
    buf_fini(&v->teacher);
    buf_fini(&v->recipe);
    buf_fini(&v->uncounted);
    *v = (variants){.data = NULL};
}
