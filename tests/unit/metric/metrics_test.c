/* Metrics against golden values (tests/golden/make_metrics.py), and split: any parts, merged in any order and
 * through bytes, give the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/base/rng.h"
#include "metric/metrics.h"
#include "metric/training_metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MOST = 12, LIST_MOST = 32, SPLITS = 20 };

/* --- cases --- */

typedef struct lists {
    const char *tags[LIST_MOST], *ignored[LIST_MOST];
    int64_t labels[LIST_MOST], exclude[LIST_MOST];
    double weights[LIST_MOST];
} lists;

typedef struct scene {
    const json_t *json;
    metric_source source;
    metric_batch all;
    metric_options options[LIST_MOST];
    lists lists[LIST_MOST];
    size_t n;
} scene;

static size_t words_of(const json_t *o, const char *key, const char **ret)
{
    const json_t *list = json_object_get(o, key);
    for (size_t i = 0; i < json_array_size(list); i++)
        ret[i] = json_string_value(json_array_get(list, i));
    return json_array_size(list);
}

static size_t integers_of(const json_t *o, const char *key, int64_t *ret)
{
    const json_t *list = json_object_get(o, key);
    for (size_t i = 0; i < json_array_size(list); i++)
        ret[i] = json_integer_value(json_array_get(list, i));
    return json_array_size(list);
}

static int64_t integer_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static int word_among(const json_t *o, const char *key, const char *const *words, size_t n)
{
    const char *word = json_string_value(json_object_get(o, key));
    for (size_t i = 0; word && i < n; i++)
        if (strcmp(word, words[i]) == 0)
            return (int)i;
    return 0;
}

static void read_options(const json_t *metric, metric_options *o, lists *l)
{
    static const char *const averages[] = {"", "micro", "macro", "weighted"};
    static const char *const encodings[] = {"BIO", "BIOUL", "IOB1", "BMES"};
    const json_t *json = json_object_get(metric, "options");
    *o = (metric_options){.kind = json_string_value(json_object_get(metric, "kind")),
                          .name = json_string_value(json_object_get(json, "name")),
                          .top_k = integer_of(json, "top_k"),
                          .tie_break = json_is_true(json_object_get(json, "tie_break")),
                          .positive_label = integer_of(json, "positive_label"),
                          .beta = json_number_value(json_object_get(json, "beta")),
                          .threshold = json_number_value(json_object_get(json, "threshold")),
                          .bins = integer_of(json, "bins"),
                          .ngram_size = integer_of(json, "ngram_size")};
    o->average = (metric_average)word_among(json, "average", averages, COUNT_OF(averages));
    o->encoding = (metric_encoding)word_among(json, "encoding", encodings, COUNT_OF(encodings));
    o->n_labels = integers_of(json, "labels", l->labels);
    o->labels = o->n_labels ? l->labels : NULL;
    o->n_exclude = integers_of(json, "exclude", l->exclude);
    o->exclude = l->exclude;
    o->n_tags = words_of(json, "tags", l->tags);
    o->tags = o->n_tags ? l->tags : NULL;
    o->n_ignore_classes = words_of(json, "ignore_classes", l->ignored);
    o->ignore_classes = l->ignored;
    const json_t *weights = json_object_get(json, "ngram_weights");
    for (size_t i = 0; i < json_array_size(weights); i++)
        l->weights[i] = json_number_value(json_array_get(weights, i));
    o->n_ngram_weights = json_array_size(weights);
    o->ngram_weights = o->n_ngram_weights ? l->weights : NULL;
}

static float *floats_of(const json_t *o, const char *key)
{
    const json_t *list = json_object_get(o, key);
    float *ret = list ? xcalloc(json_array_size(list) + 1, sizeof *ret) : NULL;
    for (size_t i = 0; i < json_array_size(list); i++)
        ret[i] = (float)json_number_value(json_array_get(list, i));
    return ret;
}

static int64_t *numbers_of(const json_t *o, const char *key)
{
    const json_t *list = json_object_get(o, key);
    int64_t *ret = list ? xcalloc(json_array_size(list) + 1, sizeof *ret) : NULL;
    integers_of(o, key, ret);
    return ret;
}

static unsigned char *mask_of(const json_t *o)
{
    const json_t *list = json_object_get(o, "mask");
    unsigned char *ret = list ? xcalloc(json_array_size(list) + 1, sizeof *ret) : NULL;
    for (size_t i = 0; i < json_array_size(list); i++)
        ret[i] = (unsigned char)json_integer_value(json_array_get(list, i));
    return ret;
}

static const char *const tags_of_arcs[] = {"a", "b", "c", "d"};

static scene *scene_of(const json_t *json)
{
    static const char *const inputs[] = {"classes", "yes_no", "numbers", "tokens", "arcs"};
    scene *s = xcalloc(1, sizeof *s);
    s->json = json;
    s->source = (metric_source){.input = (metric_input)(1 << word_among(json, "input", inputs, COUNT_OF(inputs))),
                                .classes = integer_of(json, "classes"),
                                .labels = integer_of(json, "labels"),
                                .is_odds = json_is_true(json_object_get(json, "odds")),
                                .has_ignore_index = json_object_get(json, "ignore_index") != NULL,
                                .ignore_index = integer_of(json, "ignore_index")};
    if (s->source.input == METRIC_ARCS)
        s->source.words = tags_of_arcs;
    s->all = (metric_batch){.examples = integer_of(json, "examples"),
                            .scores = floats_of(json, "scores"),
                            .predicted = numbers_of(json, "predicted"),
                            .n_predicted = integer_of(json, "n_predicted"),
                            .labels = numbers_of(json, "label"),
                            .targets = floats_of(json, "target"),
                            .predicted_tags = numbers_of(json, "predicted_tags"),
                            .tags = numbers_of(json, "tags"),
                            .mask = mask_of(json)};
    const json_t *listed = json_object_get(json, "metrics");
    s->n = json_array_size(listed);
    assert_true(s->n <= LIST_MOST);
    for (size_t i = 0; i < s->n; i++)
        read_options(json_array_get(listed, i), &s->options[i], &s->lists[i]);
    return s;
}

static void scene_free(scene *s)
{
    const void *const all[] = {s->all.scores,  s->all.predicted,      s->all.labels, s->all.targets,
                               s->all.predicted_tags, s->all.tags, s->all.mask};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        free((void *)(uintptr_t)all[i]);
    free(s);
}

static metric_list *open_all(const scene *s)
{
    metric_list *m = NULL;
    error err = ERROR_INIT;
    if (metrics_open(s->options, s->n, &s->source, &m, &err) != OK)
        fail_msg("%s", err.text);
    return m;
}

static void add_ok(metric_list *m, const metric_batch *b)
{
    error err = ERROR_INIT;
    if (metrics_add(m, b, &err) != OK)
        fail_msg("%s", err.text);
}

/* --- golden values --- */

static void check_figure(const metric_figure *f, const json_t *want, size_t *at)
{
    if (json_is_array(want)) {
        for (size_t i = 0; i < json_array_size(want); i++)
            check_figure(f, json_array_get(want, i), at);
        return;
    }
    double have = f->values[(*at)++], right = json_number_value(want);
    if (json_is_null(want) ? !isnan(have) : !(fabs(have - right) <= 1e-12 * fmax(1.0, fabs(right))))
        fail_msg("%s: %.17g, not %.17g", f->name, have, right);
}

static void check_golden(const scene *s, metric_list *m)
{
    metric_figures figures = {.at = NULL};
    metrics_figures(m, &figures);
    for (size_t i = 0; i < s->n; i++) {
        const json_t *want = json_object_get(json_array_get(json_object_get(s->json, "metrics"), i), "figures");
        const char *name;
        json_t *value;
        json_object_foreach((json_t *)(uintptr_t)want, name, value) {
            size_t at = 0;
            const metric_figure *f = metric_figures_find(&figures, name);
            if (!f)
                fail_msg("there is no '%s'", name);
            check_figure(f, value, &at);
            assert_int_equal(at, (f->rows ? f->rows : 1) * f->columns);
        }
    }
    metric_figures_fini(&figures);
}

/* --- splits --- */

#define FROM(pointer, at) ((pointer) ? (pointer) + (at) : NULL)

static metric_batch part_of(const scene *s, int64_t first, int64_t n)
{
    const metric_batch *a = &s->all;
    int64_t labels = first * s->source.labels, scores = s->source.input == METRIC_CLASSES ? s->source.classes : 1;
    metric_batch b = *a;
    b.first = first;
    b.examples = n;
    b.scores = FROM(a->scores, labels * scores);
    b.predicted = FROM(a->predicted, a->n_predicted ? first * a->n_predicted : labels);
    b.labels = FROM(a->labels, labels);
    b.targets = FROM(a->targets, labels);
    b.predicted_tags = FROM(a->predicted_tags, labels);
    b.tags = FROM(a->tags, labels);
    b.mask = FROM(a->mask, labels);
    return b;
}

/* Through bytes, as another process would send it. */
static metric_list *sent(const scene *s, metric_list *m)
{
    buf bytes = BUF_INIT;
    metric_list *other = open_all(s);
    error err = ERROR_INIT;
    metrics_save(m, &bytes);
    if (metrics_load(other, bytes.data, bytes.size, &err) != OK)
        fail_msg("%s", err.text);
    buf_fini(&bytes);
    metrics_close(&m);
    return other;
}

typedef struct draws {
    rng r;
    uint64_t n;
} draws;

static size_t below(draws *d, size_t bound)
{
    return (size_t)rng_below(&d->r, d->n++, bound);
}

/* Parts of batches of random sizes, which are merged two and two until one is left. */
static metric_list *split_and_merge(const scene *s, draws *d)
{
    metric_list *parts[PARTS_MOST];
    size_t n = 1 + below(d, PARTS_MOST);
    for (size_t i = 0; i < n; i++)
        parts[i] = open_all(s);
    for (int64_t first = 0, size; first < s->all.examples; first += size) {
        int64_t left = s->all.examples - first;
        size = 1 + (int64_t)below(d, 9);
        size = size < left ? size : left;
        metric_batch b = part_of(s, first, size);
        add_ok(parts[below(d, n)], &b);
    }
    while (n > 1) {
        size_t into = below(d, n), from = (into + 1 + below(d, n - 1)) % n;
        if (below(d, 2))
            parts[from] = sent(s, parts[from]);
        assert_int_equal(metrics_merge(parts[into], parts[from], NULL), OK);
        metrics_close(&parts[from]);
        parts[from] = parts[--n];
    }
    return sent(s, parts[0]);
}

static void check_bits(metric_list *a, metric_list *b)
{
    buf x = BUF_INIT, y = BUF_INIT;
    metrics_save(a, &x);
    metrics_save(b, &y);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    buf_fini(&x);
    buf_fini(&y);
    metric_figures f = {.at = NULL}, g = {.at = NULL};
    metrics_figures(a, &f);
    metrics_figures(b, &g);
    assert_int_equal(f.n, g.n);
    for (size_t i = 0; i < f.n; i++)
        assert_memory_equal(f.at[i].values, g.at[i].values,
                            (size_t)((f.at[i].rows ? f.at[i].rows : 1) * f.at[i].columns) * sizeof(double));
    metric_figures_fini(&f);
    metric_figures_fini(&g);
}

static void for_each_case(void (*check)(const scene *s, metric_list *whole))
{
    json_t *cases = NULL;
    assert_int_equal(json_read_file(TEST_DATA_DIR "/metrics.json", &cases, NULL), OK);
    assert_true(json_array_size(cases) > 0);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        scene *s = scene_of(json_array_get(cases, i));
        metric_list *whole = open_all(s);
        print_message("%s\n", json_string_value(json_object_get(s->json, "name")));
        add_ok(whole, &s->all);
        check(s, whole);
        metrics_close(&whole);
        scene_free(s);
    }
    json_decref(cases);
}

static void test_golden(void **state)
{
    (void)state;
    for_each_case(check_golden);
}

static void check_splits(const scene *s, metric_list *whole)
{
    draws d = {.r = rng_make(20, RNG_TEST, (uint64_t)s->n)};
    for (int i = 0; i < SPLITS; i++) {
        metric_list *m = split_and_merge(s, &d);
        check_bits(whole, m);
        check_golden(s, m);
        metrics_close(&m);
    }
}

static void test_any_split_and_order_give_the_same_bits(void **state)
{
    (void)state;
    for_each_case(check_splits);
}

/* --- training: by slots, in any order, and over a base now and then --- */

static training_metrics *open_training(const buf *recipe)
{
    training_metrics *m = NULL;
    error err = ERROR_INIT;
    if (training_metrics_open(recipe->data, recipe->size, &m, &err) != OK)
        fail_msg("%s", err.text);
    return m;
}

static void add_slot(training_metrics *lane, const metric_batch *b, training_metrics *epoch)
{
    buf counts = BUF_INIT;
    error err = ERROR_INIT;
    if (training_metrics_count(lane, b, &counts, &err) != OK)
        fail_msg("%s", err.text);
    assert_true(training_metrics_add(epoch, counts.data, counts.size));
    buf_fini(&counts);
}

/* What a journal keeps of it, read by another master. */
static training_metrics *kept(const buf *recipe, training_metrics *m)
{
    buf base = BUF_INIT;
    training_metrics *other = open_training(recipe);
    training_metrics_save(m, &base);
    assert_true(training_metrics_add(other, base.data, base.size));
    assert_int_equal(training_metrics_slots(other), training_metrics_slots(m));
    buf_fini(&base);
    training_metrics_close(&m);
    return other;
}

static void check_same_figures(metric_list *whole, training_metrics *epoch)
{
    metric_figures all = {.at = NULL}, some = {.at = NULL};
    metrics_figures(whole, &all);
    training_metrics_figures(epoch, &some);
    assert_true(some.n > 0);
    for (size_t i = 0; i < some.n; i++) {
        const metric_figure *f = metric_figures_find(&all, some.at[i].name);
        assert_non_null(f);
        assert_int_equal(f->rows, some.at[i].rows);
        assert_int_equal(f->columns, some.at[i].columns);
        assert_memory_equal(f->values, some.at[i].values,
                            (size_t)((f->rows ? f->rows : 1) * f->columns) * sizeof(double));
    }
    metric_figures_fini(&all);
    metric_figures_fini(&some);
}

static void check_training(const scene *s, metric_list *whole)
{
    buf recipe = BUF_INIT, left = BUF_INIT;
    draws d = {.r = rng_make(22, RNG_TEST, (uint64_t)s->n)};
    int64_t slots = 0;
    assert_int_equal(training_recipe_make(s->options, s->n, &s->source, &recipe, &left, NULL), OK);
    for (size_t i = 0; i < s->n; i++)
        if (!metrics_stays_small(s->options[i].kind))
            assert_non_null(strstr(left.data, s->options[i].name ? s->options[i].name : s->options[i].kind));
    if (recipe.size) {
        training_metrics *lane = open_training(&recipe), *epoch = open_training(&recipe);
        for (int64_t first = 0, size; first < s->all.examples; first += size, slots++) {
            int64_t rest = s->all.examples - first;
            size = 1 + (int64_t)below(&d, 9);
            size = size < rest ? size : rest;
            metric_batch b = part_of(s, first, size);
            add_slot(lane, &b, epoch);
            if (below(&d, 4) == 0)
                epoch = kept(&recipe, epoch);
        }
        assert_int_equal(training_metrics_slots(epoch), slots);
        check_same_figures(whole, epoch);
        training_metrics_close(&lane);
        training_metrics_close(&epoch);
    }
    buf_fini(&recipe);
    buf_fini(&left);
}

static void test_training_counts_by_slots(void **state)
{
    (void)state;
    for_each_case(check_training);
}

/* What is cut, longer, changed or of another recipe is not taken, and of a recipe that is cut or changed nothing
 * worse comes than a refusal. */
static void test_damaged_counts_and_recipes(void **state)
{
    (void)state;
    static const char *const words[] = {"B-x", "I-x"};
    static const metric_source rows = {.input = METRIC_CLASSES, .classes = 2, .labels = 3, .words = words};
    const metric_options listed[] = {{.kind = "f1"}, {.kind = "span_f1"}, {.kind = "entropy", .name = "h"}};
    const float scores[12] = {1.0f, 0.5f, 0.25f, 2.0f};
    const int64_t labels[6] = {0, 1, 1};
    buf recipe = BUF_INIT, left = BUF_INIT, counts = BUF_INIT;
    assert_int_equal(training_recipe_make(listed, COUNT_OF(listed), &rows, &recipe, &left, NULL), OK);
    assert_int_equal(left.size, 0);
    training_metrics *m = open_training(&recipe), *epoch = open_training(&recipe);
    const metric_batch batch = {.examples = 2, .scores = scores, .labels = labels};
    assert_int_equal(training_metrics_count(m, &batch, &counts, NULL), OK);
    for (size_t n = 0; n < counts.size; n++)
        assert_false(training_metrics_add(epoch, counts.data, n));
    buf_add(&counts, "x", 1);
    assert_false(training_metrics_add(epoch, counts.data, counts.size));
    counts.data[0] ^= 1;
    assert_false(training_metrics_add(epoch, counts.data, counts.size - 1));
    assert_int_equal(training_metrics_slots(epoch), 0);
    for (size_t n = 0; n < recipe.size; n++) {
        training_metrics *none = NULL;
        error err = ERROR_INIT;
        assert_int_equal(training_metrics_open(recipe.data, n, &none, &err), E_PROTOCOL);
    }
    for (size_t i = 0; i < recipe.size; i++)
        for (int bit = 0; bit < 8; bit++) {
            training_metrics *other = NULL;
            error err = ERROR_INIT;
            recipe.data[i] ^= (char)(1 << bit);
            if (training_metrics_open(recipe.data, recipe.size, &other, &err) == OK)
                training_metrics_close(&other);
            else
                assert_true(err.text[0]);
            recipe.data[i] ^= (char)(1 << bit);
        }
    training_metrics_close(&m);
    training_metrics_close(&epoch);
    buf_fini(&recipe);
    buf_fini(&left);
    buf_fini(&counts);
}

/* --- edges --- */

static const metric_source two_classes = {.input = METRIC_CLASSES, .classes = 2, .labels = 1};

static metric_list *open_one(const metric_options *o, const metric_source *s)
{
    metric_list *m = NULL;
    error err = ERROR_INIT;
    if (metrics_open(o, 1, s, &m, &err) != OK)
        fail_msg("%s", err.text);
    return m;
}

static double first_value(metric_list *m)
{
    metric_figures f = {.at = NULL};
    metrics_figures(m, &f);
    double x = f.at[0].values[0];
    metric_figures_fini(&f);
    return x;
}

static void test_no_examples(void **state)
{
    (void)state;
    static const char *const none[] = {"categorical_accuracy", "auc", "average_precision", "entropy", "perplexity"};
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        metric_list *m = open_one(&(metric_options){.kind = none[i], .positive_label = 1}, &two_classes);
        assert_true(isnan(first_value(m)));
        metrics_close(&m);
    }
    metric_list *f1 = open_one(&(metric_options){.kind = "f1"}, &two_classes);
    assert_true(first_value(f1) == 0.0);
    metrics_close(&f1);
}

static void test_reset_forgets(void **state)
{
    (void)state;
    metric_list *m = open_one(&(metric_options){.kind = "categorical_accuracy"}, &two_classes);
    const float scores[] = {1.0f, 0.0f};
    add_ok(m, &(metric_batch){.examples = 1, .scores = scores, .labels = &(int64_t){0}});
    assert_true(first_value(m) == 1.0);
    metrics_reset(m);
    add_ok(m, &(metric_batch){.examples = 1, .scores = scores, .labels = &(int64_t){1}});
    assert_true(first_value(m) == 0.0);
    metrics_close(&m);
}

static void test_scores_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    const float scores[] = {1.0f, 0.0f, (float)NAN, 0.0f};
    const int64_t labels[] = {0, 1};
    error err = ERROR_INIT;
    metric_list *m = open_one(&(metric_options){.kind = "auc", .positive_label = 1}, &two_classes);
    add_ok(m, &(metric_batch){.examples = 2, .scores = scores, .labels = labels});
    assert_true(isnan(first_value(m)));
    assert_int_equal(metrics_check(m, &err), E_NONFINITE);
    assert_string_equal(err.text, "no value of auc: 1 of the model's scores or of the labels are not finite");
    metrics_close(&m);
}

/* Classes behind the labels, and before them as those of pixels are. */
static void test_either_place_of_classes(void **state)
{
    (void)state;
    enum { EXAMPLES = 3, LABELS = 5, CLASSES = 4, ALL = EXAMPLES * LABELS * CLASSES };
    const metric_source source = {.input = METRIC_CLASSES, .classes = CLASSES, .labels = LABELS};
    const metric_options o = {.kind = "perplexity"};
    float behind[ALL], before[ALL];
    int64_t labels[EXAMPLES * LABELS];
    const rng r = rng_make(5, RNG_TEST, 0);
    for (int i = 0; i < EXAMPLES * LABELS; i++) {
        labels[i] = (int64_t)rng_below(&r, (uint64_t)(ALL + i), CLASSES);
        for (int c = 0; c < CLASSES; c++) {
            behind[i * CLASSES + c] = rng_normal(&r, (uint64_t)(i * CLASSES + c));
            before[i / LABELS * LABELS * CLASSES + c * LABELS + i % LABELS] = behind[i * CLASSES + c];
        }
    }
    metric_list *one = open_one(&o, &source), *other = open_one(&o, &source);
    add_ok(one, &(metric_batch){.examples = EXAMPLES, .scores = behind, .labels = labels});
    add_ok(other, &(metric_batch){
                        .examples = EXAMPLES, .scores = before, .class_stride = LABELS, .labels = labels});
    check_bits(one, other);
    metrics_close(&one);
    metrics_close(&other);
}

static void test_a_label_beyond_the_classes(void **state)
{
    (void)state;
    const float scores[] = {1.0f, 0.0f};
    error err = ERROR_INIT;
    metric_list *m = open_one(&(metric_options){.kind = "f1"}, &two_classes);
    assert_int_equal(metrics_add(m, &(metric_batch){.examples = 1, .scores = scores, .labels = &(int64_t){2}}, &err),
                     E_DATA);
    assert_string_equal(err.text, "the label 2 is none of 2 classes");
    metrics_close(&m);
}

static void check_refused(const metric_options *o, size_t n, const metric_source *s, const char *why)
{
    error err = ERROR_INIT;
    metric_list *m = NULL;
    assert_int_equal(metrics_open(o, n, s, &m, &err), E_CONFIG);
    assert_null(m);
    assert_string_equal(err.text, why);
}

static void test_what_does_not_fit_is_refused(void **state)
{
    (void)state;
    const metric_source numbers = {.input = METRIC_NUMBERS, .labels = 1};
    const metric_source rows = {.input = METRIC_CLASSES, .classes = 2, .labels = 5};
    const char *const tags[] = {"O", "X-PER"};
    const metric_options twice[] = {{.kind = "f1"}, {.kind = "f1", .positive_label = 1}};
    check_refused(&(metric_options){.kind = "pearson"}, 1, &numbers, "there is no metric 'pearson'");
    check_refused(&(metric_options){.kind = "xyz"}, 1, &numbers, "there is no metric 'xyz'");
    check_refused(&(metric_options){.kind = "aucc"}, 1, &numbers, "there is no metric 'aucc'; did you mean 'auc'?");
    check_refused(&(metric_options){.kind = "auc"}, 1, &numbers,
                  "metric 'auc': auc takes scores of classes or a yes or a no, but this model and its loss give "
                  "numbers");
    check_refused(&(metric_options){.kind = "bleu"}, 1, &two_classes,
                  "metric 'bleu': bleu takes a row of labels an example, but this model's have one each");
    check_refused(&(metric_options){.kind = "f1", .positive_label = 2}, 1, &two_classes,
                  "metric 'f1': positive_label: 2 is none of 2 classes");
    check_refused(&(metric_options){.kind = "categorical_accuracy", .top_k = 2, .tie_break = true}, 1, &two_classes,
                  "metric 'categorical_accuracy': tie_break goes with top_k 1 only, not with 2");
    check_refused(&(metric_options){.kind = "span_f1", .tags = tags, .n_tags = 2}, 1, &rows,
                  "metric 'span_f1': the tag 'X-PER' is neither O nor one of the letters BIO, '-' and a label");
    check_refused(twice, 2, &two_classes,
                  "two metrics would be called 'f1_precision': give one another `name`");
}

static void test_bytes_of_others_are_refused(void **state)
{
    (void)state;
    buf bytes = BUF_INIT;
    error err = ERROR_INIT;
    metric_list *f1 = open_one(&(metric_options){.kind = "f1"}, &two_classes);
    metric_list *auc = open_one(&(metric_options){.kind = "auc", .positive_label = 1}, &two_classes);
    metrics_save(f1, &bytes);
    assert_int_equal(metrics_load(auc, bytes.data, bytes.size, &err), E_DATA);
    for (size_t n = 0; n < bytes.size; n++)
        assert_int_equal(metrics_load(f1, bytes.data, n, NULL), E_DATA);
    assert_int_equal(metrics_load(f1, bytes.data, bytes.size, NULL), OK);
    buf_fini(&bytes);
    metrics_close(&f1);
    metrics_close(&auc);
}

static void test_names_are_known_beforehand(void **state)
{
    (void)state;
    char *names[8];
    size_t n = metrics_names(&(metric_options){.kind = "f1", .name = "spam"}, names, COUNT_OF(names));
    static const char *const want[] = {"spam_precision", "spam_recall", "spam"};
    assert_int_equal(n, COUNT_OF(want));
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(names[i], want[i]);
        free(names[i]);
    }
    assert_int_equal(metrics_names(&(metric_options){.kind = "fbeta"}, names, COUNT_OF(names)), 0);
    assert_int_equal(metrics_names(&(metric_options){.kind = "confusion_matrix"}, names, COUNT_OF(names)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_any_split_and_order_give_the_same_bits),
        cmocka_unit_test(test_training_counts_by_slots),
        cmocka_unit_test(test_damaged_counts_and_recipes),
        cmocka_unit_test(test_no_examples),
        cmocka_unit_test(test_reset_forgets),
        cmocka_unit_test(test_scores_that_are_not_finite_are_refused),
        cmocka_unit_test(test_either_place_of_classes),
        cmocka_unit_test(test_a_label_beyond_the_classes),
        cmocka_unit_test(test_what_does_not_fit_is_refused),
        cmocka_unit_test(test_bytes_of_others_are_refused),
        cmocka_unit_test(test_names_are_known_beforehand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
