/* Generation against a distribution computed apart from it: temperature, the best k, the context
 * that slides, seeds; with a tiny model of random weights. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/rng.h"
#include "data/reader.h"
#include "evaluator/generation.h"
#include "exec/exec.h"
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 4, SIZE = 5, DRAWS = 4000 };

static const char vocabulary[] = "{\"tokens\": [\"a\", \"b\", \"c\", \"d\", \"e\"]}";
static const char setting[] =
    "{dataset_reader: {type: 'text', context: 4}, train_data_path: 'x', data_loader: {batch_size: "
    "1}, model: {type: 'transformer_lm', num_layers: 1, width: 8, num_heads: 2}}";
static char folder[] = "/tmp/tequio-generation-XXXXXX";
static config *job;
static weights *random_weights;

static graph *model(void)
{
    data_field fields[2];
    graph *g = NULL;
    error err = ERROR_INIT;
    text_reader_fields(CONTEXT, SIZE, fields);
    model_request r = {.model = config_section(job, "model"),
                       .fields = fields,
                       .n_fields = 2,
                       .batch_size = 1,
                       .mode = MODEL_PREDICT};
    if (model_build(&r, &g, &err) != OK)
        fail_msg("%s", err.text);
    return g;
}

static int make_weights(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    assert_int_equal(config_load(&(config_source){.text = setting}, &job, &err), OK);
    assert_non_null(mkdtemp(folder));
    graph *g = model();
    flat *f = NULL;
    assert_int_equal(model_flat(g, &f, NULL), OK);
    st_tensor *tensors = xcalloc((size_t)f->n_tensors, sizeof *tensors);
    float *values = xcalloc((size_t)f->n_elements, sizeof *values);
    rng r = rng_make(5, RNG_TEST, 0);
    for (int64_t i = 0; i < f->n_elements; i++)
        values[i] = rng_normal(&r, (uint64_t)i);
    for (int32_t t = 0; t < f->n_tensors; t++) {
        tensors[t] = (st_tensor){.name = f->tensors[t].name, .dtype = DT_F32};
        tensors[t].rank = f->tensors[t].rank;
        memcpy(tensors[t].dim, f->tensors[t].dim, sizeof tensors[t].dim);
        tensors[t].bytes = (size_t)f->count[t] * sizeof *values;
    }
    char *path = xasprintf("%s/model.safetensors", folder);
    st_writer *w = NULL;
    assert_int_equal(st_writer_open(path, tensors, (size_t)f->n_tensors, NULL, 0, &w, NULL), OK);
    for (int32_t t = 0; t < f->n_tensors; t++)
        assert_int_equal(st_writer_add(w, values + f->offset[t], tensors[t].bytes, NULL), OK);
    assert_int_equal(st_writer_close(&w, NULL, NULL, NULL), OK);
    assert_int_equal(weights_open(path, &random_weights, NULL), OK);
    free(path);
    free(values);
    free(tensors);
    flat_destroy(&f);
    graph_destroy(&g);
    return 0;
}

static int remove_weights(void **state)
{
    (void)state;
    weights_close(&random_weights);
    config_destroy(&job);
    return fs_remove_tree(folder, NULL) == OK ? 0 : -1;
}

static generation *opened(double temperature, int64_t top_k, uint64_t seed)
{
    generation *g = NULL;
    error err = ERROR_INIT;
    generation_options o = {.config = job,
                            .vocabulary = vocabulary,
                            .weights = random_weights,
                            .device = backend_numbered(-1, 1),
                            .temperature = temperature,
                            .top_k = top_k,
                            .seed = seed};
    if (generation_open(&o, &g, &err) != OK)
        fail_msg("%s", err.text);
    return g;
}

static void more(generation *g, int n, char *ret)
{
    buf text = BUF_INIT;
    bool ended = false;
    for (int i = 0; i < n; i++) {
        assert_int_equal(generation_next(g, &text, &ended, NULL), OK);
        assert_int_equal(text.size, i + 1);
        assert_false(ended);
    }
    memcpy(ret, text.data, (size_t)n + 1);
    buf_fini(&text);
}

/* What the model says behind `text`, by the engine itself. */
static void scores_behind(const char *text, double *ret)
{
    graph *g = model();
    flat *f = NULL;
    exec *e = NULL;
    assert_int_equal(model_flat(g, &f, NULL), OK);
    float *values = xcalloc((size_t)f->n_elements, sizeof *values);
    for (int32_t t = 0; t < f->n_tensors; t++) {
        const st_tensor *from = weights_find(random_weights, f->tensors[t].name);
        memcpy(values + f->offset[t], from->data, from->bytes);
    }
    const graph *graphs[] = {g};
    exec_options o = {
        .backend = &backend_cpu, .device = {.threads = 1}, .flat = f, .graphs = graphs, .n_graphs = 1};
    assert_int_equal(exec_create(&o, &e, NULL), OK);
    exec_bind_params(e, values);
    int64_t *tokens = exec_input(e, 0, "input_ids", NULL);
    size_t n = strlen(text);
    for (size_t i = 0; i < CONTEXT; i++)
        tokens[i] = i < n ? text[i] - 'a' : SIZE - 1; /* what stands behind must not matter */
    assert_int_equal(exec_run(e, 0, &(exec_hooks){.need = NULL}, NULL), OK);
    const float *logits = exec_value(e, 0, "logits", NULL);
    for (size_t i = 0; i < SIZE; i++)
        ret[i] = (double)logits[(n - 1) * SIZE + i];
    exec_destroy(&e);
    free(values);
    flat_destroy(&f);
    graph_destroy(&g);
}

static int better_than(const double *scores, int token)
{
    int n = 0;
    for (int i = 0; i < SIZE; i++)
        n += scores[i] > scores[token];
    return n;
}

/* Of many seeds the share of each token is its probability, four deviations at most beside it. */
static void expect_shares(double temperature, int64_t top_k)
{
    double scores[SIZE], p[SIZE], sum = 0.0;
    int drawn[SIZE] = {0};
    char text[2];
    scores_behind("bad", scores);
    for (int i = 0; i < SIZE; i++) {
        bool counts = top_k == 0 || better_than(scores, i) < top_k;
        p[i] = counts ? exp(scores[i] / temperature) : 0.0;
        sum += p[i];
    }
    for (uint64_t seed = 0; seed < DRAWS; seed++) {
        generation *g = opened(temperature, top_k, seed);
        assert_int_equal(generation_prompt(g, "bad", NULL), OK);
        more(g, 1, text);
        drawn[text[0] - 'a']++;
        generation_close(&g);
    }
    for (int i = 0; i < SIZE; i++) {
        double share = p[i] / sum, deviation = sqrt(share * (1.0 - share) / DRAWS);
        assert_true(fabs((double)drawn[i] / DRAWS - share) <= 4.0 * deviation + 1e-9);
    }
}

static void test_tokens_are_drawn_by_their_probability(void **state)
{
    (void)state;
    expect_shares(1.0, 0);
    expect_shares(3.0, 0);
    expect_shares(3.0, 2);
}

static void test_the_best_token(void **state)
{
    (void)state;
    double scores[SIZE];
    char text[2], one[2];
    scores_behind("bad", scores);
    generation *cold = opened(0.0, 0, 1), *narrow = opened(2.0, 1, 2);
    assert_int_equal(generation_prompt(cold, "bad", NULL), OK);
    assert_int_equal(generation_prompt(narrow, "bad", NULL), OK);
    more(cold, 1, text);
    more(narrow, 1, one);
    assert_int_equal(better_than(scores, text[0] - 'a'), 0);
    assert_string_equal(text, one);
    generation_close(&cold);
    generation_close(&narrow);
}

/* Only the last tokens are read, be they prompted or generated. */
static void test_the_context_slides(void **state)
{
    (void)state;
    char a[33], b[33], c[17];
    generation *shorter = opened(1.0, 0, 3), *longer = opened(1.0, 0, 3), *later = opened(0.0, 0, 3),
               *colder = opened(0.0, 0, 3);
    assert_int_equal(generation_prompt(shorter, "dabc", NULL), OK);
    assert_int_equal(generation_prompt(longer, "eeeeeee", NULL), OK);
    assert_int_equal(generation_prompt(longer, "dabc", NULL), OK);
    more(shorter, 32, a);
    more(longer, 32, b);
    assert_string_equal(a, b);

    assert_int_equal(generation_prompt(colder, "ab", NULL), OK);
    more(colder, 32, a);
    char tail[CONTEXT + 1] = {a[12], a[13], a[14], a[15]};
    assert_int_equal(generation_prompt(later, tail, NULL), OK);
    more(later, 16, c);
    assert_string_equal(a + 16, c);
    generation_close(&shorter);
    generation_close(&longer);
    generation_close(&later);
    generation_close(&colder);
}

static void test_refusals(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    generation *g = opened(1.0, 0, 0);
    assert_int_equal(generation_prompt(g, "abz", &err), E_DATA);
    assert_non_null(strstr(err.text, "'z' (U+007A) at byte 2 is not among the 5"));
    generation_close(&g);
    static const struct {
        const char *change, *text;
    } cases[] = {
        {"{dataset_reader: {type: 'arrays'}}",
         "dataset_reader.type is 'arrays': text is generated by models that were trained on 'text'"},
        {"{model+: {width: 10}}", "tensor 'wte.weight' is [5,8], the model asks for [5,10]"},
        {"{model: {type: 'mlp'}}", "float32"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *text = xasprintf("%s + %s", setting, cases[i].change);
        config *c = NULL;
        error_clear(&err);
        if (config_load(&(config_source){.text = text}, &c, &err) != OK)
            fail_msg("%s", err.text);
        free(text);
        generation_options o = {
            .config = c, .vocabulary = vocabulary, .weights = random_weights, .device = backend_numbered(-1, 1)};
        assert_true(generation_open(&o, &g, &err) != OK);
        if (!strstr(err.text, cases[i].text))
            fail_msg("message \"%s\" lacks \"%s\"", err.text, cases[i].text);
        config_destroy(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_are_drawn_by_their_probability),
        cmocka_unit_test(test_the_best_token),
        cmocka_unit_test(test_the_context_slides),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, make_weights, remove_weights);
}
