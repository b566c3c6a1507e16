/* The losses over classes, their gradients, and accuracy, against double. */
#include "cuda_emu/kernels/support_stored.h"

#include "backend/cuda/kernels/loss.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 140000, ROWS = 40000 };

static float x[MOST], weights[2000], dloss[ROWS], got[MOST];
static int64_t labels[ROWS];
static int32_t narrow[ROWS];
static double want[MOST], log_p[MOST], row_want[ROWS];

typedef struct problem {
    int64_t n, classes, inner, padding; /* of a row, with inner 1 */
    launch_type type;
    bool narrow, weights, log_probs, ignore;
    launch_loss_reduction reduction;
    int pieces;
} problem;

static const problem problems[] = {
    {1, 1, 1, 0, LAUNCH_F32, .pieces = 1},
    {3, 2, 1, 0, LAUNCH_F32, .weights = true, .ignore = true, .pieces = 2},
    {5, 10, 1, 0, LAUNCH_BF16, .narrow = true, .reduction = LAUNCH_LOSS_SUM, .pieces = 1},
    {300, 31, 1, 1, LAUNCH_F32, .ignore = true, .pieces = 7},
    {4, 33, 1, 31, LAUNCH_F16, .reduction = LAUNCH_LOSS_NONE, .weights = true, .pieces = 1},
    {2, 1023, 1, 1, LAUNCH_BF16, .narrow = true, .pieces = 1},
    {3, 1024, 1, 0, LAUNCH_F32, .weights = true, .pieces = 3},
    {2, 1025, 1, 0, LAUNCH_F32, .reduction = LAUNCH_LOSS_SUM, .pieces = 1},
    {1, 65537, 1, 63, LAUNCH_F16, .pieces = 1},
    {2, 7, 3, 0, LAUNCH_F32, .weights = true, .ignore = true, .pieces = 1},
    {3, 5, 130, 0, LAUNCH_BF16, .reduction = LAUNCH_LOSS_NONE, .pieces = 2},
    {4, 6, 1, 0, LAUNCH_F32, .log_probs = true, .weights = true, .pieces = 1},
    {2, 6, 9, 0, LAUNCH_F32, .log_probs = true, .ignore = true, .pieces = 1},
    {32773, 2, 1, 0, LAUNCH_F32, .pieces = 128},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static int64_t pitch_of(const problem *p)
{
    return p->inner == 1 ? p->classes + p->padding : p->classes * p->inner;
}

static int64_t place(const problem *p, int64_t row, int64_t class)
{
    return row / p->inner * pitch_of(p) + class * p->inner + row % p->inner;
}

static size_t elements(const problem *p)
{
    return (size_t)(p->n * pitch_of(p));
}

static double weight_of(const problem *p, int64_t row)
{
    if (p->ignore && labels[row] == -7)
        return 0.0;
    return p->weights ? (double)weights[labels[row]] : 1.0;
}

/* Scores, labels, weights; the logarithms of the rows' probabilities. */
static launch_loss_call make(const problem *p, void **ret_scores, uint64_t **ret_fault)
{
    int64_t rows = p->n * p->inner;
    const uint64_t no_fault = UINT64_MAX;
    numbers(x, elements(p), (uint32_t)elements(p), 8.0f, 30.0f);
    numbers(weights, 2000, 3, 0.4f, 0.6f);
    *ret_scores = stored_on_device(p->type, x, elements(p));
    *ret_fault = on_device(&no_fault, sizeof no_fault);
    for (int64_t r = 0; r < rows; r++) {
        double max = -INFINITY, sum = 0.0;
        labels[r] = p->ignore && r % 3 == 1 ? -7 : r * 7919 % p->classes;
        narrow[r] = (int32_t)labels[r];
        for (int64_t c = 0; c < p->classes; c++)
            max = fmax(max, (double)x[place(p, r, c)]);
        for (int64_t c = 0; c < p->classes; c++)
            sum += exp((double)x[place(p, r, c)] - max);
        for (int64_t c = 0; c < p->classes; c++)
            log_p[place(p, r, c)] = p->log_probs ? (double)x[place(p, r, c)]
                                                 : (double)x[place(p, r, c)] - max - log(sum);
    }
    return (launch_loss_call){
        .type = p->type,
        .n = p->n,
        .classes = p->classes,
        .inner = p->inner,
        .pitch = pitch_of(p),
        .labels =
            p->narrow ? on_device(narrow, (size_t)rows * 4) : on_device(labels, (size_t)rows * 8),
        .narrow = p->narrow,
        .weights = p->weights ? on_device(weights, (size_t)p->classes * sizeof *weights) : NULL,
        .log_probs = p->log_probs,
        .has_ignore = p->ignore,
        .ignore = -7,
        .reduction = p->reduction,
        .pieces = p->pieces,
        .workspace = device_alloc(((size_t)p->pieces * 2 + 1) * sizeof(double)),
        .fault = *ret_fault,
        .fault_node = (uint64_t)5 << 40,
    };
}

/* The losses into row_want; returns the sum of weights. */
static double reference(const problem *p, double *ret_sum)
{
    double total = 0.0;
    *ret_sum = 0.0;
    for (int64_t r = 0; r < p->n * p->inner; r++) {
        double w = weight_of(p, r);
        row_want[r] = w == 0.0 ? 0.0 : -w * log_p[place(p, r, labels[r])];
        *ret_sum += row_want[r];
        total += w;
    }
    return total;
}

static void describe(char ret[96], const char *what, const problem *p)
{
    snprintf(ret, 96, "%s of type %d, [%ld,%ld,%ld]", what, p->type, (long)p->n, (long)p->classes,
             (long)p->inner);
}

static void compare_gradients(const problem *p, const launch_loss_call *c, void *scores,
                              const float *device_most, const float *device_log_sum, double total)
{
    size_t rows = (size_t)(p->n * p->inner), n = elements(p);
    size_t n_dloss = p->reduction == LAUNCH_LOSS_NONE ? rows : 1;
    numbers(dloss, n_dloss, 9, 1.0f, 2.0f);
    launch_loss_bwd(kernel_test_stream(), c, scores, scores,
                    on_device(dloss, n_dloss * sizeof *dloss), device_most, device_log_sum);
    stored_from_device(got, p->type, scores, n);
    for (size_t i = 0; i < n; i++)
        want[i] = (double)x[i]; /* padding stays */
    for (size_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < p->classes; k++) {
            double d = (double)dloss[n_dloss > 1 ? r : 0] * weight_of(p, (int64_t)r);
            int64_t at = place(p, (int64_t)r, k);
            double q = p->log_probs ? 0.0 : exp(log_p[at]);
            want[at] = (q - (k == labels[r])) * (p->reduction == LAUNCH_LOSS_MEAN ? d / total : d);
        }
    char what[96];
    describe(what, "gradients", p);
    assert_floats_close(what, got, want, n, 1e-6, 1e-5 + 1.01 * stored_grain(p->type));
}

static void compare(const problem *p)
{
    void *scores;
    uint64_t *fault, fault_host;
    launch_loss_call c = make(p, &scores, &fault);
    size_t rows = (size_t)(p->n * p->inner);
    size_t n_loss = p->reduction == LAUNCH_LOSS_NONE ? rows : 1;
    float *loss = device_alloc(n_loss * sizeof *loss);
    float *m = p->log_probs ? NULL : device_alloc(rows * sizeof *m);
    float *l = p->log_probs ? NULL : device_alloc(rows * sizeof *l);
    double sum, total = reference(p, &sum);
    char what[96];
    launch_loss(kernel_test_stream(), &c, loss, m, l, scores);
    from_device(got, loss, n_loss * sizeof *loss);
    describe(what, "loss", p);
    if (p->reduction != LAUNCH_LOSS_NONE)
        row_want[0] = p->reduction == LAUNCH_LOSS_MEAN ? sum / total : sum;
    assert_floats_close(what, got, row_want, n_loss, 1e-5, 1e-6);
    compare_gradients(p, &c, scores, m, l, total);
    from_device(&fault_host, fault, sizeof fault_host);
    assert_true(fault_host == UINT64_MAX);
    device_clear();
}

static void losses_and_gradients(void **state)
{
    (void)state;
    for (size_t i = 0; i < PROBLEMS; i++)
        compare(&problems[i]);
}

/* --- all at once --- */

typedef struct result {
    float *loss, *most, *log_sum;
    int64_t *counts; /* right, counted */
    void *scores;    /* their gradients, in the end */
} result;

static result result_new(const problem *p, void *scores)
{
    size_t rows = (size_t)p->n;
    return (result){.loss = device_alloc(rows * sizeof(float)),
                    .most = device_alloc(rows * sizeof(float)),
                    .log_sum = device_alloc(rows * sizeof(float)),
                    .counts = device_alloc(2 * sizeof(int64_t)),
                    .scores = scores};
}

static void make_each_alone(const launch_loss_call *c, const result *r, const float *gradient)
{
    launch_loss_call judged = *c;
    judged.workspace = device_alloc((size_t)c->n);
    launch_accuracy(kernel_test_stream(), &judged, r->counts, r->counts + 1, r->scores);
    launch_loss(kernel_test_stream(), c, r->loss, r->most, r->log_sum, r->scores);
    launch_loss_bwd(kernel_test_stream(), c, r->scores, r->scores, gradient, r->most, r->log_sum);
}

static void expect_same(const char *what, const void *made, const void *expected, size_t bytes)
{
    static char of[2][MOST * sizeof(float)];
    from_device(of[0], made, bytes);
    from_device(of[1], expected, bytes);
    if (memcmp(of[0], of[1], bytes) != 0)
        fail_msg("%s: not as alone", what);
}

/* `gradients`, `judges`: which are wanted beside the loss. */
static void expect_same_bits(const problem *p, bool gradients, bool judges)
{
    void *scores[2];
    uint64_t *fault;
    char what[96];
    launch_loss_call c = make(p, &scores[0], &fault);
    size_t rows = (size_t)p->n, n_loss = p->reduction == LAUNCH_LOSS_NONE ? rows : 1;
    scores[1] = stored_on_device(p->type, x, elements(p));
    numbers(dloss, n_loss, 9, 1.0f, 2.0f);
    const float *gradient = on_device(dloss, n_loss * sizeof *dloss);
    result made = result_new(p, scores[0]), alone = result_new(p, scores[1]);
    launch_loss_at_once(kernel_test_stream(), &c,
                        &(launch_loss_pass){.loss = made.loss,
                                            .most = made.most,
                                            .log_sum = made.log_sum,
                                            .dscores = gradients ? scores[0] : NULL,
                                            .dloss = gradients ? gradient : NULL,
                                            .own = gradients ? device_alloc(rows * 4) : NULL,
                                            .right = judges ? made.counts : NULL,
                                            .counted = judges ? made.counts + 1 : NULL,
                                            .verdict = judges ? device_alloc(rows) : NULL},
                        scores[0]);
    make_each_alone(&c, &alone, gradient);
    describe(what, "at once", p);
    expect_same(what, made.loss, alone.loss, n_loss * sizeof(float));
    expect_same(what, made.most, alone.most, rows * sizeof(float));
    expect_same(what, made.log_sum, alone.log_sum, rows * sizeof(float));
    if (judges)
        expect_same(what, made.counts, alone.counts, 2 * sizeof(int64_t));
    if (gradients)
        expect_same(what, scores[0], scores[1], elements(p) * (p->type == LAUNCH_F32 ? 4 : 2));
    device_clear();
}

static void all_at_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < PROBLEMS; i++)
        if (problems[i].inner == 1 && !problems[i].log_probs && problems[i].n < 1000) {
            expect_same_bits(&problems[i], true, true);
            expect_same_bits(&problems[i], i % 2 == 0, i % 2 == 1);
        }
}

/* The least row with a label that is no class is told, and its loss does not count. */
static void labels_that_are_no_class(void **state)
{
    (void)state;
    void *scores;
    uint64_t *fault, fault_host;
    launch_loss_call c = make(&(problem){300, 4, 1, 0, LAUNCH_F32, .pieces = 3}, &scores, &fault);
    float *loss = device_alloc(sizeof *loss), *rows = device_alloc(600 * sizeof *rows), value;
    labels[299] = -1;
    labels[150] = 4;
    labels[77] = INT64_MAX;
    c.labels = on_device(labels, 300 * sizeof *labels);
    launch_loss(kernel_test_stream(), &c, loss, rows, rows + 300, scores);
    from_device(&value, loss, sizeof value);
    from_device(&fault_host, fault, sizeof fault_host);
    assert_true(isfinite(value));
    assert_true(fault_host == (((uint64_t)5 << 40) | 77));
}

/* Nothing counts: no number, as the CPU has it. */
static void a_mean_of_nothing(void **state)
{
    (void)state;
    launch_loss_call c = {.classes = 4, .inner = 1, .pitch = 4, .pieces = 1};
    float *loss = device_alloc(sizeof *loss), value;
    c.workspace = device_alloc(3 * sizeof(double));
    launch_loss(kernel_test_stream(), &c, loss, NULL, NULL, NULL);
    from_device(&value, loss, sizeof value);
    assert_true(isnan(value));
    launch_loss_bwd(kernel_test_stream(), &c, NULL, NULL, loss, NULL, NULL);
}

static void judge(int64_t n, int64_t classes, int64_t inner, launch_type type, const float *scores,
                  const int64_t *of, int64_t right, int64_t counted)
{
    int64_t rows = n * inner, got_right, got_counted;
    memcpy(x, scores, (size_t)(n * classes * inner) * sizeof *x);
    launch_loss_call c = {.type = type,
                          .n = n,
                          .classes = classes,
                          .inner = inner,
                          .pitch = classes,
                          .labels = on_device(of, (size_t)rows * sizeof *of),
                          .has_ignore = true,
                          .ignore = -1,
                          .workspace = device_alloc((size_t)rows)};
    int64_t *device_right = device_alloc(8), *device_counted = device_alloc(8);
    launch_accuracy(kernel_test_stream(), &c, device_right, device_counted,
                    stored_on_device(type, x, (size_t)(n * classes * inner)));
    from_device(&got_right, device_right, 8);
    from_device(&got_counted, device_counted, 8);
    assert_int_equal(got_right, right);
    assert_int_equal(got_counted, counted);
    device_clear();
}

static void accuracy(void **state)
{
    (void)state;
    const float four[] = {1,         3,         3,         2, /**/ 5, NAN, 1, 0, /**/ -INFINITY,
                          -INFINITY, -INFINITY, -INFINITY,
                          /**/ 0,    1,         2,         3};
    judge(4, 4, 1, LAUNCH_F32, four, (const int64_t[]){1, 0, 0, 3}, 3,
          4); /* the first one; NaN never */
    judge(4, 4, 1, LAUNCH_BF16, four, (const int64_t[]){2, 0, 1, -1}, 0, 3);
    judge(1, 4, 4, LAUNCH_F16, four, (const int64_t[]){1, 0, 3, 3}, 2, 4); /* by columns */
    judge(3, 1, 1, LAUNCH_F32, (const float[]){-1, 0, 2}, (const int64_t[]){0, 0, 1}, 3, 3);
    judge(0, 4, 1, LAUNCH_F32, four, (const int64_t[]){0}, 0, 0);
    const int64_t sizes[] = {31, 33, 1025, 5000};
    for (size_t i = 0; i < 4; i++) {
        static float wide[2 * 5000];
        int64_t of[2] = {sizes[i] - 1, 0};
        numbers(wide, (size_t)(2 * sizes[i]), 4, 1.0f, 0.0f);
        wide[sizes[i] - 1] = 3.0f;
        wide[sizes[i] + 1] = 3.0f;
        judge(2, sizes[i], 1, LAUNCH_F32, wide, of, 1, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(losses_and_gradients),
        KERNEL_TEST(all_at_once),
        KERNEL_TEST(labels_that_are_no_class),
        KERNEL_TEST(a_mean_of_nothing),
        KERNEL_TEST(accuracy),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
