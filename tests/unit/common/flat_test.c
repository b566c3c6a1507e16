#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/hash.h"
#include "common/base/rng.h"
#include "common/parts/flat.h"
#include "unit/common/support_flats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 300 };

static flat *make(const tensor_decl *tensors, size_t n)
{
    flat *f = NULL;
    error err = ERROR_INIT;
    if (flat_create(tensors, n, &f, &err) != OK)
        fail_msg("%s", err.text);
    return f;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* Parts touch, start on the grain and have the size the rule gives their range. */
static void check_parts(const flat *f)
{
    int64_t at = 0;
    for (int32_t p = 0; p < f->n_parts; p++) {
        const part_range *r = &f->parts[p];
        bool frozen = p >= f->n_live_parts;
        int64_t end = frozen ? f->n_elements : f->n_live;
        int64_t range = frozen ? f->n_elements - f->n_live : f->n_live;
        int64_t grains = (range + 32 * PART_GRAIN - 1) / (32 * PART_GRAIN);
        int64_t size = clamp(grains * PART_GRAIN, 65536, 1 << 20);
        assert_int_equal(r->begin, at);
        assert_int_equal(r->begin % PART_GRAIN, 0);
        assert_int_equal(r->frozen, frozen);
        assert_int_equal(r->end, at + size < end ? at + size : end);
        assert_int_equal(flat_part_elements(f, p), r->end - r->begin);
        at = r->end;
    }
    assert_int_equal(at, f->n_elements);
}

/* Segments name every element of every tensor once, in order. */
static void check_segments(const flat *f)
{
    int64_t *seen = calloc((size_t)f->n_tensors + 1, sizeof *seen);
    for (int32_t p = 0; p < f->n_parts; p++) {
        size_t n;
        const part_segment *s = flat_part_segments(f, p, &n);
        int64_t at = f->parts[p].begin;
        for (size_t i = 0; i < n; i++) {
            assert_true(s[i].n > 0 && s[i].at >= at);
            assert_int_equal(s[i].in_tensor, seen[s[i].tensor]);
            assert_int_equal(s[i].at, f->offset[s[i].tensor] + s[i].in_tensor);
            assert_int_equal(f->tensors[s[i].tensor].kind == TENSOR_FROZEN, f->parts[p].frozen);
            seen[s[i].tensor] += s[i].n;
            at = s[i].at + s[i].n;
        }
        assert_true(at <= f->parts[p].end);
    }
    for (int32_t t = 0; t < f->n_tensors; t++)
        assert_int_equal(seen[t], f->count[t]);
    free(seen);
}

/* Offsets: aligned, live before frozen, each group in the declarer's order. */
static void check_offsets(const flat *f)
{
    int64_t end[2] = {0, f->n_live};
    for (int32_t t = 0; t < f->n_tensors; t++) {
        bool frozen = f->tensors[t].kind == TENSOR_FROZEN;
        assert_int_equal(f->offset[t] % FLAT_ALIGN, 0);
        if (f->count[t] > 0) {
            assert_true(f->offset[t] >= end[frozen] && f->offset[t] - end[frozen] < FLAT_ALIGN);
            end[frozen] = f->offset[t] + f->count[t];
        }
        assert_int_equal(flat_find(f, f->tensors[t].name), t);
    }
    assert_true(end[0] <= f->n_live && end[1] <= f->n_elements);
}

static void layout_holds_for_random_declarations(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < CASES; number++) {
        flats_case c;
        flats_random(number, INT64_C(1) << (number % 28), &c);
        flat *f = make(c.tensors, c.n);
        assert_int_equal(f->n_tensors, c.n);
        check_offsets(f);
        check_parts(f);
        check_segments(f);
        assert_int_equal(flat_find(f, "absent"), -1);
        flat_destroy(&f);
        assert_null(f);
    }
}

/* Live parts touch, begin on the grain, are as large as their tensors need, and hold these whole. */
static void check_whole(const flat *f)
{
    int64_t at = 0;
    for (int32_t p = 0; p < f->n_live_parts; p++) {
        size_t n;
        const part_segment *s = flat_part_segments(f, p, &n);
        assert_true(n > 0);
        assert_int_equal(f->parts[p].begin, at);
        assert_int_equal(f->parts[p].begin % PART_GRAIN, 0);
        for (size_t i = 0; i < n; i++)
            assert_true(s[i].in_tensor == 0 && s[i].n == f->count[s[i].tensor]);
        assert_true(n == 1 || flat_part_elements(f, p) <= PART_MAX + PART_GRAIN);
        assert_true(flat_part_elements(f, p) <= flat_largest_part(f));
        at = f->parts[p].end;
    }
    assert_int_equal(at, f->n_live);
}

static void tensors_that_are_whole_lie_in_one_part(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < CASES; number++) {
        flats_case c;
        flats_random(number, INT64_C(1) << (number % 24), &c);
        for (size_t i = 0; i < c.n; i++)
            c.tensors[i].whole = c.tensors[i].kind == TENSOR_TRAINABLE;
        flat *f = make(c.tensors, c.n);
        check_segments(f);
        bool has_whole = false;
        for (size_t i = 0; i < c.n; i++)
            has_whole |= c.tensors[i].whole;
        if (has_whole)
            check_whole(f);
        flat_destroy(&f);
    }
}

static void empty_things_are_fine(void **state)
{
    (void)state;
    flat *f = make(NULL, 0);
    assert_int_equal(f->n_parts, 0);
    char hex[SHA256_HEX];
    flat_params_sha256(f, NULL, hex);
    flat_digest(f, hex);
    flat_destroy(&f);
    flat_destroy(&f);

    tensor_decl t[] = {flats_vector("none", 0, TENSOR_TRAINABLE),
                       {.name = "scalar", .rank = 0, .kind = TENSOR_FROZEN}};
    f = make(t, 2);
    assert_int_equal(f->n_parts, 1);
    assert_int_equal(f->n_live, 0);
    assert_int_equal(f->count[1], 1);
    flat_destroy(&f);
}

/* One tensor over several parts draws what its elements draw alone. */
static void drawing_does_not_see_the_cut(void **state)
{
    (void)state;
    enum { N = 3 * PART_MIN + 77 };
    tensor_decl t[] = {
        flats_vector("before", 1000, TENSOR_TRAINABLE),
        flats_vector("uniform", N, TENSOR_TRAINABLE),
        flats_vector("normal", N, TENSOR_FROZEN),
        flats_vector("constant", 10, TENSOR_STATE),
        flats_vector("pushed", 10, TENSOR_STATE),
    };
    t[0].init = (init_rule){INIT_UNIFORM, 1, 2};
    t[1].init = (init_rule){INIT_UNIFORM, -0.5f, 0.25f};
    t[2].init = (init_rule){INIT_NORMAL, 3, 0.5f};
    t[3].init = (init_rule){INIT_CONSTANT, 7, 0};
    t[4].init = (init_rule){INIT_PUSHED, 7, 7};
    flat *f = make(t, 5);
    assert_true(f->n_live_parts > 2);
    float *all = malloc((size_t)f->n_elements * sizeof *all);
    memset(all, 0xff, (size_t)f->n_elements * sizeof *all);
    for (int32_t p = f->n_parts - 1; p >= 0; p--)
        flat_part_init(f, p, 42, all + f->parts[p].begin);

    rng uniform = rng_make(42, RNG_INIT, fnv1a("uniform", 7));
    rng normal = rng_make(42, RNG_INIT, fnv1a("normal", 6));
    for (int64_t i = 0; i < N; i++) {
        float u = -0.5f + 0.75f * rng_uniform(&uniform, (uint64_t)i);
        float x = 3.0f + 0.5f * rng_normal(&normal, (uint64_t)i);
        assert_memory_equal(&all[f->offset[1] + i], &u, sizeof u);
        assert_memory_equal(&all[f->offset[2] + i], &x, sizeof x);
    }
    float zero[FLAT_ALIGN] = {0};
    for (int i = 0; i < 10; i++) {
        assert_true(all[f->offset[3] + i] == 7.0f);
        assert_true(all[f->offset[4] + i] == 0.0f);
    }
    assert_memory_equal(&all[f->offset[0] + 1000], zero, (f->offset[1] - 1000) * sizeof *zero);
    assert_memory_equal(&all[f->offset[3] + 10], zero, 54 * sizeof *zero);
    free(all);
    flat_destroy(&f);
}

/* The range excludes its end even where rounding would reach it. */
static void uniform_stays_below_its_end(void **state)
{
    (void)state;
    tensor_decl t = flats_vector("narrow", 20000, TENSOR_TRAINABLE);
    t.init = (init_rule){INIT_UNIFORM, 1.0f, nextafterf(1.0f, 2.0f)};
    flat *f = make(&t, 1);
    float *out = malloc((size_t)f->n_elements * sizeof *out);
    flat_part_init(f, 0, 9, out);
    for (int i = 0; i < 20000; i++)
        assert_true(out[i] == 1.0f);
    free(out);
    flat_destroy(&f);
}

static void digest_of(const tensor_decl *t, size_t n, char hex[SHA256_HEX])
{
    flat *f = make(t, n);
    flat_digest(f, hex);
    assert_int_equal(strlen(hex), SHA256_HEX - 1);
    flat_destroy(&f);
}

static void digest_sees_everything_declared(void **state)
{
    (void)state;
    const tensor_decl base[2] = {
        {.name = "a",
         .rank = 2,
         .dim = {2, 3},
         .kind = TENSOR_STATE,
         .init = {INIT_UNIFORM, 0, 1},
         .momentum = 0.5f},
        {.name = "b", .rank = 1, .dim = {4}, .kind = TENSOR_TRAINABLE, .decay = true},
    };
    tensor_decl v[13][2];
    for (int i = 0; i < 13; i++)
        memcpy(v[i], base, sizeof base);
    v[1][0].name = "c";
    v[2][0].dim[0] = 3, v[2][0].dim[1] = 2;
    v[3][0].rank = 1, v[3][0].dim[0] = 6;
    v[4][0].kind = TENSOR_TRAINABLE;
    v[5][0].init.kind = INIT_NORMAL;
    v[6][0].init.a = 0.5f;
    v[7][0].init.b = 2;
    v[8][0].momentum = 0.25f;
    v[9][1].decay = false;
    v[10][0] = base[1], v[10][1] = base[0];
    v[11][1].group = 1;
    v[12][1].whole = true;
    char hex[13][SHA256_HEX], again[SHA256_HEX];
    for (int i = 0; i < 13; i++) {
        digest_of(v[i], 2, hex[i]);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(hex[i], hex[j]);
    }
    v[0][0].dim[5] = 99; /* beyond the rank: not declared */
    digest_of(v[0], 2, again);
    assert_string_equal(hex[0], again);
}

static void params_hash_goes_by_name(void **state)
{
    (void)state;
    tensor_decl t[2] = {flats_vector("z", 2, TENSOR_TRAINABLE),
                        flats_vector("a", 3, TENSOR_FROZEN)};
    flat *f = make(t, 2);
    float *values = calloc((size_t)f->n_elements, sizeof *values);
    for (int64_t i = 0; i < f->n_elements; i++)
        values[i] = NAN; /* gaps do not count */
    float in_order[5] = {1, 2, 3, 4, 5};
    memcpy(values + f->offset[1], in_order, 12);
    memcpy(values + f->offset[0], in_order + 3, 8);
    char got[SHA256_HEX], want[SHA256_HEX];
    flat_params_sha256(f, values, got);
    sha256_hex(in_order, sizeof in_order, want);
    assert_string_equal(got, want);
    free(values);
    flat_destroy(&f);
}

static void refuse(const tensor_decl *t, size_t n, status code, const char *text)
{
    flat *f = NULL;
    error err = ERROR_INIT;
    assert_int_equal(flat_create(t, n, &f, &err), code);
    assert_string_equal(err.text, text);
    assert_null(f);
}

static void bad_declarations_are_refused(void **state)
{
    (void)state;
    tensor_decl t = flats_vector("", 1, TENSOR_TRAINABLE);
    refuse(&t, 1, E_CONFIG, "a tensor's name is empty");
    t.name = NULL;
    refuse(&t, 1, E_CONFIG, "a tensor's name is empty");
    tensor_decl twice[2] = {flats_vector("w", 1, TENSOR_STATE), flats_vector("w", 2, TENSOR_STATE)};
    refuse(twice, 2, E_CONFIG, "tensor 'w' is declared twice");

    t = flats_vector("w", -1, TENSOR_TRAINABLE);
    refuse(&t, 1, E_CONFIG, "tensor 'w': dimension 0 is -1, want 0 or more");
    t.rank = 9;
    refuse(&t, 1, E_CONFIG, "tensor 'w': rank 9 is not in 0 .. 8");
    t = flats_vector("w", 1, (tensor_kind)7);
    refuse(&t, 1, E_CONFIG, "tensor 'w': unknown kind 7");
    t = flats_vector("w", 1, TENSOR_STATE);
    t.momentum = 1.5f;
    refuse(&t, 1, E_CONFIG, "tensor 'w': momentum 1.5 is not in 0 .. 1");
    t.momentum = NAN;
    refuse(&t, 1, E_CONFIG, "tensor 'w': momentum nan is not in 0 .. 1");
}

static void bad_rules_are_refused(void **state)
{
    (void)state;
    tensor_decl t = flats_vector("w", 1, TENSOR_TRAINABLE);
    t.init = (init_rule){(init_kind)9, 0, 0};
    refuse(&t, 1, E_CONFIG, "tensor 'w': unknown initial rule 9");
    t.init = (init_rule){INIT_CONSTANT, INFINITY, 0};
    refuse(&t, 1, E_CONFIG, "tensor 'w': initial value inf is not finite");
    t.init = (init_rule){INIT_UNIFORM, 2, 1};
    refuse(&t, 1, E_CONFIG, "tensor 'w': no uniform numbers in [2, 1)");
    t.init = (init_rule){INIT_NORMAL, 0, -1};
    refuse(&t, 1, E_CONFIG, "tensor 'w': no normal numbers of mean 0, deviation -1");
}

static void too_large_is_unsupported(void **state)
{
    (void)state;
    tensor_decl t = {.name = "w", .rank = 3, .dim = {INT64_MAX, INT64_MAX, 2}};
    refuse(&t, 1, E_UNSUPPORTED, "tensor 'w': more than 1099511627776 elements");
    t.dim[2] = 0;
    flat *f = make(&t, 1); /* no elements at all */
    flat_destroy(&f);
    tensor_decl many[3] = {flats_vector("a", FLAT_MAX / 2, TENSOR_TRAINABLE),
                           flats_vector("b", FLAT_MAX / 2, TENSOR_FROZEN),
                           flats_vector("c", 1, TENSOR_FROZEN)};
    refuse(many, 3, E_UNSUPPORTED, "the tensors have more than 1099511627776 elements together");
    f = make(many, 2);
    assert_int_equal(f->n_elements, FLAT_MAX);
    flat_destroy(&f);
    tensor_decl whole = flats_vector("table", PART_WHOLE_MAX + 1, TENSOR_TRAINABLE);
    whole.whole = true;
    refuse(&whole, 1, E_UNSUPPORTED,
           "tensor 'table' has 16777217 elements; an optimizer that needs tensors whole moves tensors of up to "
           "16777216");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_holds_for_random_declarations),
        cmocka_unit_test(tensors_that_are_whole_lie_in_one_part),
        cmocka_unit_test(empty_things_are_fine),
        cmocka_unit_test(drawing_does_not_see_the_cut),
        cmocka_unit_test(uniform_stays_below_its_end),
        cmocka_unit_test(digest_sees_everything_declared),
        cmocka_unit_test(params_hash_goes_by_name),
        cmocka_unit_test(bad_declarations_are_refused),
        cmocka_unit_test(bad_rules_are_refused),
        cmocka_unit_test(too_large_is_unsupported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
