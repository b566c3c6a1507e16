#include "unit/ps/support_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/parts/placement.h"
#include "support/average.h"

#include <stdlib.h>
#include <string.h>

static shape shape_of(const tensor_decl *tensors, size_t n, int64_t per_step)
{
    shape s = {
        /* the last step of an epoch has one slot less */
        .steps = {.examples = 20 * per_step - 2, .batch_size = 2, .per_step = per_step},
        .optim =
            {.kind = OPTIM_ADAM, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01},
        .rates = {.schedules = {{.kind = LR_SCHEDULE_STEP, .base = 0.01, .step_size = 3, .gamma = 0.9}}},
        .schedule = {.in_order = true},
    };
    error err = ERROR_INIT;
    if (flat_create(tensors, n, &s.flat, &err) != OK)
        fail_msg("%s", err.text);
    return s;
}

shape shape_small(int64_t per_step)
{
    const tensor_decl tensors[] = {
        {.name = "w", .rank = 1, .dim = {70}, .init = {INIT_NORMAL, 0, 1}, .decay = true},
        {.name = "mean", .rank = 1, .dim = {9}, .kind = TENSOR_STATE, .momentum = 0.9f},
        {.name = "b", .rank = 1, .dim = {5}},
    };
    return shape_of(tensors, COUNT_OF(tensors), per_step);
}

shape shape_large(int64_t per_step)
{
    const tensor_decl tensors[] = {
        {.name = "head", .rank = 1, .dim = {2 * PART_MIN + 100}, .init = {INIT_NORMAL, 0, 1}},
        {.name = "frozen",
         .rank = 1,
         .dim = {PART_MIN + 9},
         .kind = TENSOR_FROZEN,
         .init = {INIT_UNIFORM, -1, 1}},
        {.name = "mean", .rank = 1, .dim = {300}, .kind = TENSOR_STATE, .momentum = 0.9f},
        {.name = "body",
         .rank = 2,
         .dim = {100, 321},
         .init = {INIT_UNIFORM, -1, 1},
         .decay = true},
    };
    shape s = shape_of(tensors, COUNT_OF(tensors), per_step);
    assert_int_equal(s.flat->n_live_parts, 3);
    assert_int_equal(s.flat->n_parts, 5);
    return s;
}

shape shape_wide(int64_t per_step)
{
    const tensor_decl tensors[] = {
        {.name = "first", .rank = 1, .dim = {PART_MIN + 100}, .decay = true},
        {.name = "small", .rank = 1, .dim = {7}, .init = {INIT_NORMAL, 0, 1}},
        {.name = "mean", .rank = 1, .dim = {PART_MIN + 77}, .kind = TENSOR_STATE, .momentum = 0.9f},
        {.name = "second", .rank = 1, .dim = {4 * PART_MIN + 3}, .init = {INIT_UNIFORM, -1, 1}},
    };
    return shape_of(tensors, COUNT_OF(tensors), per_step);
}

void shape_fini(shape *s)
{
    flat_destroy(&s->flat);
}

/* Values of all magnitudes, so that another order of additions shows; zero in the gaps. */
static void leaf(const shape *s, int32_t part, int64_t step, uint32_t slot, float *ret)
{
    rng r = rng_make(SEED, RNG_TEST, rng_mix((uint64_t)step, slot));
    size_t n_segments;
    const part_segment *segment = flat_part_segments(s->flat, part, &n_segments);
    int64_t begin = s->flat->parts[part].begin;
    memset(ret, 0, (size_t)flat_part_elements(s->flat, part) * sizeof *ret);
    for (size_t i = 0; i < n_segments; i++)
        for (int64_t k = 0; k < segment[i].n; k += 4) {
            uint32_t draw[4];
            rng_block(&r, (uint64_t)(segment[i].at + k) / 4, draw);
            for (int64_t j = k; j < k + 4 && j < segment[i].n; j++)
                ret[segment[i].at - begin + j] =
                    ((float)(draw[j - k] >> 8) * 0x1p-23f - 1) * (float)(1 << draw[j - k] % 16);
        }
}

void shape_node(const shape *s, int32_t part, int64_t step, tree_node node, float *ret)
{
    if (node.level == 0) {
        leaf(s, part, step, node.index, ret);
        return;
    }
    size_t n = (size_t)flat_part_elements(s->flat, part);
    tree_node left = {(uint8_t)(node.level - 1), node.index * 2},
              right = {left.level, left.index + 1};
    shape_node(s, part, step, left, ret);
    if (tree_node_first(right) >= steps_slots(&s->steps, step))
        return;
    float *other = xmalloc(n * sizeof *other);
    shape_node(s, part, step, right, other);
    for (size_t i = 0; i < n; i++)
        ret[i] = ret[i] + other[i];
    free(other);
}

whole whole_make(const shape *s)
{
    whole w = {.shape = s};
    size_t n = (size_t)s->flat->n_elements;
    w.weights = xcalloc(n, sizeof(float));
    for (size_t k = 0; k < optim_slots(&s->optim); k++)
        w.slots[k] = xcalloc(n, sizeof(float));
    for (int32_t p = 0; p < s->flat->n_parts; p++)
        flat_part_init(s->flat, p, SEED, w.weights + s->flat->parts[p].begin);
    return w;
}

void whole_fini(whole *w)
{
    free(w->weights);
    for (size_t k = 0; k < OPTIM_SLOTS; k++)
        free(w->slots[k]);
}

static void tensor_step(whole *w, int32_t tensor, float scale, const float *grad)
{
    const shape *s = w->shape;
    const tensor_decl *d = &s->flat->tensors[tensor];
    size_t at = (size_t)s->flat->offset[tensor], n = (size_t)s->flat->count[tensor];
    if (d->kind == TENSOR_FROZEN)
        return;
    if (d->kind == TENSOR_STATE) {
        average(d->momentum, 1, n, grad + at, w->weights + at, w->weights + at);
        return;
    }
    optim_call call = {
        .step = w->version + 1 - w->skipped,
        .rate = lr_sequence_rate(&s->rates, w->version, 0),
        .scale = scale,
        .clip_value = s->clip_value,
        .decay = d->decay,
    };
    float *slots[OPTIM_SLOTS] = {NULL};
    for (size_t k = 0; k < optim_slots(&s->optim); k++)
        slots[k] = w->slots[k] + at;
    optim_apply(&s->optim, &call, n, grad + at, w->weights + at, w->weights + at,
                (const float *const *)slots, slots);
}

void whole_step(whole *w, float scale)
{
    whole_apply(w, w->version, scale);
}

void whole_skip(whole *w)
{
    w->version++;
    w->skipped++;
}

void whole_apply(whole *w, int64_t step, float scale)
{
    const flat *f = w->shape->flat;
    float *grad = xcalloc((size_t)f->n_elements, sizeof *grad);
    tree_node root = {.level = tree_root_level(steps_slots(&w->shape->steps, step))};
    for (int32_t p = 0; p < f->n_live_parts; p++)
        shape_node(w->shape, p, step, root, grad + f->parts[p].begin);
    for (int32_t i = 0; i < f->n_tensors; i++)
        tensor_step(w, i, scale, grad);
    w->version++;
    free(grad);
}

static size_t out;

static void hand_back(span *b)
{
    assert_true(out > 0);
    out--;
    part_store *store = b->owner;
    if (store)
        store->memory->release(store, b->floats);
    else
        free(b->data);
    free(b);
}

/* Its values move to where the tables are. */
static void move(span *b, part_store *store)
{
    error err = ERROR_INIT;
    float *there = NULL;
    if (store->memory->alloc(store, span_n(b), "a gradient", &there, &err) != OK ||
        store->memory->write(store, there, b->floats, span_n(b), &err) != OK)
        fail_msg("%s", err.text);
    free(b->data);
    b->data = there;
    b->owner = store;
}

span *hand_zeros(size_t n)
{
    span *b = xmalloc(sizeof *b);
    *b = (span){.data = xcalloc(n + 1, sizeof(float)),
                .bytes = n * sizeof(float),
                .writable = true,
                .refs = 1,
                .release = hand_back};
    out++;
    return b;
}

span *hand(const shape *s, int32_t part, int64_t step, tree_node node, bool writable)
{
    span *b = hand_zeros((size_t)flat_part_elements(s->flat, part));
    b->writable = writable;
    shape_node(s, part, step, node, b->floats);
    for (size_t i = 0; s->factor != 0 && i < span_n(b); i++)
        b->floats[i] *= s->factor;
    if (s->store)
        move(b, s->store);
    return b;
}

size_t hands_out(void)
{
    return out;
}

servers servers_make(const shape *s, int32_t n, const table_hooks *hooks, int64_t step,
                     const checkpoint *restore)
{
    return servers_make_scaled(s, n, hooks, step, restore, loss_scale_first(&s->scaling));
}

servers servers_make_scaled(const shape *s, int32_t n, const table_hooks *hooks, int64_t step,
                            const checkpoint *restore, loss_scale scale)
{
    servers v = {.shape = s, .n = n, .hooks = *hooks};
    v.placement = xcalloc((size_t)s->flat->n_parts, sizeof *v.placement);
    placement_deal(s->flat, n, v.placement);
    part_hold *parts = xcalloc((size_t)s->flat->n_parts, sizeof *parts);
    for (int32_t i = 0; i < n; i++) {
        for (int32_t p = 0; p < s->flat->n_parts; p++)
            parts[p] = v.placement[p] == i ? PART_HELD : PART_ELSEWHERE;
        table_options options = {
            .flat = s->flat,
            .parts = parts,
            .steps = s->steps,
            .groups = &(optim_group){.optim = s->optim, .rates = s->rates, .share = 1.0},
            .n_groups = 1,
            .clip_value = s->clip_value,
            .votes = s->votes,
            .scaling = s->scaling,
            .scale = scale,
            .schedule = s->schedule,
            .total = s->total,
            .step = step,
            .seed = SEED,
            .restore = restore,
            .thread_pool = s->thread_pool,
            .store = s->store,
        };
        error err = ERROR_INIT;
        if (table_create(&options, hooks, &v.tables[i], &err) != OK)
            fail_msg("%s", err.text);
    }
    free(parts);
    return v;
}

void servers_fini(servers *v)
{
    for (int32_t i = 0; i < v->n; i++)
        table_destroy(&v->tables[i]);
    free(v->placement);
}

void servers_push_step(servers *v, int32_t part, int64_t step)
{
    uint32_t n_slots = steps_slots(&v->shape->steps, step);
    for (uint32_t i = 0; i < n_slots; i++) {
        tree_node node = {.index = i};
        push_result result;
        error err = ERROR_INIT;
        if (table_push(v->tables[v->placement[part]], part, step, n_slots, node,
                       hand(v->shape, part, step, node, i % 2), &result, &err) != OK ||
            result != PUSH_TAKEN)
            fail_msg("part %d step %lld: %s", part, (long long)step, err.text);
    }
}

void servers_push_all(servers *v, int64_t step)
{
    for (int32_t p = 0; p < v->shape->flat->n_live_parts; p++)
        servers_push_step(v, p, step);
}

void servers_check(const servers *v, const whole *w)
{
    const flat *f = v->shape->flat;
    for (int32_t p = 0; p < f->n_parts; p++) {
        table *t = v->tables[v->placement[p]];
        size_t bytes = (size_t)flat_part_elements(f, p) * sizeof(float);
        span *weights, *slots[OPTIM_SLOTS];
        assert_int_equal(table_freeze(t, p, &weights, slots, NULL), OK);
        assert_memory_equal(weights->data, w->weights + f->parts[p].begin, bytes);
        for (size_t k = 0; k < optim_slots(&v->shape->optim); k++) {
            assert_int_equal(slots[k] != NULL, !f->parts[p].frozen);
            if (slots[k])
                assert_memory_equal(slots[k]->data, w->slots[k] + f->parts[p].begin, bytes);
            span_drop(slots[k]);
        }
        span_drop(weights);
        if (!f->parts[p].frozen)
            assert_int_equal(table_version(t, p), w->version);
    }
}

static status quiet_applied(void *user, int32_t part, int64_t version, const float *grad,
                            error *err)
{
    (void)user, (void)part, (void)version, (void)grad, (void)err;
    return OK;
}

static void quiet_voted(void *user, int32_t part, int64_t step, double square_sum)
{
    (void)user, (void)part, (void)step, (void)square_sum;
}

const table_hooks quiet_hooks = {.applied = quiet_applied, .voted = quiet_voted};
