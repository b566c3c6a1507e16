/*
 * cuBLASLt, played. Rules are those of its documentation (docs.nvidia.com/cuda/cublas, "Using the
 * cuBLASLt API"): matrices lie column by column, with a pitch of at least a column; an algorithm is
 * for the very matmul it was asked for; its workspace is the caller's.
 */
#include "cuda_emu/block.h"
#include "cuda_emu/fakes/fakes.h"
#include "cuda_emu/fakes/lt_rules.h"
#include "cuda_emu/fakes/stride.h"
#include "cuda_emu/machine.h"
#include "cuda_emu/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_INITIALIZED = 1 };

struct cublasLtContext {
    int device;
};
struct lt_preference_opaque {
    uint64_t workspace;
    uint32_t reductions, align[OPERANDS];
};

/* What is kept in an algorithm. */
typedef struct algorithm {
    uint64_t mark, digest, pieces, workspace, align[OPERANDS];
} algorithm;

_Static_assert(sizeof(algorithm) <= sizeof(lt_algo), "it fits");

static const uint64_t MARK = 0x6c74616c676f0001;

static atomic_int n_handles, n_objects; /* that live; the second: all others */
static atomic_uint_fast64_t n_matmuls;
static unsigned refusal = API_SUCCESS;
static bool refuses_gelu, is_broken;

void fake_lt_refuse(unsigned result)
{
    refusal = result;
}

void fake_lt_refuse_gelu(bool refuses)
{
    refuses_gelu = refuses;
}

void fake_lt_fail(bool fails)
{
    is_broken = fails;
}

uint64_t fake_lt_matmuls(void)
{
    return n_matmuls;
}

/* --- objects --- */

static size_t version(void)
{
    return 130100;
}

static const char *status_string(unsigned result)
{
    return result == LT_NOT_SUPPORTED  ? "the requested functionality is not supported"
           : result == NOT_INITIALIZED ? "the library was not initialized"
           : result == API_SUCCESS     ? "success"
                                   : "an unsupported value or parameter was passed to the function";
}

static void *object(size_t bytes, atomic_int *count)
{
    void *p = calloc(1, bytes);
    if (!p)
        abort();
    ++*count;
    return p;
}

static unsigned destroy(void *p, atomic_int *count)
{
    if (!p) {
        emu_fault("cuBLASLt: NULL is destroyed");
        return LT_INVALID_VALUE;
    }
    --*count;
    free(p);
    return API_SUCCESS;
}

static unsigned create(lt_handle *ret)
{
    if (is_broken)
        return NOT_INITIALIZED;
    *ret = object(sizeof **ret, &n_handles);
    (*ret)->device = emu_device();
    return API_SUCCESS;
}

static unsigned destroy_handle(lt_handle h)
{
    if (n_handles == 1 && n_objects != 0)
        emu_fault("cuBLASLt: the last handle goes, and %d objects were not destroyed",
                  (int)n_objects);
    return destroy(h, &n_handles);
}

static unsigned desc_create(lt_desc *ret, unsigned compute, unsigned scale)
{
    *ret = object(sizeof **ret, &n_objects);
    **ret =
        (struct lt_desc_opaque){.compute = compute, .scale = scale, .epilogue = LT_EPILOGUE_NONE};
    return API_SUCCESS;
}

static unsigned desc_destroy(lt_desc d)
{
    return destroy(d, &n_objects);
}

static unsigned layout_create(lt_layout *ret, unsigned type, uint64_t rows, uint64_t columns,
                              int64_t pitch)
{
    *ret = object(sizeof **ret, &n_objects);
    **ret = (struct lt_layout_opaque){
        .type = type, .rows = rows, .columns = columns, .pitch = pitch, .count = 1};
    return API_SUCCESS;
}

static unsigned layout_destroy(lt_layout l)
{
    return destroy(l, &n_objects);
}

static unsigned preference_create(lt_preference *ret)
{
    *ret = object(sizeof **ret, &n_objects);
    **ret = (struct lt_preference_opaque){.reductions = 7, .align = {256, 256, 256, 256}};
    return API_SUCCESS;
}

static unsigned preference_destroy(lt_preference p)
{
    return destroy(p, &n_objects);
}

/* An attribute's place; NULL if there is none of that number. */
typedef struct attribute {
    void *at;
    size_t bytes;
} attribute;

static unsigned set(const char *of, unsigned number, attribute a, const void *x, size_t bytes)
{
    if (!a.at) {
        emu_fault("cuBLASLt: nobody plays attribute %u of a %s", number, of);
    } else if (!x || bytes != a.bytes) {
        emu_fault("cuBLASLt: attribute %u of a %s has %zu bytes, not %zu", number, of, a.bytes,
                  bytes);
    } else {
        memcpy(a.at, x, bytes);
        return API_SUCCESS;
    }
    return LT_INVALID_VALUE;
}

static unsigned desc_set(lt_desc d, unsigned number, const void *x, size_t bytes)
{
    attribute a = {0};
    if (number == LT_DESC_TRANSA || number == LT_DESC_TRANSB)
        a = (attribute){&d->transposed[number == LT_DESC_TRANSB], sizeof *d->transposed};
    else if (number == LT_DESC_EPILOGUE)
        a = (attribute){&d->epilogue, sizeof d->epilogue};
    else if (number == LT_DESC_BIAS_POINTER)
        a = (attribute){&d->bias, sizeof d->bias};
    else if (number == LT_DESC_AUX_POINTER)
        a = (attribute){&d->side, sizeof d->side};
    else if (number == LT_DESC_AUX_PITCH)
        a = (attribute){&d->side_pitch, sizeof d->side_pitch};
    else if (number == LT_DESC_AUX_BATCH_STRIDE)
        a = (attribute){&d->side_stride, sizeof d->side_stride};
    return set("matmul", number, a, x, bytes);
}

static unsigned layout_set(lt_layout l, unsigned number, const void *x, size_t bytes)
{
    attribute a = {0};
    if (number == LT_LAYOUT_BATCH_COUNT)
        a = (attribute){&l->count, sizeof l->count};
    else if (number == LT_LAYOUT_BATCH_STRIDE)
        a = (attribute){&l->stride, sizeof l->stride};
    return set("layout", number, a, x, bytes);
}

static unsigned preference_set(lt_preference p, unsigned number, const void *x, size_t bytes)
{
    attribute a = {0};
    if (number == LT_PREF_WORKSPACE)
        a = (attribute){&p->workspace, sizeof p->workspace};
    else if (number == LT_PREF_REDUCTION_MASK)
        a = (attribute){&p->reductions, sizeof p->reductions};
    else if (number >= LT_PREF_ALIGN_A && number <= LT_PREF_ALIGN_D)
        a = (attribute){&p->align[number - LT_PREF_ALIGN_A], sizeof *p->align};
    return set("preference", number, a, x, bytes);
}

/* --- heuristics --- */

static uint64_t digest_of(const lt_problem *p)
{
    const unsigned char *bytes = (const unsigned char *)p;
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < sizeof *p; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3;
    return hash;
}

enum { LONG_K = 512 };

static algorithm algorithm_for(const lt_problem *p, const struct lt_preference_opaque *pref,
                               uint64_t pieces)
{
    algorithm a = {.mark = MARK, .digest = digest_of(p)};
    uint64_t sums = p->m * p->n * (uint64_t)p->count * sizeof(float);
    for (int i = 0; i < OPERANDS; i++)
        a.align[i] = pref->align[i];
    a.pieces = pieces;
    a.workspace = pieces > 1 ? pieces * sums : 0;
    return a;
}

static bool cuts(const lt_problem *p, const struct lt_preference_opaque *pref)
{
    return p->k >= LONG_K && (pref->reductions & LT_REDUCTION_COMPUTE_TYPE);
}

/* Gelu where it is as exact as its result: in halves. */
static bool is_played(const lt_problem *p)
{
    bool has_gelu =
        lt_has_side(p) || p->epilogue == LT_EPILOGUE_GELU || p->epilogue == LT_EPILOGUE_GELU_BIAS;
    return has_gelu ? p->type[RESULT] != LT_F32 && !refuses_gelu : lt_has_bias(p);
}

static unsigned heuristic(lt_handle h, lt_desc d, lt_layout left, lt_layout right, lt_layout base,
                          lt_layout result, lt_preference pref, int wanted, lt_found ret[],
                          int *ret_n)
{
    lt_problem p;
    const lt_layout layouts[] = {left, right, base, result};
    *ret_n = 0;
    if (!h || wanted < 1 || !lt_problem_of(d, layouts, &p))
        return LT_INVALID_VALUE;
    if (refusal != API_SUCCESS)
        return refusal;
    if (p.epilogue != LT_EPILOGUE_NONE && !is_played(&p))
        return LT_NOT_SUPPORTED;
    /* what does not work, what loses a part of the sum, what works */
    const uint64_t pieces[] = {1, cuts(&p, pref) ? 7 : 1, cuts(&p, pref) ? 2 : 1};
    for (int i = 0; i < wanted && i < 3; i++) {
        algorithm a = algorithm_for(&p, pref, pieces[i]);
        ret[i] = (lt_found){.workspace_bytes = a.workspace,
                            .status = i == 0 && wanted > 1 ? LT_NOT_SUPPORTED : API_SUCCESS};
        memcpy(&ret[i].algo, &a, sizeof a);
        *ret_n = i + 1;
    }
    return API_SUCCESS;
}

static unsigned algo_get(const lt_algo *algo, unsigned number, void *ret, size_t bytes,
                         size_t *ret_bytes)
{
    algorithm a;
    memcpy(&a, algo, sizeof a);
    uint32_t x = number == LT_ALGO_SPLIT_K ? (uint32_t)a.pieces : 0;
    if (a.mark != MARK || bytes != sizeof x)
        return LT_INVALID_VALUE;
    memcpy(ret, &x, sizeof x);
    *ret_bytes = sizeof x;
    return API_SUCCESS;
}

/* --- the call --- */

static bool check_memory(const char *name, const void *x, size_t bytes, uint64_t align)
{
    emu_lock();
    bool holds = emu_memory_holds(x, bytes);
    emu_unlock();
    if (!holds)
        emu_fault("cuBLASLt: %s: no allocation holds %zu bytes from %p", name, bytes, x);
    else if ((uintptr_t)x % align)
        emu_fault("cuBLASLt: %s: %p is not aligned to the %d bytes that were promised", name, x,
                  (int)align);
    return holds && (uintptr_t)x % align == 0;
}

static bool overlap(const void *x, size_t x_bytes, const void *y, size_t y_bytes)
{
    const char *a = x, *b = y;
    return a < b + y_bytes && b < a + x_bytes;
}

static bool check_operands(const lt_call *c, const algorithm *a, size_t bytes)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    const void *operands[] = {c->left, c->right, c->base, c->result};
    size_t result = lt_extent(&c->p, RESULT);
    for (int i = 0; i < OPERANDS; i++) {
        bool is_result = operands[i] == c->result && i >= BASE;
        if (!check_memory(names[i], operands[i], lt_extent(&c->p, i), a->align[i]))
            return false;
        if (!is_result && overlap(operands[i], lt_extent(&c->p, i), c->result, result)) {
            emu_fault("cuBLASLt: %s lies in d", names[i]);
            return false;
        }
    }
    if (lt_has_bias(&c->p) &&
        !check_memory("the bias", c->bias, c->p.m * lt_element(c->p.type[RESULT]), LT_SIDE_ALIGN))
        return false;
    if (lt_has_side(&c->p)) {
        if (!check_memory("what stands beside", c->side, lt_side_extent(&c->p), LT_SIDE_ALIGN))
            return false;
        if (overlap(c->side, lt_side_extent(&c->p), c->result, result)) {
            emu_fault("cuBLASLt: what stands beside lies in d");
            return false;
        }
    }
    if (bytes < a->workspace) {
        emu_fault("cuBLASLt: a workspace of %zu bytes, and the algorithm needs %d", bytes,
                  (int)a->workspace);
        return false;
    }
    return bytes == 0 || check_memory("the workspace", c->workspace, bytes, 16);
}

/* But for c's batches: nobody adds to matmuls in batches. */
static void spoil_strides(lt_problem *p, bool reads_base)
{
    const uint64_t *columns = p->columns;
    bool base = reads_base && columns[BASE] > 1, batches = p->count > 1;
    p->pitch[LEFT] = STRIDE("pitch of a", p->pitch[LEFT], columns[LEFT] > 1);
    p->pitch[RIGHT] = STRIDE("pitch of b", p->pitch[RIGHT], columns[RIGHT] > 1);
    p->pitch[BASE] = STRIDE("pitch of c", p->pitch[BASE], base);
    p->pitch[RESULT] = STRIDE("pitch of d", p->pitch[RESULT], columns[RESULT] > 1);
    p->stride[LEFT] = STRIDE("stride of a", p->stride[LEFT], batches);
    p->stride[RIGHT] = STRIDE("stride of b", p->stride[RIGHT], batches);
    p->stride[RESULT] = STRIDE("stride of d", p->stride[RESULT], batches);
    if (!lt_has_side(p))
        return;
    p->side_pitch = STRIDE("pitch beside", p->side_pitch, columns[RESULT] > 1);
    p->side_stride = STRIDE("stride beside", p->side_stride, batches);
}

static unsigned matmul(lt_handle h, lt_desc d, const void *alpha, const void *left,
                       lt_layout left_layout, const void *right, lt_layout right_layout,
                       const void *beta, const void *base, lt_layout base_layout, void *result,
                       lt_layout result_layout, const lt_algo *algo, void *workspace, size_t bytes,
                       cuda_stream stream)
{
    const lt_layout layouts[] = {left_layout, right_layout, base_layout, result_layout};
    lt_call c = {.left = left,
                 .right = right,
                 .base = base,
                 .bias = d->bias,
                 .side = d->side,
                 .result = result,
                 .workspace = workspace};
    algorithm a;
    if (!lt_problem_of(d, layouts, &c.p))
        return LT_INVALID_VALUE;
    memcpy(&a, algo, sizeof a);
    if (a.mark != MARK || a.digest != digest_of(&c.p)) {
        emu_fault("cuBLASLt: the algorithm is not for this matmul");
        return LT_INVALID_VALUE;
    }
    if (h->device != emu_device()) {
        emu_fault("cuBLASLt: a handle of device %d on device %d", h->device, emu_device());
        return LT_INVALID_VALUE;
    }
    if (!check_operands(&c, &a, bytes))
        return LT_INVALID_VALUE;
    memcpy(&c.alpha, alpha, sizeof c.alpha);
    memcpy(&c.beta, beta, sizeof c.beta);
    spoil_strides(&c.p, c.beta != 0.0f);
    c.pieces = a.pieces;
    c.workspace_bytes = a.workspace;
    void *room = emu_launch("cublasLtMatmul", (const void *)(uintptr_t)lt_multiply, 1,
                            (uint3){1, 1, 1}, (uint3){1, 1, 1}, 0, stream, sizeof c, lt_multiply);
    if (room)
        memcpy(room, &c, sizeof c);
    n_matmuls++;
    return API_SUCCESS;
}

void fake_lt_fill(api_table *t)
{
    t->cublasLtGetVersion = version;
    t->cublasLtGetStatusString = status_string;
    t->cublasLtCreate = create;
    t->cublasLtDestroy = destroy_handle;
    t->cublasLtMatmulDescCreate = desc_create;
    t->cublasLtMatmulDescDestroy = desc_destroy;
    t->cublasLtMatmulDescSetAttribute = desc_set;
    t->cublasLtMatrixLayoutCreate = layout_create;
    t->cublasLtMatrixLayoutDestroy = layout_destroy;
    t->cublasLtMatrixLayoutSetAttribute = layout_set;
    t->cublasLtMatmulPreferenceCreate = preference_create;
    t->cublasLtMatmulPreferenceDestroy = preference_destroy;
    t->cublasLtMatmulPreferenceSetAttribute = preference_set;
    t->cublasLtMatmulAlgoGetHeuristic = heuristic;
    t->cublasLtMatmulAlgoConfigGetAttribute = algo_get;
    t->cublasLtMatmul = matmul;
}
