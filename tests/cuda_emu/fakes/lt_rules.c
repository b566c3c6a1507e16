#include "cuda_emu/fakes/lt_rules.h"

#include "cuda_emu/machine.h"

#include <string.h>

static const char *wrong_layout(const struct lt_layout_opaque *l, bool is_result)
{
    int64_t extent = l->pitch * ((int64_t)l->columns - 1) + (int64_t)l->rows;
    if (l->rows == 0 || l->columns == 0)
        return "has no elements";
    if (l->rows > INT32_MAX || l->columns > INT32_MAX)
        return "is larger than it counts";
    if (l->type != LT_F32 && l->type != LT_F16 && l->type != LT_BF16)
        return "is of a type nobody plays";
    if (l->pitch < (int64_t)l->rows)
        return "has a pitch below its rows";
    if (l->count < 1 || l->stride < 0)
        return "has batches that cannot be";
    if (is_result && l->count > 1 && l->stride < extent)
        return "has batches that lie in each other";
    return NULL;
}

static const char *wrong_types(const lt_problem *p, unsigned scale)
{
    if (p->type[LEFT] != p->type[RIGHT] || p->type[BASE] != p->type[RESULT])
        return "factors, or c and d, of two types";
    if (p->type[RESULT] != LT_F32 && p->type[RESULT] != p->type[LEFT])
        return "a result of a type of its own";
    if (scale != LT_F32 || (p->compute != LT_COMPUTE_F32 && p->compute != LT_COMPUTE_TF32))
        return "a way to compute that nobody plays";
    if (p->compute == LT_COMPUTE_TF32 && p->type[LEFT] != LT_F32)
        return "TF32 for halves";
    return NULL;
}

static const char *wrong_sizes(const lt_problem *p)
{
    uint64_t k = p->transposed[RIGHT] ? p->columns[RIGHT] : p->rows[RIGHT];
    uint64_t n = p->transposed[RIGHT] ? p->rows[RIGHT] : p->columns[RIGHT];
    if (p->transposed[LEFT] > LT_TRANSPOSED || p->transposed[RIGHT] > LT_TRANSPOSED)
        return "a factor that is transposed in a way nobody plays";
    if (k != p->k || n != p->n)
        return "factors that do not multiply";
    if (p->rows[BASE] != p->m || p->columns[BASE] != p->n || p->rows[RESULT] != p->m ||
        p->columns[RESULT] != p->n)
        return "c or d that are not as large as the matmul";
    return NULL;
}

/* Of what stands beside the result. */
static const char *wrong_side(const lt_problem *p, const struct lt_desc_opaque *d)
{
    int64_t extent = p->side_pitch * ((int64_t)p->n - 1) + (int64_t)p->m;
    if (lt_has_bias(p) && (!d->bias || (uintptr_t)d->bias % LT_SIDE_ALIGN))
        return "no bias, or not one whose address is a multiple of 16";
    if (!lt_has_side(p))
        return NULL;
    if (!d->side || (uintptr_t)d->side % LT_SIDE_ALIGN)
        return "nothing beside, or nothing whose address is a multiple of 16";
    if (p->side_pitch % 8 || p->side_pitch < (int64_t)p->m)
        return "a pitch of what stands beside that is no multiple of 8, or below its rows";
    if (p->count > 1 && (p->side_stride % 8 || p->side_stride < extent))
        return "batches of what stands beside that are no multiples of 8, or lie in each other";
    return NULL;
}

bool lt_problem_of(lt_desc d, const lt_layout layouts[OPERANDS], lt_problem *ret)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    *ret = (lt_problem){.compute = d->compute, .epilogue = d->epilogue, .count = layouts[0]->count};
    for (int i = 0; i < OPERANDS; i++) {
        const struct lt_layout_opaque *l = layouts[i];
        const char *wrong = wrong_layout(l, i == RESULT);
        wrong = wrong || l->count == ret->count ? wrong : "has another number of batches";
        if (wrong) {
            emu_fault("cuBLASLt: matrix %s %s", names[i], wrong);
            return false;
        }
        ret->type[i] = l->type;
        ret->rows[i] = l->rows;
        ret->columns[i] = l->columns;
        ret->pitch[i] = l->pitch;
        ret->stride[i] = l->stride;
    }
    memcpy(ret->transposed, (const uint64_t[]){d->transposed[0], d->transposed[1]},
           sizeof ret->transposed);
    ret->m = ret->transposed[LEFT] ? ret->columns[LEFT] : ret->rows[LEFT];
    ret->k = ret->transposed[LEFT] ? ret->rows[LEFT] : ret->columns[LEFT];
    ret->n = ret->columns[RESULT];
    const char *wrong = wrong_types(ret, d->scale);
    wrong = wrong ? wrong : wrong_sizes(ret);
    if (lt_has_side(ret)) {
        ret->side_pitch = d->side_pitch;
        ret->side_stride = d->side_stride;
    }
    wrong = wrong ? wrong : wrong_side(ret, d);
    if (wrong)
        emu_fault("cuBLASLt: %s", wrong);
    return !wrong;
}
