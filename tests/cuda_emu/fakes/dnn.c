/*
 * cuDNN's backend API, played: handles, engines, plans, and graphs that are put on streams. What
 * may be set of descriptors stands in dnn_desc.c.
 */
#include "cuda_emu/fakes/dnn_desc.h"

#include "cuda_emu/block.h"
#include "cuda_emu/fakes/fakes.h"
#include "cuda_emu/machine.h"
#include "cuda_emu/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, NOT_INITIALIZED = 1001 };

struct cudnnContext {
    int device;
    cuda_stream stream;
};

static atomic_int n_handles; /* that live */
static atomic_uint_fast64_t n_runs, n_plans;
static bool refuses_all, is_broken;

void fake_dnn_refuse(bool refuses)
{
    refuses_all = refuses;
}

void fake_dnn_fail(bool fails)
{
    is_broken = fails;
}

uint64_t fake_dnn_plans(void)
{
    return n_plans;
}

uint64_t fake_dnn_runs(void)
{
    return n_runs;
}

/* --- engines: of every graph those in this order; matmuls of float32 that are exact only by the
 * fallback --- */

enum { OTHER_BITS, ROUNDED_SUMS, REFUSES, TOO_LARGE, TENSOR_CORES, DOES, ENGINES };

static const int64_t MUCH = INT64_C(1) << 40;

static bool problem_of(dnn_desc graph, dnn_problem *ret)
{
    int64_t n = 0;
    const dnn_desc *operations = told_values(graph, DNN_GRAPH_OPERATIONS, &n);
    *ret = (dnn_problem){.name = NULL};
    return !refuses_all &&
           (dnn_attention_of(operations, n, ret) || dnn_conv_of(operations, n, ret));
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
    n_plans++;
    d->graph = config->graph;
    d->engine = config->engine;
    return d->engine == REFUSES
               ? desc_refuse(DNN_NOT_SUPPORTED, "it is played as one that does not")
               : API_SUCCESS;
}

static unsigned finalize(dnn_desc x)
{
    desc *d = x;
    const char *wrong = d->is_final             ? "is finalized twice"
                        : d->kind == DNN_TENSOR ? wrong_tensor(d)
                        : d->kind == DNN_PACK   ? wrong_pack(d)
                                                : NULL;
    if (!wrong && desc_lacks(d))
        wrong = "lacks an attribute";
    if (wrong) {
        emu_fault("cuDNN: a descriptor of kind %u: %s", d->kind, wrong);
        return desc_refuse(DNN_BAD_PARAM, wrong);
    }
    unsigned result = d->kind == DNN_PLAN ? finalize_plan(d) : API_SUCCESS;
    d->is_final = result == API_SUCCESS;
    return result;
}

/* Who asks has made `wanted` descriptors, which become the answer. */
static unsigned get_configs(dnn_desc heuristics, int64_t wanted, int64_t *ret_n, dnn_desc *ret)
{
    dnn_problem p;
    dnn_desc graph = told_part(heuristics, DNN_HEURISTICS_GRAPH);
    bool is_fallback = told_word(heuristics, DNN_HEURISTICS_MODE) == DNN_MODE_FALLBACK;
    *ret_n = 0;
    if (!problem_of(graph, &p))
        return API_SUCCESS;
    int first = is_fallback ? DOES : OTHER_BITS;
    int behind = is_fallback || !p.is_float32 ? ENGINES : DOES;
    for (int i = first; i < behind; i++, ++*ret_n)
        if (*ret_n < wanted)
            *(desc *)ret[*ret_n] =
                (desc){.kind = DNN_CONFIG, .is_final = true, .engine = i, .graph = graph};
    return API_SUCCESS;
}

static unsigned get_notes(const desc *engine, int64_t wanted, int64_t *ret_n, unsigned *ret)
{
    static const struct {
        bool has;
        unsigned note;
    } notes[ENGINES] = {
        [OTHER_BITS] = {true, DNN_NOTE_NONDETERMINISTIC},
        [ROUNDED_SUMS] = {true, DNN_NOTE_ROUNDS_SUMS},
        [TENSOR_CORES] = {true, DNN_NOTE_TENSOR_CORE},
    };
    *ret_n = notes[engine->engine].has;
    if (*ret_n && wanted > 0)
        ret[0] = notes[engine->engine].note;
    return API_SUCCESS;
}

static unsigned get_workspace(const desc *plan, int64_t *ret_n, int64_t *ret)
{
    dnn_problem p;
    *ret_n = 1;
    if (!problem_of(plan->graph, &p))
        return desc_refuse(DNN_BAD_PARAM, "a plan of a graph nobody plays");
    *ret = plan->engine == TOO_LARGE ? MUCH : (int64_t)p.workspace;
    return API_SUCCESS;
}

static unsigned get_attribute(dnn_desc x, unsigned attribute, unsigned type, int64_t wanted,
                              int64_t *ret_n, void *ret)
{
    const desc *d = x;
    if (d->is_final && attribute == DNN_HEURISTICS_RESULTS && type == DNN_IS_DESCRIPTOR)
        return get_configs(x, wanted, ret_n, ret);
    if (d->is_final && attribute == DNN_ENGINE_NUMERICAL_NOTE && type == DNN_IS_NUMERICAL_NOTE)
        return get_notes(d, wanted, ret_n, ret);
    if (d->is_final && attribute == DNN_PLAN_WORKSPACE && type == DNN_IS_INT64)
        return get_workspace(d, ret_n, ret);
    if (d->is_final && attribute == DNN_CONFIG_ENGINE && type == DNN_IS_DESCRIPTOR) {
        *ret_n = 1;
        **(desc **)ret =
            (desc){.kind = DNN_ENGINE, .is_final = true, .engine = d->engine, .graph = d->graph};
        return API_SUCCESS;
    }
    if (d->is_final && attribute == DNN_DEVICE_JSON && type == DNN_IS_CHAR)
        return desc_refuse(DNN_NOT_SUPPORTED, "it is played as one that tells nothing of the GPU");
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

static bool bind(dnn_problem *p, dnn_desc pack, int engine)
{
    void *addresses[DNN_TENSORS], *workspace = told_part(pack, DNN_PACK_WORKSPACE);
    for (int i = 0; i < p->n_tensors; i++)
        if (!address_in(pack, p->tensors[i], &addresses[i]))
            return false;
    if (p->workspace && !check_memory(-1, workspace, p->workspace))
        return false;
    p->tensor_cores = engine == TENSOR_CORES;
    p->bind(p, addresses, workspace);
    return true;
}

static unsigned execute(dnn_handle h, dnn_desc x, dnn_desc pack)
{
    const desc *plan = x;
    dnn_problem p;
    if (!plan->is_final || plan->kind != DNN_PLAN || told_kind(pack) != DNN_PACK)
        emu_fault("cuDNN: what is executed is no plan, or is not finalized");
    else if (plan->engine < TENSOR_CORES)
        emu_fault("cuDNN: engine %d is not one that was to be taken", plan->engine);
    else if (h->device != emu_device())
        emu_fault("cuDNN: a handle of device %d on device %d", h->device, emu_device());
    else if (problem_of(plan->graph, &p) && bind(&p, pack, plan->engine)) {
        void *room = emu_launch(p.name, (const void *)(uintptr_t)p.compute, 1, (uint3){1, 1, 1},
                                (uint3){1, 1, 1}, 0, h->stream, p.bytes, p.compute);
        if (room)
            memcpy(room, p.arguments, p.bytes);
        n_runs++;
        return API_SUCCESS;
    }
    return desc_refuse(DNN_BAD_PARAM, "see the fault");
}

/* --- the library --- */

enum { PLAYED_FROM = 90800 }; /* descriptors of devices begin there */

static size_t version(void)
{
    const char *other = getenv("EMU_DNN");
    return other ? (size_t)atoi(other) : 91900;
}

static const char *status_string(unsigned result)
{
    return result == API_SUCCESS         ? "CUDNN_STATUS_SUCCESS"
           : result == DNN_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED"
           : result == NOT_INITIALIZED   ? "CUDNN_STATUS_NOT_INITIALIZED"
                                         : "CUDNN_STATUS_BAD_PARAM";
}

static unsigned create_handle(dnn_handle *ret)
{
    if (version() < PLAYED_FROM)
        emu_fault("cuDNN: nobody plays version %zu", version());
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
    if (n_handles == 1 && desc_count() != 0)
        emu_fault("cuDNN: the last handle goes, and %d descriptors were not destroyed",
                  desc_count());
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
    t->cudnnGetLastErrorString = desc_last_error;
    t->cudnnCreate = create_handle;
    t->cudnnDestroy = destroy_handle;
    t->cudnnSetStream = set_stream;
    t->cudnnBackendCreateDescriptor = desc_create;
    t->cudnnBackendDestroyDescriptor = desc_destroy;
    t->cudnnBackendFinalize = finalize;
    t->cudnnBackendSetAttribute = desc_set;
    t->cudnnBackendGetAttribute = get_attribute;
    t->cudnnBackendExecute = execute;
}
