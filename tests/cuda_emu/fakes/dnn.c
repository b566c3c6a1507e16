/*
 * cuDNN's backend API, played. Rules are those of its documentation (docs.nvidia.com/deeplearning/
 * cudnn, "Backend API"): an attribute has one type and so many values, what is required is set
 * before a descriptor is finalized, nothing afterwards.
 */
#include "cuda_emu/fakes/dnn.h"

#include "common/base/alloc.h"
#include "cuda_emu/block.h"
#include "cuda_emu/fakes/fakes.h"
#include "cuda_emu/machine.h"
#include "cuda_emu/memory.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SET_MOST = 8, OPERATIONS = 32, OPERANDS = 32, AXES = 8, ALIGN = 16, NOT_INITIALIZED = 1001 };

struct cudnnContext {
    int device;
    cuda_stream stream;
};

typedef struct set {
    unsigned attribute;
    int64_t n;
    void *values;
} set;

/* Behind a dnn_desc. An engine, a configuration and a plan are number `engine` of `graph`. */
typedef struct desc {
    unsigned kind;
    bool is_final;
    int n_set, engine;
    set sets[SET_MOST];
    dnn_desc graph;
} desc;

static atomic_int n_handles, n_descs; /* that live */
static atomic_uint_fast64_t n_runs;
static bool refuses_all, is_broken;
static _Thread_local char last_error[128];

void fake_dnn_refuse(bool refuses)
{
    refuses_all = refuses;
}

void fake_dnn_fail(bool fails)
{
    is_broken = fails;
}

uint64_t fake_dnn_runs(void)
{
    return n_runs;
}

static unsigned refuse(unsigned result, const char *why)
{
    snprintf(last_error, sizeof last_error, "%s", why);
    return result;
}

/* --- what may be set --- */

enum { ANY = -1, NEEDED = 1 };

static const struct rule {
    unsigned kind, attribute, type;
    int64_t most;
    int needed;
    int of; /* descriptors: of this kind */
} rules[] = {
    {DNN_TENSOR, DNN_TENSOR_TYPE, DNN_IS_TYPE, 1, NEEDED, ANY},
    {DNN_TENSOR, DNN_TENSOR_SHAPE, DNN_IS_INT64, AXES, NEEDED, ANY},
    {DNN_TENSOR, DNN_TENSOR_STRIDES, DNN_IS_INT64, AXES, NEEDED, ANY},
    {DNN_TENSOR, DNN_TENSOR_ID, DNN_IS_INT64, 1, NEEDED, ANY},
    {DNN_TENSOR, DNN_TENSOR_ALIGNMENT, DNN_IS_INT64, 1, NEEDED, ANY},
    {DNN_TENSOR, DNN_TENSOR_IS_VIRTUAL, DNN_IS_BOOL, 1, 0, ANY},
    {DNN_TENSOR, DNN_TENSOR_IS_BY_VALUE, DNN_IS_BOOL, 1, 0, ANY},
    {DNN_POINTWISE, DNN_POINTWISE_MODE, DNN_IS_POINTWISE_MODE, 1, NEEDED, ANY},
    {DNN_POINTWISE, DNN_POINTWISE_PRECISION, DNN_IS_TYPE, 1, NEEDED, ANY},
    {DNN_POINTWISE, DNN_POINTWISE_AXIS, DNN_IS_INT64, 1, 0, ANY},
    {DNN_MATMUL, DNN_MATMUL_TYPE, DNN_IS_TYPE, 1, NEEDED, ANY},
    {DNN_REDUCTION, DNN_REDUCTION_OPERATOR, DNN_IS_REDUCTION, 1, NEEDED, ANY},
    {DNN_REDUCTION, DNN_REDUCTION_TYPE, DNN_IS_TYPE, 1, NEEDED, ANY},
    {DNN_REDUCTION, DNN_REDUCTION_IS_DETERMINISTIC, DNN_IS_BOOL, 1, 0, ANY},
    {DNN_OP_POINTWISE, DNN_OP_POINTWISE_HOW, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_POINTWISE},
    {DNN_OP_POINTWISE, DNN_OP_POINTWISE_X, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_POINTWISE, DNN_OP_POINTWISE_Y, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_POINTWISE, DNN_OP_POINTWISE_B, DNN_IS_DESCRIPTOR, 1, 0, DNN_TENSOR},
    {DNN_OP_POINTWISE, DNN_OP_POINTWISE_T, DNN_IS_DESCRIPTOR, 1, 0, DNN_TENSOR},
    {DNN_OP_MATMUL, DNN_OP_MATMUL_HOW, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_MATMUL},
    {DNN_OP_MATMUL, DNN_OP_MATMUL_A, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_MATMUL, DNN_OP_MATMUL_B, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_MATMUL, DNN_OP_MATMUL_C, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_REDUCTION, DNN_OP_REDUCTION_HOW, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_REDUCTION},
    {DNN_OP_REDUCTION, DNN_OP_REDUCTION_X, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_REDUCTION, DNN_OP_REDUCTION_Y, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_RESHAPE, DNN_OP_RESHAPE_X, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_RESHAPE, DNN_OP_RESHAPE_Y, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_SDPA, DNN_OP_SDPA_Q, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_SDPA, DNN_OP_SDPA_K, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_SDPA, DNN_OP_SDPA_V, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_SDPA, DNN_OP_SDPA_Y, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_SDPA, DNN_OP_SDPA_STATISTICS, DNN_IS_DESCRIPTOR, 1, 0, DNN_TENSOR},
    {DNN_OP_SDPA, DNN_OP_SDPA_SCALE, DNN_IS_DESCRIPTOR, 1, 0, DNN_TENSOR},
    {DNN_GRAPH, DNN_GRAPH_OPERATIONS, DNN_IS_DESCRIPTOR, OPERATIONS, NEEDED, ANY},
    {DNN_DEVICE, DNN_DEVICE_HANDLE, DNN_IS_HANDLE, 1, NEEDED, ANY},
    {DNN_HEURISTICS, DNN_HEURISTICS_GRAPH, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_GRAPH},
    {DNN_HEURISTICS, DNN_HEURISTICS_MODE, DNN_IS_HEURISTICS_MODE, 1, NEEDED, ANY},
    {DNN_HEURISTICS, DNN_HEURISTICS_DEVICE, DNN_IS_DESCRIPTOR, 1, 0, DNN_DEVICE},
    {DNN_PLAN, DNN_PLAN_CONFIG, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_CONFIG},
    {DNN_PLAN, DNN_PLAN_DEVICE, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_DEVICE},
    {DNN_PACK, DNN_PACK_IDS, DNN_IS_INT64, OPERANDS, NEEDED, ANY},
    {DNN_PACK, DNN_PACK_POINTERS, DNN_IS_POINTER, OPERANDS, NEEDED, ANY},
    {DNN_PACK, DNN_PACK_WORKSPACE, DNN_IS_POINTER, 1, NEEDED, ANY},
};

static const struct rule *rule_of(unsigned kind, unsigned attribute)
{
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        if (rules[i].kind == kind && rules[i].attribute == attribute)
            return &rules[i];
    return NULL;
}

static size_t bytes_of(unsigned type)
{
    return type == DNN_IS_BOOL                                       ? 1
           : type == DNN_IS_INT64                                    ? 8
           : type == DNN_IS_POINTER                                  ? sizeof(void *)
           : type == DNN_IS_DESCRIPTOR || type == DNN_IS_HANDLE ? sizeof(dnn_desc)
                                                                     : sizeof(unsigned);
}

/* --- what was set --- */

static const set *find(const desc *d, unsigned attribute)
{
    for (int i = 0; i < d->n_set; i++)
        if (d->sets[i].attribute == attribute)
            return &d->sets[i];
    return NULL;
}

unsigned told_kind(dnn_desc d)
{
    return ((const desc *)d)->kind;
}

const void *told_values(dnn_desc d, unsigned attribute, int64_t *ret_n)
{
    const set *s = find(d, attribute);
    *ret_n = s ? s->n : 0;
    return s ? s->values : NULL;
}

static void take(dnn_desc d, unsigned attribute, void *ret, size_t bytes)
{
    const set *s = find(d, attribute);
    memset(ret, 0, bytes);
    if (s)
        memcpy(ret, s->values, bytes);
}

unsigned told_word(dnn_desc d, unsigned attribute)
{
    unsigned x;
    take(d, attribute, &x, sizeof x);
    return x;
}

bool told_flag(dnn_desc d, unsigned attribute)
{
    unsigned char x;
    take(d, attribute, &x, sizeof x);
    return x;
}

int64_t told_number(dnn_desc d, unsigned attribute)
{
    int64_t x;
    take(d, attribute, &x, sizeof x);
    return x;
}

dnn_desc told_part(dnn_desc d, unsigned attribute)
{
    dnn_desc x;
    take(d, attribute, &x, sizeof x);
    return x;
}

static size_t element_bytes(unsigned type)
{
    return type == DNN_F32 || type == DNN_INT32 ? 4 : type == DNN_BOOL ? 1 : 2;
}

size_t tensor_extent(dnn_desc tensor)
{
    int64_t rank = 0, n = 0, last = 0;
    const int64_t *size = told_values(tensor, DNN_TENSOR_SHAPE, &rank);
    const int64_t *stride = told_values(tensor, DNN_TENSOR_STRIDES, &n);
    for (int64_t i = 0; i < rank; i++)
        last += (size[i] - 1) * stride[i];
    return (size_t)(last + 1) * element_bytes(told_word(tensor, DNN_TENSOR_TYPE));
}

/* --- descriptors --- */

static desc *made(unsigned kind)
{
    desc *d = calloc(1, sizeof *d);
    if (!d)
        abort();
    d->kind = kind;
    n_descs++;
    return d;
}

static unsigned create(unsigned kind, dnn_desc *ret)
{
    bool is_known = kind == DNN_ENGINE || kind == DNN_CONFIG;
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        is_known |= rules[i].kind == kind;
    if (!is_known) {
        emu_fault("cuDNN: nobody plays a descriptor of kind %u", kind);
        return DNN_BAD_PARAM;
    }
    *ret = made(kind);
    return API_SUCCESS;
}

static unsigned destroy(dnn_desc x)
{
    desc *d = x;
    if (!d) {
        emu_fault("cuDNN: NULL is destroyed");
        return DNN_BAD_PARAM;
    }
    for (int i = 0; i < d->n_set; i++)
        free(d->sets[i].values);
    free(d);
    n_descs--;
    return API_SUCCESS;
}

static const char *wrong_parts(const struct rule *r, int64_t n, const dnn_desc *parts)
{
    for (int64_t i = 0; r->type == DNN_IS_DESCRIPTOR && i < n; i++) {
        const desc *d = parts[i];
        if (!d || !d->is_final)
            return "is a descriptor that is not finalized";
        if (r->of != ANY && d->kind != (unsigned)r->of)
            return "is a descriptor of another kind";
    }
    return NULL;
}

static unsigned set_attribute(dnn_desc x, unsigned attribute, unsigned type, int64_t n,
                              const void *values)
{
    desc *d = x;
    const struct rule *r = rule_of(d->kind, attribute);
    const char *wrong = !r                          ? "is not one of it"
                        : r->type != type           ? "has another type"
                        : n < 1 || n > r->most      ? "has another number of values"
                        : !values                   ? "has no values"
                        : d->is_final               ? "comes too late, it is finalized"
                        : find(d, attribute)        ? "is set twice"
                                                    : wrong_parts(r, n, values);
    if (wrong) {
        emu_fault("cuDNN: attribute %u of a descriptor of kind %u %s", attribute, d->kind, wrong);
        return refuse(DNN_BAD_PARAM, wrong);
    }
    set *s = &d->sets[d->n_set++];
    *s = (set){attribute, n, malloc((size_t)n * bytes_of(type))};
    if (!s->values)
        abort();
    memcpy(s->values, values, (size_t)n * bytes_of(type));
    return API_SUCCESS;
}

/* --- engines: of every graph those in this order --- */

enum { OTHER_BITS, ROUNDED_SUMS, REFUSES, DOES, ENGINES };

static bool problem_of(dnn_desc graph, dnn_problem *ret)
{
    int64_t n = 0;
    const dnn_desc *operations = told_values(graph, DNN_GRAPH_OPERATIONS, &n);
    *ret = (dnn_problem){.name = NULL};
    return !refuses_all && dnn_attention_of(operations, n, ret);
}

static const char *wrong_tensor(dnn_desc d)
{
    int64_t n_sizes = 0, n_strides = 0;
    (void)told_values(d, DNN_TENSOR_SHAPE, &n_sizes);
    (void)told_values(d, DNN_TENSOR_STRIDES, &n_strides);
    if (n_sizes != n_strides)
        return "a tensor with more sizes than strides, or the other way";
    if (told_flag(d, DNN_TENSOR_IS_VIRTUAL) && told_flag(d, DNN_TENSOR_IS_BY_VALUE))
        return "a tensor that is both virtual and by value";
    return told_number(d, DNN_TENSOR_ALIGNMENT) == ALIGN ? NULL : "another alignment than 16";
}

static const char *wrong_pack(dnn_desc d)
{
    int64_t n_ids = 0, n_pointers = 0;
    (void)told_values(d, DNN_PACK_IDS, &n_ids);
    (void)told_values(d, DNN_PACK_POINTERS, &n_pointers);
    return n_ids == n_pointers ? NULL : "a pack of more ids than pointers, or the other way";
}

static unsigned finalize_plan(desc *d)
{
    const desc *config = told_part(d, DNN_PLAN_CONFIG);
    d->graph = config->graph;
    d->engine = config->engine;
    return d->engine == REFUSES ? refuse(DNN_NOT_SUPPORTED, "it is played as one that does not")
                                : API_SUCCESS;
}

static unsigned finalize(dnn_desc x)
{
    desc *d = x;
    const char *wrong = d->is_final             ? "is finalized twice"
                        : d->kind == DNN_TENSOR ? wrong_tensor(d)
                        : d->kind == DNN_PACK   ? wrong_pack(d)
                                                : NULL;
    for (size_t i = 0; i < COUNT_OF(rules) && !wrong; i++)
        if (rules[i].kind == d->kind && rules[i].needed && !find(d, rules[i].attribute))
            wrong = "lacks an attribute";
    if (wrong) {
        emu_fault("cuDNN: a descriptor of kind %u: %s", d->kind, wrong);
        return refuse(DNN_BAD_PARAM, wrong);
    }
    unsigned result = d->kind == DNN_PLAN ? finalize_plan(d) : API_SUCCESS;
    d->is_final = result == API_SUCCESS;
    return result;
}

/* Who asks has made `wanted` descriptors, which become the answer. */
static unsigned get_configs(const desc *heuristics, int64_t wanted, int64_t *ret_n, dnn_desc *ret)
{
    dnn_problem p;
    dnn_desc graph = told_part((dnn_desc)(uintptr_t)heuristics, DNN_HEURISTICS_GRAPH);
    bool is_fallback =
        told_word((dnn_desc)(uintptr_t)heuristics, DNN_HEURISTICS_MODE) == DNN_MODE_FALLBACK;
    *ret_n = is_fallback || !problem_of(graph, &p) ? 0 : ENGINES;
    for (int64_t i = 0; i < *ret_n && i < wanted; i++) {
        desc *config = ret[i];
        *config = (desc){.kind = DNN_CONFIG, .is_final = true, .engine = (int)i, .graph = graph};
    }
    return API_SUCCESS;
}

static unsigned get_notes(const desc *engine, int64_t wanted, int64_t *ret_n, unsigned *ret)
{
    *ret_n = engine->engine <= ROUNDED_SUMS;
    if (*ret_n && wanted > 0)
        ret[0] =
            engine->engine == OTHER_BITS ? DNN_NOTE_NONDETERMINISTIC : DNN_NOTE_ROUNDS_SUMS;
    return API_SUCCESS;
}

static unsigned get_workspace(const desc *plan, int64_t *ret_n, int64_t *ret)
{
    dnn_problem p;
    *ret_n = 1;
    if (!problem_of(plan->graph, &p))
        return refuse(DNN_BAD_PARAM, "a plan of a graph nobody plays");
    *ret = (int64_t)p.workspace;
    return API_SUCCESS;
}

static unsigned get_attribute(dnn_desc x, unsigned attribute, unsigned type, int64_t wanted,
                              int64_t *ret_n, void *ret)
{
    const desc *d = x;
    if (d->is_final && attribute == DNN_HEURISTICS_RESULTS && type == DNN_IS_DESCRIPTOR)
        return get_configs(d, wanted, ret_n, ret);
    if (d->is_final && attribute == DNN_ENGINE_NUMERICAL_NOTE && type == DNN_IS_NUMERICAL_NOTE)
        return get_notes(d, wanted, ret_n, ret);
    if (d->is_final && attribute == DNN_PLAN_WORKSPACE && type == DNN_IS_INT64)
        return get_workspace(d, ret_n, ret);
    if (d->is_final && attribute == DNN_CONFIG_ENGINE && type == DNN_IS_DESCRIPTOR) {
        *ret_n = 1;
        **(desc **)ret = (desc){
            .kind = DNN_ENGINE, .is_final = true, .engine = d->engine, .graph = d->graph};
        return API_SUCCESS;
    }
    emu_fault("cuDNN: nobody plays the reading of attribute %u of a descriptor of kind %u",
              attribute, d->kind);
    return DNN_BAD_PARAM;
}

/* --- the call --- */

static bool check_memory(int64_t id, const void *x, size_t bytes)
{
    emu_lock();
    bool holds = emu_memory_holds(x, bytes);
    emu_unlock();
    if (!holds)
        emu_fault("cuDNN: tensor %d: no allocation holds %zu bytes from %p", (int)id, bytes, x);
    else if ((uintptr_t)x % ALIGN)
        emu_fault("cuDNN: tensor %d: %p is not aligned to 16 bytes", (int)id, x);
    return holds && (uintptr_t)x % ALIGN == 0;
}

/* False, and a fault, if the pack has it not, or it is no memory. */
static bool address_in(dnn_desc pack, dnn_desc tensor, void **ret)
{
    *ret = NULL;
    if (!tensor)
        return true;
    int64_t n = 0, id = told_number(tensor, DNN_TENSOR_ID);
    const int64_t *ids = told_values(pack, DNN_PACK_IDS, &n);
    void *const *pointers = told_values(pack, DNN_PACK_POINTERS, &n);
    for (int64_t i = 0; i < n; i++)
        if (ids[i] == id) {
            *ret = pointers[i];
            return told_flag(tensor, DNN_TENSOR_IS_BY_VALUE) ||
                   check_memory(id, pointers[i], tensor_extent(tensor));
        }
    emu_fault("cuDNN: no pointer for tensor %d", (int)id);
    return false;
}

static bool bind(dnn_problem *p, dnn_desc pack)
{
    void *addresses[DNN_TENSORS], *workspace = NULL;
    take(pack, DNN_PACK_WORKSPACE, &workspace, sizeof workspace);
    for (int i = 0; i < p->n_tensors; i++)
        if (!address_in(pack, p->tensors[i], &addresses[i]))
            return false;
    if (p->workspace && !check_memory(-1, workspace, p->workspace))
        return false;
    p->bind(p, addresses, workspace);
    return true;
}

static unsigned execute(dnn_handle h, dnn_desc x, dnn_desc pack)
{
    const desc *plan = x;
    dnn_problem p;
    if (!plan->is_final || plan->kind != DNN_PLAN || told_kind(pack) != DNN_PACK)
        emu_fault("cuDNN: what is executed is no plan, or is not finalized");
    else if (plan->engine != DOES)
        emu_fault("cuDNN: engine %d is not one that was to be taken", plan->engine);
    else if (h->device != emu_device())
        emu_fault("cuDNN: a handle of device %d on device %d", h->device, emu_device());
    else if (problem_of(plan->graph, &p) && bind(&p, pack)) {
        void *room = emu_launch(p.name, (const void *)(uintptr_t)p.compute, (uint3){1, 1, 1},
                                (uint3){1, 1, 1}, 0, h->stream, p.bytes, p.compute);
        if (room)
            memcpy(room, p.arguments, p.bytes);
        n_runs++;
        return API_SUCCESS;
    }
    return refuse(DNN_BAD_PARAM, "see the fault");
}

/* --- the library --- */

static size_t version(void)
{
    return 91900;
}

static const char *status_string(unsigned result)
{
    return result == API_SUCCESS         ? "CUDNN_STATUS_SUCCESS"
           : result == DNN_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED"
           : result == NOT_INITIALIZED   ? "CUDNN_STATUS_NOT_INITIALIZED"
                                         : "CUDNN_STATUS_BAD_PARAM";
}

static void last_error_string(char *ret, size_t bytes)
{
    snprintf(ret, bytes, "%s", last_error);
    *last_error = 0;
}

static unsigned create_handle(dnn_handle *ret)
{
    if (is_broken)
        return NOT_INITIALIZED;
    *ret = calloc(1, sizeof **ret);
    if (!*ret)
        abort();
    (*ret)->device = emu_device();
    n_handles++;
    return API_SUCCESS;
}

static unsigned destroy_handle(dnn_handle h)
{
    if (n_handles == 1 && n_descs != 0)
        emu_fault("cuDNN: the last handle goes, and %d descriptors were not destroyed",
                  (int)n_descs);
    n_handles--;
    free(h);
    return API_SUCCESS;
}

static unsigned set_stream(dnn_handle h, cuda_stream stream)
{
    h->stream = stream;
    return API_SUCCESS;
}

void fake_dnn_fill(api_table *t)
{
    t->cudnnGetVersion = version;
    t->cudnnGetErrorString = status_string;
    t->cudnnGetLastErrorString = last_error_string;
    t->cudnnCreate = create_handle;
    t->cudnnDestroy = destroy_handle;
    t->cudnnSetStream = set_stream;
    t->cudnnBackendCreateDescriptor = create;
    t->cudnnBackendDestroyDescriptor = destroy;
    t->cudnnBackendFinalize = finalize;
    t->cudnnBackendSetAttribute = set_attribute;
    t->cudnnBackendGetAttribute = get_attribute;
    t->cudnnBackendExecute = execute;
}
