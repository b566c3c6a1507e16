/*
 * From lifetimes to offsets.
 *
 * Values that use the same bytes form a group, led by the value that owns them: views of it, and
 * outputs written over it. A group is placed as a whole, from its first writer to its last reader.
 *
 * A value that is fused away ties its maker and its readers into one kernel, and the plan does not
 * ask which node's turn that kernel runs at: it lets the kernel write from the earliest of them and
 * read until the latest. `begins` and `ends` of a node are those two. Where the backend tells when
 * nodes run, both are that turn.
 *
 * Two lifetimes that meet in one node overlap, because a kernel reads while it writes.
 */
#include "graph/plan.h"

#include <stdlib.h>
#include <string.h>

struct plan {
    arena *arena;
    plan_place *places;
    graph_val *owner;
    size_t slab_bytes[SLAB_COUNT];
    int32_t n_parts;
    int32_t *ready_after, *need_before;
};

typedef struct planner {
    const graph *g;
    const plan_options *options;
    plan *p;
    int32_t n_values, n_nodes;
    int32_t *begins, *ends; /* [n_nodes] */
    int32_t *first_read;    /* [n_values]; n_nodes if none */
    bool *is_grad;          /* [n_values] */
} planner;

static size_t plain_bytes(const graph_value *v)
{
    return (size_t)graph_shape_elements(&v->shape) * dtype_bytes(v->dtype);
}

static size_t bytes_of(const planner *s, graph_val v)
{
    if (s->options->value_bytes)
        return s->options->value_bytes[v];
    return plain_bytes(graph_value_at(s->g, v));
}

/* Not one without elements, which is 0 bytes long and has a place all the same. */
static bool is_fused(const planner *s, graph_val v)
{
    return bytes_of(s, v) == 0 && graph_shape_elements(&graph_value_at(s->g, v)->shape) > 0;
}

static graph_val owner_of(const plan *p, graph_val v)
{
    while (p->owner[v] != v)
        v = p->owner[v];
    return v;
}

static plan_slab slab_of(const planner *s, graph_val v)
{
    const graph_value *value = graph_value_at(s->g, v);
    if (s->is_grad[v])
        return SLAB_GRAD;
    switch (value->kind) {
    case VAL_PARAM:
        return SLAB_PARAM;
    case VAL_CONST:
        return SLAB_CONST;
    case VAL_INPUT:
        return SLAB_IO;
    default:
        return value->keep ? SLAB_IO : SLAB_TEMP;
    }
}

static void planner_init(planner *s, const graph *g, const plan_options *options, plan *p)
{
    *s = (planner){.g = g,
                   .options = options,
                   .p = p,
                   .n_values = graph_n_values(g),
                   .n_nodes = graph_n_nodes(g)};
    s->begins = xcalloc((size_t)s->n_nodes, sizeof *s->begins);
    s->ends = xcalloc((size_t)s->n_nodes, sizeof *s->ends);
    s->first_read = xcalloc((size_t)s->n_values, sizeof *s->first_read);
    s->is_grad = xcalloc((size_t)s->n_values, sizeof *s->is_grad);
    p->places = arena_alloc(p->arena, (size_t)s->n_values * sizeof *p->places);
    p->owner = arena_alloc(p->arena, (size_t)s->n_values * sizeof *p->owner);
    for (graph_val v = 0; v < s->n_values; v++) {
        graph_val grad = graph_value_at(g, v)->grad;
        if (grad != GRAPH_NONE)
            s->is_grad[grad] = true;
        p->owner[v] = v;
        s->first_read[v] = s->n_nodes;
    }
}

static void planner_fini(planner *s)
{
    free(s->begins);
    free(s->ends);
    free(s->first_read);
    free(s->is_grad);
}

static int32_t kernel_of(const planner *s, int32_t node)
{
    while (s->begins[node] != node)
        node = s->begins[node];
    return node;
}

/* Ties every reader of a fused value to its maker. The kernel's first node leads it. */
static void find_spans(planner *s)
{
    for (int32_t i = 0; i < s->n_nodes; i++)
        s->begins[i] = s->ends[i] = i;
    for (int32_t i = 0; i < s->n_nodes; i++) {
        const graph_node *n = graph_node_at(s->g, i);
        for (int32_t k = 0; k < n->n_in; k++) {
            if (n->in[k] == GRAPH_NONE || !is_fused(s, n->in[k]))
                continue;
            int32_t here = kernel_of(s, i), maker = graph_value_at(s->g, n->in[k])->def;
            int32_t there = maker == GRAPH_NONE ? here : kernel_of(s, maker);
            s->begins[here > there ? here : there] = here > there ? there : here;
        }
    }
    for (int32_t i = 0; i < s->n_nodes; i++) {
        s->begins[i] = kernel_of(s, i);
        s->ends[s->begins[i]] = i;
    }
    for (int32_t i = 0; i < s->n_nodes; i++)
        s->ends[i] = s->ends[s->begins[i]];
}

static void take_turns(planner *s)
{
    for (int32_t i = 0; i < s->n_nodes; i++)
        s->begins[i] = s->ends[i] = s->options->runs_at[i];
}

static void find_lives(planner *s)
{
    for (graph_val v = 0; v < s->n_values; v++) {
        const graph_value *value = graph_value_at(s->g, v);
        bool made = value->kind == VAL_TEMP;
        plan_slab slab = slab_of(s, v);
        size_t bytes = bytes_of(s, v);
        BUG_ON(is_fused(s, v) && slab != SLAB_TEMP && slab != SLAB_CONST);
        BUG_ON((slab == SLAB_PARAM || slab == SLAB_GRAD) && bytes != plain_bytes(value));
        s->p->places[v] = (plan_place){.slab = slab,
                                       .bytes = bytes,
                                       .first = made ? s->begins[value->def] : GRAPH_NONE,
                                       .last = made ? s->ends[value->def] : GRAPH_NONE,
                                       .materialised = !is_fused(s, v)};
        if (made && (value->keep || s->is_grad[v]))
            s->p->places[v].last = s->n_nodes;
    }
    for (int32_t i = 0; i < s->n_nodes; i++) {
        const graph_node *n = graph_node_at(s->g, i);
        for (int32_t k = 0; k < n->n_in; k++) {
            if (n->in[k] == GRAPH_NONE)
                continue;
            plan_place *place = &s->p->places[n->in[k]];
            if (place->last < s->ends[i])
                place->last = s->ends[i];
            if (s->first_read[n->in[k]] > s->begins[i])
                s->first_read[n->in[k]] = s->begins[i];
        }
    }
}

/* v uses the bytes of `from` from now on, and these live as long as either. */
static void join(planner *s, graph_val v, graph_val from)
{
    graph_val owner = owner_of(s->p, from);
    plan_place *place = &s->p->places[owner];
    s->p->owner[v] = owner;
    if (place->last < s->p->places[v].last)
        place->last = s->p->places[v].last;
}

/* The value whose bytes the node's output may share; or GRAPH_NONE. */
static graph_val shown_by(const planner *s, int32_t node)
{
    const graph_node *n = graph_node_at(s->g, node);
    const plan_options *o = s->options;
    if (o->same_as && n->out[0] != GRAPH_NONE && o->same_as[n->out[0]] != GRAPH_NONE)
        return o->same_as[n->out[0]];
    bool is_view = graph_op_of(n->op)->traits & OP_ALIAS && !(o->no_alias && o->no_alias[node]);
    return is_view ? n->in[0] : GRAPH_NONE;
}

static void join_views(planner *s)
{
    for (int32_t i = 0; i < s->n_nodes; i++) {
        graph_val to = graph_node_at(s->g, i)->out[0], from = shown_by(s, i);
        if (from == GRAPH_NONE || to == GRAPH_NONE || slab_of(s, to) != SLAB_TEMP ||
            !bytes_of(s, to) || bytes_of(s, from) != bytes_of(s, to))
            continue;
        join(s, to, from);
    }
}

static bool reads_group_elsewhere(const planner *s, const graph_node *n, int32_t slot,
                                  graph_val owner)
{
    for (int32_t k = 0; k < n->n_in; k++) {
        if (k != slot && n->in[k] != GRAPH_NONE && owner_of(s->p, n->in[k]) == owner)
            return true;
    }
    return false;
}

/* After the views, whose readers count as readers of what they show. In the order of the nodes, so
 * that a chain runs in one place. */
static void join_inplace(planner *s)
{
    for (int32_t i = 0; i < s->n_nodes; i++) {
        const graph_node *n = graph_node_at(s->g, i);
        int32_t slot = graph_node_inplace(n);
        if (slot == GRAPH_NONE || s->begins[i] != i ||
            (s->options->no_inplace && s->options->no_inplace[i]))
            continue;
        graph_val to = n->out[0], from = owner_of(s->p, n->in[slot]);
        if (to == GRAPH_NONE || slab_of(s, from) != SLAB_TEMP)
            continue;
        bool is_temp = slab_of(s, to) == SLAB_TEMP;
        if (!is_temp && slab_of(s, to) != SLAB_GRAD)
            continue;
        if (!bytes_of(s, to) || bytes_of(s, to) != bytes_of(s, n->in[slot]) ||
            s->p->places[from].last != i || reads_group_elsewhere(s, n, slot, from))
            continue;
        /* a gradient's place is its own from the beginning: what it is summed from may lie there */
        join(s, is_temp ? to : from, is_temp ? from : to);
    }
}

/* Places of the slabs whose values never give theirs up. */
static void place_fixed(planner *s)
{
    for (graph_val v = 0; v < s->n_values; v++) {
        plan_place *place = &s->p->places[v];
        if (owner_of(s->p, v) != v || (place->slab != SLAB_IO && place->slab != SLAB_CONST))
            continue;
        size_t *end = &s->p->slab_bytes[place->slab];
        place->offset = *end;
        *end += size_round_up(place->bytes, PLAN_ALIGN);
    }
}

static status place_param(planner *s, graph_val v, error *err)
{
    const graph_value *value = graph_value_at(s->g, v);
    const flat *f = s->options->flat;
    if (!f)
        return FAIL(err, E_CONFIG, "plan: parameter '%s' has no place: no layout was given",
                    value->name);
    int32_t t = flat_find(f, value->name);
    if (t < 0)
        return FAIL(err, E_CONFIG, "plan: parameter '%s' is not in the flat vector", value->name);
    graph_shape shape = {.rank = f->tensors[t].rank};
    memcpy(shape.dim, f->tensors[t].dim, sizeof shape.dim);
    if (!graph_shape_equal(&shape, &value->shape)) {
        char here[SHAPE_TEXT], there[SHAPE_TEXT];
        return FAIL(err, E_CONFIG,
                    "plan: parameter '%s' is %s in the graph but %s in the flat "
                    "vector",
                    value->name, graph_shape_text(&value->shape, here, sizeof here),
                    graph_shape_text(&shape, there, sizeof there));
    }
    s->p->places[v].offset = (size_t)f->offset[t] * sizeof(float);
    if (value->grad == GRAPH_NONE)
        return OK;
    if (f->tensors[t].kind == TENSOR_FROZEN)
        return FAIL(err, E_CONFIG,
                    "plan: parameter '%s' has a gradient but is frozen in the flat "
                    "vector",
                    value->name);
    s->p->places[value->grad].offset = s->p->places[v].offset;
    s->p->slab_bytes[SLAB_GRAD] = (size_t)f->n_live * sizeof(float);
    return OK;
}

static status place_params(planner *s, error *err)
{
    const flat *f = s->options->flat;
    s->p->slab_bytes[SLAB_PARAM] = f ? (size_t)f->n_elements * sizeof(float) : 0;
    for (graph_val v = 0; v < s->n_values; v++) {
        if (graph_value_at(s->g, v)->kind == VAL_PARAM)
            TRY(place_param(s, v, err));
    }
    return OK;
}

typedef struct block {
    graph_val v;
    size_t offset, bytes;
    int32_t first, last;
} block;

static int larger_first(const void *left, const void *right)
{
    const block *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->v < b->v ? -1 : a->v > b->v;
}

/* The lowest offset at which b touches none of the blocks placed so far, which are in the order of
 * their offsets, and whom it meets in time. */
static size_t lowest_free(const block *placed, size_t n, const block *b)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const block *other = &placed[i];
        if (other->last < b->first || b->last < other->first)
            continue;
        if (other->offset >= at + b->bytes)
            break;
        if (other->offset + other->bytes > at)
            at = other->offset + other->bytes;
    }
    return at;
}

static void insert_by_offset(block *placed, size_t n, const block *b)
{
    size_t at = n;
    while (at > 0 && placed[at - 1].offset > b->offset)
        at--;
    memmove(&placed[at + 1], &placed[at], (n - at) * sizeof *placed);
    placed[at] = *b;
}

static void pack_temps(planner *s)
{
    block *blocks = xcalloc((size_t)s->n_values, sizeof *blocks);
    block *placed = xcalloc((size_t)s->n_values, sizeof *placed);
    size_t n = 0, end = 0;
    for (graph_val v = 0; v < s->n_values; v++) {
        const plan_place *place = &s->p->places[v];
        if (place->slab == SLAB_TEMP && place->bytes && owner_of(s->p, v) == v)
            blocks[n++] = (block){.v = v,
                                  .bytes = size_round_up(place->bytes, PLAN_ALIGN),
                                  .first = place->first,
                                  .last = place->last};
    }
    qsort(blocks, n, sizeof *blocks, larger_first);
    for (size_t i = 0; i < n; i++) {
        block *b = &blocks[i];
        b->offset = lowest_free(placed, i, b);
        insert_by_offset(placed, i, b);
        s->p->places[b->v].offset = b->offset;
        end = b->offset + b->bytes > end ? b->offset + b->bytes : end;
    }
    s->p->slab_bytes[SLAB_TEMP] = end;
    free(blocks);
    free(placed);
}

/* Who shares takes slab and offset of its owner; its own life stays as it was. */
static void place_shared(planner *s)
{
    for (graph_val v = 0; v < s->n_values; v++) {
        graph_val owner = s->p->owner[v] = owner_of(s->p, v);
        s->p->places[v].slab = s->p->places[owner].slab;
        s->p->places[v].offset = s->p->places[owner].offset;
    }
}

static void time_part(planner *s, int32_t part)
{
    const flat *f = s->options->flat;
    int32_t ready = GRAPH_NONE, need = s->n_nodes;
    size_t n;
    const part_segment *segments = flat_part_segments(f, part, &n);
    for (size_t i = 0; i < n; i++) {
        graph_val v = graph_find(s->g, f->tensors[segments[i].tensor].name);
        if (v == GRAPH_NONE || graph_value_at(s->g, v)->kind != VAL_PARAM)
            continue;
        graph_val grad = graph_value_at(s->g, v)->grad;
        int32_t made = grad == GRAPH_NONE ? GRAPH_NONE : s->ends[graph_value_at(s->g, grad)->def];
        int32_t read = s->p->places[v].last;
        ready = made > ready ? made : ready;
        ready = read > ready ? read : ready;
        need = s->first_read[v] < need ? s->first_read[v] : need;
    }
    s->p->ready_after[part] = ready;
    s->p->need_before[part] = need == s->n_nodes ? GRAPH_NONE : need;
}

static void time_parts(planner *s)
{
    plan *p = s->p;
    p->n_parts = s->options->flat ? s->options->flat->n_parts : 0;
    p->ready_after = arena_alloc(p->arena, (size_t)p->n_parts * sizeof *p->ready_after);
    p->need_before = arena_alloc(p->arena, (size_t)p->n_parts * sizeof *p->need_before);
    for (int32_t part = 0; part < p->n_parts; part++)
        time_part(s, part);
}

status plan_create(const graph *g, const plan_options *options, plan **ret, error *err)
{
    arena *a = arena_create();
    plan *p = arena_alloc(a, sizeof *p);
    p->arena = a;
    planner s;
    planner_init(&s, g, options, p);
    if (options->runs_at)
        take_turns(&s);
    else
        find_spans(&s);
    find_lives(&s);
    join_views(&s);
    join_inplace(&s);
    place_fixed(&s);
    status st = place_params(&s, err);
    if (st == OK) {
        pack_temps(&s);
        place_shared(&s);
        time_parts(&s);
        *ret = p;
    } else {
        plan_destroy(&p);
    }
    planner_fini(&s);
    return st;
}

void plan_destroy(plan **p)
{
    if (!p || !*p)
        return;
    arena *a = (*p)->arena;
    *p = NULL;
    arena_destroy(&a);
}

const plan_place *plan_place_of(const plan *p, graph_val v)
{
    return &p->places[v];
}

size_t plan_slab_bytes(const plan *p, plan_slab slab)
{
    return p->slab_bytes[slab];
}

graph_val plan_aliased(const plan *p, graph_val v)
{
    return owner_of(p, v);
}

int32_t plan_part_ready_after(const plan *p, int32_t part)
{
    BUG_ON(part < 0 || part >= p->n_parts);
    return p->ready_after[part];
}

int32_t plan_part_need_before(const plan *p, int32_t part)
{
    BUG_ON(part < 0 || part >= p->n_parts);
    return p->need_before[part];
}
