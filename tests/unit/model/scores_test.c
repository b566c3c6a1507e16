/* How many scores a model gives, told by its weights where no labels tell it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CLASSES = 7 };

static const data_field image = {.name = "image", .dtype = DT_F32, .rank = 3, .dim = {3, 8, 8}};
static const data_field tokens = {.name = "input_ids", .dtype = DT_I64, .rank = 1, .dim = {6}};
static const data_field numbers = {.name = "numeric", .dtype = DT_F32, .rank = 1, .dim = {4}};
static const data_field label = {.name = "label", .dtype = DT_I64, .classes = CLASSES};
static const data_field labels = {
    .name = "label", .dtype = DT_I64, .rank = 1, .dim = {6}, .classes = CLASSES};

static void must(status st, const error *err)
{
    if (st != OK)
        fail_msg("%s", err->text);
}

/* The weights of the model as it is trained with labels. */
static weights *weights_of(model_request *r, const data_field *fields)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    flat *f = NULL;
    weights *w = NULL;
    char path[] = "/tmp/scores-XXXXXX";
    close(mkstemp(path));
    r->fields = fields;
    r->n_fields = 2;
    must(model_build(r, &g, &err), &err);
    must(model_flat(g, &f, &err), &err);
    float *values = xcalloc((size_t)f->n_elements, sizeof *values);
    must(checkpoint_export(f, values, path, &err), &err);
    must(weights_open(path, &w, &err), &err);
    remove(path);
    free(values);
    flat_destroy(&f);
    graph_destroy(&g);
    return w;
}

static void expect(const char *model, data_field field, data_field answer, int64_t scores)
{
    error err = ERROR_INIT;
    config *c = NULL;
    char *text =
        xasprintf("{model: %s, train_data_path: 'x', data_loader: {batch_size: 8}}", model);
    must(config_load(&(config_source){.text = text}, &c, &err), &err);
    data_field fields[2] = {field, answer};
    model_request r = {.model = config_section(c, "model"), .batch_size = 2, .mode = MODEL_EVAL};
    weights *w = weights_of(&r, fields);
    graph *g = NULL;
    r.mode = MODEL_PREDICT;
    must(model_scores(&r, w, &r.scores, &err), &err);
    assert_int_equal(r.scores, 0); /* the labels tell */
    r.n_fields = 1;
    must(model_scores(&r, w, &r.scores, &err), &err);
    assert_int_equal(r.scores, scores);
    must(model_build(&r, &g, &err), &err);
    graph_destroy(&g);
    weights_close(&w);
    config_destroy(&c);
    free(text);
}

static void classes_of_a_picture(void **state)
{
    (void)state;
    expect("{type: 'mlp', hidden: [5]}", image, label, CLASSES);
    expect("{type: 'cnn', channels: [4], hidden: []}", image, label, CLASSES);
    expect("{type: 'resnet18', stem: 'cifar', width: 4}", image, label, CLASSES);
    expect("{type: 'vit', patch: 4, width: 6, num_heads: 2, num_layers: 1}", image, label,
           CLASSES);
}

static void tokens_of_a_text(void **state)
{
    (void)state;
    const char *lm = "{type: 'transformer_lm', width: 6, num_heads: 2, num_layers: 1, context: 6}";
    expect(lm, tokens, labels, CLASSES); /* its table has as many rows */
    expect("{type: 'bert', width: 6, num_heads: 2, num_layers: 1, context: 6, vocabulary: 9, "
           "head: 'tokens', loss: 'cross_entropy'}",
           tokens, labels, CLASSES);
}

static void numbers_and_spans(void **state)
{
    (void)state;
    data_field three = {.name = "label", .dtype = DT_F32, .rank = 1, .dim = {3}};
    data_field one = {.name = "label", .dtype = DT_F32};
    data_field span = {.name = "label", .dtype = DT_I64, .rank = 1, .dim = {2}};
    expect("{type: 'mlp', hidden: [5], loss: 'mean_squared_error'}", numbers, three, 3);
    expect("{type: 'mlp', hidden: [5], loss: 'binary_cross_entropy'}", numbers, one, 1);
    expect("{type: 'bert', width: 6, num_heads: 2, num_layers: 1, context: 6, vocabulary: 9}",
           tokens, span, 0); /* a span has two always */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_of_a_picture),
        cmocka_unit_test(tokens_of_a_text),
        cmocka_unit_test(numbers_and_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
