/* Updates on the device have the servers' bits, and a part is one kernel. */
#include "cuda_emu/kernels/support_stored.h"

#include "backend/cuda/kernels/optim.h"
#include "common/base/alloc.h"
#include "cuda_emu/machine.h"
#include "optim/optim.h"
#include "optim/update.h"
#include "support/average.h"

#include <string.h>

enum { MOST = 28000 };

static float grad[MOST], weight[MOST], state_of[OPTIM_SLOTS][MOST];
static float want[MOST], want_state[OPTIM_SLOTS][MOST], got[MOST];

static const optim optims[] = {
    {.kind = OPTIM_SGD},
    {.kind = OPTIM_SGD, .momentum = 0.9, .dampening = 0.1, .weight_decay = 0.01},
    {.kind = OPTIM_SGD, .momentum = 0.9, .nesterov = true},
    {.kind = OPTIM_ADAM, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01},
    {.kind = OPTIM_ADAMW, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1},
    {.kind = OPTIM_ADAM,
     .beta1 = 0.9,
     .beta2 = 0.999,
     .eps = 1e-8,
     .average = {.is_kept = true, .decay = 0.9, .numerator = 1, .denominator = 10}},
    {.kind = OPTIM_HUGGINGFACE_ADAMW, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-6, .weight_decay = 0.1},
    {.kind = OPTIM_ADADELTA, .alpha = 0.9, .eps = 1e-6},
    {.kind = OPTIM_ADAMAX, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8},
    {.kind = OPTIM_NADAM, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .momentum_decay = 4e-3},
    {.kind = OPTIM_RADAM, .beta1 = 0.9, .beta2 = 0.9, .eps = 1e-8, .weight_decay = 0.1, .is_decoupled = true},
    {.kind = OPTIM_LION, .beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.1},
    {.kind = OPTIM_FTRL, .initial_accumulator = 0.1, .l1 = 0.1, .l2 = 0.1},
    {.kind = OPTIM_ADAGRAD, .eps = 1e-10, .lr_decay = 0.01},
    {.kind = OPTIM_RMSPROP, .alpha = 0.99, .eps = 1e-8},
    {.kind = OPTIM_RMSPROP, .alpha = 0.99, .eps = 1e-8, .momentum = 0.9},
    {.kind = OPTIM_RMSPROP, .alpha = 0.99, .eps = 1e-8, .centered = true},
    {.kind = OPTIM_RMSPROP, .alpha = 0.99, .eps = 1e-8, .centered = true, .momentum = 0.9},
};

/* Spans of all kinds, with gaps behind them; more of them than one launch takes, and of more rules. */
enum { SPANS = 150, RULES = 22 };
static update_span spans[SPANS];

/* Of the first spans few rules; behind them as many as there are. */
static int32_t how_of(size_t span)
{
    return span < 70 ? (int32_t)(span % 4) - 2 : (int32_t)(span % (RULES + 2)) - 2;
}

static size_t cut(size_t n, size_t most)
{
    static const uint32_t lengths[] = {1, 4, 63, 64, 130, 1027, 5};
    size_t n_spans = 0;
    for (size_t at = 0; at < n && n_spans < most; n_spans++) {
        size_t some = lengths[n_spans % COUNT_OF(lengths)];
        some = some < n - at ? some : n - at;
        spans[n_spans] = (update_span){.first = (uint32_t)at,
                                       .n = (uint32_t)some,
                                       .how = how_of(n_spans),
                                       .keep = 0.9f,
                                       .take = (1.0f - 0.9f) * 0.25f};
        at += (some + 7) / 4 * 4;
    }
    return n_spans;
}

/* Every rule has a rate of its own. */
static optim_call call_of(const optim_call *call, int32_t how)
{
    optim_call now = *call;
    now.decay = how % 2;
    now.rate = call->rate / (float)(1 + how / 2);
    return now;
}

static void expect_average(const optim *o, int64_t step, const update_span *s, const float *w, float *a)
{
    update_part u = {.n_spans = 0};
    update_average(o, step, &u);
    for (uint32_t i = 0; i < s->n; i++)
        a[i] = s->how == UPDATE_AVERAGE ? w[i] : u.average_keep * a[i] + u.average_take * w[i];
}

/* What lies between spans stays as it was. */
static void expect(const optim *o, const optim_call *call, size_t n_spans, size_t n)
{
    memcpy(want, weight, n * sizeof *want);
    for (size_t k = 0; k < OPTIM_SLOTS; k++)
        memcpy(want_state[k], state_of[k], n * sizeof *want);
    for (size_t i = 0; i < n_spans; i++) {
        const update_span *s = &spans[i];
        optim_call now = call_of(call, s->how);
        float *state[OPTIM_SLOTS], *w = want + s->first;
        for (size_t k = 0; k < OPTIM_SLOTS; k++)
            state[k] = want_state[k] + s->first;
        if (s->how == UPDATE_AVERAGE)
            average(0.9f, 0.25f, s->n, grad + s->first, w, w);
        else if (s->how != UPDATE_NOT)
            optim_apply(o, &now, s->n, grad + s->first, w, w, (const float *const *)state, state);
        if (o->average.is_kept)
            expect_average(o, call->step, s, w, state[optim_slots(o) - 1]);
    }
}

static update_part part_of(const optim *o, const optim_call *call, size_t n_spans)
{
    static update rules[RULES];
    for (int32_t i = 0; i < RULES; i++) {
        optim_call now = call_of(call, i);
        rules[i] = update_make(o, &now);
    }
    update_part u = {.rules = rules, .slots = optim_slots(o), .spans = spans, .n_spans = n_spans};
    update_average(o, call->step, &u);
    return u;
}

/* A launch takes 64 spans, of 16 rules. */
static size_t launches(size_t n_spans)
{
    size_t n = 0, n_of = 0, n_rules = 0;
    bool seen[RULES] = {false};
    for (size_t i = 0; i < n_spans; i++) {
        bool is_new = spans[i].how >= 0 && !seen[spans[i].how];
        if (!n || n_of == 64 || n_rules + is_new > 16) {
            memset(seen, 0, sizeof seen);
            n_of = n_rules = 0;
            n++;
            is_new = spans[i].how >= 0;
        }
        n_of++;
        n_rules += is_new;
        if (spans[i].how >= 0)
            seen[spans[i].how] = true;
    }
    return n;
}

/* `shift` floats behind where quads may begin. */
static float *there(const float *x, size_t n, size_t shift)
{
    static float shifted[MOST + 1];
    memcpy(shifted + shift, x, n * sizeof *x);
    return (float *)on_device(shifted, (n + shift) * sizeof *x) + shift;
}

static void step(const optim *o, const optim_call *call, size_t n, size_t most, size_t shift)
{
    size_t n_spans = cut(n, most);
    float *state[OPTIM_SLOTS], *w = there(weight, n, shift);
    for (size_t k = 0; k < OPTIM_SLOTS; k++)
        state[k] = there(state_of[k], n, shift);
    expect(o, call, n_spans, n);
    update_part u = part_of(o, call, n_spans);
    uint64_t kernels = emu_kernels_run();
    launch_update(kernel_test_stream(), &u, there(grad, n, shift), w, state);
    from_device(got, w, n * sizeof *got);
    assert_memory_equal(got, want, n * sizeof *got);
    assert_int_equal(emu_kernels_run() - kernels, launches(n_spans));
    for (size_t k = 0; k < optim_slots(o); k++) {
        from_device(got, state[k], n * sizeof *got);
        assert_memory_equal(got, want_state[k], n * sizeof *got);
    }
    device_clear();
}

static void every_optimizer(void **state)
{
    (void)state;
    const size_t lengths[] = {1, 4, 1300, 1027, MOST}, most[] = {1, 1, 6, 64, SPANS};
    numbers(grad, MOST, 1, 3.0f, 0.0f);
    numbers(weight, MOST, 2, 1.0f, 0.0f);
    for (size_t k = 0; k < OPTIM_SLOTS; k++)
        numbers(state_of[k], MOST, 3 + (uint32_t)k, 0.4f, 0.5f);
    for (size_t i = 0; i < COUNT_OF(optims); i++)
        for (size_t j = 0; j < COUNT_OF(lengths); j++) {
            optim_call call = {.step = j == 1 ? 1 : 7,
                               .rate = 0.01f,
                               .scale = j == 2 ? 0.3f : 1.0f,
                               .clip_value = j == 3 ? 0.5f : 0.0f};
            step(&optims[i], &call, lengths[j], most[j], j == 3);
        }
}

/* Of each block of 4096 elements that a span touches, in the order of spans. */
static void squares(size_t n_spans)
{
    static double sums[2 * SPANS];
    const update_span *last = &spans[n_spans - 1];
    size_t n = last->first + last->n, terms = 0;
    for (size_t i = 0; i < n_spans; i++)
        terms += (spans[i].first + spans[i].n - 1) / 4096 - spans[i].first / 4096 + 1;
    double *to = device_alloc(terms * sizeof *to);
    launch_square_sums(kernel_test_stream(), to, on_device(grad, n * sizeof *grad), spans, n_spans);
    from_device(sums, to, terms * sizeof *to);
    for (size_t i = 0, term = 0; i < n_spans; i++)
        for (size_t at = spans[i].first, end = at + spans[i].n, stop; at < end; at = stop, term++) {
            stop = (at / 4096 + 1) * 4096;
            stop = stop < end ? stop : end;
            assert_true(sums[term] == optim_square_sum(grad + at, stop - at));
        }
    device_clear();
}

static void sums_of_squares(void **state)
{
    (void)state;
    static const update_span some[] = {
        {.first = 0, .n = 1}, {.first = 64, .n = 4033}, {.first = 4160, .n = 4096}, {.first = 8256, .n = 65}};
    numbers(grad, MOST, 9, 1.0f, 0.1f);
    memcpy(spans, some, sizeof some);
    squares(1);
    squares(COUNT_OF(some));
    spans[0].n = 4096;
    squares(1);
    squares(cut(MOST, SPANS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(every_optimizer),
        KERNEL_TEST(sums_of_squares),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
