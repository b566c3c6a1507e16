#include "exec/footprint.h"

#include "common/base/alloc.h"
#include "exec/variant_plan.h"

#include <stdlib.h>

enum { TRIES = 6 };

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

exec_memory footprint_of(const variant *variants, size_t n, const flat *layout)
{
    exec_memory m = {.param = layout ? (size_t)layout->n_elements * sizeof(float) : 0};
    size_t before = 0;
    for (size_t i = 0; i < n; i++) {
        const variant *v = &variants[i];
        size_t temp = plan_slab_bytes(v->plan, SLAB_TEMP), whole = v->shrunk ? v->shrunk_from : temp;
        m.grad = larger(m.grad, plan_slab_bytes(v->plan, SLAB_GRAD));
        m.io = larger(m.io, plan_slab_bytes(v->plan, SLAB_IO));
        m.temp = larger(m.temp, temp);
        m.constant += plan_slab_bytes(v->plan, SLAB_CONST);
        m.workspace = larger(m.workspace, v->workspace_bytes);
        if (whole > before)
            m.again = v->again;
        before = larger(before, whole);
    }
    m.saved = before - m.temp;
    return m;
}

size_t exec_memory_total(const exec_memory *m)
{
    return m->param + m->grad + m->io + m->temp + m->constant + m->workspace + m->sums + m->received;
}

/* --- one variant --- */

/* The same variant of a graph in which values are computed again; *ret_live is what it asked of the plan. */
static status load_again(const variant *v, const flat *layout, size_t target, variant *ret, size_t *ret_live,
                         error *err)
{
    variant_wishes wishes;
    *ret = (variant){.source = v->graph, .shrunk_from = plan_slab_bytes(v->plan, SLAB_TEMP)};
    variant_wishes_init(&wishes, v, layout);
    recompute_options o = {.plan = &wishes.plan, .fixed = wishes.fixed, .temp = target};
    if (!target)
        o.temp = graph_recompute_least(v->graph, &o);
    status st = graph_recompute(v->graph, &o, &ret->shrunk, &ret->again, err);
    variant_wishes_fini(&wishes);
    *ret_live = ret->again.temp;
    return st == OK ? variant_load(ret, v->backend, v->device, ret->shrunk, layout, err) : st;
}

/* In *ret a variant whose SLAB_TEMP takes `temp` at most, or the least that was found. What lies between values,
 * because they are not all of one size, is known only once they are placed: so a smaller target is tried then. */
static status shrink_to(const variant *v, const flat *layout, size_t temp, variant *ret, error *err)
{
    size_t target = temp, live = 0;
    for (int i = 0; i < TRIES && target; i++) {
        TRY(load_again(v, layout, target, ret, &live, err));
        size_t got = plan_slab_bytes(ret->plan, SLAB_TEMP);
        if (got <= temp)
            return OK;
        size_t over = got - temp;
        bool is_least = live > target;
        variant_unload(ret);
        if (is_least)
            break;
        target = target > over ? target - over : 0;
    }
    return load_again(v, layout, 0, ret, &live, err);
}

/* --- all of them --- */

static status shrink_one(variant *v, const flat *layout, size_t temp, error *err)
{
    variant whole = {.graph = NULL}, smaller = {.graph = NULL};
    if (v->shrunk) {
        status st = variant_load(&whole, v->backend, v->device, v->source, layout, err);
        if (st != OK) {
            variant_unload(&whole);
            return st;
        }
        variant_unload(v);
        *v = whole;
    }
    status st = shrink_to(v, layout, temp, &smaller, err);
    if (st != OK) {
        variant_unload(&smaller);
        return st;
    }
    variant_unload(v);
    *v = smaller;
    return OK;
}

static double mb(size_t bytes)
{
    return (double)bytes / 1e6;
}

static status refuse(size_t whole, size_t least, size_t temp, size_t budget, error *err)
{
    return FAIL(err, E_NOMEM,
                "trainer.memory: %zu bytes for a lane are too few: it needs %.1f MB, and where values are computed "
                "again %zu bytes at least (%.1f MB), %.1f MB of them for values between nodes, which are fewer with "
                "a smaller data_loader.batch_size",
                budget, mb(whole), least, mb(least), mb(temp));
}

status footprint_fit(variant *variants, size_t n, const flat *layout, size_t beside, size_t budget, exec_memory *ret,
                     error *err)
{
    exec_memory m = footprint_of(variants, n, layout);
    const size_t whole = exec_memory_total(&m) + beside;
    size_t all = whole;
    for (int i = 0; budget && i < TRIES && all > budget; i++) {
        size_t rest = all - m.temp, temp = budget > rest ? budget - rest : 0;
        for (size_t k = 0; k < n; k++)
            if (plan_slab_bytes(variants[k].plan, SLAB_TEMP) > temp)
                TRY(shrink_one(&variants[k], layout, temp, err));
        m = footprint_of(variants, n, layout);
        all = exec_memory_total(&m) + beside;
        if (m.temp > temp)
            break;
    }
    if (budget && all > budget)
        return refuse(whole, all, m.temp, budget, err);
    *ret = m;
    return OK;
}
