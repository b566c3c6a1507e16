/*
 * Whole models against PyTorch: from the same first weights, over the same batches, in float32, the
 * losses of ten steps, of SAM fifty, within 1e-5 of PyTorch's and the gradients of the first step within 1e-4 of
 * their norm. What data/ holds is made by make_models.py, and by make_onnx.py for networks that
 * come as a file of onnx/: with a weight that two layers share, with weights that an exporter
 * merged because they were equal, with a norm that is called twice in a batch, with the loss inside,
 * with nothing but the loss. Files zoo_* are of networks of the zoo, as exporters wrote them;
 * zoo/fixtures.py says why these.
 *
 * Gradients that are zero in exact arithmetic (the biases of keys; what stands before a norm) are
 * rounding here and there: GRAIN, as a share of the whole gradient's norm, is allowed everywhere.
 *
 * Programs over another backend have these tests too (tests/cuda_emu, tests/gpu).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "golden/support_golden.h"
#include "optim/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 10 }; /* at least, in what data/ holds; with fewer GOLDEN_STEPS so many are made */

static const double LOSS_TOLERANCE = 1e-5, GRAD_TOLERANCE = 1e-4, GRAIN = 1e-6;

typedef struct training {
    golden from;
    network net;
    optim optim;
    optim_call call;
    float *slots[OPTIM_SLOTS];
} training;

static void training_init(training *t, const char *model, const char *optimizer)
{
    *t = (training){.slots = {NULL}};
    golden_open(&t->from, model);
    network_init(&t->net, &t->from, golden_section(&t->from, "model"),
                 golden_section(&t->from, optimizer));
    network_take_weights(&t->net, &t->from);
    for (size_t i = 0; i < OPTIM_SLOTS; i++)
        t->slots[i] = xcalloc((size_t)t->net.flat->n_elements, sizeof *t->slots[i]);
    t->optim = optim_settings(t->net.config);
    lr_sequence rates = lr_settings(t->net.config, (training_span){.steps = STEPS, .epoch_steps = 1});
    t->call = (optim_call){.rate = lr_sequence_rate(&rates, 0, 0), .scale = 1.0f};
}

static void training_fini(training *t)
{
    network_fini(&t->net);
    golden_close(&t->from);
    for (size_t i = 0; i < OPTIM_SLOTS; i++)
        free(t->slots[i]);
}

static void update(training *t)
{
    const flat *f = t->net.flat;
    t->call.step++;
    for (int32_t k = 0; k < f->n_tensors; k++) {
        int64_t at = f->offset[k];
        float *state[OPTIM_SLOTS], *w = t->net.weights + at;
        if (f->tensors[k].kind != TENSOR_TRAINABLE)
            continue;
        for (size_t i = 0; i < OPTIM_SLOTS; i++)
            state[i] = t->slots[i] + at;
        t->call.decay = f->tensors[k].decay;
        optim_apply(&t->optim, &t->call, (size_t)f->count[k], exec_grad(t->net.exec) + at, w, w,
                    (const float *const *)state, state);
    }
}

static float element(const void *data, int64_t i)
{
    float x;
    memcpy(&x, (const char *)data + (size_t)i * sizeof x, sizeof x);
    return x;
}

static double norm(const void *data, const float *less, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = (double)element(data, i) - (less ? (double)less[i] : 0.0);
        sum += x * x;
    }
    return sqrt(sum);
}

static double whole_norm(const training *t)
{
    const flat *f = t->net.flat;
    double sum = 0;
    for (int32_t k = 0; k < f->n_tensors; k++) {
        if (f->tensors[k].kind != TENSOR_TRAINABLE)
            continue;
        double one =
            norm(golden_tensor(&t->from, "grad", f->tensors[k].name)->data, NULL, f->count[k]);
        sum += one * one;
    }
    return sqrt(sum);
}

static void check_gradients(const training *t)
{
    const flat *f = t->net.flat;
    double grain = GRAIN * whole_norm(t), worst = 0;
    int wrong = 0;
    for (int32_t k = 0; k < f->n_tensors; k++) {
        const char *name = f->tensors[k].name;
        if (f->tensors[k].kind != TENSOR_TRAINABLE)
            continue;
        const st_tensor *want = golden_tensor(&t->from, "grad", name);
        double size = norm(want->data, NULL, f->count[k]);
        double apart = norm(want->data, network_grad(&t->net, name), f->count[k]);
        worst = apart / (size + grain) > worst ? apart / (size + grain) : worst;
        if (apart <= GRAD_TOLERANCE * size + grain)
            continue;
        print_error("gradient of '%s': %g apart, of norm %g\n", name, apart, size);
        wrong++;
    }
    print_message("gradients: at most %.2g of their norm apart\n", worst);
    assert_int_equal(wrong, 0);
}

/* What the first step makes of running statistics, of networks whose file says it. */
static void check_states(const training *t)
{
    const flat *f = t->net.flat;
    char name[256];
    for (int32_t k = 0; k < f->n_tensors; k++) {
        const tensor_decl *d = &f->tensors[k];
        snprintf(name, sizeof name, "state.%s", d->name);
        const st_tensor *want = d->kind == TENSOR_STATE ? st_find(t->from.file, name) : NULL;
        for (int64_t i = 0; want && i < f->count[k]; i++) {
            float is = d->momentum * t->net.weights[f->offset[k] + i] +
                       (1.0f - d->momentum) * network_grad(&t->net, d->name)[i];
            if (!(fabsf(is - element(want->data, i)) <= 1e-6f))
                fail_msg("%s[%lld] becomes %g, PyTorch's %g", d->name, (long long)i, (double)is,
                         (double)element(want->data, i));
        }
    }
}

static void run(const char *model, const char *optimizer)
{
    training t;
    training_init(&t, model, optimizer);
    const st_tensor *losses = golden_tensor(&t.from, "loss", optimizer);
    const void *want = losses->data;
    int64_t n_steps = GOLDEN_STEPS < STEPS ? GOLDEN_STEPS : losses->dim[0];
    double worst = 0;
    int wrong = 0;
    for (int i = 0; i < n_steps; i++) {
        network_feed(&t.net, &t.from, i % GOLDEN_BATCHES);
        double loss = (double)network_run(&t.net);
        if (i == 0)
            check_gradients(&t);
        if (i == 0)
            check_states(&t);
        double apart = fabs(loss / (double)element(want, i) - 1);
        worst = apart > worst ? apart : worst;
        if (!(apart <= LOSS_TOLERANCE)) {
            print_error("%s, step %d: loss %.9g, PyTorch's %.9g\n", optimizer, i, loss,
                        (double)element(want, i));
            wrong++;
        }
        update(&t);
    }
    print_message("%s, %s: losses at most %.2g apart\n", model, optimizer, worst);
    training_fini(&t);
    assert_int_equal(wrong, 0);
}

static void test_model(void **state)
{
    static const char *const optimizers[] = {"sgd", "adamw"};
    for (int i = 0; i < GOLDEN_OPTIMIZERS; i++)
        run(*state, optimizers[i]);
}

int main(int argc, char **argv)
{
    static const char *const files[] = {"smoothing", "focal", "focal_binary", "soft_labels", "distilled", "soft_pixels",
                                        "weighed_tokens", "weighed_numbers", "unet_bilinear", "lora", "lora_gpt2",
                                        "sam", "sam_adaptive",
                                        "onnx_tied_torchscript", "onnx_tied_dynamo", "onnx_merged",
                                        "onnx_own_loss_torchscript", "onnx_own_loss_dynamo",
                                        "onnx_only_loss_torchscript", "onnx_only_loss_dynamo",
                                        "onnx_siamese_torchscript", "onnx_siamese_dynamo",
                                        "zoo_bags_mean", "zoo_deberta_v2", "zoo_experts",
                                        "zoo_graph_net", "zoo_hopfield", "zoo_lora", "zoo_mamba",
                                        "zoo_modernbert", "zoo_stn", "zoo_swin"};
    struct CMUnitTest tests[GOLDEN_MODELS + GOLDEN_IMAGES + COUNT_OF(files)] = {0};
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    for (size_t i = 0; i < COUNT_OF(tests); i++) {
        size_t beyond = i - GOLDEN_MODELS - GOLDEN_IMAGES;
        const char *name = i < GOLDEN_MODELS                   ? golden_models[i]
                           : i < GOLDEN_MODELS + GOLDEN_IMAGES ? golden_images[i - GOLDEN_MODELS]
                                                               : files[beyond];
        tests[i] = (struct CMUnitTest){
            .name = name, .test_func = test_model, .initial_state = (void *)(uintptr_t)name};
    }
    if (chdir(golden_folder()) != 0) /* models name their files from there */
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
