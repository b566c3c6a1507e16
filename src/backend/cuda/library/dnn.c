#include "backend/cuda/library/dnn.h"

#include "backend/cuda/library/api.h"
#include "backend/cuda/library/dnn_cache.h"
#include "backend/cuda/library/dnn_desc.h"
#include "common/base/alloc.h"

#include <string.h>

enum {
    ALIGN = 16,   /* of operands, in bytes */
    CONFIGS = 64, /* of one mode that are looked at */
    NOTES = 16,
    OPERATIONS = 32,
    FIRST_NUMBER = 100, /* ids of tensors: operands, numbers, those between */
    FIRST_BETWEEN = 200,
};

static const int64_t SCRATCH_MOST = 256 << 20;

typedef struct dnn_owned {
    struct dnn_owned *next;
    dnn_desc desc;
    int number;
} dnn_owned;

struct dnn_graph {
    dnn_graph *next;
    backend_program *program;
    error failed; /* the first thing that was refused, or why there is no plan */
    dnn_owned *owned;
    buf told;      /* how it was described: graphs of which the same was told have one plan */
    bool is_twin;  /* the plan is another's */
    dnn_desc operations[OPERATIONS];
    int n_operations, n_operands, n_numbers, n_between;
    float numbers[DNN_NUMBERS];
    dnn_desc graph, config, plan, pack;
    int64_t scratch_bytes, scratch_most;
    const void *packed[DNN_OPERANDS + 1]; /* the pack's addresses, scratch the last */
};

const char *dnn_limits(void)
{
    size_t version = api.cudnnGetVersion();
    return version < DNN_FROM ? "older than 9.8: convolutions and attention are our kernels'"
           : !api_find(API_RTC)->path     ? "without NVRTC: convolutions and attention are our kernels'"
           : version < DNN_ATTENTION_FROM ? "older than 9.16: attention is our kernels'"
                                          : "";
}

status dnn_find(size_t from, error *err)
{
    TRY(api_open(API_DNN, err));
    if (api.cudnnGetVersion() < from)
        return FAIL(err, E_UNSUPPORTED, "cuDNN is %s", dnn_limits());
    /* it finds the one that is open: where it looks for it by itself is less than we do */
    return api_open(API_RTC, err);
}

static status open_library(backend *b, error *err)
{
    TRY(dnn_find(DNN_FROM, err));
    if (!b->dnn) {
        TRY_DNN(api.cudnnCreate(&b->dnn), "opening it (TEQUIO_CUDA_LIBRARIES=none does without)");
        TRY_DNN(api.cudnnSetStream(b->dnn, b->queues[QUEUE_COMPUTE]), "its stream");
    }
    if (b->dnn_device)
        return OK;
    return dnn_describe(DNN_DEVICE, DNN_ATTRIBUTES({DNN_DEVICE_HANDLE, DNN_IS_HANDLE, 1, &b->dnn}),
                    &b->dnn_device, err);
}

void dnn_close(backend *b)
{
    dnn_destroy(&b->dnn_device);
    if (b->dnn)
        (void)api.cudnnDestroy(b->dnn);
    b->dnn = NULL;
}

/* --- a graph --- */

static void forget_description(dnn_graph *g)
{
    for (; g->owned; g->owned = g->owned->next)
        dnn_destroy(&g->owned->desc);
}

static void release(dnn_graph *g)
{
    if (g->is_twin)
        g->plan = NULL;
    dnn_desc *last[] = {&g->pack, &g->plan, &g->config, &g->graph};
    for (size_t i = 0; i < COUNT_OF(last); i++)
        dnn_destroy(last[i]);
    forget_description(g);
}

void dnn_graphs_destroy(backend_program *p)
{
    for (; p->dnn; p->dnn = p->dnn->next) {
        release(p->dnn);
        buf_fini(&p->dnn->told);
    }
}

dnn_graph *dnn_begin(backend_program *p)
{
    dnn_graph *g = arena_alloc(p->arena, sizeof *g);
    g->program = p;
    g->told = (buf)BUF_INIT;
    g->scratch_most = SCRATCH_MOST;
    g->next = p->dnn;
    p->dnn = g;
    (void)open_library(p->backend, &g->failed);
    return g;
}

static size_t bytes_of(unsigned type)
{
    return type == DNN_IS_INT64 ? sizeof(int64_t) : type == DNN_IS_BOOL ? sizeof(bool) : sizeof(unsigned);
}

/* Descriptors by their numbers. */
static void tell(dnn_graph *g, unsigned kind, const dnn_attribute *a)
{
    buf_add(&g->told, &kind, sizeof kind);
    for (; a->value; a++) {
        int64_t head[] = {a->name, a->type, a->n};
        buf_add(&g->told, head, sizeof head);
        if (a->type != DNN_IS_DESCRIPTOR) {
            buf_add(&g->told, a->value, (size_t)a->n * bytes_of(a->type));
            continue;
        }
        const dnn_owned *o = g->owned;
        while (o && o->desc != *(const dnn_desc *)a->value)
            o = o->next;
        buf_add(&g->told, o ? &o->number : &(int){-1}, sizeof o->number);
    }
}

dnn_desc dnn_make(dnn_graph *g, unsigned kind, const dnn_attribute *attributes)
{
    if (g->failed.code != OK)
        return NULL;
    dnn_owned *made = arena_alloc(g->program->arena, sizeof *made);
    if (dnn_describe(kind, attributes, &made->desc, &g->failed) != OK)
        return NULL;
    tell(g, kind, attributes);
    made->number = g->owned ? g->owned->number + 1 : 0;
    made->next = g->owned;
    g->owned = made;
    return made->desc;
}

static dnn_desc make_tensor(dnn_graph *g, int64_t id, const dnn_form *f, bool is_virtual,
                            bool is_by_value)
{
    BUG_ON(f->rank > DNN_RANK);
    return dnn_make(g, DNN_TENSOR,
                    DNN_ATTRIBUTES({DNN_TENSOR_ID, DNN_IS_INT64, 1, &id},
                                   {DNN_TENSOR_TYPE, DNN_IS_TYPE, 1, &f->type},
                                   {DNN_TENSOR_ALIGNMENT, DNN_IS_INT64, 1, &(int64_t){ALIGN}},
                                   {DNN_TENSOR_SHAPE, DNN_IS_INT64, f->rank, f->size},
                                   {DNN_TENSOR_STRIDES, DNN_IS_INT64, f->rank, f->stride},
                                   {DNN_TENSOR_IS_VIRTUAL, DNN_IS_BOOL, 1, &is_virtual},
                                   {DNN_TENSOR_IS_BY_VALUE, DNN_IS_BOOL, 1, &is_by_value}));
}

dnn_desc dnn_operand(dnn_graph *g, int number, const dnn_form *form)
{
    BUG_ON(number >= DNN_OPERANDS);
    if (number >= g->n_operands)
        g->n_operands = number + 1;
    return make_tensor(g, number, form, false, false);
}

dnn_desc dnn_between(dnn_graph *g, const dnn_form *form)
{
    return make_tensor(g, FIRST_BETWEEN + g->n_between++, form, true, false);
}

dnn_desc dnn_number(dnn_graph *g, int rank, float x)
{
    BUG_ON(g->n_numbers >= DNN_NUMBERS);
    dnn_form one = {.type = DNN_F32, .rank = rank};
    for (int i = 0; i < rank; i++)
        one.size[i] = one.stride[i] = 1;
    g->numbers[g->n_numbers] = x;
    return make_tensor(g, FIRST_NUMBER + g->n_numbers++, &one, false, true);
}

void dnn_operation(dnn_graph *g, unsigned kind, const dnn_attribute *attributes)
{
    BUG_ON(g->n_operations >= OPERATIONS);
    g->operations[g->n_operations++] = dnn_make(g, kind, attributes);
}

/* --- which engine --- */

static bool has_note(const unsigned notes[], int64_t n, unsigned note)
{
    for (int64_t i = 0; i < n; i++)
        if (notes[i] == note)
            return true;
    return false;
}

static status check_engine(dnn_desc engine, bool exact, error *err)
{
    unsigned notes[NOTES];
    int64_t n = 0;
    TRY_DNN(api.cudnnBackendGetAttribute(engine, DNN_ENGINE_NUMERICAL_NOTE, DNN_IS_NUMERICAL_NOTE,
                                         NOTES, &n, notes),
            "an engine's notes");
    if (has_note(notes, n, DNN_NOTE_NONDETERMINISTIC))
        return FAIL(err, E_UNSUPPORTED, "its bits are others every time");
    if (has_note(notes, n, DNN_NOTE_ROUNDS_SUMS))
        return FAIL(err, E_UNSUPPORTED, "its sums are not float32");
    if (exact &&
        (has_note(notes, n, DNN_NOTE_TENSOR_CORE) || has_note(notes, n, DNN_NOTE_ROUNDS_FACTORS)))
        return FAIL(err, E_UNSUPPORTED, "its products are not float32");
    return OK;
}

static status check_config(dnn_desc config, bool exact, error *err)
{
    dnn_desc engine = NULL;
    int64_t n = 0;
    TRY_DNN(api.cudnnBackendCreateDescriptor(DNN_ENGINE, &engine), "an engine");
    status st = dnn_check(
        api.cudnnBackendGetAttribute(config, DNN_CONFIG_ENGINE, DNN_IS_DESCRIPTOR, 1, &n, &engine),
        "a configuration's engine", err);
    if (st == OK)
        st = check_engine(engine, exact, err);
    dnn_destroy(&engine);
    return st;
}

/* Whether the graph's plan will do; one that will not is destroyed. */
static status check_workspace(dnn_graph *g, error *err)
{
    int64_t n = 0;
    status st = dnn_check(api.cudnnBackendGetAttribute(g->plan, DNN_PLAN_WORKSPACE, DNN_IS_INT64, 1, &n,
                                                   &g->scratch_bytes),
                      "a plan's workspace", err);
    if (st == OK && g->scratch_bytes > g->scratch_most)
        st = FAIL(err, E_UNSUPPORTED, "it wants %lld bytes of workspace, more than %lld",
                  (long long)g->scratch_bytes, (long long)g->scratch_most);
    if (st != OK)
        dnn_destroy(&g->plan);
    return st;
}

static status plan_config(dnn_graph *g, dnn_desc config, error *err)
{
    TRY(dnn_describe(
        DNN_PLAN,
        DNN_ATTRIBUTES({DNN_PLAN_CONFIG, DNN_IS_DESCRIPTOR, 1, &config},
                       {DNN_PLAN_DEVICE, DNN_IS_DESCRIPTOR, 1, &g->program->backend->dnn_device}),
        &g->plan, err));
    return check_workspace(g, err);
}

/* Of the heuristics' n configurations the first that will do becomes the graph's. What refused the
 * last one is left in `why`. */
static status choose(dnn_graph *g, dnn_desc configs[], int64_t n, bool exact, error *why)
{
    for (int64_t i = 0; i < n; i++) {
        error_clear(why);
        status st = check_config(configs[i], exact, why);
        if (st == OK)
            st = plan_config(g, configs[i], why);
        if (st == E_UNSUPPORTED)
            continue;
        if (st == OK) {
            g->config = configs[i];
            configs[i] = NULL;
        }
        return st;
    }
    return E_UNSUPPORTED;
}

static status choose_of_heuristics(dnn_graph *g, dnn_desc heuristics, bool exact, error *why)
{
    dnn_desc configs[CONFIGS] = {NULL};
    int64_t n = 0;
    unsigned result = API_SUCCESS;
    for (int i = 0; i < CONFIGS && result == API_SUCCESS; i++)
        result = api.cudnnBackendCreateDescriptor(DNN_CONFIG, &configs[i]);
    if (result == API_SUCCESS)
        result = api.cudnnBackendGetAttribute(heuristics, DNN_HEURISTICS_RESULTS, DNN_IS_DESCRIPTOR,
                                              CONFIGS, &n, configs);
    status st = dnn_check(result, "what the heuristics found", why);
    if (st == OK)
        st = choose(g, configs, n < CONFIGS ? n : CONFIGS, exact, why);
    for (int i = 0; i < CONFIGS; i++)
        dnn_destroy(&configs[i]);
    return st;
}

static status choose_of_mode(dnn_graph *g, unsigned mode, bool exact, error *why)
{
    dnn_desc heuristics = NULL;
    TRY(dnn_describe(DNN_HEURISTICS,
                 DNN_ATTRIBUTES({DNN_HEURISTICS_GRAPH, DNN_IS_DESCRIPTOR, 1, &g->graph},
                                {DNN_HEURISTICS_MODE, DNN_IS_HEURISTICS_MODE, 1, &mode},
                                {DNN_HEURISTICS_DEVICE, DNN_IS_DESCRIPTOR, 1,
                                 &g->program->backend->dnn_device}),
                 &heuristics, why));
    status st = choose_of_heuristics(g, heuristics, exact, why);
    dnn_destroy(&heuristics);
    return st;
}

static status find_plan(dnn_graph *g, bool exact, error *err)
{
    error why = ERROR_INIT;
    TRY(dnn_describe(
        DNN_GRAPH,
        DNN_ATTRIBUTES({DNN_GRAPH_OPERATIONS, DNN_IS_DESCRIPTOR, g->n_operations, g->operations}),
        &g->graph, err));
    status st = choose_of_mode(g, DNN_MODE_A, exact, &why);
    if (st == E_UNSUPPORTED) {
        error of_fallbacks = ERROR_INIT;
        st = choose_of_mode(g, DNN_MODE_FALLBACK, exact, &of_fallbacks);
        why = of_fallbacks.code != OK ? of_fallbacks : why;
    }
    if (st == E_UNSUPPORTED)
        return FAIL(err, st, "no engine of cuDNN does%s%s", *why.text ? "; the last one: " : "",
                    why.text);
    return st == OK ? OK : FAIL(err, st, "%s", why.text);
}

/* Engines are compiled while a plan is made, which takes long. */
static status find_or_read_plan(dnn_graph *g, bool exact, error *err)
{
    dnn_desc device = g->program->backend->dnn_device;
    if (g->failed.code != OK)
        return FAIL(err, g->failed.code, "%s", g->failed.text);
    dnn_cache_key key = dnn_cache_key_of(device, &g->told);
    error unfit = ERROR_INIT;
    g->plan = dnn_cache_read(&key, device);
    if (g->plan && check_workspace(g, &unfit) == OK)
        return OK;
    error_clear(&unfit);
    TRY(find_plan(g, exact, err));
    dnn_cache_write(&key, g->plan);
    return OK;
}

void dnn_allow(dnn_graph *g, int64_t scratch_bytes)
{
    g->scratch_most = scratch_bytes;
}

static const dnn_graph *find_twin(const dnn_graph *g)
{
    const dnn_graph *t = g->program->dnn;
    while (t && (t == g || t->told.size != g->told.size ||
                 memcmp(t->told.data, g->told.data, g->told.size) != 0))
        t = t->next;
    return t;
}

/* Layers of a model are often alike. */
status dnn_plan(dnn_graph *g, bool exact, error *err)
{
    const int64_t asked[] = {exact, g->scratch_most};
    buf_add(&g->told, asked, sizeof asked);
    const dnn_graph *twin = g->failed.code == OK ? find_twin(g) : NULL;
    if (twin && twin->plan) {
        forget_description(g);
        g->is_twin = true;
        g->plan = twin->plan;
        g->scratch_bytes = twin->scratch_bytes;
        return OK;
    }
    if (twin)
        g->failed = twin->failed;
    error why = ERROR_INIT;
    status st = find_or_read_plan(g, exact, &why);
    if (st == OK)
        return OK;
    g->failed = why;
    release(g);
    return FAIL(err, st, "%s", why.text);
}

/* --- runs --- */

size_t dnn_scratch_bytes(const dnn_graph *g)
{
    return (size_t)g->scratch_bytes;
}

/* A pack that was finalized takes no other addresses. */
static status pack(dnn_graph *g, void *const operands[], void *scratch, error *err)
{
    int64_t ids[DNN_OPERANDS + DNN_NUMBERS];
    const void *addresses[DNN_OPERANDS + DNN_NUMBERS];
    int64_t n = 0;
    for (int i = 0; i < g->n_operands; i++, n++)
        ids[n] = i, addresses[n] = operands[i];
    for (int i = 0; i < g->n_numbers; i++, n++)
        ids[n] = FIRST_NUMBER + i, addresses[n] = &g->numbers[i];
    dnn_destroy(&g->pack);
    TRY(dnn_describe(DNN_PACK,
                 DNN_ATTRIBUTES({DNN_PACK_IDS, DNN_IS_INT64, n, ids},
                                {DNN_PACK_POINTERS, DNN_IS_POINTER, n, addresses},
                                {DNN_PACK_WORKSPACE, DNN_IS_POINTER, 1, &scratch}),
                 &g->pack, err));
    memcpy(g->packed, operands, (size_t)g->n_operands * sizeof *operands);
    g->packed[DNN_OPERANDS] = scratch;
    return OK;
}

status dnn_run(dnn_graph *g, void *const operands[], void *scratch, error *err)
{
    bool is_packed = g->pack && g->packed[DNN_OPERANDS] == scratch &&
                     memcmp(g->packed, operands, (size_t)g->n_operands * sizeof *operands) == 0;
    if (!is_packed)
        TRY(pack(g, operands, scratch, err));
    unsigned result = api.cudnnBackendExecute(g->program->backend->dnn, g->plan, g->pack);
    return dnn_check(result, "a graph", err);
}
