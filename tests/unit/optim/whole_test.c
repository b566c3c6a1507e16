/*
 * Optimizers that need norms of a tensor: against the papers' formulas (data/optim.json, made by
 * tests/golden/make_optim.py), and against themselves in other pieces and at another place of a part.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/base/rng.h"
#include "optim/muon.h"
#include "optim/whole.h"

#include <math.h>
#include <string.h>

enum { MOST = 3 * 4096 + 100, SLOTS = 3 };

/* What a part has; moved in place, though what goes out lies elsewhere while it is made. */
typedef struct part {
    float w[MOST], slots[SLOTS][MOST];
} part;

/* Pieces of so many elements, which are a multiple of 4. */
static void step_of(part *p, const update_part *u, const float *grad, size_t n, size_t piece)
{
    static float out[MOST];
    whole_step *w;
    assert_int_equal(whole_create(u->n_spans, n, MUON_ROOM * n + 64, &w, NULL), OK);
    float *state[SLOTS] = {p->slots[0], p->slots[1], p->slots[2]};
    memcpy(out, p->w, sizeof out); /* what no span has stays */
    size_t blocks = whole_begin(w, u, (whole_vectors){grad, p->w, out, state, state});
    for (size_t at = 0; at < n; at += piece)
        whole_direct(w, at, at + piece);
    for (size_t i = u->n_spans; i-- > 0;)
        whole_tensor(w, i);
    for (size_t i = blocks; i-- > 0;)
        whole_measure(w, i);
    whole_trust(w);
    for (size_t at = 0; at < n; at += piece)
        whole_move(w, at, at + piece);
    memcpy(p->w, out, sizeof out);
    whole_destroy(&w);
}

/* --- the papers --- */

static double number(const json_t *object, const char *key, double otherwise)
{
    const json_t *v = json_object_get(object, key);
    return v ? json_number_value(v) : otherwise;
}

static optim optim_of(const json_t *c)
{
    const json_t *o = json_object_get(c, "options");
    optim ret = {.momentum = number(o, "momentum", 0),
                 .dampening = number(o, "dampening", 0),
                 .nesterov = json_is_true(json_object_get(o, "nesterov")),
                 .beta1 = number(o, "beta1", 0),
                 .beta2 = number(o, "beta2", 0),
                 .eps = number(o, "eps", 0),
                 .weight_decay = number(o, "weight_decay", 0),
                 .trust_coefficient = number(o, "trust_coefficient", 0)};
    assert_true(optim_kind_of(json_string_value(json_object_get(c, "kind")), &ret.kind));
    return ret;
}

static size_t take(const json_t *from, float *to)
{
    size_t i;
    json_t *x;
    json_array_foreach(from, i, x) to[i] = (float)json_number_value(x);
    return json_array_size(from);
}

/* Roundings of 50 steps come together. */
static void assert_close(const float *got, const json_t *want)
{
    double largest = 0;
    size_t i;
    json_t *v;
    json_array_foreach(want, i, v) largest = fmax(largest, fabs(json_number_value(v)));
    json_array_foreach(want, i, v)
    {
        double x = json_number_value(v);
        if (!(fabs((double)got[i] - x) <= 5e-6 * fmax(fabs(x), 0.1 * largest)))
            fail_msg("element %zu: %.9g, want %.9g", i, (double)got[i], x);
    }
}

static void play_case(const json_t *file, const json_t *c)
{
    static part p;
    const optim o = optim_of(c);
    const json_t *before = json_object_get(c, "before"), *weights = json_object_get(c, "weights");
    float grad[MOST];
    memset(&p, 0, sizeof p);
    size_t n = take(json_object_get(file, "start"), p.w);
    for (size_t step = 0; step < json_array_size(weights); step++) {
        const optim_call call = {.step = (int64_t)step + 1,
                                 .rate = (float)number(file, "rate", 0),
                                 .scale = (float)number(before, "scale", 1),
                                 .clip_value = (float)number(before, "clip_value", 0),
                                 .decay = true};
        const whole_rule rule = whole_rule_make(&o, &call);
        const update_span span = {.n = (uint32_t)n};
        (void)take(json_array_get(json_object_get(file, "grads"), step), grad);
        step_of(&p, &(update_part){.whole = &rule, .slots = optim_slots(&o), .spans = &span, .n_spans = 1}, grad, n, 4);
        if (json_is_array(json_array_get(weights, step)))
            assert_close(p.w, json_array_get(weights, step));
    }
    assert_int_equal(json_object_size(json_object_get(c, "state")), optim_slots(&o));
    for (size_t s = 0; s < optim_slots(&o); s++)
        assert_close(p.slots[s], json_object_get(json_object_get(c, "state"), optim_slot_name(&o, s)));
}

static void results_are_those_of_the_papers(void **state)
{
    (void)state;
    json_t *file = NULL, *c;
    error err = ERROR_INIT;
    size_t i, seen[OPTIM_KINDS] = {0};
    if (json_read_file(TEST_DATA_DIR "/optim.json", &file, &err) != OK)
        fail_msg("%s", err.text);
    json_array_foreach(json_object_get(file, "cases"), i, c)
    {
        const char *kind = json_string_value(json_object_get(c, "kind"));
        if (strcmp(kind, "lars") != 0 && strcmp(kind, "lamb") != 0)
            continue;
        play_case(file, c);
        seen[optim_of(c).kind]++;
    }
    assert_true(seen[OPTIM_LARS] >= 2 && seen[OPTIM_LAMB] >= 2);
    json_decref(file);
}

/* --- rows and columns --- */

static optim matrix_optim_of(const json_t *c)
{
    const json_t *o = json_object_get(c, "options");
    const char *adjust = json_string_value(json_object_get(o, "adjust_lr"));
    optim ret = {.momentum = number(o, "momentum", number(o, "beta1", 0)),
                 .nesterov = json_is_true(json_object_get(o, "nesterov")),
                 .beta1 = 0.9,
                 .beta2 = 0.999,
                 .eps = number(o, "eps", 1e-8),
                 .eps_scale = number(o, "eps_scale", 0),
                 .clip_threshold = number(o, "clip_threshold", 0),
                 .decay_rate = number(o, "decay_rate", 0),
                 .relative_step = json_is_true(json_object_get(o, "relative_step")),
                 .scales_parameter = json_is_true(json_object_get(o, "scale_parameter")),
                 .warmup_init = json_is_true(json_object_get(o, "warmup_init")),
                 .ns_steps = (int64_t)number(o, "ns_steps", 0),
                 .matches_rms = adjust && strcmp(adjust, "original") != 0,
                 .weight_decay = number(o, "weight_decay", 0)};
    assert_true(optim_kind_of(json_string_value(json_object_get(c, "kind")), &ret.kind));
    return ret;
}

static update_shape shape_of(const json_t *c)
{
    const json_t *shape = json_object_get(c, "shape");
    const size_t rank = json_array_size(shape);
    const size_t before = rank > 1 ? rank - 2 : 0;
    return (update_shape){.rank = (int32_t)rank,
                          .first = json_integer_value(json_array_get(shape, 0)),
                          .before_last = json_integer_value(json_array_get(shape, before)),
                          .last = json_integer_value(json_array_get(shape, rank - 1))};
}

/* The polynomial of muon makes more of rounding, in directions of small singular values. */
static void assert_near(const float *got, const json_t *want, double tolerance)
{
    double largest = 0;
    size_t i;
    json_t *v;
    json_array_foreach(want, i, v) largest = fmax(largest, fabs(json_number_value(v)));
    json_array_foreach(want, i, v)
    {
        double x = json_number_value(v);
        if (!(fabs((double)got[i] - x) <= tolerance * fmax(fabs(x), 0.1 * largest)))
            fail_msg("element %zu: %.9g, want %.9g", i, (double)got[i], x);
    }
}

/* A case that has rows and columns there, but of one element, has its moments element by element here. */
static void check_moments(const json_t *c, const optim *o, const float *moments, double tolerance)
{
    const json_t *state = json_object_get(c, "state"), *rows = json_object_get(state, "exp_avg_sq_row");
    const json_t *columns = json_object_get(state, "exp_avg_sq_col");
    if (o->kind == OPTIM_MUON)
        assert_near(moments, json_object_get(state, "exp_avg"), tolerance);
    else if (!rows)
        assert_near(moments, json_object_get(state, "exp_avg_sq"), tolerance);
    else if (json_array_size(json_object_get(c, "shape")) == 2 && json_array_size(columns) > 1) {
        assert_near(moments, rows, tolerance);
        assert_near(moments + json_array_size(rows), columns, tolerance);
    }
}

static void play_matrix_case(const json_t *file, const json_t *c, const optim *o)
{
    static part p;
    const json_t *weights = json_object_get(c, "weights");
    const update_shape shape = shape_of(c);
    const double tolerance = o->kind == OPTIM_MUON ? 1e-4 : 1e-5;
    float grad[MOST];
    memset(&p, 0, sizeof p);
    size_t n = take(json_object_get(file, "start"), p.w);
    for (size_t step = 0; step < json_array_size(weights); step++) {
        const optim_call call = {.step = (int64_t)step + 1,
                                 .rate = (float)number(json_object_get(c, "options"), "lr", 0),
                                 .scale = 1,
                                 .decay = true};
        const whole_rule rule = whole_rule_make(o, &call);
        const update_span span = {.n = (uint32_t)n};
        (void)take(json_array_get(json_object_get(file, "grads"), step), grad);
        step_of(&p,
                &(update_part){
                    .whole = &rule, .shapes = &shape, .slots = optim_slots(o), .spans = &span, .n_spans = 1},
                grad, n, 4);
        if (json_is_array(json_array_get(weights, step)))
            assert_near(p.w, json_array_get(weights, step), tolerance);
    }
    check_moments(c, o, p.slots[0], tolerance);
}

static void matrices_move_as_their_references(void **state)
{
    (void)state;
    json_t *file = NULL, *c;
    error err = ERROR_INIT;
    size_t i, seen[OPTIM_KINDS] = {0};
    if (json_read_file(TEST_DATA_DIR "/matrix_optim.json", &file, &err) != OK)
        fail_msg("%s", err.text);
    json_array_foreach(json_object_get(file, "cases"), i, c)
    {
        const optim o = matrix_optim_of(c);
        print_message("case %zu, %s\n", i, json_string_value(json_object_get(c, "kind")));
        play_matrix_case(file, c, &o);
        seen[o.kind]++;
    }
    assert_true(seen[OPTIM_ADAFACTOR] >= 6 && seen[OPTIM_MUON] >= 3);
    json_decref(file);
}

/* --- bits --- */

static const optim optims[] = {
    {.kind = OPTIM_LARS, .momentum = 0.9, .weight_decay = 0.1, .trust_coefficient = 0.5, .eps = 1e-8},
    {.kind = OPTIM_LAMB, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-6, .weight_decay = 0.1},
    {.kind = OPTIM_ADAFACTOR, .momentum = 0.9, .eps = 1e-30, .eps_scale = 1e-3, .scales_parameter = true,
     .clip_threshold = 1, .decay_rate = -0.8, .weight_decay = 0.1},
    {.kind = OPTIM_MUON, .momentum = 0.9, .nesterov = true, .ns_steps = 2, .weight_decay = 0.1},
};

enum { FIRST = 64, TENSOR = 2 * 4096 + 37, STILL = 8400, STATISTICS = 8500, END = 8600 };

/* A tensor, one that does not move, and statistics. */
static void moved(const optim *base, size_t first, size_t piece, part *p)
{
    optim o = *base;
    o.average = (optim_average){.is_kept = true, .decay = 0.5, .numerator = 1, .denominator = 10};
    const update_span spans[] = {
        {.first = (uint32_t)first, .n = TENSOR, .how = 1},
        {.first = STILL, .n = 100, .how = UPDATE_NOT},
        {.first = STATISTICS, .n = 100, .how = UPDATE_AVERAGE, .keep = 0.75f, .take = 0.25f}};
    const update_shape shapes[COUNT_OF(spans)] = {{.rank = 2, .first = 39, .before_last = 39, .last = TENSOR / 39}};
    static float grad[MOST];
    rng r = rng_make(37, RNG_TEST, 0);
    memset(p, 0, sizeof *p);
    memset(grad, 0, sizeof grad);
    for (uint64_t i = 0; i < TENSOR; i++)
        p->w[first + i] = rng_normal(&r, i);
    for (uint64_t i = STILL; i < END; i++)
        p->w[i] = rng_normal(&r, MOST + i);
    memcpy(p->slots[optim_slots(&o) - 1], p->w, sizeof p->w);
    for (int64_t step = 1; step <= 3; step++) {
        whole_rule rules[2] = {{.rate = 0}};
        rules[1] = whole_rule_make(&o, &(optim_call){.step = step, .rate = 0.1f, .scale = 1, .decay = true});
        update_part u = {.whole = rules,
                         .shapes = shapes,
                         .slots = optim_slots(&o),
                         .spans = spans,
                         .n_spans = COUNT_OF(spans)};
        update_average(&o, step, &u);
        for (uint64_t i = 0; i < TENSOR; i++)
            grad[first + i] = rng_normal(&r, (uint64_t)step * 2 * MOST + i);
        for (uint64_t i = STATISTICS; i < END; i++)
            grad[i] = 0.5f;
        step_of(p, &u, grad, END, piece);
    }
}

static void bits_do_not_depend_on_pieces_and_place(void **state)
{
    (void)state;
    static const size_t pieces[] = {4, 64, 4096, 5000, 8192};
    static part whole, other;
    for (size_t k = 0; k < COUNT_OF(optims); k++) {
        moved(&optims[k], FIRST, END, &whole);
        for (size_t i = 0; i < COUNT_OF(pieces); i++) {
            moved(&optims[k], FIRST, pieces[i], &other);
            assert_memory_equal(&other, &whole, sizeof whole);
        }
        moved(&optims[k], 128, 64, &other); /* elsewhere in the part, so in other blocks of its grid */
        assert_memory_equal(other.w + 128, whole.w + FIRST, TENSOR * sizeof(float));
        assert_memory_equal(other.slots[0] + 128, whole.slots[0] + FIRST, TENSOR * sizeof(float));
    }
}

static void what_is_no_tensor_of_the_optimizers_moves_as_ever(void **state)
{
    (void)state;
    static part p, before;
    for (size_t k = 0; k < COUNT_OF(optims); k++) {
        size_t average = optim_slots(&optims[k]);
        moved(&optims[k], FIRST, END, &p);
        rng r = rng_make(37, RNG_TEST, 0);
        for (uint64_t i = STILL; i < END; i++)
            before.w[i] = rng_normal(&r, MOST + i);
        assert_memory_equal(p.w + STILL, before.w + STILL, 100 * sizeof(float));
        for (size_t i = STATISTICS; i < END; i++) {
            float want = before.w[i];
            for (int step = 0; step < 3; step++)
                want = 0.75f * want + 0.25f * 0.5f;
            assert_true(p.w[i] == want && p.slots[average][i] == want);
        }
        assert_true(p.slots[average][FIRST] != p.w[FIRST]);
        for (size_t i = 0; i < FIRST; i++)
            assert_true(p.w[i] == 0.0f && p.slots[0][i] == 0.0f);
    }
}

/* 1 where a norm is 0, and where the tensor is spared: by hand, as momentum begins. */
/* --- what it works in --- */

/* Parts of whole tensors: those of one part are 300 x 300 and a vector, the larger table goes by AdamW. */
static flat *a_model(void)
{
    static const tensor_decl tensors[] = {
        {.name = "layer", .rank = 2, .dim = {300, 300}, .whole = true},
        {.name = "odd", .rank = 2, .dim = {3, 3}, .whole = true},
        {.name = "bias", .rank = 1, .dim = {300}, .whole = true},
        {.name = "table", .rank = 2, .dim = {4000, 300}, .whole = true, .group = 1},
    };
    error err = ERROR_INIT;
    flat *f = NULL;
    if (flat_create(tensors, COUNT_OF(tensors), &f, &err) != OK)
        fail_msg("%s", err.text);
    return f;
}

static void room_is_of_those_that_work_in_it(void **state)
{
    (void)state;
    flat *f = a_model();
    optim_group groups[2] = {{.optim = {.kind = OPTIM_MUON}}, {.optim = {.kind = OPTIM_MUON, .by_adamw = true}}};
    assert_in_range(whole_room(f, groups), MUON_ROOM * 90000, MUON_ROOM * 90009 + 32);
    groups[1].optim.by_adamw = false;
    assert_in_range(whole_room(f, groups), MUON_ROOM * 1200000, MUON_ROOM * 1300000);
    groups[0].optim.kind = groups[1].optim.kind = OPTIM_ADAFACTOR;
    assert_in_range(whole_room(f, groups), 1200000, 1300000);
    groups[0].optim.kind = groups[1].optim.kind = OPTIM_LAMB;
    assert_int_equal(whole_room(f, groups), 0);
    flat_destroy(&f);
}

static void too_much_room_is_an_error(void **state)
{
    (void)state;
    whole_step *w = NULL;
    error err = ERROR_INIT;
    assert_int_equal(whole_create(1, 4, SIZE_MAX / 4, &w, &err), E_NOMEM);
    assert_non_null(strstr(err.text, "what the optimizer works in"));
    assert_null(w);
}

static void trust_is_one(void **state)
{
    (void)state;
    static part p;
    const optim o = {.kind = OPTIM_LARS, .momentum = 0.9, .weight_decay = 0.5, .trust_coefficient = 0.125};
    static const struct {
        float w, grad;
        bool decay;
        float want;
    } cases[] = {
        {0.0f, 2.0f, true, -2.0f},              /* no weights: w - g */
        {2.0f, 0.0f, true, 2.0f - 0.5f * 2.0f}, /* no gradient: decay alone */
        {2.0f, 4.0f, false, 2.0f - 4.0f},       /* spared: neither decay nor trust */
        {2.0f, 3.0f, true, 2.0f - 0.125f * 2.0f / (3.0f + 0.5f * 2.0f) * (3.0f + 0.5f * 2.0f)},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const optim_call call = {.step = 1, .rate = 1, .scale = 1, .decay = cases[i].decay};
        const whole_rule rule = whole_rule_make(&o, &call);
        const update_span span = {.n = 1};
        memset(&p, 0, sizeof p);
        p.w[0] = cases[i].w;
        step_of(&p, &(update_part){.whole = &rule, .slots = 1, .spans = &span, .n_spans = 1}, &cases[i].grad, 1, 4);
        assert_true(p.w[0] == cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_those_of_the_papers),
        cmocka_unit_test(matrices_move_as_their_references),
        cmocka_unit_test(bits_do_not_depend_on_pieces_and_place),
        cmocka_unit_test(what_is_no_tensor_of_the_optimizers_moves_as_ever),
        cmocka_unit_test(trust_is_one),
        cmocka_unit_test(room_is_of_those_that_work_in_it),
        cmocka_unit_test(too_much_room_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
