#include "backend/cuda/library/lt.h"

#include "backend/cuda/kernels/cast.h"
#include "backend/cuda/library/api.h"
#include "common/base/alloc.h"
#include "graph/plan.h"

#include <stdlib.h>

enum {
    WORKSPACE_MOST = 32 << 20,
    PIECE_K = 64, /* a multiple of all steps in which kernels walk along k */
    WANTED = 8,   /* algorithms that are looked at */
    SIDE_ALIGN = 16,
    ARCH_OF_GELU = 90,
    ARCH_PAST_GELU = 120,
};

struct lt_matmul {
    lt_matmul *next;
    lt_handle handle;
    lt_desc desc;
    lt_layout left, right, y; /* as the library sees them: b, a, and y, which is as c */
    lt_algo algo;
    size_t scratch_bytes;
    float alpha, beta;
    bool has_bias, has_side;
    launch_types bias; /* as the library wants it, and as it is */
    int64_t bias_count;
};

static status check(unsigned result, const char *what, error *err)
{
    if (result == API_SUCCESS)
        return OK;
    return FAIL(err, E_DEVICE, "cuBLASLt, %s: %s", what, api.cublasLtGetStatusString(result));
}

#define TRY_LT(call, what) TRY(check((call), (what), err))

/* --- what a matmul is to the library --- */

static unsigned type_of(tile_kind kind)
{
    return kind == TILE_BF16 ? LT_BF16 : kind == TILE_F16 ? LT_F16 : LT_F32;
}

static unsigned type_of_y(const gemm_task *t)
{
    return t->y_type == DT_BF16 ? LT_BF16 : t->y_type == DT_F16 ? LT_F16 : LT_F32;
}

static bool is_row_of_y(const gemm_task *t)
{
    const tile_end *e = &t->end;
    return e->c_column == 1 && e->c_row == 0 && e->c_batch == 0 && e->beta == 1.0f &&
           (e->c_type == t->y_type || e->c_type == DT_F32);
}

static bool is_like_y(const gemm_task *t)
{
    const tile_end *e = &t->end;
    return e->c_column == 1 && e->c_row == t->y_row && e->c_type == t->y_type &&
           (t->batches == 1 || e->c_batch == t->y_batch);
}

/* On other chips it costs more than our kernel behind the matmul: karpathy/llm.c#591 tells so of
 * sm_89, sgl-project/sglang#34350 of sm_120, and sgl-project/sglang#28168 that it pays on sm_100.
 */
static bool has_gelu(const backend *b)
{
    return b->arch >= ARCH_OF_GELU && b->arch < ARCH_PAST_GELU;
}

/* Rows of what stands beside begin at multiples of eight elements. */
static bool takes_function(const backend *b, const gemm_task *t)
{
    const tile_end *e = &t->end;
    bool fits = t->y_row % 8 == 0 && (t->batches == 1 || t->y_batch % 8 == 0);
    bool is_alike = dtype_is_half(t->y_type) && (!e->side || (e->side_type == t->y_type && fits));
    return e->function == TILE_AS_IT_IS ||
           (is_alike && has_gelu(b) &&
            (e->function == TILE_GELU_BY_TANH || (e->function == TILE_GELU_BY_TANH_BWD && !e->c)));
}

static bool takes_sum(const gemm_task *t)
{
    bool has_factors = t->batches > 0 && t->m > 0 && t->n > 0 && t->k > 0;
    return has_factors && t->batches <= INT32_MAX && (!t->end.c || is_row_of_y(t) || is_like_y(t));
}

static bool has_bias(const gemm_task *t)
{
    return t->end.c && !is_like_y(t);
}

/* NULL, or why the library is not asked. It may read SIDE_ALIGN bytes of a bias at once, whatever
 * it was told of its address (pytorch/pytorch#194497). */
static const char *why_unasked(const backend *b, const gemm_task *t, size_t align)
{
    if (!api_find(API_LT)->path)
        return "cuBLASLt is missing (tequio doctor)";
    if (!takes_sum(t))
        return "cuBLASLt adds only what is a row or lies as the result does";
    if (!takes_function(b, t))
        return "cuBLASLt is not asked for this function behind a matmul";
    if ((has_bias(t) || t->end.side) && align % SIDE_ALIGN)
        return "cuBLASLt adds only what begins at a multiple of 16 bytes";
    return NULL;
}

typedef struct matrix {
    int64_t rows, columns, pitch, batch; /* as it lies, column by column */
    unsigned transposed;
} matrix;

/* Ours [rows, columns] is the library's [columns, rows], or lies transposed already. */
static matrix matrix_of(const tile_matrix *m, int64_t rows, int64_t columns)
{
    if (m->column == 1 && (m->row >= columns || rows == 1))
        return (matrix){columns, rows, rows == 1 ? columns : m->row, m->batch, LT_PLAIN};
    return (matrix){rows, columns, columns == 1 ? rows : m->column, m->batch, LT_TRANSPOSED};
}

static status set_layout(lt_layout *ret, unsigned type, const matrix *m, int64_t batches,
                         error *err)
{
    int32_t count = (int32_t)batches;
    TRY_LT(api.cublasLtMatrixLayoutCreate(ret, type, (uint64_t)m->rows, (uint64_t)m->columns,
                                          m->pitch),
           "a layout");
    TRY_LT(api.cublasLtMatrixLayoutSetAttribute(*ret, LT_LAYOUT_BATCH_COUNT, &count, sizeof count),
           "its batches");
    TRY_LT(api.cublasLtMatrixLayoutSetAttribute(*ret, LT_LAYOUT_BATCH_STRIDE, &m->batch,
                                                sizeof m->batch),
           "where its batches lie");
    return OK;
}

static unsigned epilogue_of(const lt_matmul *p, const gemm_task *t)
{
    if (t->end.function == TILE_GELU_BY_TANH_BWD)
        return LT_EPILOGUE_DGELU;
    if (t->end.function == TILE_GELU_BY_TANH && p->has_side)
        return p->has_bias ? LT_EPILOGUE_GELU_AUX_BIAS : LT_EPILOGUE_GELU_AUX;
    if (t->end.function == TILE_GELU_BY_TANH)
        return p->has_bias ? LT_EPILOGUE_GELU_BIAS : LT_EPILOGUE_GELU;
    return p->has_bias ? LT_EPILOGUE_BIAS : LT_EPILOGUE_NONE;
}

static status set_pointer(const lt_matmul *p, unsigned attribute, const void *x, const char *what,
                          error *err)
{
    TRY_LT(api.cublasLtMatmulDescSetAttribute(p->desc, attribute, &x, sizeof x), what);
    return OK;
}

/* What stands beside lies as y does. Heuristics read from the addresses how they are aligned. */
static status set_side(const lt_matmul *p, const gemm_task *t, size_t align, error *err)
{
    const void *somewhere = (const void *)align;
    if (p->has_bias)
        TRY(set_pointer(p, LT_DESC_BIAS_POINTER, somewhere, "a bias", err));
    if (!p->has_side)
        return OK;
    TRY(set_pointer(p, LT_DESC_AUX_POINTER, somewhere, "what stands beside", err));
    TRY_LT(
        api.cublasLtMatmulDescSetAttribute(p->desc, LT_DESC_AUX_PITCH, &t->y_row, sizeof t->y_row),
        "its rows");
    TRY_LT(api.cublasLtMatmulDescSetAttribute(p->desc, LT_DESC_AUX_BATCH_STRIDE, &t->y_batch,
                                              sizeof t->y_batch),
           "its batches");
    return OK;
}

static status set_desc(lt_matmul *p, const gemm_task *t, unsigned left, unsigned right, error *err)
{
    unsigned epilogue = epilogue_of(p, t);
    unsigned compute = t->kind == TILE_TF32 ? LT_COMPUTE_TF32 : LT_COMPUTE_F32;
    TRY_LT(api.cublasLtMatmulDescCreate(&p->desc, compute, LT_F32), "a matmul");
    TRY_LT(api.cublasLtMatmulDescSetAttribute(p->desc, LT_DESC_TRANSA, &left, sizeof left),
           "its left factor");
    TRY_LT(api.cublasLtMatmulDescSetAttribute(p->desc, LT_DESC_TRANSB, &right, sizeof right),
           "its right factor");
    TRY_LT(
        api.cublasLtMatmulDescSetAttribute(p->desc, LT_DESC_EPILOGUE, &epilogue, sizeof epilogue),
        "its end");
    return OK;
}

static status describe(lt_matmul *p, const gemm_task *t, size_t align, error *err)
{
    matrix left = matrix_of(&t->b, t->k, t->n), right = matrix_of(&t->a, t->m, t->k);
    matrix y = {t->n, t->m, t->y_row, t->y_batch, LT_PLAIN};
    unsigned type = type_of(t->kind);
    p->alpha = t->end.alpha;
    p->has_bias = has_bias(t);
    p->beta = t->end.c && !p->has_bias ? t->end.beta : 0.0f;
    p->has_side = t->end.side;
    p->bias =
        (launch_types){.y = cuda_launch_type(t->y_type), .a = cuda_launch_type(t->end.c_type)};
    p->bias_count = t->n;
    TRY(set_desc(p, t, left.transposed, right.transposed, err));
    TRY(set_side(p, t, align, err));
    TRY(set_layout(&p->left, type, &left, t->batches, err));
    TRY(set_layout(&p->right, type, &right, t->batches, err));
    return set_layout(&p->y, type_of_y(t), &y, t->batches, err);
}

/* --- which algorithm --- */

static status set_preference(lt_preference pref, unsigned reductions, size_t align, error *err)
{
    static const unsigned aligned[] = {LT_PREF_ALIGN_A, LT_PREF_ALIGN_B, LT_PREF_ALIGN_C,
                                       LT_PREF_ALIGN_D};
    uint64_t workspace = WORKSPACE_MOST;
    uint32_t bytes = (uint32_t)align;
    TRY_LT(api.cublasLtMatmulPreferenceSetAttribute(pref, LT_PREF_WORKSPACE, &workspace,
                                                    sizeof workspace),
           "its workspace");
    TRY_LT(api.cublasLtMatmulPreferenceSetAttribute(pref, LT_PREF_REDUCTION_MASK, &reductions,
                                                    sizeof reductions),
           "its sums");
    for (size_t i = 0; i < COUNT_OF(aligned); i++)
        TRY_LT(api.cublasLtMatmulPreferenceSetAttribute(pref, aligned[i], &bytes, sizeof bytes),
               "its alignment");
    return OK;
}

/* Pieces of k that come out even: of others there are versions that lose what is left over. */
static status is_usable(const lt_found *f, int64_t k, bool *ret, error *err)
{
    int32_t pieces = 0;
    size_t bytes = 0;
    *ret = f->status == API_SUCCESS && f->workspace_bytes <= WORKSPACE_MOST;
    if (!*ret)
        return OK;
    TRY_LT(api.cublasLtMatmulAlgoConfigGetAttribute(&f->algo, LT_ALGO_SPLIT_K, &pieces,
                                                    sizeof pieces, &bytes),
           "an algorithm's pieces");
    *ret = pieces <= 1 || k % ((int64_t)pieces * PIECE_K) == 0;
    return OK;
}

/* What it says of a matmul that it does not take; NULL: it says something else. */
static const char *refusal(unsigned result)
{
    switch (result) {
    case LT_NOT_SUPPORTED:
        return "cuBLASLt has no algorithm for it";
    case LT_ARCH_MISMATCH:
        return "cuBLASLt has no algorithm for it on this GPU";
    case LT_INVALID_VALUE:
        return "cuBLASLt calls it invalid; CUBLASLT_LOG_LEVEL=1 tells why";
    default:
        return NULL;
    }
}

/* *ret_why: NULL if there is one. */
static status choose(lt_matmul *p, int64_t k, lt_preference pref, const char **ret_why, error *err)
{
    lt_found found[WANTED];
    int n = 0;
    bool is_there = false;
    unsigned result = api.cublasLtMatmulAlgoGetHeuristic(p->handle, p->desc, p->left, p->right,
                                                         p->y, p->y, pref, WANTED, found, &n);
    *ret_why = refusal(result);
    if (*ret_why)
        return OK;
    TRY_LT(result, "its heuristics");
    for (int i = 0; i < n && !is_there; i++) {
        TRY(is_usable(&found[i], k, &is_there, err));
        p->algo = found[i].algo;
        p->scratch_bytes = found[i].workspace_bytes;
    }
    *ret_why = is_there ? NULL : refusal(LT_NOT_SUPPORTED);
    return OK;
}

static status find_among(lt_matmul *p, int64_t k, unsigned reductions, size_t align,
                         const char **ret_why, error *err)
{
    lt_preference pref = NULL;
    TRY_LT(api.cublasLtMatmulPreferenceCreate(&pref), "a preference");
    status st = set_preference(pref, reductions, align, err);
    if (st == OK)
        st = choose(p, k, pref, ret_why, err);
    (void)api.cublasLtMatmulPreferenceDestroy(pref);
    return st;
}

static status find_algorithm(lt_matmul *p, int64_t k, size_t align, const char **ret_why,
                             error *err)
{
    if (k % (2 * PIECE_K) == 0) {
        TRY(find_among(p, k, LT_REDUCTION_COMPUTE_TYPE, align, ret_why, err));
        if (!*ret_why)
            return OK;
    }
    return find_among(p, k, LT_REDUCTION_NONE, align, ret_why, err);
}

/* --- plans and runs --- */

static void destroy(lt_matmul **p)
{
    lt_layout layouts[] = {(*p)->left, (*p)->right, (*p)->y};
    for (size_t i = 0; i < COUNT_OF(layouts); i++)
        if (layouts[i])
            (void)api.cublasLtMatrixLayoutDestroy(layouts[i]);
    if ((*p)->desc)
        (void)api.cublasLtMatmulDescDestroy((*p)->desc);
    free(*p);
    *p = NULL;
}

void lt_matmuls_destroy(backend_program *p)
{
    while (p->lt) {
        lt_matmul *next = p->lt->next;
        destroy(&p->lt);
        p->lt = next;
    }
}

static status open_handle(backend *b, error *err)
{
    if (!b->lt)
        TRY_LT(api.cublasLtCreate(&b->lt), "opening it (TEQUIO_CUDA_LIBRARIES=none does without)");
    return OK;
}

void lt_close(backend *b)
{
    if (b->lt)
        (void)api.cublasLtDestroy(b->lt);
    b->lt = NULL;
}

/* The caller's; else as lt_plan. */
static status make(backend *b, const gemm_task *t, size_t align, lt_matmul **ret,
                   const char **ret_why, error *err)
{
    *ret = NULL;
    *ret_why = why_unasked(b, t, align);
    if (*ret_why)
        return OK;
    TRY(open_handle(b, err));
    lt_matmul *made = xcalloc(1, sizeof *made);
    made->handle = b->lt;
    status st = describe(made, t, align, err);
    if (st == OK)
        st = find_algorithm(made, t->k, align, ret_why, err);
    if (st == OK && !*ret_why)
        *ret = made;
    else
        destroy(&made);
    return st;
}

bool lt_has(backend_program *p, const gemm_task *t, size_t align)
{
    error unread = ERROR_INIT;
    const char *why;
    lt_matmul *made;
    status st = make(p->backend, t, align, &made, &why, &unread);
    error_clear(&unread);
    if (st != OK || !made)
        return false;
    destroy(&made);
    return true;
}

status lt_plan(backend_program *p, const gemm_task *t, size_t align, lt_matmul **ret,
               const char **ret_why, error *err)
{
    lt_matmul *made;
    TRY(make(p->backend, t, align, &made, ret_why, err));
    if (made) {
        made->next = p->lt;
        p->lt = made;
    }
    *ret = made;
    return OK;
}

/* The library takes a bias of y's type. */
static bool rounds_bias(const lt_matmul *p)
{
    return p->has_bias && p->bias.y != p->bias.a;
}

size_t lt_scratch_bytes(const lt_matmul *p)
{
    size_t begin = size_round_up(p->scratch_bytes, PLAN_ALIGN);
    return rounds_bias(p) ? begin + (size_t)p->bias_count * sizeof(uint16_t) : p->scratch_bytes;
}

status lt_run(const lt_matmul *p, cuda_stream stream, const matmul_operands *o, void *scratch,
              error *err)
{
    const void *bias = o->c;
    if (rounds_bias(p)) {
        bias = (char *)scratch + size_round_up(p->scratch_bytes, PLAN_ALIGN);
        launch_round(stream, p->bias, (void *)(uintptr_t)bias, o->c, p->bias_count);
    }
    if (p->has_bias)
        TRY(set_pointer(p, LT_DESC_BIAS_POINTER, bias, "where its bias is", err));
    if (p->has_side)
        TRY(set_pointer(p, LT_DESC_AUX_POINTER, o->side, "where what stands beside is", err));
    const void *c = p->beta != 0.0f ? o->c : o->y;
    return check(api.cublasLtMatmul(p->handle, p->desc, &p->alpha, o->b, p->left, o->a, p->right,
                                    &p->beta, c, p->y, o->y, p->y, &p->algo, scratch,
                                    p->scratch_bytes, stream),
                 "a matmul", err);
}
