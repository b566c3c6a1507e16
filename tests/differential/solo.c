#include "differential/solo.h"

#include "differential/emit.h"
#include "graph/attrs.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double BEND = 0.05;   /* how much derivatives before and behind may differ */
static const double SPREAD = 3e-4; /* how much the kernels' errors may move a value */
static const double LARGEST = 50.0, SMALLEST = 1e-3; /* root mean square */
static const double TINY = 1e-9, STEEPEST = 1e4;
enum { MOST_ELEMENTS = 700, MOST_REFUSALS = 256, REFUSAL_TEXT = 160 };

/* --- what was refused --- */

static struct {
    char text[REFUSAL_TEXT];
    int n;
} refusals[MOST_REFUSALS];
static int n_refusals;

/* Messages that differ in numbers and names count as one. */
static void count_refusal(const char *type, const char *why)
{
    char text[REFUSAL_TEXT];
    int n = snprintf(text, sizeof text, "%s: ", type), from = n;
    for (; *why && n < REFUSAL_TEXT - 1; why++)
        if (!isdigit((unsigned char)*why) || (n > from && text[n - 1] != '#'))
            text[n++] = isdigit((unsigned char)*why) ? '#' : *why;
    text[n] = '\0';
    int i = 0;
    while (i < n_refusals && strcmp(refusals[i].text, text) != 0)
        i++;
    if (i == MOST_REFUSALS)
        return;
    if (i == n_refusals)
        memcpy(refusals[n_refusals++].text, text, sizeof text);
    refusals[i].n++;
}

void sketch_print_refusals(void)
{
    for (int i = 0; i < n_refusals; i++)
        printf("%7d  %s\n", refusals[i].n, refusals[i].text);
}

/* --- importing --- */

void solo_fini(sketch_node *n)
{
    reference_destroy(&n->reference);
    if (n->imported.memory)
        onnx_imported_fini(&n->imported);
    if (n->graph)
        graph_destroy(&n->graph);
    if (n->model)
        onnx_close(&n->model);
}

static bool is_first(const sketch_node *n, int32_t k)
{
    bool first = n->in[k] != NO_TERM;
    for (int32_t j = 0; j < k; j++)
        first &= n->in[j] != n->in[k];
    return first;
}

static status open_model(const sketch *s, sketch_node *n, bool by_initializers, error *err)
{
    emitter e;
    emit_init(&e, s->opset);
    emit_node(&e, n->proto);
    for (int32_t k = 0; k < n->n_in; k++) {
        if (!is_first(n, k))
            continue;
        const term *t = &s->terms[n->in[k]];
        by_initializers && t->kind == TERM_WEIGHT ? emit_initializer(&e, t) : emit_input(&e, t);
    }
    for (size_t k = 0; k < n->proto->n_output; k++)
        emit_output(&e, n->proto->output[k]);
    status st = emit_open(&e, &n->model, err);
    emit_fini(&e);
    return st;
}

static status import_into(const sketch *s, sketch_node *n, error *err)
{
    onnx_binding bound[SKETCH_PORTS];
    onnx_request request = {.mode = ONNX_AS_IS, .inputs = bound, .keep_tied = true};
    TRY(graph_create(&n->graph, err));
    TRY(graph_input(n->graph, "batch.id", DT_I64, (graph_shape){1, {1}}, &request.batch_id, err));
    for (int32_t k = 0; k < n->n_in; k++) {
        n->fed[k] = GRAPH_NONE;
        if (!is_first(n, k) || onnx_initializer(n->model, s->terms[n->in[k]].name) >= 0)
            continue;
        const term *t = &s->terms[n->in[k]];
        onnx_binding *b = &bound[request.n_inputs++];
        *b = (onnx_binding){.input = t->name, .value = GRAPH_NONE, .host = t->known};
        if (!t->known)
            TRY(graph_input(n->graph, t->name, t->type, t->shape, &b->value, err));
        n->fed[k] = b->value;
    }
    return onnx_import(n->model, n->graph, &request, &n->imported, err);
}

static status import(const sketch *s, sketch_node *n, bool by_initializers, error *err)
{
    TRY(open_model(s, n, by_initializers, err));
    TRY(import_into(s, n, err));
    for (int32_t k = 0; by_initializers && k < n->n_in; k++)
        if (n->in[k] != NO_TERM && n->fed[k] == GRAPH_NONE)
            n->fed[k] = graph_find(n->graph, s->terms[n->in[k]].name);
    n->reference = reference_create(n->graph);
    return OK;
}

/* What an operator wants to know of its weights before the run it may be told; a second try. */
static bool import_somehow(const sketch *s, sketch_node *n)
{
    error err = ERROR_INIT, ignored = ERROR_INIT;
    if (import(s, n, false, &err) == OK)
        return true;
    sketch_node again = *n;
    solo_fini(n);
    again.model = NULL;
    again.graph = NULL;
    again.reference = NULL;
    again.imported = (onnx_imported){0};
    *n = again;
    if (import(s, n, true, &ignored) == OK)
        return true;
    const char *why = strstr(err.text, n->proto->op_type);
    count_refusal(n->proto->op_type, why ? why + strlen(n->proto->op_type) : err.text);
    return false;
}

/* --- values --- */

/* The same for a node, an element and a set of errors whenever it is asked for. */
static double error_of(int32_t node, int32_t output, int64_t i, int noise)
{
    uint64_t id = rng_mix((uint64_t)node * 8 + (uint64_t)output, (uint64_t)noise);
    uint64_t bits = rng_mix(id, (uint64_t)i);
    return KERNEL_ERROR * ((double)(bits >> 11) * 0x1p-52 - 1.0);
}

double sketch_scale(const double *x, int64_t n)
{
    double sum = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        if (sketch_is_moderate(x[i])) {
            sum += x[i] * x[i];
            count++;
        }
    return count ? sqrt(sum / (double)count) : 0;
}

static void disturb(const term *t, double *x, int32_t node, int32_t output, int noise)
{
    double scale = sketch_scale(t->x[POINT_HERE], t->n);
    for (int64_t i = 0; i < t->n; i++)
        if (sketch_is_moderate(x[i]))
            x[i] += error_of(node, output, i, noise) * (fabs(x[i]) + scale);
}

void sketch_evaluate(sketch *s, int32_t node, int point, int noise)
{
    sketch_node *n = &s->nodes[node];
    for (int32_t k = 0; k < n->n_in; k++)
        if (n->fed[k] != GRAPH_NONE)
            memcpy(reference_value(n->reference, n->fed[k]), s->terms[n->in[k]].x[point],
                   (size_t)s->terms[n->in[k]].n * sizeof(double));
    reference_run(n->reference);
    for (int32_t k = 0; k < n->n_out; k++) {
        if (n->out[k] == NO_TERM)
            continue;
        const term *t = &s->terms[n->out[k]];
        if (t->known)
            continue;
        memcpy(t->x[point], reference_value(n->reference, n->imported.outputs[k].value),
               (size_t)t->n * sizeof(double));
        if (noise && t->type == DT_F32)
            disturb(t, t->x[point], node, k, noise);
    }
}

/* --- whether they are fit --- */

static bool has_no_kink(const term *t, int before, int behind)
{
    const double *x = t->x[POINT_HERE], *a = t->x[before], *b = t->x[behind];
    double scale = 0;
    for (int64_t i = 0; i < t->n; i++)
        if (sketch_is_moderate(x[i]))
            scale += (a[i] - b[i]) * (a[i] - b[i]) / 4;
    scale = sqrt(scale / (double)(t->n ? t->n : 1));
    for (int64_t i = 0; i < t->n; i++) {
        if (a[i] == x[i] && b[i] == x[i])
            continue;
        double up = a[i] - x[i], down = x[i] - b[i];
        if (t->type != DT_F32 || !sketch_is_moderate(x[i]) ||
            !(fabs(up - down) <= BEND * (scale + fabs(up) / 2 + fabs(down) / 2) + 1e-13))
            return false;
    }
    return true;
}

/* Rounding stays small. */
static bool is_steady(const term *t)
{
    double scale = sketch_scale(t->x[POINT_HERE], t->n);
    for (int p = POINT_NOISY; p < POINT_NOISY + NOISES; p++)
        for (int64_t i = 0; i < t->n; i++)
            if (t->x[p][i] != t->x[POINT_HERE][i] &&
                !(fabs(t->x[p][i] - t->x[POINT_HERE][i]) <= SPREAD * scale))
                return false;
    return true;
}

static bool is_in_range(const sketch *s, const term *t)
{
    double scale = sketch_scale(t->x[POINT_HERE], t->n);
    bool any = false;
    for (int64_t i = 0; i < t->n; i++) {
        double x = t->x[POINT_HERE][i];
        if (isnan(x) || (!sketch_is_moderate(x) && !(s->has_masks && x < 0)))
            return false;
        any |= sketch_is_moderate(x);
    }
    return any && scale <= LARGEST && (scale >= SMALLEST || scale == 0);
}

static bool is_fit(const sketch *s, const term *t)
{
    if (t->n == 0 || t->n > MOST_ELEMENTS)
        return false;
    if (t->known)
        return true;
    return (t->type != DT_F32 || is_in_range(s, t)) &&
           has_no_kink(t, POINT_ASIDE, POINT_ASIDE + 1) &&
           has_no_kink(t, POINT_ASIDE + 2, POINT_ASIDE + 3) && is_steady(t);
}

/* --- both --- */

static bool is_our_type(dtype t)
{
    return t == DT_F32 || t == DT_I64 || t == DT_I32 || t == DT_BOOL;
}

static void append_terms(sketch *s, sketch_node *n)
{
    n->n_out = (int32_t)n->imported.n_outputs;
    for (int32_t k = 0; k < n->n_out; k++) {
        const onnx_result *r = &n->imported.outputs[k];
        const graph_value *v = r->host ? NULL : graph_value_at(n->graph, r->value);
        term *t = &s->terms[s->n_terms];
        *t = (term){.kind = TERM_MADE,
                    .name = n->proto->output[k],
                    .type = r->host ? r->host->dtype : v->dtype,
                    .shape = r->host ? r->host->shape : v->shape,
                    .maker = (int32_t)(n - s->nodes),
                    .known = r->host};
        t->n = graph_shape_elements(&t->shape);
        double *all = arena_alloc(s->a, (size_t)(t->n + 1) * POINTS * sizeof *all);
        for (int p = 0; p < POINTS; p++)
            t->x[p] = all + p * (t->n + 1);
        for (int64_t i = 0; r->host && i < t->n; i++)
            for (int p = 0; p < POINTS; p++)
                t->x[p][i] = host_get(r->host, i);
        n->out[k] = s->n_terms++;
    }
}

/* What no weight moves may stand where a root begins, or on an edge: so inputs are all moved, by
 * very little, and a result may not move by much more. */
static bool is_nowhere_steep(sketch *s, int32_t node, double by)
{
    const sketch_node *n = &s->nodes[node];
    for (int32_t k = 0; k < n->n_in; k++) {
        const term *t = n->in[k] == NO_TERM ? NULL : &s->terms[n->in[k]];
        for (int64_t i = 0; t && i < t->n; i++) {
            double x = t->x[POINT_HERE][i];
            bool moves = t->type == DT_F32 && !t->known && sketch_is_moderate(x);
            t->x[POINT_WORK][i] = moves ? x + by : x;
        }
    }
    sketch_evaluate(s, node, POINT_WORK, 0);
    for (int32_t k = 0; k < n->n_out; k++) {
        const term *t = &s->terms[n->out[k]];
        double most = STEEPEST * fabs(by) * fmax(1, sketch_scale(t->x[POINT_HERE], t->n));
        for (int64_t i = 0; i < t->n; i++) {
            double x = t->x[POINT_HERE][i], moved = t->x[POINT_WORK][i];
            if (!t->known && moved != x && sketch_is_moderate(x) && !(fabs(moved - x) <= most))
                return false;
        }
    }
    return true;
}

bool solo_settle(sketch *s, int32_t node)
{
    sketch_node *n = &s->nodes[node];
    if (!import_somehow(s, n))
        return false;
    append_terms(s, n);
    for (int p = 0; p < POINT_WORK; p++)
        sketch_evaluate(s, node, p, p >= POINT_NOISY ? p - POINT_NOISY + 1 : 0);
    for (int32_t k = 0; k < n->n_out; k++)
        if (!is_our_type(s->terms[n->out[k]].type) || !is_fit(s, &s->terms[n->out[k]]))
            return false;
    return is_nowhere_steep(s, node, TINY) && is_nowhere_steep(s, node, -TINY);
}
