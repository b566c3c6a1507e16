#include "backend/cuda/plan/matmul.h"

#include "backend/cuda/library/lt.h"
#include "graph/precision.h"

enum {
    TILE = 64,
    BLOCKS = 256, /* enough for any chip */
    PIECES_MOST = 32,
    PIECE_K = 256,
};

#define COUNT_LIMIT ((INT64_C(1) << 31) - 1024)

int64_t cuda_matmul_pieces(int64_t blocks, int64_t k, int64_t each)
{
    int64_t pieces = blocks > 0 ? BLOCKS / blocks : 1;
    pieces = pieces < k / each ? pieces : k / each;
    pieces = pieces < PIECES_MOST ? pieces : PIECES_MOST;
    return pieces > 1 ? pieces : 1;
}

status cuda_matmul_kind(const backend_program *p, dtype type, tile_kind *ret, error *err)
{
    bool is_recent = p->backend->arch >= MATMUL_ARCH_OF_TF32;
    if (type == DT_BF16 && !is_recent)
        return FAIL(err, E_UNSUPPORTED,
                    "matmuls of bfloat16 need a GPU of compute capability 8.0, and this one has "
                    "%d.%d; use precision \"f16\" or \"f32\"",
                    p->backend->arch / 10, p->backend->arch % 10);
    *ret = type == DT_BF16                                           ? TILE_BF16
           : type == DT_F16                                          ? TILE_F16
           : is_recent && graph_precision_of(p->g) == PRECISION_TF32 ? TILE_TF32
                                                                     : TILE_F32;
    return OK;
}

static int64_t tiles_of(const gemm_task *t, int64_t side)
{
    return (t->m + side - 1) / side * ((t->n + side - 1) / side) * t->batches;
}

static status check_sizes(const gemm_task *t, error *err)
{
    if (t->m >= COUNT_LIMIT || t->n >= COUNT_LIMIT || t->k >= COUNT_LIMIT ||
        tiles_of(t, TILE) >= COUNT_LIMIT)
        return FAIL(err, E_UNSUPPORTED,
                    "a matmul of %lld times [%lld,%lld] and [%lld,%lld] is too large",
                    (long long)t->batches, (long long)t->m, (long long)t->k, (long long)t->k,
                    (long long)t->n);
    return OK;
}

static void cut_into_tiles(cuda_matmul *p)
{
    gemm_task *t = &p->task;
    t->cut.wide = t->m > TILE && t->n > TILE && tiles_of(t, 2 * TILE) >= BLOCKS / 2;
    t->cut.pieces = t->cut.wide ? 1 : cuda_matmul_pieces(tiles_of(t, TILE), t->k, PIECE_K);
    p->scratch_bytes = (size_t)tile_parts(t->cut.pieces, t->batches, t->m, t->n) * sizeof(float);
}

bool cuda_matmul_can_end(backend_program *p, const gemm_task *as_it_is, const gemm_task *otherwise,
                         size_t align)
{
    return lt_has(p, otherwise, align) || !lt_has(p, as_it_is, align);
}

status cuda_matmul_plan(backend_program *p, const gemm_task *t, size_t align, cuda_matmul *ret,
                        error *err)
{
    TRY(check_sizes(t, err));
    *ret = (cuda_matmul){.task = *t};
    TRY(lt_plan(p, t, align, &ret->lt, &ret->why, err));
    if (ret->lt)
        ret->scratch_bytes = lt_scratch_bytes(ret->lt);
    else
        cut_into_tiles(ret);
    return OK;
}

status cuda_matmul_run(const cuda_matmul *p, cuda_stream stream, const matmul_operands *o,
                       void *scratch, error *err)
{
    if (p->lt)
        return lt_run(p->lt, stream, o, scratch, err);
    gemm_task t = p->task;
    t.a.data = o->a;
    t.b.data = o->b;
    t.end.c = o->c;
    t.end.side = o->side;
    t.y = o->y;
    t.cut.parts = scratch;
    launch_gemm(stream, &t);
    return OK;
}
