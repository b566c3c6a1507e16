/*
 * Adapters of model.lora and the weights that have them merged: the same loss, of Gemm and of MatMul, of weights that
 * lie either way or both. models_test.c holds the adapters against PEFT's formula.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/rng.h"
#include "golden/support_golden.h"
#include "model/lora.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char settings[] = "\"lora\": {\"patterns\": [\"%s\"], \"rank\": 3, \"alpha\": 7}}";

/* The section `model` with adapters. */
static char *with_lora(const char *section, const char *pattern)
{
    char *more = xasprintf(settings, pattern);
    size_t end = strlen(section) - 1;
    assert_true(section[end] == '}');
    char *both = xasprintf("%.*s, %s", (int)end, section, more);
    free(more);
    return both;
}

/* The file's weights, and numbers for adapters; returns how many of these there are. */
static size_t fill(network *n, const golden *g)
{
    rng r = rng_make(5, RNG_TEST, 0);
    size_t adapters = 0;
    uint64_t drawn = 0;
    for (int32_t t = 0; t < n->flat->n_tensors; t++) {
        const char *name = n->flat->tensors[t].name;
        float *to = n->weights + n->flat->offset[t];
        if (lora_is_adapter(name)) {
            for (int64_t i = 0; i < n->flat->count[t]; i++)
                to[i] = 0.2f * rng_normal(&r, drawn++);
            adapters++;
            continue;
        }
        const st_tensor *from = golden_tensor(g, "param", name);
        memcpy(to, from->data, from->bytes);
    }
    return adapters;
}

/* All of the plain network's weights from merged ones; returns how many changed. */
static size_t take_merged(network *plain, const golden *g, const weights *w)
{
    size_t changed = 0;
    assert_int_equal(weights_count(w), plain->flat->n_tensors);
    for (int32_t t = 0; t < plain->flat->n_tensors; t++) {
        const char *name = plain->flat->tensors[t].name;
        const st_tensor *from = weights_find(w, name);
        assert_non_null(from);
        memcpy(plain->weights + plain->flat->offset[t], from->data, from->bytes);
        changed += memcmp(from->data, golden_tensor(g, "param", name)->data, from->bytes) != 0;
    }
    return changed;
}

typedef struct scene {
    const char *model, *pattern;
    graph_op product; /* one for each adapter is this */
} scene;

static size_t count_adapters(const graph *g, graph_op product)
{
    size_t n = 0;
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        const char *end = strrchr(value->name, '.');
        n += value->def != GRAPH_NONE && end && strcmp(end, ".lora_A") == 0 &&
             graph_node_at(g, value->def)->op == product;
    }
    return n;
}

static void merged_weights_say_the_same(void **state)
{
    const scene *s = *state;
    char folder[] = "/tmp/lora_test.XXXXXX";
    error err = ERROR_INIT;
    golden g;
    network adapted = {0}, plain = {0};
    weights *w = NULL;
    golden_open(&g, s->model);
    char *section = with_lora(golden_section(&g, "model"), s->pattern);
    network_init(&adapted, &g, section, "'sgd'");
    network_init(&plain, &g, golden_section(&g, "model"), "'sgd'");
    size_t adapters = fill(&adapted, &g);
    assert_true(adapters >= 2);
    assert_int_equal(count_adapters(adapted.graph, s->product), adapters / 2);
    assert_non_null(mkdtemp(folder));
    char *path = xasprintf("%s/w.safetensors", folder);
    network_write_weights(&adapted, path);
    must(weights_open(path, &w, &err), &err);
    must(lora_merge(config_section(adapted.config, "model"), &w, &err), &err);
    assert_int_equal(take_merged(&plain, &g, w), adapters / 2);
    network_feed(&adapted, &g, 0);
    network_feed(&plain, &g, 0);
    double a = (double)network_run(&adapted), b = (double)network_run(&plain);
    print_message("%s: %zu adapters, loss %.8g, merged %.8g\n", s->model, adapters / 2, a, b);
    assert_true(fabs(a / b - 1) <= 2e-6);
    weights_close(&w);
    must(fs_remove_tree(folder, NULL), NULL);
    network_fini(&adapted);
    network_fini(&plain);
    golden_close(&g);
    free(section);
    free(path);
}

int main(void)
{
    static const scene scenes[] = {
        {"bert_qa", "query|intermediate", OP_GEMM},
                                   {"gpt2", "c_attn|mlp.c_proj", OP_GEMM},
                                   {"vit", "in_proj_weight", OP_GEMM},
                                   {"zoo_modernbert", "Wqkv|Wo", OP_GEMM},
                                   {"zoo_hopfield", "stored", OP_MATMUL}};
    struct CMUnitTest tests[COUNT_OF(scenes)];
    for (size_t i = 0; i < COUNT_OF(scenes); i++)
        tests[i] = (struct CMUnitTest){.name = scenes[i].model,
                                       .test_func = merged_weights_say_the_same,
                                       .initial_state = (void *)(uintptr_t)&scenes[i]};
    if (chdir(golden_folder()) != 0) /* models name their files from there */
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
