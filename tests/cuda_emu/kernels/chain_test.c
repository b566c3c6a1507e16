/*
 * Chains: each function makes what its own kernel makes, bit for bit; operands of all types and
 * forms, what is stored on the way, and masks, against loops on the host.
 */
#include "cuda_emu/kernels/support_stored.h"

#include "backend/cuda/kernels/chain.h"
#include "common/base/alloc.h"
#include "common/base/rng.h"

#include <string.h>

enum { MOST = 5000 };

static float x[MOST], u[MOST], v[MOST], want[MOST], got[MOST];
static uint8_t bytes[MOST], mask[MOST];

static const launch_dropout drop = {.key = 0, .stream = 9, .threshold = 1u << 31, .scale = 2.0f};
static const int64_t batch = 77;

static void fill(uint32_t seed)
{
    static const float special[] = {0.0f, -0.0f, 1.0f, 1e30f, -1e30f, __builtin_inff(), -2.0f};
    numbers(x, MOST, seed, 3.0f, 0.0f);
    numbers(u, MOST, seed + 1, 3.0f, 0.0f);
    numbers(v, MOST, seed + 2, 3.0f, 0.0f);
    for (size_t i = 0; i < MOST; i++) {
        if (i % 5 == 3)
            x[i] = special[i / 5 % COUNT_OF(special)];
        if (i % 7 == 3)
            u[i] = special[i / 7 % COUNT_OF(special)];
        bytes[i] = i % 3 != 1;
    }
}

/* All elements, one after the other. */
static chain_operand dense(dtype type, const void *at, int64_t n)
{
    return (chain_operand){.x = at, .type = type, .inner = 1, .count = n};
}

static void expect_bits(const char *what, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0 && (a[i] == a[i] || b[i] == b[i]))
            fail_msg("%s, element %zu of %zu: %a and not %a", what, i, n, (double)a[i],
                     (double)b[i]);
}

/* --- functions --- */

enum { FEW = 70 };

typedef struct arrays {
    float *x, *u, *v, *y;
} arrays;

static arrays on_the_device(void)
{
    return (arrays){on_device(x, FEW * sizeof *x), on_device(u, FEW * sizeof *u),
                    on_device(v, FEW * sizeof *v), device_alloc(FEW * sizeof *x)};
}

/* One step that finds what it is of as the function's operands `slot` and the others in order. */
static void expect_step(const char *name, chain_function f, int slot, int n_operands,
                        const arrays *a)
{
    const float *operand[] = {a->x, a->u, a->v};
    chain_operand *beside[3];
    launch_chain_call c = {.elements = FEW, .source = dense(DT_F32, operand[slot], FEW), .n = 1};
    c.step[0] = (chain_step){.function = f, .slot = slot, .p = 0.25f, .q = 0.75f, .y_type = DT_F32};
    beside[0] = &c.step[0].u;
    beside[1] = &c.step[0].v;
    for (int i = 0, k = 0; i < n_operands; i++)
        if (i != slot)
            *beside[k++] = dense(DT_F32, operand[i], FEW);
    from_device(want, a->y, FEW * sizeof *want);
    c.step[0].y = device_alloc(FEW * sizeof *got);
    launch_chain(kernel_test_stream(), &c);
    from_device(got, c.step[0].y, FEW * sizeof *got);
    expect_bits(name, got, want, FEW);
}

static void every_function_is_that_of_its_own_kernel(void **state)
{
    (void)state;
    fill(1);
    arrays a = on_the_device();
    axes over = {.rank = 1, .dim = {FEW}, .stride = {{1, 1, 1}}};
    const launch_types floats = {.y = LAUNCH_F32};
#define UNARY(name, is_light)                                                                      \
    launch_unary(kernel_test_stream(), UNARY_##name, floats, a.y, a.x, a.u, FEW, 0.25f, 0.75f);    \
    expect_step(#name, CHAIN_UNARY_##name, 0, 2, &a);
#define BINARY(name, is_light)                                                                     \
    launch_binary(kernel_test_stream(), BINARY_##name, floats, a.y, a.x, a.u, &over);              \
    expect_step(#name, CHAIN_BINARY_##name, 0, 2, &a);                                             \
    expect_step(#name " of what is held", CHAIN_BINARY_##name, 1, 2, &a);
#define CHOICE(name, is_light)                                                                     \
    launch_choice(kernel_test_stream(), CHOICE_##name, floats, a.y, a.x, a.u, a.v, &over);         \
    expect_step(#name, CHAIN_CHOICE_##name, 0, 3, &a);                                             \
    expect_step(#name " of b", CHAIN_CHOICE_##name, 1, 3, &a);                                     \
    expect_step(#name " of c", CHAIN_CHOICE_##name, 2, 3, &a);
#include "backend/cuda/kernels/chain.def"
}

/* --- operands --- */

/* Forms of an operand; `count` 0: as many as there are. */
static const struct {
    int64_t inner, count;
} forms[] = {{1, 0}, {1, 1}, {1, 3}, {1, 8}, {2, 0}, {4, 0}, {8, 5}, {3, 4}};

static void expect_form(int64_t n, size_t form, launch_type type, int64_t begin)
{
    static const dtype dtypes[] = {DT_F32, DT_BF16, DT_F16};
    int64_t inner = forms[form].inner;
    int64_t count = forms[form].count ? forms[form].count : (n + inner - 1) / inner;
    size_t each = stored_bytes(type, 1);
    launch_chain_call c = {.elements = n, .n = 1};
    fill((uint32_t)form);
    char *from = stored_on_device(type, u, (size_t)(begin + count));
    float *to = device_alloc((size_t)(begin + n) * sizeof *to);
    c.source = dense(DT_F32, (float *)on_device(x, (size_t)(begin + n) * sizeof *x) + begin, n);
    c.step[0] =
        (chain_step){.function = CHAIN_BINARY_sub, .y = to + begin, .y_type = DT_F32, .slot = 1};
    c.step[0].u = (chain_operand){from + (size_t)begin * each, dtypes[type], inner, count};
    launch_chain(kernel_test_stream(), &c);
    from_device(got, to + begin, (size_t)n * sizeof *got);
    for (int64_t i = 0; i < n; i++)
        want[i] = u[begin + i / inner % count] - x[begin + i];
    expect_bits("an operand", got, want, (size_t)n);
    device_clear();
}

static void operands_are_found_wherever_they_are(void **state)
{
    (void)state;
    const int64_t sizes[] = {1, 3, 4, 37, 1024, 1031};
    for (size_t k = 0; k < COUNT_OF(sizes); k++)
        for (size_t form = 0; form < COUNT_OF(forms); form++)
            expect_form(sizes[k], form, stored_types[(k + form) % STORED_TYPES],
                        form == 2 && k > 3);
    expect_form(40, 0, LAUNCH_F32, 1);
    expect_form(40, 3, LAUNCH_BF16, 2);
}

/* --- what is stored --- */

static void round_to(float *ret, launch_type type, const float *from, size_t n)
{
    char stored[MOST * sizeof(float)];
    to_stored(stored, type, from, n);
    from_stored(ret, type, stored, n);
}

/* Three functions and a copy, the number of each stored as another type. What a function makes goes
 * on as it is stored, even where it is not; what is copied as it was. */
static void expect_stores(int64_t n)
{
    launch_chain_call c = {.elements = n, .n = 4};
    size_t count = (size_t)n;
    fill(5);
    void *to[] = {device_alloc(stored_bytes(LAUNCH_BF16, count)),
                  device_alloc(stored_bytes(LAUNCH_F16, count)), device_alloc(count * sizeof *x)};
    c.source = dense(DT_F32, on_device(x, count * sizeof *x), n);
    c.step[0] = (chain_step){.function = CHAIN_UNARY_relu, .y = to[0], .y_type = DT_BF16};
    c.step[1] = (chain_step){.function = CHAIN_nothing, .y = to[1], .y_type = DT_F16};
    c.step[2] = (chain_step){.function = CHAIN_BINARY_mul, .y_type = DT_F16};
    c.step[2].u = dense(DT_F32, on_device(v, count * sizeof *v), n);
    c.step[3] = (chain_step){.function = CHAIN_UNARY_neg, .y = to[2], .y_type = DT_F32};
    launch_chain(kernel_test_stream(), &c);
    for (size_t i = 0; i < count; i++)
        x[i] = x[i] < 0.0f ? 0.0f : x[i];
    round_to(x, LAUNCH_BF16, x, count);
    stored_from_device(got, LAUNCH_BF16, to[0], count);
    expect_bits("what a function makes", got, x, count);
    round_to(want, LAUNCH_F16, x, count);
    stored_from_device(got, LAUNCH_F16, to[1], count);
    expect_bits("a rounded copy", got, want, count);
    for (size_t i = 0; i < count; i++)
        want[i] = x[i] * v[i];
    round_to(want, LAUNCH_F16, want, count);
    for (size_t i = 0; i < count; i++)
        want[i] = -want[i];
    from_device(got, to[2], count * sizeof *got);
    expect_bits("the last", got, want, count);
    device_clear();
}

static void numbers_are_stored_on_the_way(void **state)
{
    (void)state;
    expect_stores(8);
    expect_stores(1030);
}

static void expect_dropout(int64_t n)
{
    launch_chain_call c = {.elements = n, .n = 2};
    size_t count = (size_t)n;
    rng r = rng_make(5, RNG_DROPOUT, rng_mix(drop.stream, (uint64_t)batch));
    fill(6);
    float *to = device_alloc(count * sizeof *to);
    uint8_t *made = device_alloc(count);
    c.source = dense(DT_F32, on_device(x, count * sizeof *x), n);
    c.step[0] = (chain_step){.function = CHAIN_drop, .drop = drop, .mask = made};
    c.step[0].drop.batch = on_device(&batch, sizeof batch);
    c.step[0].drop.key = rng_mix(5, RNG_DROPOUT);
    c.step[1] = (chain_step){.function = CHAIN_drop_bwd, .drop = drop, .y = to, .y_type = DT_F32};
    c.step[1].u = dense(DT_U8, on_device(bytes, count), n);
    launch_chain(kernel_test_stream(), &c);
    from_device(mask, made, count);
    from_device(got, to, count * sizeof *got);
    for (size_t i = 0; i < count; i++) {
        bool is_kept = rng_u32(&r, i) >= drop.threshold;
        assert_int_equal(mask[i], is_kept);
        want[i] = is_kept ? x[i] * drop.scale : 0.0f;
        want[i] = bytes[i] ? want[i] * drop.scale : 0.0f;
    }
    expect_bits("dropout", got, want, count);
    c.step[0].mask = NULL;
    launch_chain(kernel_test_stream(), &c);
    from_device(got, to, count * sizeof *got);
    expect_bits("dropout without a mask", got, want, count);
    device_clear();
}

static void masks_are_the_hosts(void **state)
{
    (void)state;
    expect_dropout(4);
    expect_dropout(1027);
}

static void a_choice_has_what_is_held_on_either_side(void **state)
{
    (void)state;
    enum { N = 42 };
    fill(7);
    void *condition = on_device(bytes, N);
    float *other = on_device(u, N * sizeof *u);
    for (int slot = 1; slot < 3; slot++) {
        launch_chain_call c = {.elements = N, .n = 1};
        float *to = device_alloc(N * sizeof *to);
        c.source = dense(DT_F32, on_device(x, N * sizeof *x), N);
        c.step[0] = (chain_step){.function = CHAIN_where, .slot = slot, .y = to, .y_type = DT_F32};
        c.step[0].u = dense(DT_BOOL, condition, N);
        c.step[0].v = dense(DT_F32, other, N);
        launch_chain(kernel_test_stream(), &c);
        from_device(got, to, sizeof(float) * N);
        for (size_t i = 0; i < N; i++)
            want[i] = (bytes[i] != 0) == (slot == 1) ? x[i] : u[i];
        expect_bits("a choice", got, want, N);
    }
    launch_chain(kernel_test_stream(), &(launch_chain_call){.elements = 0});
}

/* As many steps as there can be, each with two operands. */
static void a_long_chain_keeps_its_order(void **state)
{
    (void)state;
    enum { N = 1033 };
    launch_chain_call c = {.elements = N, .n = CHAIN_STEPS};
    fill(8);
    float *a = on_device(u, N * sizeof *u), *b = on_device(v, N * sizeof *v);
    float *to = device_alloc(N * sizeof *to);
    c.source = dense(DT_F32, on_device(x, N * sizeof *x), N);
    for (int k = 0; k < CHAIN_STEPS; k++) {
        c.step[k] = (chain_step){.function = k % 2 ? CHAIN_BINARY_sub : CHAIN_CHOICE_prelu_bwd,
                                 .y_type = DT_F32};
        c.step[k].u = dense(DT_F32, k % 4 < 2 ? a : b, N);
        c.step[k].v = k % 2 ? c.step[k].v : dense(DT_F32, k % 4 < 2 ? b : a, N);
    }
    c.step[CHAIN_STEPS - 1].y = to;
    launch_chain(kernel_test_stream(), &c);
    from_device(got, to, N * sizeof *got);
    for (size_t i = 0; i < N; i++) {
        want[i] = x[i];
        for (int k = 0; k < CHAIN_STEPS; k++) {
            float first = k % 4 < 2 ? u[i] : v[i], second = k % 4 < 2 ? v[i] : u[i];
            want[i] = k % 2 ? want[i] - first : first > 0.0f ? want[i] : want[i] * second;
        }
    }
    expect_bits("a long chain", got, want, N);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(every_function_is_that_of_its_own_kernel),
        KERNEL_TEST(operands_are_found_wherever_they_are),
        KERNEL_TEST(numbers_are_stored_on_the_way),
        KERNEL_TEST(masks_are_the_hosts),
        KERNEL_TEST(a_choice_has_what_is_held_on_either_side),
        KERNEL_TEST(a_long_chain_keeps_its_order),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
