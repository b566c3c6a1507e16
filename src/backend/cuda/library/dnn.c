#include "backend/cuda/library/dnn.h"

#include "backend/cuda/library/api.h"
#include "backend/cuda/library/dnn_cache.h"
#include "backend/cuda/library/dnn_desc.h"
#include "backend/cuda/library/dnn_engine.h"
#include "common/base/alloc.h"
#include "common/base/thread.h"

#include <string.h>

enum {
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
    bool is_asked; /* for a plan, by no node yet */
    dnn_desc operations[OPERATIONS];
    int n_operations, n_operands, n_numbers, n_between;
    float numbers[DNN_NUMBERS];
    dnn_desc graph, pack;
    dnn_engine engine;
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

static status describe_device(backend *b, size_t i, error *err)
{
    if (b->dnn_device[i])
        return OK;
    return dnn_describe(DNN_DEVICE, DNN_ATTRIBUTES({DNN_DEVICE_HANDLE, DNN_IS_HANDLE, 1, &b->dnn}),
                        &b->dnn_device[i], err);
}

static status open_library(backend *b, error *err)
{
    TRY(dnn_find(DNN_FROM, err));
    if (!b->dnn) {
        TRY_DNN(api.cudnnCreate(&b->dnn), "opening it (TEQUIO_CUDA_LIBRARIES=none does without)");
        TRY_DNN(api.cudnnSetStream(b->dnn, b->queues[QUEUE_COMPUTE]), "its stream");
    }
    return describe_device(b, 0, err);
}

void dnn_close(backend *b)
{
    for (size_t i = 0; i < DNN_PLANNERS; i++)
        dnn_destroy(&b->dnn_device[i]);
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
        g->engine.plan = NULL;
    dnn_desc *last[] = {&g->pack, &g->engine.plan, &g->engine.config, &g->graph};
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
    g->engine.scratch_most = SCRATCH_MOST;
    g->next = p->dnn;
    p->dnn = g;
    (void)open_library(p->backend, &g->failed);
    return g;
}

static size_t bytes_of(unsigned type)
{
    return type == DNN_IS_INT64    ? sizeof(int64_t)
           : type == DNN_IS_DOUBLE ? sizeof(double)
           : type == DNN_IS_BOOL   ? sizeof(bool)
                                   : sizeof(unsigned);
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
                                   {DNN_TENSOR_ALIGNMENT, DNN_IS_INT64, 1, &(int64_t){DNN_ALIGN}},
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

/* --- plans --- */

static status find_engine(dnn_graph *g, dnn_desc device, error *err)
{
    TRY(dnn_describe(
        DNN_GRAPH,
        DNN_ATTRIBUTES({DNN_GRAPH_OPERATIONS, DNN_IS_DESCRIPTOR, g->n_operations, g->operations}),
        &g->graph, err));
    return dnn_engine_find(&g->engine, g->graph, device, err);
}

static status find_or_read_plan(dnn_graph *g, dnn_desc device, error *err)
{
    if (g->failed.code != OK)
        return FAIL(err, g->failed.code, "%s", g->failed.text);
    dnn_cache_key key = dnn_cache_key_of(device, &g->told);
    error unfit = ERROR_INIT;
    g->engine.plan = dnn_cache_read(&key, device);
    if (g->engine.plan && dnn_engine_fits(&g->engine, &unfit) == OK)
        return OK;
    error_clear(&unfit);
    TRY(find_engine(g, device, err));
    dnn_cache_write(&key, g->engine.plan);
    return OK;
}

/* Keeps what was refused. */
static status plan_for(dnn_graph *g, dnn_desc device, error *err)
{
    error why = ERROR_INIT;
    status st = find_or_read_plan(g, device, &why);
    if (st == OK)
        return OK;
    g->failed = why;
    release(g);
    return FAIL(err, st, "%s", why.text);
}

void dnn_allow(dnn_graph *g, int64_t scratch_bytes)
{
    g->engine.scratch_most = scratch_bytes;
}

static const dnn_graph *find_twin(const dnn_graph *g)
{
    const dnn_graph *t = g->program->dnn;
    while (t && (t == g || t->told.size != g->told.size ||
                 memcmp(t->told.data, g->told.data, g->told.size) != 0))
        t = t->next;
    return t;
}

/* What is asked a second time, or cannot be described, is nothing to plan. */
static status ask(dnn_graph *g, const dnn_graph *twin, error *err)
{
    g->is_asked = g->failed.code == OK && !twin;
    if (!g->is_asked) {
        release(g);
        buf_fini(&g->told);
    }
    return FAIL(err, E_UNSUPPORTED, "it is only asked for");
}

/* Layers of a model are often alike. */
status dnn_plan(dnn_graph *g, bool exact, error *err)
{
    const int64_t asked[] = {exact, g->engine.scratch_most};
    g->engine.exact = exact;
    buf_add(&g->told, asked, sizeof asked);
    const dnn_graph *twin = g->failed.code == OK ? find_twin(g) : NULL;
    if (g->program->only_asks)
        return ask(g, twin, err);
    if (twin && twin->engine.plan) {
        forget_description(g);
        g->is_twin = true;
        g->engine.plan = twin->engine.plan;
        g->engine.scratch_bytes = twin->engine.scratch_bytes;
        return OK;
    }
    if (twin)
        g->failed = twin->failed;
    return plan_for(g, g->program->backend->dnn_device[0], err);
}

/* --- plans in several threads --- */

/* What they take from, each the next. */
typedef struct asked {
    const backend *backend;
    status (*enter)(const backend *b, error *err);
    dnn_graph *next;
    int n_planners;
    pthread_mutex_t lock;
} asked;

static dnn_graph *skip_planned(dnn_graph *g)
{
    while (g && !g->is_asked)
        g = g->next;
    return g;
}

/* With a description of the device of its own, the first with the first. */
static dnn_graph *take_asked(asked *a, dnn_desc *device)
{
    pthread_mutex_lock(&a->lock);
    if (!*device)
        *device = a->backend->dnn_device[a->n_planners++];
    dnn_graph *g = a->next;
    if (g)
        a->next = skip_planned(g->next);
    pthread_mutex_unlock(&a->lock);
    return g;
}

/* What is refused dnn_plan will tell again. */
static void *plan_asked(void *asked_)
{
    asked *a = asked_;
    dnn_desc device = NULL;
    if (a->enter(a->backend, NULL) != OK)
        return NULL;
    for (dnn_graph *g; (g = take_asked(a, &device));)
        (void)plan_for(g, device, NULL);
    return NULL;
}

static size_t count_asked(const backend_program *p)
{
    size_t n = 0;
    for (dnn_graph *g = skip_planned(p->dnn); g; g = skip_planned(g->next))
        n++;
    return n;
}

void dnn_plan_asked(backend_program *p, size_t threads, status (*enter)(const backend *b, error *err))
{
    pthread_t helpers[DNN_PLANNERS];
    size_t n = count_asked(p), n_helpers = 0;
    asked a = {.backend = p->backend, .enter = enter, .next = skip_planned(p->dnn)};
    threads = threads < DNN_PLANNERS ? threads : DNN_PLANNERS;
    threads = threads < n ? threads : n;
    pthread_mutex_init(&a.lock, NULL);
    while (n_helpers + 1 < threads && describe_device(p->backend, n_helpers + 1, NULL) == OK &&
           thread_start(&helpers[n_helpers], "plans", plan_asked, &a, NULL) == OK)
        n_helpers++;
    plan_asked(&a);
    while (n_helpers > 0)
        pthread_join(helpers[--n_helpers], NULL);
    pthread_mutex_destroy(&a.lock);
    for (dnn_graph *g = p->dnn; g; g = g->next)
        g->is_asked = false;
}

/* --- runs --- */

size_t dnn_scratch_bytes(const dnn_graph *g)
{
    return (size_t)g->engine.scratch_bytes;
}

/* A pack that was finalized takes no other addresses. */
static status pack(dnn_graph *g, void *const operands[], void *scratch, error *err)
{
    int64_t ids[DNN_OPERANDS + DNN_NUMBERS];
    const void *addresses[DNN_OPERANDS + DNN_NUMBERS];
    int64_t n = 0;
    for (int i = 0; i < g->n_operands; i++)
        if (operands[i])
            ids[n] = i, addresses[n++] = operands[i];
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
    unsigned result = api.cudnnBackendExecute(g->program->backend->dnn, g->engine.plan, g->pack);
    return dnn_check(result, "a graph", err);
}
