/*
 * The optimizers against PyTorch's results (data/optim.json, made by tests/golden/make_optim.py),
 * against the formulas written out in double, and against themselves cut into pieces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/hash.h"
#include "common/base/json.h"
#include "common/base/rng.h"
#include "optim/optim.h"
#include "support/average.h"

#include <math.h>
#include <string.h>

enum { N = 150, ELEMENT_WISE = OPTIM_LARS /* so many kinds; whole_test.c has the others */ };

typedef struct vectors {
    float w[N], state[UPDATE_SLOTS][N];
} vectors;

static void apply(const optim *o, const optim_call *call, size_t first, size_t n, const float *grad,
                  const vectors *in, vectors *out)
{
    const float *state_in[UPDATE_SLOTS];
    float *state_out[UPDATE_SLOTS];
    for (int s = 0; s < UPDATE_SLOTS; s++) {
        state_in[s] = in->state[s] + first;
        state_out[s] = out->state[s] + first;
    }
    optim_apply(o, call, n, grad + first, in->w + first, out->w + first, state_in, state_out);
}

static void start_state(const optim *o, vectors *v)
{
    for (size_t s = 0; s < optim_slots(o); s++)
        for (int i = 0; i < N; i++)
            v->state[s][i] = optim_slot_initial(o, s);
}

/* ---- PyTorch ---------------------------------------------------------------------------- */

static double number(const json_t *object, const char *key, double otherwise)
{
    const json_t *v = json_object_get(object, key);
    return v ? json_number_value(v) : otherwise;
}

static optim optim_of(const json_t *c)
{
    const json_t *options = json_object_get(c, "options");
    optim o = {
        .momentum = number(options, "momentum", 0),
        .dampening = number(options, "dampening", 0),
        .nesterov = json_is_true(json_object_get(options, "nesterov")),
        .beta1 = number(options, "beta1", 0),
        .beta2 = number(options, "beta2", 0),
        .alpha = number(options, "alpha", 0),
        .centered = json_is_true(json_object_get(options, "centered")),
        .eps = number(options, "eps", 0),
        .weight_decay = number(options, "weight_decay", 0),
        .lr_decay = number(options, "lr_decay", 0),
        .initial_accumulator = number(options, "initial_accumulator", 0),
        .is_decoupled = json_is_true(json_object_get(options, "is_decoupled")),
        .corrects_bias = json_is_true(json_object_get(options, "corrects_bias")),
        .momentum_decay = number(options, "momentum_decay", 0),
        .l1 = number(options, "l1", 0),
        .l2 = number(options, "l2", 0),
    };
    const char *kind = json_string_value(json_object_get(c, "kind"));
    assert_true(optim_kind_of(kind, &o.kind));
    return o;
}

/* Within 1e-6 of the largest of the vector, and of each number that is not tiny beside it; in the long cases
 * roundings of 50 steps come together. */
static void assert_close(const float *got, const json_t *want, double room_each)
{
    double largest = 0;
    size_t i;
    json_t *v;
    json_array_foreach(want, i, v) largest = fmax(largest, fabs(json_number_value(v)));
    json_array_foreach(want, i, v)
    {
        double x = json_number_value(v);
        double room = room_each * fmax(fabs(x), 0.1 * largest);
        if (!(fabs((double)got[i] - x) <= room))
            fail_msg("element %zu: %.9g, want %.9g", i, (double)got[i], x);
    }
}

static void play_case(const json_t *file, const json_t *c)
{
    optim o = optim_of(c);
    const json_t *before = json_object_get(c, "before"), *row, *x;
    vectors v = {0};
    const json_t *weights = json_object_get(c, "weights");
    size_t step, i, n = json_array_size(json_object_get(file, "start"));
    double room = json_array_size(weights) > 10 ? 5e-6 : 1e-6;
    json_array_foreach(json_object_get(file, "start"), i, x) v.w[i] = (float)json_number_value(x);
    start_state(&o, &v);
    json_array_foreach(json_object_get(file, "grads"), step, row)
    {
        float grad[N];
        if (step >= json_array_size(weights))
            break;
        json_array_foreach(row, i, x) grad[i] = (float)json_number_value(x);
        optim_call call = {
            .step = (int64_t)step + 1,
            .rate = (float)number(file, "rate", 0),
            .scale = (float)number(before, "scale", 1),
            .clip_value = (float)number(before, "clip_value", 0),
            .decay = true,
        };
        apply(&o, &call, 0, n, grad, &v, &v);
        if (json_is_array(json_array_get(weights, step)))
            assert_close(v.w, json_array_get(weights, step), room);
    }
    assert_int_equal(json_object_size(json_object_get(c, "state")), optim_slots(&o));
    for (size_t s = 0; s < optim_slots(&o); s++) {
        const json_t *want = json_object_get(json_object_get(c, "state"), optim_slot_name(&o, s));
        assert_non_null(want);
        assert_close(v.state[s], want, room);
    }
}

static void results_are_those_of_pytorch(void **state)
{
    (void)state;
    json_t *file = NULL, *c;
    error err = ERROR_INIT;
    if (json_read_file(TEST_DATA_DIR "/optim.json", &file, &err) != OK)
        fail_msg("%s", err.text);
    size_t i, seen[ELEMENT_WISE] = {0};
    json_array_foreach(json_object_get(file, "cases"), i, c)
    {
        optim_kind kind = optim_of(c).kind;
        if ((int)kind >= ELEMENT_WISE)
            continue;
        play_case(file, c);
        seen[kind]++;
    }
    for (size_t k = 0; k < ELEMENT_WISE; k++)
        assert_true(seen[k] >= 2);
    json_decref(file);
}

/* ---- the formulas in double ------------------------------------------------------------- */

typedef struct scalar {
    double w, state[UPDATE_SLOTS];
} scalar;

static double mu(const optim *o, double t)
{
    return o->beta1 * (1 - 0.5 * pow(0.96, t * o->momentum_decay));
}

static void moments(const optim *o, double g, double *s)
{
    s[0] = o->beta1 * s[0] + (1 - o->beta1) * g;
    s[1] = o->beta2 * s[1] + (1 - o->beta2) * g * g;
}

static double radam_move(const optim *o, double t, const double *s)
{
    double power = pow(o->beta2, t), most = 2 / (1 - o->beta2) - 1, rho = most - 2 * t * power / (1 - power);
    double mean = s[0] / (1 - pow(o->beta1, t));
    if (rho <= 5)
        return mean;
    double r = sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho));
    return mean * r * sqrt(1 - power) / (sqrt(s[1]) + o->eps);
}

static double nadam_move(const optim *o, double t, double g, const double *s)
{
    double product = 1;
    for (double i = 1; i <= t; i++)
        product *= mu(o, i);
    double below = sqrt(s[1] / (1 - pow(o->beta2, t))) + o->eps;
    return (1 - mu(o, t)) / (1 - product) * g / below + mu(o, t + 1) / (1 - product * mu(o, t + 1)) * s[0] / below;
}

static void ftrl_move(const optim *o, double lr, double g, scalar *x)
{
    double *s = x->state, sum = s[0] + g * g;
    s[1] += g - (sqrt(sum) - sqrt(s[0])) / lr * x->w;
    s[0] = sum;
    x->w = fabs(s[1]) <= o->l1 ? 0 : (copysign(o->l1, s[1]) - s[1]) / (sqrt(sum) / lr + 2 * o->l2);
}

static void formula(const optim *o, const optim_call *call, double g, scalar *x)
{
    double t = (double)call->step, lr = (double)call->rate, *s = x->state;
    double decay = call->decay ? o->weight_decay : 0;
    g *= (double)call->scale;
    if (call->clip_value > 0)
        g = fmax(-(double)call->clip_value, fmin((double)call->clip_value, g));
    bool shrinks = o->kind == OPTIM_ADAMW || o->kind == OPTIM_LION ||
                   ((o->kind == OPTIM_NADAM || o->kind == OPTIM_RADAM) && o->is_decoupled);
    if (shrinks)
        x->w -= lr * decay * x->w;
    else if (o->kind != OPTIM_HUGGINGFACE_ADAMW)
        g += decay * x->w;
    switch (o->kind) {
    case OPTIM_SGD:
        if (o->momentum != 0) {
            s[0] = t == 1 ? g : o->momentum * s[0] + (1 - o->dampening) * g;
            g = o->nesterov ? g + o->momentum * s[0] : s[0];
        }
        x->w -= lr * g;
        break;
    case OPTIM_ADAM:
    case OPTIM_ADAMW:
        s[0] = o->beta1 * s[0] + (1 - o->beta1) * g;
        s[1] = o->beta2 * s[1] + (1 - o->beta2) * g * g;
        x->w -= lr * s[0] / (1 - pow(o->beta1, t)) / (sqrt(s[1] / (1 - pow(o->beta2, t))) + o->eps);
        break;
    case OPTIM_ADAGRAD:
        s[0] += g * g;
        x->w -= lr / (1 + (t - 1) * o->lr_decay) * g / (sqrt(s[0]) + o->eps);
        break;
    case OPTIM_RMSPROP: {
        s[0] = o->alpha * s[0] + (1 - o->alpha) * g * g;
        double spread = s[0];
        if (o->centered) {
            s[1] = o->alpha * s[1] + (1 - o->alpha) * g;
            spread -= s[1] * s[1];
        }
        double move = g / (sqrt(spread) + o->eps);
        if (o->momentum != 0) {
            double *v = &s[o->centered ? 2 : 1];
            *v = o->momentum * *v + move;
            move = *v;
        }
        x->w -= lr * move;
        break;
    }
    case OPTIM_HUGGINGFACE_ADAMW: {
        double fix = o->corrects_bias ? sqrt(1 - pow(o->beta2, t)) / (1 - pow(o->beta1, t)) : 1;
        moments(o, g, s);
        x->w -= lr * fix * s[0] / (sqrt(s[1]) + o->eps);
        x->w -= lr * decay * x->w;
        break;
    }
    case OPTIM_ADADELTA: {
        s[0] = o->alpha * s[0] + (1 - o->alpha) * g * g;
        double move = sqrt(s[1] + o->eps) / sqrt(s[0] + o->eps) * g;
        s[1] = o->alpha * s[1] + (1 - o->alpha) * move * move;
        x->w -= lr * move;
        break;
    }
    case OPTIM_ADAMAX:
        s[0] = o->beta1 * s[0] + (1 - o->beta1) * g;
        s[1] = fmax(o->beta2 * s[1], fabs(g) + o->eps);
        x->w -= lr / (1 - pow(o->beta1, t)) * s[0] / s[1];
        break;
    case OPTIM_NADAM:
        moments(o, g, s);
        x->w -= lr * nadam_move(o, t, g, s);
        break;
    case OPTIM_RADAM:
        moments(o, g, s);
        x->w -= lr * radam_move(o, t, s);
        break;
    case OPTIM_LION: {
        double along = o->beta1 * s[0] + (1 - o->beta1) * g;
        x->w -= lr * ((along > 0) - (along < 0));
        s[0] = o->beta2 * s[0] + (1 - o->beta2) * g;
        break;
    }
    case OPTIM_FTRL:
        ftrl_move(o, lr, g, x);
        break;
    case OPTIM_LARS:
    case OPTIM_LAMB:
    case OPTIM_ADAFACTOR:
    case OPTIM_MUON:
    case OPTIM_KINDS:
        break;
    }
}

static bool coin(const rng *r, uint64_t *at)
{
    return rng_below(r, (*at)++, 2);
}

/* Any optimizer with any of its options on or off. */
static optim random_optim(const rng *r, uint64_t *at)
{
    return (optim){
        .kind = (optim_kind)rng_below(r, (*at)++, ELEMENT_WISE),
        .momentum = coin(r, at) ? 0.9 : 0,
        .dampening = coin(r, at) ? 0.2 : 0,
        .nesterov = coin(r, at),
        .beta1 = coin(r, at) ? 0.9 : 0.5,
        .beta2 = coin(r, at) ? 0.999 : 0.9,
        .alpha = coin(r, at) ? 0.99 : 0.8,
        .centered = coin(r, at),
        .eps = coin(r, at) ? 1e-8 : 1e-3,
        .weight_decay = coin(r, at) ? 0.1 : 0,
        .lr_decay = coin(r, at) ? 0.05 : 0,
        .initial_accumulator = coin(r, at) ? 0.1 : 0,
        .is_decoupled = coin(r, at),
        .corrects_bias = coin(r, at),
        .momentum_decay = coin(r, at) ? 4e-3 : 0.1,
        .l1 = coin(r, at) ? 0.1 : 0,
        .l2 = coin(r, at) ? 0.2 : 0,
    };
}

static optim_call random_call(const rng *r, uint64_t *at, int64_t step)
{
    return (optim_call){
        .step = step,
        .rate = coin(r, at) ? 0.01f : 0.1f,
        .scale = coin(r, at) ? 1.0f : 0.37f,
        .clip_value = coin(r, at) ? 0.0f : 0.8f,
        .decay = coin(r, at),
    };
}

static void results_are_those_of_the_formulas(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 400; number++) {
        rng r = rng_make(11, RNG_TEST, number);
        uint64_t at = 0;
        optim o = random_optim(&r, &at);
        vectors v = {0};
        scalar x[N] = {0};
        start_state(&o, &v);
        for (int i = 0; i < N; i++) {
            v.w[i] = 1 + rng_uniform(&r, at++);
            x[i].w = (double)v.w[i];
            for (size_t s = 0; s < optim_slots(&o); s++)
                x[i].state[s] = (double)v.state[s][i];
        }
        for (int64_t step = 1; step <= 5; step++) {
            optim_call call = random_call(&r, &at, step);
            float grad[N];
            for (int i = 0; i < N; i++)
                grad[i] = rng_normal(&r, at++);
            apply(&o, &call, 0, N, grad, &v, &v);
            for (int i = 0; i < N; i++)
                formula(&o, &call, (double)grad[i], &x[i]);
        }
        for (int i = 0; i < N; i++)
            if (!(fabs((double)v.w[i] - x[i].w) <= 2e-5 * fmax(1, fabs(x[i].w))))
                fail_msg("case %d element %d: %.9g, want %.9g", (int)number, i, (double)v.w[i],
                         x[i].w);
    }
}

/* ---- bits ------------------------------------------------------------------------------- */

static void fill(const rng *r, uint64_t *at, const optim *o, float *grad, vectors *v)
{
    for (int i = 0; i < N; i++) {
        grad[i] = rng_normal(r, (*at)++);
        v->w[i] = rng_normal(r, (*at)++);
        for (size_t s = 0; s < optim_slots(o); s++)
            v->state[s][i] = rng_uniform(r, (*at)++);
    }
}

/* Nor on the instruction set, the compiler or its optimisation: the checksum is the same anywhere.
 */
static void bits_do_not_depend_on_the_cut(void **state)
{
    (void)state;
    uint32_t crc = 0;
    for (uint64_t number = 0; number < 300; number++) {
        rng r = rng_make(13, RNG_TEST, number);
        uint64_t at = 0;
        optim o = random_optim(&r, &at);
        optim_call call = random_call(&r, &at, 1 + (int64_t)rng_below(&r, at++, 5));
        float grad[N];
        vectors in = {0}, whole = {0};
        fill(&r, &at, &o, grad, &in);
        apply(&o, &call, 0, N, grad, &in, &whole);
        crc = crc32c(crc, &whole, sizeof whole);
        for (size_t cut = 0; cut <= N; cut++) {
            vectors parts = {0}, same = in;
            apply(&o, &call, cut, N - cut, grad, &in, &parts);
            apply(&o, &call, 0, cut, grad, &in, &parts);
            assert_memory_equal(&parts, &whole, sizeof whole);
            apply(&o, &call, 0, cut, grad, &same, &same); /* in place */
            apply(&o, &call, cut, N - cut, grad, &same, &same);
            assert_memory_equal(&same, &whole, sizeof whole);
        }
    }
    assert_int_equal(crc, 0x205ecaba);
}

/* State that goes to other memory, a large span of it and off every boundary, is that of a span
 * moved where it is. */
static void bits_do_not_depend_on_where_state_goes(void **state)
{
    (void)state;
    enum { LARGE = 5003 };
    static float grad[LARGE], w[2][LARGE], slots[2][UPDATE_SLOTS][LARGE];
    for (uint64_t number = 0; number < 60; number++) {
        rng r = rng_make(19, RNG_TEST, number);
        uint64_t at = 0;
        optim o = random_optim(&r, &at);
        optim_call call = random_call(&r, &at, 2);
        for (int i = 0; i < LARGE; i++) {
            grad[i] = rng_normal(&r, at++);
            w[0][i] = rng_normal(&r, at++);
            for (int k = 0; k < UPDATE_SLOTS; k++)
                slots[0][k][i] = rng_uniform(&r, at++);
        }
        size_t first = (size_t)number % 7;
        float *from[UPDATE_SLOTS], *to[UPDATE_SLOTS];
        for (int k = 0; k < UPDATE_SLOTS; k++) {
            from[k] = slots[0][k] + first;
            to[k] = slots[1][k] + first;
        }
        size_t n = LARGE - first, bytes = n * sizeof(float);
        optim_apply(&o, &call, n, grad + first, w[0] + first, w[1] + first, (const float *const *)from, to);
        optim_apply(&o, &call, n, grad + first, w[0] + first, w[0] + first, (const float *const *)from, from);
        assert_memory_equal(w[1] + first, w[0] + first, bytes);
        for (size_t k = 0; k < optim_slots(&o); k++)
            assert_memory_equal(to[k], from[k], bytes);
    }
}

/* Without decay and clipping a span is moved as if neither was configured. */
static void decay_and_clipping_can_be_off(void **state)
{
    (void)state;
    rng r = rng_make(17, RNG_TEST, 0);
    uint64_t at = 0;
    for (int kind = 0; kind < ELEMENT_WISE; kind++) {
        optim with = {.kind = (optim_kind)kind,
                      .momentum = 0.9,
                      .beta1 = 0.9,
                      .beta2 = 0.99,
                      .alpha = 0.9,
                      .eps = 1e-8,
                      .weight_decay = 0.5};
        optim without = with;
        without.weight_decay = 0;
        optim_call call = {.step = 3, .rate = 0.1f, .scale = 1, .decay = false};
        float grad[N];
        vectors in = {0}, a = {0}, b = {0};
        fill(&r, &at, &with, grad, &in);
        apply(&with, &call, 0, N, grad, &in, &a);
        call.decay = true;
        apply(&without, &call, 0, N, grad, &in, &b);
        assert_memory_equal(&a, &b, sizeof a);
    }
}

static void not_a_number_is_not_hidden(void **state)
{
    (void)state;
    for (int kind = 0; kind < ELEMENT_WISE; kind++) {
        optim o = {.kind = (optim_kind)kind,
                   .beta1 = 0.9,
                   .beta2 = 0.99,
                   .alpha = 0.9,
                   .eps = 1e-8,
                   .centered = true};
        optim_call call = {.step = 1, .rate = 0.1f, .scale = 1, .clip_value = 1};
        float grad[N];
        vectors v = {0};
        for (int i = 0; i < N; i++)
            grad[i] = i % 2 ? NAN : 1.0f;
        apply(&o, &call, 0, N, grad, &v, &v);
        for (int i = 0; i < N; i++)
            assert_int_equal(isnan(v.w[i]) != 0, i % 2);
    }
}

/* A gradient that never changes has no spread; rounding must not make it negative. */
static void centered_rmsprop_stays_finite(void **state)
{
    (void)state;
    optim o = {.kind = OPTIM_RMSPROP, .alpha = 0.9, .eps = 1e-8, .centered = true};
    float grad[N];
    vectors v = {0};
    for (int i = 0; i < N; i++)
        grad[i] = 0.1f * (float)(i + 1);
    for (int64_t step = 1; step <= 500; step++) {
        optim_call call = {.step = step, .rate = 1e-6f, .scale = 1};
        apply(&o, &call, 0, N, grad, &v, &v);
    }
    for (int i = 0; i < N; i++)
        assert_true(isfinite(v.w[i]));
}

static void names_and_slots(void **state)
{
    (void)state;
    optim_kind kind = OPTIM_ADAM;
    assert_false(optim_kind_of("shampoo", &kind));
    assert_int_equal(kind, OPTIM_ADAM);
    optim o = {.kind = OPTIM_SGD};
    assert_int_equal(optim_slots(&o), 0);
    o = (optim){.kind = OPTIM_RMSPROP, .momentum = 0.9, .centered = true};
    assert_int_equal(optim_slots(&o), UPDATE_SLOTS);
    assert_string_equal(optim_slot_name(&o, 2), "momentum");
    o = (optim){.kind = OPTIM_ADAGRAD, .initial_accumulator = 0.5};
    assert_true(optim_slot_initial(&o, 0) == 0.5f);
}

static void average_moves_by_its_momentum(void **state)
{
    (void)state;
    rng r = rng_make(19, RNG_TEST, 0);
    float value[N], in[N], whole[N];
    for (uint64_t i = 0; i < N; i++) {
        value[i] = rng_normal(&r, i);
        in[i] = rng_normal(&r, N + i);
    }
    average(0.9f, 1, N, value, in, whole);
    for (int i = 0; i < N; i++)
        assert_true(fabs(0.9 * (double)in[i] + 0.1 * (double)value[i] - (double)whole[i]) < 1e-6);
    for (size_t cut = 0; cut <= N; cut++) {
        float parts[N];
        memcpy(parts, in, sizeof in);
        average(0.9f, 1, cut, value, parts, parts);
        average(0.9f, 1, N - cut, value + cut, parts + cut, parts + cut);
        assert_memory_equal(parts, whole, sizeof whole);
    }
}

/* Statistics have none, whatever the memory held before: else checkpoints of one version differ. */
static void statistics_have_no_state(void **state)
{
    (void)state;
    const optim o = {.kind = OPTIM_SGD, .momentum = 0.9};
    const update_span spans[] = {{.first = 0, .n = 8}, {.first = 8, .n = 8, .how = UPDATE_AVERAGE, .keep = 0.5f}};
    const update rule = update_make(&o, &(optim_call){.step = 1, .rate = 0.1f, .scale = 1});
    update_part part = {.rules = &rule, .slots = 1, .spans = spans, .n_spans = sizeof spans / sizeof *spans};
    float grad[16], in[16], out[16], before[16], after[16];
    for (int i = 0; i < 16; i++)
        grad[i] = in[i] = before[i] = after[i] = 1;
    optim_update(&part, 0, 16, grad, in, out, (float *const[]){before}, (float *const[]){after});
    for (int i = 0; i < 16; i++)
        assert_true((after[i] != 0) == (i < 8));
}

/* Sixteen lanes and a tree, spelled out without any vectors. */
static double lanes(const float *x, size_t n)
{
    double lane[16];
    for (size_t j = 0; j < 16; j++) {
        volatile double sum = 0;
        for (size_t i = j; i < n; i += 16)
            sum = sum + (double)x[i] * (double)x[i];
        lane[j] = sum;
    }
    for (size_t width = 8; width > 0; width /= 2)
        for (size_t j = 0; j < width; j++)
            lane[j] = lane[j] + lane[j + width];
    return lane[0];
}

static void square_sum_has_one_order(void **state)
{
    (void)state;
    static float x[4096 + 16];
    rng r = rng_make(23, RNG_TEST, 0);
    for (uint64_t i = 0; i < 4096 + 16; i++)
        x[i] = rng_normal(&r, i) * (float)(1 << i % 20);
    for (size_t first = 0; first < 16; first++)
        for (size_t n = 0; n <= 4096; n += n < 100 ? 1 : 333) {
            double got = optim_square_sum(x + first, n), want = lanes(x + first, n);
            assert_memory_equal(&got, &want, sizeof got);
        }
    double got = optim_square_sum(x, 4096), want = lanes(x, 4096);
    assert_memory_equal(&got, &want, sizeof got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_those_of_pytorch),
        cmocka_unit_test(results_are_those_of_the_formulas),
        cmocka_unit_test(bits_do_not_depend_on_the_cut),
        cmocka_unit_test(bits_do_not_depend_on_where_state_goes),
        cmocka_unit_test(decay_and_clipping_can_be_off),
        cmocka_unit_test(not_a_number_is_not_hidden),
        cmocka_unit_test(centered_rmsprop_stays_finite),
        cmocka_unit_test(names_and_slots),
        cmocka_unit_test(average_moves_by_its_momentum),
        cmocka_unit_test(statistics_have_no_state),
        cmocka_unit_test(square_sum_has_one_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
