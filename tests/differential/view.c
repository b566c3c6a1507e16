#include "differential/view.h"

#include <math.h>
#include <string.h>

static const double STEP = 1e-5; /* of central differences */
enum { KEPT = 12 };              /* of a hundred values that are read, so many are outputs too */

void view_init(view *v, sketch *s)
{
    bool read[SKETCH_TERMS] = {false};
    *v = (view){.s = s};
    for (int32_t i = 0; i < s->n_nodes; i++)
        for (int32_t k = 0; k < s->nodes[i].n_in; k++)
            if (s->nodes[i].in[k] != NO_TERM)
                read[s->nodes[i].in[k]] = true;
    for (int32_t t = 0; t < s->n_terms; t++)
        v->output[t] = s->terms[t].kind == TERM_MADE && (!read[t] || dice_chance(&s->dice, KEPT));
    view_settle(v);
}

void view_settle(view *v)
{
    const sketch *s = v->s;
    memset(v->live_node, 0, sizeof v->live_node);
    memcpy(v->live, v->output, sizeof v->live);
    for (int32_t i = s->n_nodes; i-- > 0;) {
        const sketch_node *n = &s->nodes[i];
        for (int32_t k = 0; k < n->n_out && !v->dropped[i]; k++)
            v->live_node[i] |= v->live[n->out[k]];
        for (int32_t k = 0; k < n->n_in && v->live_node[i]; k++)
            if (n->in[k] != NO_TERM)
                v->live[n->in[k]] = true;
    }
}

int view_nodes(const view *v)
{
    int n = 0;
    for (int32_t i = 0; i < v->s->n_nodes; i++)
        n += v->live_node[i];
    return n;
}

int view_outputs(const view *v)
{
    int n = 0;
    for (int32_t t = 0; t < v->s->n_terms; t++)
        n += v->output[t];
    return n;
}

term_kind view_kind(const view *v, int32_t t)
{
    const term *at = &v->s->terms[t];
    if (at->kind != TERM_MADE || !v->dropped[at->maker])
        return at->kind;
    return at->type != DT_F32 ? TERM_INITIALIZER : at->known ? TERM_CONSTANT : TERM_WEIGHT;
}

void view_emit(const view *v, emitter *e)
{
    const sketch *s = v->s;
    emit_init(e, s->opset);
    for (int32_t t = 0; t < s->n_terms; t++) {
        if (!v->live[t])
            continue;
        term_kind kind = view_kind(v, t);
        if (kind == TERM_FED)
            emit_input(e, &s->terms[t]);
        else if (kind == TERM_CONSTANT)
            emit_constant(e, &s->terms[t]);
        else if (kind != TERM_MADE)
            emit_initializer(e, &s->terms[t]);
        if (v->output[t])
            emit_output(e, s->terms[t].name);
    }
    for (int32_t i = 0; i < s->n_nodes; i++)
        if (v->live_node[i])
            emit_node(e, s->nodes[i].proto);
}

float view_mix(int32_t t, int64_t i)
{
    uint64_t bits = rng_mix((uint64_t)t, (uint64_t)i);
    float size = 0.5f + (float)(bits >> 40) * 0x1p-24f;
    return bits & 1 ? size : -size;
}

bool view_counts(const view *v, int32_t t)
{
    const term *at = &v->s->terms[t];
    bool counts = v->output[t] && at->type == DT_F32 && !at->known && view_kind(v, t) == TERM_MADE;
    for (int64_t i = 0; counts && i < at->n; i++)
        counts = sketch_is_moderate(at->x[POINT_HERE][i]);
    return counts;
}

void view_evaluate(view *v, int32_t w, double step, int noise)
{
    sketch *s = v->s;
    for (int32_t t = 0; t < s->n_terms; t++)
        if (v->live[t] && view_kind(v, t) != TERM_MADE)
            memcpy(s->terms[t].x[POINT_WORK], s->terms[t].x[POINT_HERE],
                   (size_t)s->terms[t].n * sizeof(double));
    const term *moved = &s->terms[w];
    for (int64_t i = 0; step != 0 && i < moved->n; i++)
        moved->x[POINT_WORK][i] += step * (double)view_mix(w + SKETCH_TERMS, i);
    for (int32_t i = 0; i < s->n_nodes; i++)
        if (v->live_node[i])
            sketch_evaluate(s, i, POINT_WORK, noise);
}

static double loss_at(view *v, int32_t w, double step, int noise)
{
    double loss = 0;
    view_evaluate(v, w, step, noise);
    for (int32_t t = 0; t < v->s->n_terms; t++)
        for (int64_t i = 0; view_counts(v, t) && i < v->s->terms[t].n; i++)
            loss += v->s->terms[t].x[POINT_WORK][i] * (double)view_mix(t, i);
    return loss;
}

double view_derivative(view *v, int32_t w, int noise)
{
    return (loss_at(v, w, STEP, noise) - loss_at(v, w, -STEP, noise)) / (2 * STEP);
}

double view_loss_scale(const view *v)
{
    double sum = 0;
    for (int32_t t = 0; t < v->s->n_terms; t++)
        for (int64_t i = 0; view_counts(v, t) && i < v->s->terms[t].n; i++)
            sum += fabs(v->s->terms[t].x[POINT_HERE][i]);
    return sum;
}
