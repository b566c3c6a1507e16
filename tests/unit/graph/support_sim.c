#include "unit/graph/support_sim.h"

#include "unit/graph/support_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

static size_t plain_bytes(const graph *g, graph_val v)
{
    const graph_value *value = graph_value_at(g, v);
    return (size_t)graph_shape_elements(&value->shape) * dtype_bytes(value->dtype);
}

/* Not one that has no elements. */
static bool is_fused(const sim *s, graph_val v)
{
    return s->bytes[v] == 0 && plain_bytes(s->g, v) > 0;
}

static bool is_grad(const graph *g, graph_val v)
{
    for (graph_val i = 0; i < graph_n_values(g); i++) {
        if (graph_value_at(g, i)->grad == v)
            return true;
    }
    return false;
}

static int32_t leader(const int32_t *kernel, int32_t node)
{
    while (kernel[node] != node)
        node = kernel[node];
    return node;
}

/* Nodes tied by fused values, each naming another of its kernel. */
static void tie(const sim *s, int32_t *kernel)
{
    for (int32_t i = 0; i < graph_n_nodes(s->g); i++)
        kernel[i] = i;
    for (int32_t i = 0; i < graph_n_nodes(s->g); i++) {
        const graph_node *n = graph_node_at(s->g, i);
        for (int32_t k = 0; k < n->n_in; k++) {
            if (n->in[k] != GRAPH_NONE && is_fused(s, n->in[k]))
                kernel[leader(kernel, i)] = leader(kernel, graph_value_at(s->g, n->in[k])->def);
        }
    }
}

/* Every kernel runs at the turn of one of its nodes, drawn once for its leader and size, or of the
 * last. */
static void draw_turns(sim *s, const int32_t *kernel, uint64_t seed)
{
    int32_t n_nodes = graph_n_nodes(s->g);
    int32_t *left = xcalloc((size_t)n_nodes, sizeof *left);
    int32_t *turn = xcalloc((size_t)n_nodes, sizeof *turn);
    for (int32_t i = 0; i < n_nodes; i++)
        left[leader(kernel, i)]++;
    for (int32_t i = 0; i < n_nodes; i++) {
        rng stream = rng_make(seed, RNG_TEST, (uint64_t)i);
        if (left[i] && !s->is_told)
            left[i] = 1 + (int32_t)rng_below(&stream, (uint64_t)left[i], (uint64_t)left[i]);
    }
    for (int32_t i = 0; i < n_nodes; i++) {
        if (--left[leader(kernel, i)] == 0)
            turn[leader(kernel, i)] = i;
    }
    for (int32_t i = 0; i < n_nodes; i++)
        s->turn[i] = turn[leader(kernel, i)];
    free(left);
    free(turn);
}

/* Whatever is read from another kernel was made at an earlier turn. */
static bool turns_are_legal(const sim *s)
{
    for (int32_t i = 0; i < graph_n_nodes(s->g); i++) {
        const graph_node *n = graph_node_at(s->g, i);
        for (int32_t k = 0; k < n->n_in; k++) {
            int32_t maker =
                n->in[k] == GRAPH_NONE ? GRAPH_NONE : graph_value_at(s->g, n->in[k])->def;
            if (maker != GRAPH_NONE && s->turn[maker] > s->turn[i])
                return false;
        }
    }
    return true;
}

/* Fuses some values away, as far as there is an order in which the kernels can run. */
static void fuse(sim *s, uint64_t seed)
{
    rng stream = rng_make(seed, RNG_TEST, 7);
    int32_t *kernel = xcalloc((size_t)graph_n_nodes(s->g), sizeof *kernel);
    for (graph_val v = 0; v < graph_n_values(s->g); v++) {
        const graph_value *value = graph_value_at(s->g, v);
        if (!s->is_fused || value->kind != VAL_TEMP || value->keep || is_grad(s->g, v) ||
            rng_below(&stream, (uint64_t)v, 3) != 0)
            continue;
        s->bytes[v] = 0;
        tie(s, kernel);
        draw_turns(s, kernel, seed);
        if (!turns_are_legal(s))
            s->bytes[v] = plain_bytes(s->g, v);
    }
    tie(s, kernel);
    draw_turns(s, kernel, seed);
    assert_true(turns_are_legal(s));
    free(kernel);
}

void sim_init(sim *s, const graph *g, uint64_t seed, bool is_fused, bool is_told)
{
    size_t n_values = (size_t)graph_n_values(g), n_nodes = (size_t)graph_n_nodes(g);
    rng stream = rng_make(seed, RNG_TEST, 9);
    *s = (sim){.g = g, .is_fused = is_fused, .is_told = is_told};
    s->bytes = xcalloc(n_values, sizeof *s->bytes);
    s->content = xcalloc(n_values, sizeof *s->content);
    s->no_inplace = xcalloc(n_nodes, sizeof *s->no_inplace);
    s->no_alias = xcalloc(n_nodes, sizeof *s->no_alias);
    s->turn = xcalloc(n_nodes, sizeof *s->turn);
    for (graph_val v = 0; v < (graph_val)n_values; v++)
        s->bytes[v] = plain_bytes(g, v);
    for (size_t i = 0; i < n_nodes; i++) {
        s->no_inplace[i] = rng_below(&stream, 2 * i, 5) == 0;
        s->no_alias[i] = rng_below(&stream, 2 * i + 1, 5) == 0;
    }
    fuse(s, seed);
    s->f = make_flat(g);
    size_t n_parts = s->f ? (size_t)s->f->n_parts : 0;
    s->wrote = xcalloc(n_parts, sizeof *s->wrote);
    s->read = xcalloc(n_parts, sizeof *s->read);
    s->first_read = xcalloc(n_parts, sizeof *s->first_read);
    for (size_t i = 0; i < n_parts; i++)
        s->wrote[i] = s->read[i] = s->first_read[i] = GRAPH_NONE;
    s->options = (plan_options){.value_bytes = s->bytes,
                                .runs_at = is_told ? s->turn : NULL,
                                .no_inplace = s->no_inplace,
                                .no_alias = s->no_alias,
                                .flat = s->f};
    plan *p;
    error err = ERROR_INIT;
    if (plan_create(g, &s->options, &p, &err) != OK)
        fail_msg("%s", err.text);
    s->p = p;
}

void sim_fini(sim *s)
{
    plan *p = (plan *)s->p;
    plan_destroy(&p);
    plan_destroy(&p);
    flat_destroy(&s->f);
    for (int i = 0; i < SLAB_COUNT; i++)
        free(s->memory[i]);
    free(s->bytes);
    free(s->content);
    free(s->no_inplace);
    free(s->no_alias);
    free(s->turn);
    free(s->wrote);
    free(s->read);
    free(s->first_read);
}

static bool overlap(const plan_place *a, const plan_place *b)
{
    return a->slab == b->slab && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

static bool same_place(const plan_place *a, const plan_place *b)
{
    return a->slab == b->slab && a->offset == b->offset && a->bytes == b->bytes;
}

void sim_check_places(const sim *s)
{
    for (graph_val v = 0; v < graph_n_values(s->g); v++) {
        const plan_place *place = plan_place_of(s->p, v);
        const graph_value *value = graph_value_at(s->g, v);
        assert_int_equal(place->materialised, !is_fused(s, v));
        if (!place->materialised)
            continue;
        assert_int_equal(place->bytes, s->bytes[v]);
        if (value->kind == VAL_TEMP) {
            int32_t made = s->turn[value->def];
            assert_true(s->is_told ? place->first == made : place->first <= made);
            assert_true(place->last >= made);
            assert_int_equal(place->last == graph_n_nodes(s->g), value->keep || is_grad(s->g, v));
        } else {
            assert_int_equal(place->first, GRAPH_NONE);
        }
        assert_int_equal(place->offset % PLAN_ALIGN, 0);
        assert_true(place->offset + place->bytes <= plan_slab_bytes(s->p, place->slab));
        if (value->kind == VAL_PARAM) {
            int64_t at = s->f->offset[flat_find(s->f, value->name)];
            assert_int_equal(place->slab, SLAB_PARAM);
            assert_int_equal(place->offset, at * 4);
            if (value->grad != GRAPH_NONE) {
                assert_int_equal(plan_place_of(s->p, value->grad)->slab, SLAB_GRAD);
                assert_int_equal(plan_place_of(s->p, value->grad)->offset, at * 4);
            }
        } else if (value->kind == VAL_CONST) {
            assert_int_equal(place->slab, SLAB_CONST);
        } else if (value->kind == VAL_INPUT || (value->keep && !is_grad(s->g, v))) {
            assert_int_equal(place->slab, SLAB_IO);
        }
    }
}

/* A view without a copy leaves its bytes alone. */
static bool is_view(const sim *s, int32_t node)
{
    const graph_node *n = graph_node_at(s->g, node);
    if (!(graph_op_of(n->op)->traits & OP_ALIAS) || s->bytes[n->in[0]] == 0 ||
        s->bytes[n->out[0]] == 0)
        return false;
    const plan_place *in = plan_place_of(s->p, n->in[0]), *out = plan_place_of(s->p, n->out[0]);
    if (!same_place(in, out))
        return false;
    assert_false(s->no_alias[node]);
    assert_int_equal(plan_aliased(s->p, n->in[0]), plan_aliased(s->p, n->out[0]));
    return true;
}

/* What a kernel writes must not touch what it reads, unless it may run in place. */
static void check_overlaps(const sim *s, int32_t node)
{
    const graph_node *n = graph_node_at(s->g, node);
    int32_t slot = s->no_inplace[node] ? GRAPH_NONE : graph_node_inplace(n);
    if (is_view(s, node))
        return;
    for (int32_t o = 0; o < n->n_out; o++) {
        if (n->out[o] == GRAPH_NONE || !s->bytes[n->out[o]])
            continue;
        const plan_place *out = plan_place_of(s->p, n->out[o]);
        for (int32_t k = 0; k < n->n_in; k++) {
            if (n->in[k] == GRAPH_NONE || !s->bytes[n->in[k]])
                continue;
            const plan_place *in = plan_place_of(s->p, n->in[k]);
            if (o == 0 && k == slot && same_place(in, out))
                continue;
            assert_false(overlap(in, out));
        }
        for (int32_t other = 0; other < o; other++)
            assert_true(n->out[other] == GRAPH_NONE || !s->bytes[n->out[other]] ||
                        !overlap(out, plan_place_of(s->p, n->out[other])));
    }
}

static void note_parts(sim *s, const plan_place *place, int32_t turn, bool is_read)
{
    for (int32_t i = 0; s->f && i < s->f->n_parts; i++) {
        const part_range *part = &s->f->parts[i];
        if (place->offset >= (size_t)part->end * 4 ||
            place->offset + place->bytes <= (size_t)part->begin * 4)
            continue;
        int32_t *last = is_read ? s->read : s->wrote;
        last[i] = turn > last[i] ? turn : last[i];
        if (is_read && (s->first_read[i] == GRAPH_NONE || turn < s->first_read[i]))
            s->first_read[i] = turn;
    }
}

static void put(sim *s, graph_val v)
{
    const plan_place *place = plan_place_of(s->p, v);
    s->content[v] = v;
    for (size_t i = 0; s->memory[place->slab] && i < place->bytes; i++)
        s->memory[place->slab][place->offset + i] = v;
}

static void expect(const sim *s, graph_val v)
{
    const plan_place *place = plan_place_of(s->p, v);
    if (!s->memory[place->slab])
        return;
    for (size_t i = 0; i < place->bytes; i++) {
        int32_t found = s->memory[place->slab][place->offset + i];
        if (found != s->content[v])
            fail_msg("'%s' was overwritten by '%s'", graph_value_at(s->g, v)->name,
                     found < 0 ? "nothing" : graph_value_at(s->g, found)->name);
    }
}

static void read_inputs(sim *s, int32_t node, int32_t turn)
{
    const graph_node *n = graph_node_at(s->g, node);
    for (int32_t k = 0; k < n->n_in; k++) {
        if (n->in[k] == GRAPH_NONE || !s->bytes[n->in[k]])
            continue;
        int32_t maker = graph_value_at(s->g, n->in[k])->def;
        const plan_place *place = plan_place_of(s->p, n->in[k]);
        if (place->slab == SLAB_PARAM)
            note_parts(s, place, turn, true);
        if (maker == GRAPH_NONE || s->turn[maker] != turn)
            expect(s, n->in[k]);
    }
}

static void write_outputs(sim *s, int32_t node, int32_t turn)
{
    const graph_node *n = graph_node_at(s->g, node);
    if (is_view(s, node)) {
        s->content[n->out[0]] = s->content[n->in[0]];
        return;
    }
    for (int32_t o = 0; o < n->n_out; o++) {
        if (n->out[o] == GRAPH_NONE || !s->bytes[n->out[o]])
            continue;
        const plan_place *place = plan_place_of(s->p, n->out[o]);
        if (place->slab == SLAB_GRAD)
            note_parts(s, place, turn, false);
        put(s, n->out[o]);
    }
}

void sim_run(sim *s, bool with_memory)
{
    int32_t n_nodes = graph_n_nodes(s->g), n_values = graph_n_values(s->g);
    for (int i = 0; with_memory && i < SLAB_COUNT; i++) {
        size_t bytes = plan_slab_bytes(s->p, (plan_slab)i);
        s->memory[i] = xcalloc(bytes, sizeof *s->memory[i]);
        for (size_t k = 0; k < bytes; k++)
            s->memory[i][k] = GRAPH_NONE;
    }
    for (graph_val v = 0; v < n_values; v++) {
        if (graph_value_at(s->g, v)->kind != VAL_TEMP)
            put(s, v);
    }
    for (int32_t turn = 0; turn < n_nodes; turn++) {
        for (int32_t i = 0; i < n_nodes; i++) {
            if (s->turn[i] == turn)
                check_overlaps(s, i);
        }
        for (int32_t i = 0; i < n_nodes; i++) {
            if (s->turn[i] == turn)
                read_inputs(s, i, turn);
        }
        for (int32_t i = 0; i < n_nodes; i++) {
            if (s->turn[i] == turn)
                write_outputs(s, i, turn);
        }
    }
    for (graph_val v = 0; v < n_values; v++) {
        const graph_value *value = graph_value_at(s->g, v);
        if (value->kind != VAL_TEMP || value->keep || is_grad(s->g, v))
            expect(s, v);
    }
}

void sim_check_parts(const sim *s)
{
    for (int32_t i = 0; s->f && i < s->f->n_parts; i++) {
        int32_t ready = s->wrote[i] > s->read[i] ? s->wrote[i] : s->read[i];
        if (s->is_fused && !s->is_told) {
            assert_true(plan_part_ready_after(s->p, i) >= ready);
            assert_true(plan_part_need_before(s->p, i) <= s->first_read[i]);
            assert_int_equal(plan_part_need_before(s->p, i) < 0, s->first_read[i] < 0);
        } else {
            assert_int_equal(plan_part_ready_after(s->p, i), ready);
            assert_int_equal(plan_part_need_before(s->p, i), s->first_read[i]);
        }
    }
}
