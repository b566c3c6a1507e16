/* Mixup and CutMix: batches are what their definitions make of the batches that would have been, shares are drawn from
 * Beta, and what cannot be mixed is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/augment.h"
#include "data/mix.h"
#include "data/reader.h"
#include "support/folder.h"
#include "unit/data/support_config.h"
#include "unit/data/support_idx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 23, BATCH = 5, H = 6, W = 7, CLASSES = 10, PIXELS = H * W, SEED = 3 };

static const config *section_of(const char *text, config **ret)
{
    *ret = test_config(text);
    return config_section(*ret, "dataset_reader.augment");
}

/* --- batches --- */

static loader *make_loader(const dataset *d, const config *section, bool bytes)
{
    loader *l = NULL;
    const loader_options options = {.dataset = d,
                                    .batch_size = BATCH,
                                    .seed = SEED,
                                    .shuffle = true,
                                    .augment = section,
                                    .depth = 2,
                                    .bytes = bytes};
    assert_int_equal(loader_create(&options, &l, NULL), OK);
    return l;
}

static bool is_inside(const mix_draw *d, int pixel)
{
    int x = pixel % W, y = pixel / W;
    return x >= d->x && x < d->x + d->width && y >= d->y && y < d->y + d->height;
}

static void expect_mixed(const mix_draw *d, const data_batch *plain, const data_batch *mixed)
{
    const float *was = plain->data[0], *is = mixed->data[0], *probs = mixed->data[1];
    const int64_t *labels = plain->data[1];
    int64_t n = plain->slot.n;
    for (int64_t i = 0; i < n; i++) {
        int64_t before = (i + n - 1) % n;
        double own = n > 1 ? d->lam : 1.0;
        for (int p = 0; p < PIXELS; p++) {
            double a = was[i * PIXELS + p], b = was[before * PIXELS + p];
            double want = d->cuts ? (is_inside(d, p) ? b : a) : own * a + (1.0 - own) * b;
            assert_true(fabs(is[i * PIXELS + p] - want) <= 1e-6);
        }
        for (int64_t c = 0; c < CLASSES; c++) {
            double want = own * (labels[i] == c) + (1.0 - own) * (labels[before] == c);
            assert_true(fabs(probs[i * CLASSES + c] - want) <= 1e-6);
        }
    }
}

static void compare(const dataset *d, const char *text, int ret_kinds[2])
{
    config *c;
    const config *section = section_of(text, &c);
    const mix m = mix_read(section);
    loader *plain = make_loader(d, NULL, false), *mixed = make_loader(d, section, true);
    const steps s = {.examples = EXAMPLES, .batch_size = BATCH, .per_step = 1};
    size_t n;
    const data_field *fields = loader_fields(mixed, &n);
    assert_int_equal(fields[0].dtype, DT_F32);
    assert_int_equal(fields[1].dtype, DT_F32);
    assert_int_equal(fields[1].dim[0], CLASSES);
    for (int64_t step = 0; step < 40; step++) {
        step_slot slot = steps_slot(&s, step, 0);
        const data_batch *was = NULL, *is = NULL;
        mix_draw draw = mix_draw_of(&m, SEED, slot.batch_id, W, H);
        assert_int_equal(loader_take(plain, &slot, &was, NULL), OK);
        assert_int_equal(loader_take(mixed, &slot, &is, NULL), OK);
        expect_mixed(&draw, was, is);
        ret_kinds[draw.cuts]++;
        loader_release(plain, was);
        loader_release(mixed, is);
    }
    loader_destroy(&plain);
    loader_destroy(&mixed);
    config_destroy(&c);
}

static dataset *open_data(void)
{
    dataset *d = NULL;
    char *path = test_pair(folder_path(), EXAMPLES, H, W);
    const idx_reader_options options = {.mean = 0.3, .std = 0.7, .classes = CLASSES};
    assert_int_equal(idx_reader_open(&options, path, &d, NULL), OK);
    free(path);
    return d;
}

static void test_batches_are_mixed_as_they_are_defined(void **state)
{
    (void)state;
    int kinds[2] = {0};
    dataset *d = open_data();
    compare(d, "{augment: {mixup: {alpha: 0.4}}}", kinds);
    assert_int_equal(kinds[0], 40);
    compare(d, "{augment: {mixup: {}, cutmix: {}}}", kinds);
    assert_in_range(kinds[1], 10, 30);
    dataset_close(&d);
}

/* What is cut stays bytes; its numbers are those of the bytes. */
static void test_bytes_are_cut_as_numbers_are(void **state)
{
    (void)state;
    config *c;
    const config *section = section_of("{augment: {cutmix: {alpha: 0.5}}}", &c);
    dataset *d = open_data();
    loader *numbers = make_loader(d, section, false), *bytes = make_loader(d, section, true);
    const steps s = {.examples = EXAMPLES, .batch_size = BATCH, .per_step = 1};
    size_t n;
    assert_int_equal(loader_fields(bytes, &n)[0].dtype, DT_U8);
    for (int64_t step = 0; step < 20; step++) {
        step_slot slot = steps_slot(&s, step, 0);
        const data_batch *a = NULL, *b = NULL;
        assert_int_equal(loader_take(numbers, &slot, &a, NULL), OK);
        assert_int_equal(loader_take(bytes, &slot, &b, NULL), OK);
        for (int64_t i = 0; i < slot.n * PIXELS; i++) {
            const data_bytes *meaning = &a->fields[0].bytes;
            float want = (float)((const uint8_t *)b->data[0])[i] * meaning->scale[0];
            assert_true(((const float *)a->data[0])[i] == want + meaning->offset[0]);
        }
        assert_memory_equal(a->data[1], b->data[1], (size_t)slot.n * data_field_bytes(&a->fields[1]));
        loader_release(numbers, a);
        loader_release(bytes, b);
    }
    loader_destroy(&numbers);
    loader_destroy(&bytes);
    dataset_close(&d);
    config_destroy(&c);
}

/* --- shares --- */

/* Of Beta(a, a): the chance to be at most x. */
static double arcsine(double x)
{
    return 2.0 / M_PI * asin(sqrt(x));
}

static double even(double x)
{
    return x;
}

static double cubic(double x)
{
    return x * x * (3.0 - 2.0 * x);
}

static void test_shares_are_drawn_from_beta(void **state)
{
    (void)state;
    enum { N = 4000, STEPS = 20 };
    static const struct {
        double alpha;
        double (*below)(double x);
    } cases[] = {{0.5, arcsine}, {1.0, even}, {2.0, cubic}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const mix m = {.mixup = cases[k].alpha};
        int counts[STEPS + 1] = {0};
        for (int64_t i = 0; i < N; i++) {
            mix_draw d = mix_draw_of(&m, 11, i, W, H);
            assert_true(d.lam >= 0.0 && d.lam <= 1.0);
            for (int s = 0; s <= STEPS; s++)
                counts[s] += d.lam <= (double)s / STEPS;
        }
        for (int s = 0; s <= STEPS; s++) /* Kolmogorov and Smirnov: one of 1000 is farther off than 1.95 / sqrt(N) */
            assert_true(fabs((double)counts[s] / N - cases[k].below((double)s / STEPS)) < 1.95 / sqrt(N));
    }
}

/* The variance of Beta(a, a) is 1 / (4 (2 a + 1)); two numbers of a share that are not independent show here. */
static void test_shares_vary_as_those_of_beta(void **state)
{
    (void)state;
    enum { N = 200000 };
    static const double alphas[] = {0.2, 0.4, 1.0, 2.0};
    for (size_t k = 0; k < sizeof alphas / sizeof *alphas; k++) {
        const mix m = {.mixup = alphas[k]};
        double squares = 0.0, fourths = 0.0;
        for (int64_t i = 0; i < N; i++) {
            double off = mix_draw_of(&m, 11, i, W, H).lam - 0.5;
            squares += off * off / N;
            fourths += off * off * off * off / N;
        }
        double deviation = sqrt((fourths - squares * squares) / N);
        assert_true(fabs(squares - 0.25 / (2.0 * alphas[k] + 1.0)) < 3.5 * deviation);
    }
}

static void test_a_rectangle_is_what_the_share_says(void **state)
{
    (void)state;
    const mix m = {.cutmix = 1.0};
    double share = 0.0;
    enum { N = 2000, SIDE = 32 };
    for (int64_t i = 0; i < N; i++) {
        mix_draw d = mix_draw_of(&m, 5, i, SIDE, SIDE), again = mix_draw_of(&m, 5, i, SIDE, SIDE);
        assert_true(d.cuts && d.lam == again.lam && d.x == again.x && d.width == again.width);
        assert_true(d.x >= 0 && d.y >= 0 && d.width >= 0 && d.height >= 0);
        assert_true(d.x + d.width <= SIDE && d.y + d.height <= SIDE);
        assert_true(d.lam == 1.0 - (double)d.width * d.height / (SIDE * SIDE));
        share += (1.0 - d.lam) / N;
    }
    assert_true(share > 0.28 && share < 0.32); /* 20000 draws of torchvision's: 0.299 */
}

/* --- what cannot be mixed --- */

static void refuse(const char *text, const data_field *fields, size_t n, const char *why)
{
    error err = ERROR_INIT;
    config *c;
    const config *section = section_of(text, &c);
    assert_int_equal(mix_check(section, fields, n, &err), E_CONFIG);
    assert_string_equal(err.text, why);
    config_destroy(&c);
}

static void test_what_cannot_be_mixed_is_refused(void **state)
{
    (void)state;
    const data_field image = {.name = "image", .dtype = DT_F32, .rank = 3, .dim = {1, H, W}};
    const data_field raw = {.name = "raw", .dtype = DT_U8, .rank = 3, .dim = {1, H, W}};
    const data_field wide = {.name = "wide", .dtype = DT_F32, .rank = 3, .dim = {1, H, W + 1}};
    const data_field label = {.name = "label", .dtype = DT_I64, .classes = 3};
    const data_field age = {.name = "age", .dtype = DT_F32};
    static const char mixup[] = "{augment: {mixup: {}}}", cutmix[] = "{augment: {cutmix: {}}}";
    refuse(mixup, (data_field[]){raw, label}, 2,
           "dataset_reader.augment.mixup: 'raw' is uint8, and a mixture of two bytes is none; cutmix takes it");
    refuse(cutmix, (data_field[]){image, wide, label}, 3,
           "dataset_reader.augment.cutmix: 'image' and 'wide' are of different sizes; images of one size are mixed");
    refuse(cutmix, &label, 1,
           "dataset_reader.augment.cutmix: the data have no images, fields [C,H,W] of float32 or bytes");
    refuse(mixup, &image, 1,
           "dataset_reader.augment.mixup: the data have no label of classes, int64 and one an example");
    refuse(cutmix, (data_field[]){image, age, label}, 3,
           "dataset_reader.augment.cutmix: 'age' is neither an image nor a label of classes, and would stay that of "
           "one example where two are mixed; use data without it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches_are_mixed_as_they_are_defined),
        cmocka_unit_test(test_bytes_are_cut_as_numbers_are),
        cmocka_unit_test(test_shares_are_drawn_from_beta),
        cmocka_unit_test(test_shares_vary_as_those_of_beta),
        cmocka_unit_test(test_a_rectangle_is_what_the_share_says),
        cmocka_unit_test(test_what_cannot_be_mixed_is_refused),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
