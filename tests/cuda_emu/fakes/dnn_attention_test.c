/*
 * That the cuDNN that is played knows attention by its graph and nothing near it: of what the
 * backend tells it each value is changed alone, and then it has no engine, or is told of a fault.
 */
#include "cuda_emu/fakes/fakes.h"
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/library/dnn_attention.h"
#include "common/base/alloc.h"
#include "cuda_emu/machine.h"

#include <stdlib.h>
#include <string.h>

enum { VALUES_MOST = 8 };

typedef status plan_of(backend_program *p, const dnn_attention *a, dnn_graph **ret, error *err);

/* Two heads of queries share one of keys, packed; and so with a mask by batch and key, and dropout. */
#define PACKED                                                                                             \
    .of.batch = 2, .of.q_heads = 2, .of.kv_heads = 1, .of.q_length = 5, .of.k_length = 5, .of.head = 8,    \
    .of.v_head = 8, .of.scale = 0.5f, .of.causal = true, .of.operands = LAUNCH_BF16,                       \
    .of.q_layout = {160, 8, 32}, .of.k_layout = {160, 8, 32}, .of.v_layout = {160, 8, 32},                 \
    .of.y_layout = {80, 8, 16}

static const dnn_attention shared = {PACKED};
static const dnn_attention whole = {PACKED, .of.mask_stride = {5, 0, 0, 1}, .is_biased = true, .ratio = 0.25f};

static api_table played;
static int n_told, spoilt; /* values so far, and the number of the one that is changed */
static bool was_spoilt;
static dnn_desc some_tensor;

/* A tensor's id may be any, as the share that dropout keeps; what does not describe the graph is not
 * looked at. */
static bool describes(unsigned attribute)
{
    switch (attribute) {
    case DNN_TENSOR_ID:
    case DNN_RNG_PROBABILITY:
    case DNN_GRAPH_OPERATIONS:
    case DNN_DEVICE_HANDLE:
    case DNN_HEURISTICS_GRAPH:
    case DNN_HEURISTICS_MODE:
    case DNN_HEURISTICS_DEVICE:
    case DNN_PLAN_CONFIG:
    case DNN_PLAN_DEVICE:
        return false;
    default:
        return true;
    }
}

/* Changes value i; false if it would stay the same. */
static bool spoil(void *values, unsigned type, int64_t i)
{
    dnn_desc *parts = values;
    if (type == DNN_IS_BOOL)
        ((unsigned char *)values)[i] ^= 1;
    else if (type == DNN_IS_INT64)
        ++((int64_t *)values)[i];
    else if (type != DNN_IS_DESCRIPTOR)
        ++((unsigned *)values)[i];
    else if (!some_tensor || parts[i] == some_tensor)
        return false;
    else
        parts[i] = some_tensor;
    return true;
}

static unsigned set_spoilt(dnn_desc d, unsigned attribute, unsigned type, int64_t n,
                           const void *values)
{
    int64_t copy[VALUES_MOST];
    size_t bytes = type == DNN_IS_BOOL                                 ? 1
                   : type == DNN_IS_INT64 || type == DNN_IS_DESCRIPTOR ? 8
                                                                       : 4;
    if (!describes(attribute) || n > VALUES_MOST)
        return played.cudnnBackendSetAttribute(d, attribute, type, n, values);
    memcpy(copy, values, (size_t)n * bytes);
    if (n_told <= spoilt && spoilt < n_told + n)
        was_spoilt = spoil(copy, type, spoilt - n_told);
    n_told += (int)n;
    if (attribute == DNN_TENSOR_IS_BY_VALUE && !some_tensor)
        some_tensor = d;
    return played.cudnnBackendSetAttribute(d, attribute, type, n, copy);
}

/* Whether it is planned without a fault with that value changed, -1 for none. */
static bool is_planned(plan_of *plan, const dnn_attention *a, int value)
{
    backend b = {.arch = 90};
    backend_program p = {.backend = &b, .arena = arena_create()};
    dnn_graph *g = NULL;
    error err = ERROR_INIT;
    n_told = 0;
    spoilt = value;
    was_spoilt = false;
    some_tensor = NULL;
    status st = plan(&p, a, &g, &err);
    dnn_graphs_destroy(&p);
    dnn_close(&b);
    arena_destroy(&p.arena);
    bool is_faulty = emu_faults() > 0;
    emu_faults_forget();
    return st == OK && !is_faulty;
}

static void check(plan_of *plan, const dnn_attention *a, int least)
{
    assert_true(is_planned(plan, a, -1));
    int n = n_told;
    assert_true(n >= least);
    for (int i = 0; i < n; i++)
        if (is_planned(plan, a, i) && was_spoilt)
            fail_msg("value %d of %d may be another", i, n);
}

static status plan_backward(backend_program *p, const dnn_attention *a, dnn_graph **ret, error *err)
{
    int64_t batch;
    return dnn_attention_bwd_plan(p, a, &batch, ret, err);
}

static void every_value_counts(void **state)
{
    (void)state;
    check(dnn_attention_plan, &shared, 300);
    check(dnn_attention_plan, &whole, 350);
    check(plan_backward, &shared, 500);
    check(plan_backward, &whole, 550);
}

static int begin(void **state)
{
    (void)state;
    assert_non_null(api_find(API_DNN)->path);
    played = api;
    api.cudnnBackendSetAttribute = set_spoilt;
    return 0;
}

static int end(void **state)
{
    (void)state;
    api = played;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_value_counts, begin, end)};
    return kernel_tests_run(tests, COUNT_OF(tests));
}
