/*
 * Hugging Face's folders against transformers: what config.json says and the weights of
 * model.safetensors, without a word of it in the configuration, give transformers' logits, loss and
 * gradients. data/transformers is made by make_transformers.py, a network's folder and a file for
 * each of its heads. AllenNLP's models, data/text_models by make_text_models.py, against PyTorch in the same way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "golden/support_golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double LOGIT_TOLERANCE = 1e-5, LOSS_TOLERANCE = 1e-6, GRAD_TOLERANCE = 1e-5;

static float number(const st_tensor *t, int64_t i)
{
    float x;
    memcpy(&x, (const char *)t->data + (size_t)i * sizeof x, sizeof x);
    return x;
}

static const st_tensor *find(const golden *g, const char *name)
{
    const st_tensor *t = st_find(g->file, name);
    if (!t)
        fail_msg("no tensor '%s'", name);
    return t;
}

static void check_output(const golden *g, const char *name)
{
    network n;
    const st_tensor *want = find(g, name);
    const graph_value *value = NULL;
    network_init(&n, g, golden_section(g, "model"), NULL);
    network_feed(&n, g, 0);
    network_run(&n);
    const float *logits = exec_value(n.exec, 0, name, &value);
    assert_non_null(logits);
    assert_int_equal((size_t)graph_shape_elements(&value->shape) * sizeof(float), want->bytes);
    for (int64_t i = 0; i < graph_shape_elements(&value->shape); i++)
        if (!(fabsf(logits[i] - number(want, i)) <= LOGIT_TOLERANCE * (1.0 + fabsf(number(want, i)))))
            fail_msg("logit %lld is %.8g, PyTorch's %.8g", (long long)i, (double)logits[i],
                     (double)number(want, i));
    network_fini(&n);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Apart, of each tensor, as a share of the norm of all. */
static void check_gradients(const golden *g, const network *n)
{
    const flat *f = n->flat;
    const st_tensor *want = find(g, "grads");
    const char **names = xcalloc((size_t)f->n_tensors, sizeof *names);
    int64_t at = 0, all = (int64_t)(want->bytes / sizeof(float));
    double norm = 0.0;
    for (int32_t t = 0; t < f->n_tensors; t++)
        names[t] = f->tensors[t].name;
    qsort(names, (size_t)f->n_tensors, sizeof *names, by_name);
    for (int64_t i = 0; i < all; i++)
        norm += pow(number(want, i), 2);
    norm = sqrt(norm);
    for (int32_t t = 0; t < f->n_tensors; t++) {
        const float *grad = network_grad(n, names[t]);
        int64_t count = f->count[flat_find(f, names[t])];
        double apart = 0.0;
        assert_true(at + count <= all);
        for (int64_t i = 0; i < count; i++)
            apart += pow(grad[i] - number(want, at + i), 2);
        if (!(sqrt(apart) <= GRAD_TOLERANCE * norm))
            fail_msg("gradient of '%s': %g apart, all are of norm %g", names[t], sqrt(apart), norm);
        at += count;
    }
    assert_int_equal(at, all);
    free(names);
}

static void test_network(void **state)
{
    golden g;
    network n;
    golden_open(&g, *state);
    check_output(&g, "logits");
    if (st_find(g.file, "tag_logits"))
        check_output(&g, "tag_logits");
    network_init(&n, &g, golden_section(&g, "model"), "'sgd'");
    network_feed(&n, &g, 0);
    double loss = (double)network_run(&n), want = (double)number(find(&g, "loss"), 0);
    print_message("%s: loss %.8g, PyTorch's %.8g\n", (const char *)*state, loss, want);
    assert_true(fabs(loss - want) <= LOSS_TOLERANCE * want);
    check_gradients(&g, &n);
    network_fini(&n);
    golden_close(&g);
}

int main(int argc, char **argv)
{
    static const char *const files[] = {
        "transformers/bert_qa", "transformers/bert_tokens", "transformers/bert_sequence",
        "transformers/roberta_qa", "transformers/roberta_tokens",
        "transformers/roberta_sequence", "transformers/distilbert_qa",
        "transformers/distilbert_tokens", "transformers/distilbert_sequence",
        "transformers/electra_qa", "transformers/electra_tokens",
        "transformers/electra_sequence", "transformers/albert_qa", "transformers/albert_tokens",
        "transformers/albert_sequence", "transformers/gpt2_lm", "transformers/llama_lm",
        "transformers/mistral_lm", "transformers/qwen2_lm", "text_models/tagger_lstm",
        "text_models/tagger_bert_lstm", "text_models/tagger_words",
        "text_models/tagger_words_lstm", "text_models/tagger_words_first",
        "text_models/tagger_gru", "text_models/classifier_gru",
        "text_models/classifier_rnn", "text_models/classifier_cnn",
        "text_models/classifier_cnn_tanh", "text_models/classifier_bag",
        "text_models/classifier_mean", "text_models/classifier_lstm",
        "text_models/classifier_bert", "text_models/classifier_roberta",
        "text_models/parser",
    };
    struct CMUnitTest tests[COUNT_OF(files)] = {0};
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    for (size_t i = 0; i < COUNT_OF(files); i++)
        tests[i] = (struct CMUnitTest){
            .name = files[i], .test_func = test_network, .initial_state = (void *)(uintptr_t)files[i]};
    if (chdir(golden_folder()) != 0) /* models name their folders from there */
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
