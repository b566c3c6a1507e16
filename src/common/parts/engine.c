#include "common/parts/engine.h"

#include "common/base/alloc.h"
#include "common/parts/tree.h"

#include <string.h>

part_engine *engine_if_open(part_engine *e)
{
    return e && atomic_load(&e->is_open) ? e : NULL;
}

status engine_alloc(part_engine *e, size_t n, const char *what, float **ret, error *err)
{
    void *data = NULL;
    if (e)
        return e->ops->alloc(e, n, what, ret, err);
    TRY(mem_alloc(n * sizeof(float), what, &data, err));
    *ret = data;
    return OK;
}

void engine_release(part_engine *e, float *p)
{
    if (!e)
        mem_free(p);
    else if (p)
        e->ops->release(e, p);
}

status engine_take(part_engine *e, int32_t part, error *err)
{
    return e ? e->ops->take(e, part, err) : OK;
}

status engine_give(part_engine *e, int32_t part, error *err)
{
    return e ? e->ops->give(e, part, err) : OK;
}

void engine_copy(part_engine *e, float *to, const float *from, size_t n)
{
    if (e)
        e->ops->copy(e, to, from, n);
    else
        memcpy(to, from, n * sizeof *to);
}

void engine_sum(part_engine *e, float *dst, const float *left, const float *right, size_t n)
{
    if (e)
        e->ops->sum(e, dst, left, right, n);
    else
        tree_sum(dst, left, right, n);
}

status engine_read(part_engine *e, float *host, const float *from, size_t n, error *err)
{
    if (e)
        return e->ops->read(e, host, from, n, err);
    memcpy(host, from, n * sizeof *host);
    return OK;
}

status engine_write(part_engine *e, float *to, const float *host, size_t n, error *err)
{
    if (e)
        return e->ops->write(e, to, host, n, err);
    memcpy(to, host, n * sizeof *to);
    return OK;
}
