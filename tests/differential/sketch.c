#include "differential/sketch.h"

#include "differential/emit.h"
#include "differential/solo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double ASIDE = 1e-3; /* how far weights are moved to look for kinks */

sketch *sketch_create(uint64_t seed, uint64_t number)
{
    static const int64_t opsets[] = {9,  11, 12, 13, 13, 14, 15, 16, 17, 17, 18, 18,
                                     19, 20, 20, 21, 22, 23, 24, 24, 25, 26, 28};
    sketch *s = xcalloc(1, sizeof *s);
    s->a = arena_create();
    s->dice = dice_make(seed, number);
    s->opset = DICE_OF(&s->dice, opsets);
    return s;
}

void sketch_destroy(sketch **s)
{
    for (int32_t i = 0; i < (*s)->n_nodes; i++)
        solo_fini(&(*s)->nodes[i]);
    arena_destroy(&(*s)->a);
    free(*s);
    *s = NULL;
}

/* --- terms --- */

static int32_t add_term(sketch *s, term_kind kind, dtype type, const graph_shape *shape)
{
    static const char *const names[] = {
        [TERM_WEIGHT] = "weight",  [TERM_FED] = "fed",   [TERM_INITIALIZER] = "initializer",
        [TERM_CONSTANT] = "const", [TERM_MADE] = "made",
    };
    if (s->n_terms == SKETCH_TERMS)
        return NO_TERM;
    term *t = &s->terms[s->n_terms];
    *t = (term){.kind = kind,
                .type = type,
                .shape = *shape,
                .n = graph_shape_elements(shape),
                .maker = GRAPH_NONE};
    t->name = arena_printf(s->a, "%s.%d", names[kind], s->n_terms);
    double *all = arena_alloc(s->a, (size_t)(t->n + 1) * POINTS * sizeof *all);
    for (int p = 0; p < POINTS; p++)
        t->x[p] = all + p * (t->n + 1);
    return s->n_terms++;
}

static void set_points(sketch *s, term *t, const double *values)
{
    for (int p = 0; p < POINTS; p++)
        for (int64_t i = 0; i < t->n; i++)
            t->x[p][i] = t->type == DT_F32 ? (double)(float)values[i] : values[i];
    if (t->kind != TERM_WEIGHT)
        return;
    for (int p = 0; p < 4; p += 2)
        for (int64_t i = 0; i < t->n; i++) {
            double off =
                ASIDE * dice_real(&s->dice, 0.5, 1.5) * (dice_chance(&s->dice, 50) ? 1 : -1);
            t->x[POINT_ASIDE + p][i] += off;
            t->x[POINT_ASIDE + p + 1][i] -= off;
        }
}

static int32_t add_leaf(sketch *s, term_kind kind, dtype type, const graph_shape *shape,
                        const double *values)
{
    int32_t id = add_term(s, kind, type, shape);
    if (id != NO_TERM)
        set_points(s, &s->terms[id], values);
    return id;
}

int32_t sketch_weight(sketch *s, const graph_shape *shape, const double *values)
{
    return add_leaf(s, TERM_WEIGHT, DT_F32, shape, values);
}

int32_t sketch_fed(sketch *s, dtype t, const graph_shape *shape, const double *values)
{
    return add_leaf(s, TERM_FED, t, shape, values);
}

int32_t sketch_const(sketch *s, dtype t, const graph_shape *shape, const double *values)
{
    bool by_node =
        t == DT_F32 || dice_chance(&s->dice, 50); /* a float initializer may be a weight */
    int32_t id = add_leaf(s, by_node ? TERM_CONSTANT : TERM_INITIALIZER, t, shape, values);
    host_tensor *known = NULL;
    if (id == NO_TERM || host_create(s->a, t, shape, &known, NULL) != OK)
        return NO_TERM;
    for (int64_t i = 0; i < known->n; i++)
        host_set(known, i, values[i]);
    s->terms[id].known = known;
    return id;
}

int32_t sketch_const_ints(sketch *s, const int64_t *values, int64_t n)
{
    double x[64];
    for (int64_t i = 0; i < n; i++)
        x[i] = (double)values[i];
    return sketch_const(s, DT_I64, &(graph_shape){.rank = 1, .dim = {n}}, x);
}

int32_t sketch_const_int(sketch *s, int64_t value)
{
    return sketch_const(s, DT_I64, &(graph_shape){.rank = 0}, &(double){(double)value});
}

int32_t sketch_const_float(sketch *s, double value)
{
    graph_shape shape = {.rank = dice_chance(&s->dice, 25), .dim = {1}};
    return sketch_const(s, DT_F32, &shape, &value);
}

bool sketch_is_float(const sketch *s, int32_t t)
{
    return s->terms[t].type == DT_F32;
}

bool sketch_is_moderate(double x)
{
    return fabs(x) < 1e4;
}

/* --- a node under way --- */

void sketch_begin(sketch *s, const char *type)
{
    Onnx__NodeProto *p = arena_alloc(s->a, sizeof *p);
    onnx__node_proto__init(p);
    p->op_type = arena_strdup(s->a, type);
    p->name = arena_printf(s->a, "%s_%d", type, s->n_nodes);
    s->draft = (sketch_node){.proto = p};
}

void sketch_in(sketch *s, int32_t t)
{
    sketch_node *n = &s->draft;
    BUG_ON(n->n_in == SKETCH_PORTS);
    const char *name = t == NO_TERM ? "" : s->terms[t].name;
    APPEND(s->a, n->proto->input, n->proto->n_input, arena_strdup(s->a, name));
    n->in[n->n_in++] = t;
}

static Onnx__AttributeProto *attribute(sketch *s, const char *name, int32_t type)
{
    Onnx__NodeProto *n = s->draft.proto;
    Onnx__AttributeProto *a = arena_alloc(s->a, sizeof *a);
    onnx__attribute_proto__init(a);
    a->name = arena_strdup(s->a, name);
    a->has_type = true;
    a->type = type;
    APPEND(s->a, n->attribute, n->n_attribute, a);
    return a;
}

void sketch_int(sketch *s, const char *name, int64_t value)
{
    Onnx__AttributeProto *a = attribute(s, name, EMIT_INT);
    a->has_i = true;
    a->i = value;
}

void sketch_float(sketch *s, const char *name, double value)
{
    Onnx__AttributeProto *a = attribute(s, name, EMIT_FLOAT);
    a->has_f = true;
    a->f = (float)value;
}

void sketch_ints(sketch *s, const char *name, const int64_t *values, int64_t n)
{
    Onnx__AttributeProto *a = attribute(s, name, EMIT_INTS);
    for (int64_t i = 0; i < n; i++)
        APPEND(s->a, a->ints, a->n_ints, values[i]);
}

void sketch_string(sketch *s, const char *name, const char *value)
{
    Onnx__AttributeProto *a = attribute(s, name, EMIT_STRING);
    a->has_s = true;
    a->s.data = (uint8_t *)arena_strdup(s->a, value);
    a->s.len = strlen(value);
}

bool sketch_end(sketch *s, int32_t n_out, int32_t *ret)
{
    sketch_node *n = &s->draft;
    int32_t n_before = s->n_terms;
    for (int32_t k = 0; k < n_out; k++)
        ret[k] = NO_TERM;
    if (s->n_nodes == SKETCH_NODES || s->n_terms + n_out > SKETCH_TERMS)
        return false;
    for (int32_t k = 0; k < n_out; k++)
        APPEND(s->a, n->proto->output, n->proto->n_output,
               arena_printf(s->a, "made.%d", n_before + k));
    s->nodes[s->n_nodes++] = *n;
    if (!solo_settle(s, s->n_nodes - 1)) {
        solo_fini(&s->nodes[--s->n_nodes]);
        s->n_terms = n_before;
        return false;
    }
    memcpy(ret, s->nodes[s->n_nodes - 1].out, (size_t)n_out * sizeof *ret);
    return true;
}

int32_t sketch_end_1(sketch *s)
{
    int32_t y;
    return sketch_end(s, 1, &y) ? y : NO_TERM;
}

int32_t sketch_call(sketch *s, const char *type, int32_t a, int32_t b, int32_t c)
{
    const int32_t in[] = {a, b, c};
    sketch_begin(s, type);
    for (int k = 0; k < 3 && in[k] != NO_TERM; k++)
        sketch_in(s, in[k]);
    return sketch_end_1(s);
}
