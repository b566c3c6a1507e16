/*
 * TopK along an axis: x is [outer, size, inner], a line is one (outer, inner). A line is read once,
 * into a heap of the k best so far with the worst on top; emptying the heap puts them in order.
 * Elements are compared as whole numbers of the same order, so one code serves all types.
 */
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "graph/axis_split.h"

#include <string.h>

enum { TOP_GRAIN = 4096 }; /* elements */

typedef struct top_k_state {
    int64_t outer, size, inner, k;
    bool smallest;
    dtype type;
} top_k_state;

typedef struct place {
    int64_t key; /* larger is better; of equal ones the earlier */
    int64_t at;
} place;

typedef struct top_k_task {
    const top_k_state *s;
    void *values;
    int64_t *indices;
    const void *x;
    place *heaps; /* k a line */
} top_k_task;

/* The bits of a float, read as a number of sign and size, have its order. */
static int64_t float_key(float x)
{
    int32_t bits;
    if (x != x)
        return INT32_MAX;
    x += 0.0f; /* one zero */
    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? -(int64_t)(bits & INT32_MAX) : bits;
}

static int64_t key_of(const top_k_state *s, const void *x, int64_t i)
{
    int64_t key = s->type == DT_F32   ? float_key(((const float *)x)[i])
                  : s->type == DT_I64 ? ((const int64_t *)x)[i]
                  : s->type == DT_I32 ? ((const int32_t *)x)[i]
                                      : ((const uint8_t *)x)[i];
    return s->smallest ? ~key : key;
}

static bool is_worse(place a, place b)
{
    return a.key != b.key ? a.key < b.key : a.at > b.at;
}

/* Puts p on top of a heap of n places, whose old top is gone, and lets it sink. */
static void sink(place *heap, int64_t n, place p)
{
    int64_t i = 0, child;
    while ((child = 2 * i + 1) < n) {
        child += child + 1 < n && is_worse(heap[child + 1], heap[child]);
        if (!is_worse(heap[child], p))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = p;
}

static void rise(place *heap, int64_t i, place p)
{
    for (; i > 0 && is_worse(p, heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = p;
}

static void find_line(const top_k_task *t, int64_t line)
{
    const top_k_state *s = t->s;
    int64_t o = line / s->inner, i = line % s->inner, k = s->k;
    int64_t x = o * s->size * s->inner + i, y = o * k * s->inner + i;
    place *heap = t->heaps + line * k;
    for (int64_t at = 0; at < s->size; at++) {
        place p = {key_of(s, t->x, x + at * s->inner), at};
        if (at < k)
            rise(heap, at, p);
        else if (is_worse(heap[0], p))
            sink(heap, k, p);
    }
    size_t element = dtype_bytes(s->type);
    for (int64_t n = k; n > 0; n--) {
        int64_t to = y + (n - 1) * s->inner, from = x + heap[0].at * s->inner;
        t->indices[to] = heap[0].at;
        memcpy((char *)t->values + (size_t)to * element,
               (const char *)t->x + (size_t)from * element, element);
        sink(heap, n - 1, heap[n - 1]);
    }
}

static void find_lines(int64_t begin, int64_t end, void *arg)
{
    for (int64_t line = begin; line < end; line++)
        find_line(arg, line);
}

static void run_top_k(const cpu_node *n, const cpu_call *c)
{
    const top_k_state *s = n->state;
    top_k_task t = {
        .s = s, .values = c->out[0], .indices = c->out[1], .x = c->in[0], .heaps = c->scratch};
    team_for(s->outer * s->inner, TOP_GRAIN / (s->size + 1) + 1, find_lines, &t);
}

status cpu_plan_top_k(cpu_node *n)
{
    const top_k_attr *a = n->node->attr;
    const graph_value *x = node_in(n, 0);
    dtype t = x->dtype;
    if (t != DT_F32 && t != DT_I64 && t != DT_I32 && t != DT_U8)
        return FAIL(n->err, E_UNSUPPORTED, "an order of %s, known are float32, int64, int32 and uint8",
                    dtype_name(t));
    top_k_state *s = node_runs(n, run_top_k, sizeof *s);
    axis_split at = axis_split_of(&x->shape, a->axis);
    *s = (top_k_state){.outer = at.outer, .size = at.n, .inner = at.inner, .k = a->k};
    s->smallest = a->smallest;
    s->type = t;
    n->scratch_bytes = (size_t)(s->outer * s->inner * s->k) * sizeof(place);
    return OK;
}
