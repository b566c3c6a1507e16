#include "cli/bench/gradients.h"

#include "cli/bench/trial.h"
#include "cli/run/model_archive.h"
#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/base/thread.h"
#include "job/process/subprocess.h"
#include "model/model.h"
#include "worker/variants.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Differences of rounding, by the norm of the whole gradient: of sums in another order, and of factors that
 * are rounded on the way through a deep network. */
#define NEAR_F32  1e-3
#define NEAR_HALF 5e-2

#define LIBRARIES "TEQUIO_CUDA_LIBRARIES"
#define OWN       "own" /* our kernels, on the same device */

/* One computation. */
typedef struct side {
    const config *config;
    backend_choice on;
    bool is_own;      /* libraries are hidden from it */
    char name[BACKEND_NAME];
    size_t bytes;     /* of the gradients */
    struct made {
        double loss;
        float gradients[];
    } *made;
} side;

typedef struct difference {
    bool same_bits;       /* the device's two */
    bool is_nothing;      /* the reference is all zeros */
    double relative, most; /* the norm of what differs, over the reference's norm; allowed */
    int32_t tensor;       /* where most of it is */
    double of_tensor;     /* likewise, of that one alone */
} difference;

typedef struct bench {
    config *config;
    variants variants;
    side device, again, reference;
    difference found;
} bench;

static void bench_gradients_fini(bench *b)
{
    free(b->device.made);
    free(b->again.made);
    free(b->reference.made);
    variants_fini(&b->variants);
    config_destroy(&b->config);
}

/* --- the computation --- */

static status compute(void *user, error *err)
{
    side *s = user;
    trial *t = NULL;
    if (s->is_own && setenv(LIBRARIES, "none", 1))
        return FAIL(err, E_NOMEM, "hiding the libraries: %m");
    double ms;
    TRY(trial_create(s->config, &s->on, false, &t, err));
    status st = trial_step(t, &ms, err);
    if (st == OK) {
        s->made->loss = (double)trial_loss(t);
        memcpy(s->made->gradients, exec_grad(trial_exec(t)), s->bytes);
    }
    trial_destroy(&t);
    return st;
}

static status compute_apart(bench *b, side *s, error *err)
{
    s->config = b->config;
    s->bytes = (size_t)b->variants.flat->n_live * sizeof(float);
    s->made = xcalloc(1, sizeof *s->made + s->bytes);
    return subprocess_run(compute, s, s->made, sizeof *s->made + s->bytes, err);
}

/* Our kernels, or another device; by itself where a CPU has nothing to be held against. */
static status choose_sides(const args *a, bench *b, error *err)
{
    const char *device = args_text(a, "device"), *against = args_text(a, "against");
    TRY(backend_named(device ? device : "cpu", thread_cpus(), &b->device.on, err));
    backend_name(&b->device.on, b->device.name);
    b->again = b->reference = b->device;
    b->reference.is_own = b->device.on.ops->queue && (!against || strcmp(against, OWN) == 0);
    if (b->reference.is_own)
        return OK;
    if (against)
        TRY(backend_named(against, thread_cpus(), &b->reference.on, err));
    backend_name(&b->reference.on, b->reference.name);
    return OK;
}

/* --- the comparison --- */

typedef struct norms {
    double difference, reference; /* squared */
} norms;

static norms of_tensor(const bench *b, int32_t tensor)
{
    const flat *f = b->variants.flat;
    norms n = {0, 0};
    for (int64_t i = f->offset[tensor]; i < f->offset[tensor] + f->count[tensor]; i++) {
        double x = b->device.made->gradients[i], r = b->reference.made->gradients[i];
        n.difference += (x - r) * (x - r);
        n.reference += r * r;
    }
    return n;
}

static const char *how(const side *s)
{
    return s->is_own ? " by our kernels" : "";
}

/* A NaN anywhere stays one. */
static double relative(norms n)
{
    return n.difference == 0 ? 0 : sqrt(n.difference / n.reference);
}

static void compare(bench *b)
{
    const flat *f = b->variants.flat;
    difference *d = &b->found;
    norms all = {0, 0}, worst = {-1, 0};
    for (int32_t t = 0; t < f->n_tensors; t++) {
        if (f->offset[t] >= f->n_live)
            continue;
        norms n = of_tensor(b, t);
        all.difference += n.difference;
        all.reference += n.reference;
        if (!(n.difference <= worst.difference)) {
            worst = n;
            d->tensor = t;
        }
    }
    d->is_nothing = all.reference == 0;
    d->relative = relative(all);
    d->of_tensor = relative(worst);
    d->most = model_precision(b->config) == PRECISION_F32 ? NEAR_F32 : NEAR_HALF;
    d->same_bits = memcmp(b->device.made->gradients, b->again.made->gradients, b->device.bytes) == 0;
}

static status judge(const bench *b, error *err)
{
    const difference *d = &b->found;
    if (!d->same_bits)
        return FAIL(err, E_FAIL, "%s gives other gradients the second time", b->device.name);
    if (d->is_nothing)
        return FAIL(err, E_FAIL, "all gradients on %s%s are 0, with which nothing can be compared",
                    b->reference.name, how(&b->reference));
    if (d->relative <= d->most)
        return OK;
    return FAIL(err, E_FAIL,
                "gradients on %s differ from those on %s%s by %.3g of their norm, more than %g; most in %s",
                b->device.name, b->reference.name, how(&b->reference), d->relative, d->most,
                b->variants.flat->tensors[d->tensor].name);
}

/* --- the report --- */

/* JSON has no NaN. */
static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static void print_json(const bench *b)
{
    const difference *d = &b->found;
    json_t *r = json_pack("{s:s, s:s, s:b, s:I, s:o, s:o, s:b, s:o, s:f, s:s, s:o}", "device",
                          b->device.name, "against", b->reference.name, "libraries_hidden",
                          b->reference.is_own, "batch",
                          (json_int_t)b->variants.shapes[0].examples, "loss", number(b->device.made->loss),
                          "loss_against", number(b->reference.made->loss), "same_bits", d->same_bits,
                          "difference", number(d->relative), "allowed", d->most, "tensor",
                          b->variants.flat->tensors[d->tensor].name, "difference_of_tensor",
                          number(d->of_tensor));
    if (json_dumpf(r, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0)
        printf("\n");
    json_decref(r);
}

static void print_text(const bench *b)
{
    const difference *d = &b->found;
    printf("loss on %s: %.6f\n", b->device.name, b->device.made->loss);
    printf("loss on %s%s: %.6f\n", b->reference.name, how(&b->reference), b->reference.made->loss);
    printf("the second time on %s: %s bits\n", b->device.name, d->same_bits ? "the same" : "OTHER");
    printf("gradients differ by %.3g of their norm, %g is allowed; most in %s, by %.3g of its own\n",
           d->relative, d->most, b->variants.flat->tensors[d->tensor].name, d->of_tensor);
}

static status bench_gradients_measure(const args *a, bench *b, error *err)
{
    config_source source = {.path = a->operands[1],
                            .overrides = args_text(a, "overrides"),
                            .read_archive = model_archive_config};
    TRY(config_load(&source, &b->config, err));
    TRY(choose_sides(a, b, err));
    TRY(variants_build(b->config, &b->variants, err));
    TRYF(compute_apart(b, &b->device, err), err, "%s", b->device.name);
    TRYF(compute_apart(b, &b->again, err), err, "%s, the second time", b->device.name);
    TRYF(compute_apart(b, &b->reference, err), err, "%s", b->reference.name);
    compare(b);
    return OK;
}

status bench_gradients_run(const args *a, error *err)
{
    bench b = {.config = NULL};
    status st = bench_gradients_measure(a, &b, err);
    if (st == OK) {
        (args_has(a, "json") ? print_json : print_text)(&b);
        st = judge(&b, err);
    }
    bench_gradients_fini(&b);
    return st;
}
