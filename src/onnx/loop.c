#include "onnx/loop.h"

#include "onnx/body.h"
#include "onnx/sequence.h"

#include <inttypes.h>
#include <string.h>

/* A loop under way. Its body reads `before` the values that it is handed, those, and others
 * `behind`; it gives a condition (Loop) or not, what it hands on, and what is kept of every
 * iteration. */
typedef struct loop {
    call *c;
    const Onnx__GraphProto *body;
    slot *before, *carried, *behind;
    int32_t n_before, n_carried, n_behind;
    size_t first_out; /* output of the body that is handed on first: 1 behind a condition */
    slot *kept;       /* [n_kept][cap] */
    int32_t n_kept;
    int64_t n, cap;   /* iterations made; that there is room for */
    slot condition;   /* that the last one gave, where it is asked for */
    bool asks;
    bool refused;     /* a node of the body was: further iterations would say the same */
} loop;

static slot known(host_tensor *h)
{
    return (slot){.kind = SLOT_HOST, .host = h, .value = GRAPH_NONE};
}

/* Of the counts only first_out is set by the caller, with n_before, n_carried and n_behind. */
static status begin(loop *l, call *c, int32_t first, error *err)
{
    TRY(body_find(c, "body", &l->body, err));
    const Onnx__GraphProto *g = l->body;
    size_t n_in = (size_t)(l->n_before + l->n_carried + l->n_behind);
    size_t n_out = l->first_out + (size_t)l->n_carried;
    if (l->n_carried < 0 || g->n_input != n_in || g->n_output < n_out ||
        l->first_out + (size_t)c->n_out > g->n_output)
        return FAIL(err, E_DATA,
                    "its body has %zu inputs and %zu outputs, which do not fit the node's %" PRId32
                    " and %" PRId32,
                    g->n_input, g->n_output, c->n_in, c->n_out);
    l->c = c;
    l->n_kept = (int32_t)(g->n_output - n_out);
    l->before = arena_alloc(c->im->a, (n_in + 1) * sizeof *l->before);
    l->carried = l->before + l->n_before;
    l->behind = l->carried + l->n_carried;
    for (int32_t i = 0; i < l->n_carried; i++)
        l->carried[i] = *c->in[first + i];
    return OK;
}

/* Room for what one more iteration keeps. */
static void widen(loop *l)
{
    if (l->n < l->cap)
        return;
    int64_t cap = l->cap ? 2 * l->cap : 16;
    slot *kept = arena_alloc(l->c->im->a, (size_t)(l->n_kept * cap + 1) * sizeof *kept);
    for (int32_t k = 0; k < l->n_kept && l->n; k++)
        memcpy(kept + k * cap, l->kept + k * l->cap, (size_t)l->n * sizeof *kept);
    l->kept = kept;
    l->cap = cap;
}

static status put_inputs(const loop *l, scope *inner, error *err)
{
    for (size_t i = 0; i < l->body->n_input; i++)
        TRY(scope_put(l->c->im, inner, onnx_text(l->body->input[i]->name), &l->before[i], err));
    return OK;
}

static status take_outputs(loop *l, const scope *inner, error *err)
{
    const slot *s;
    widen(l);
    for (size_t k = l->asks ? 0 : l->first_out; k < l->body->n_output; k++) {
        TRY(body_result(inner, onnx_text(l->body->output[k]->name), &s, err));
        int64_t i = (int64_t)k - (int64_t)l->first_out;
        if (i < 0)
            l->condition = *s;
        else if (i < l->n_carried)
            l->carried[i] = *s;
        else
            l->kept[(i - l->n_carried) * l->cap + l->n] = *s;
    }
    return OK;
}

static status turn_inside(loop *l, scope *inner, error *err)
{
    TRY(put_inputs(l, inner, err));
    TRY(body_walk(l->c, l->body, inner, l->asks ? 0 : l->first_out, err));
    return take_outputs(l, inner, err);
}

/* One iteration. */
static status turn(loop *l, error *err)
{
    importer *im = l->c->im;
    int refusals = im->n_refusals;
    scope inner;
    TRY(walk_step(im, err));
    scope_init(&inner, l->c->scope, body_prefix_of_turn(l->c, l->n));
    status st = turn_inside(l, &inner, err);
    scope_fini(&inner);
    l->refused = im->n_refusals > refusals;
    l->n++;
    return st;
}

/* The file's shape of what a body gives, one axis of 0 more: nothing was put side by side. */
static status nothing_kept(const loop *l, int32_t k, int32_t axis, slot *ret, error *err)
{
    const Onnx__ValueInfoProto *v =
        l->body->output[l->first_out + (size_t)(l->n_carried + k)];
    const Onnx__TypeProto__Tensor *t = v->type ? v->type->tensor_type : NULL;
    graph_shape s = {.rank = 0};
    dtype type;
    host_tensor *h;
    bool is_known = t && t->shape && t->shape->n_dim < GRAPH_RANK &&
                    host_dtype_of_onnx(t->elem_type, &type);
    for (size_t i = 0; is_known && i <= t->shape->n_dim; i++) {
        if ((int32_t)i == axis)
            s.dim[s.rank++] = 0;
        if (i == t->shape->n_dim)
            break;
        is_known = t->shape->dim[i]->has_dim_value;
        s.dim[s.rank++] = t->shape->dim[i]->dim_value;
    }
    if (!is_known)
        return call_refuse(err,
                           "it makes no iteration, and the file does not say the shape of '%s', "
                           "which its body gives",
                           onnx_text(v->name));
    TRY(host_create(l->c->im->a, type, &s, &h, err));
    *ret = known(h);
    return OK;
}

/* Kept output k of all iterations, one behind the other along a new axis. */
static status stack(const loop *l, int32_t k, int64_t axis, bool reverse, slot *ret, error *err)
{
    slot *items = l->kept + k * l->cap;
    graph_shape shape;
    dtype t;
    int32_t at = axis > 0 ? call_narrow(axis) : 0;
    if (l->n == 0)
        return nothing_kept(l, k, at, ret, err);
    for (int64_t i = 0, j = l->n - 1; reverse && i < j; i++, j--) {
        slot other = items[i];
        items[i] = items[j];
        items[j] = other;
    }
    TRY(slot_describe(l->c->im, &items[0], &shape, &t, err));
    TRY(call_axis(axis, shape.rank + 1, &at, err));
    return sequence_join(l->c, items, (int32_t)l->n, at, true, ret, err);
}

static status refuse_outputs(call *c)
{
    for (int32_t k = 0; k < c->n_out; k++)
        c->out[k] = (slot){.kind = SLOT_REFUSED};
    return OK;
}

static bool any_refused(const call *c)
{
    for (int32_t i = 0; i < c->n_in; i++)
        if (c->in[i]->kind == SLOT_REFUSED)
            return true;
    return false;
}

/* --- Loop --- */

/* Whether a condition holds; *ret_known is false where it depends on data. */
static status holds(call *c, slot *s, bool *ret_known, bool *ret, error *err)
{
    const host_tensor *h = NULL;
    if (s->kind != SLOT_ABSENT)
        TRY(slot_known(c->im, s, &h, err));
    *ret_known = h && h->n == 1;
    *ret = *ret_known && host_get_int(h, 0) != 0;
    return OK;
}

/* The most iterations, INT64_MAX without a bound; *ret_known as above. */
static status trip_count(call *c, bool *ret_known, int64_t *ret, error *err)
{
    const host_tensor *h = NULL;
    *ret = INT64_MAX;
    *ret_known = true;
    if (!call_has(c, 0))
        return OK;
    TRY(slot_known(c->im, c->in[0], &h, err));
    *ret_known = h && h->n == 1;
    if (*ret_known)
        *ret = host_get_int(h, 0);
    return OK;
}

static status refuse_condition(call *c)
{
    return body_refuse(c, "its condition depends on data, so nobody knows how many iterations the "
                          "graph must have; a loop with a count that is known can be imported");
}

/* The values that the body reads beside those it is handed: the iteration, and the condition. */
static status put_counters(loop *l, error *err)
{
    host_tensor *condition;
    TRY(host_create(l->c->im->a, DT_BOOL, &(graph_shape){.rank = 0}, &condition, err));
    host_set_int(condition, 0, 1);
    l->before[0] = known(host_int(l->c->im->a, l->n));
    l->before[1] = known(condition);
    return OK;
}

static status run_loop(loop *l, int64_t most, bool *ret_known, error *err)
{
    bool go = true;
    *ret_known = true;
    if (l->asks)
        TRY(holds(l->c, l->c->in[1], ret_known, &go, err));
    while (*ret_known && go && l->n < most && !l->refused) {
        TRY(put_counters(l, err));
        TRY(turn(l, err));
        if (l->asks && !l->refused && l->n < most)
            TRY(holds(l->c, &l->condition, ret_known, &go, err));
    }
    return OK;
}

static status take_kept(const loop *l, error *err)
{
    call *c = l->c;
    for (int32_t k = 0; k < c->n_out; k++) {
        if (k < l->n_carried)
            c->out[k] = l->carried[k];
        else if (call_wants(c, k))
            TRY(stack(l, k - l->n_carried, 0, false, &c->out[k], err));
    }
    return OK;
}

status loop_walk(call *c, error *err)
{
    int64_t most;
    bool is_known;
    loop l = {.n_before = 2, .n_carried = c->n_in - 2, .first_out = 1, .asks = call_has(c, 1)};
    if (any_refused(c))
        return refuse_outputs(c);
    if (c->n_in < 2)
        return FAIL(err, E_DATA, "it has %" PRId32 " inputs, needs 2 at least", c->n_in);
    TRY(begin(&l, c, 2, err));
    TRY(trip_count(c, &is_known, &most, err));
    if (!is_known)
        return body_refuse(c, "its trip count depends on data, but must be known before the run; "
                              "export it with fixed lengths");
    if (most == INT64_MAX && !l.asks)
        return FAIL(err, E_DATA, "it has neither a trip count nor a condition: it never ends");
    TRY(run_loop(&l, most, &is_known, err));
    if (!is_known)
        return refuse_condition(c);
    return l.refused ? refuse_outputs(c) : take_kept(&l, err);
}

/* --- Scan --- */

/* Its lists of axes and directions, a number for each input that is taken apart, or output. */
static status read_list(call *c, const char *name, int32_t n, int64_t *ret, error *err)
{
    int32_t found = call_ints(c, name, ret, n);
    if (found >= 0 && found != n)
        return FAIL(err, E_DATA, "its %s has %" PRId32 " numbers, needs %" PRId32, name, found, n);
    return OK;
}

typedef struct scan {
    int32_t n; /* inputs that are taken apart */
    int32_t *axis;
    bool *backwards;
    int64_t turns;
} scan;

/* All that is taken apart has as many parts. */
static status read_scan(call *c, const loop *l, scan *s, error *err)
{
    size_t capacity = (size_t)s->n + 1;
    int64_t *axes = arena_alloc(c->im->a, 2 * capacity * sizeof *axes),
            *directions = axes + capacity;
    s->axis = arena_alloc(c->im->a, capacity * sizeof *s->axis);
    s->backwards = arena_alloc(c->im->a, capacity * sizeof *s->backwards);
    TRY(read_list(c, "scan_input_axes", s->n, axes, err));
    TRY(read_list(c, "scan_input_directions", s->n, directions, err));
    for (int32_t k = 0; k < s->n; k++) {
        graph_shape shape;
        dtype t;
        TRY(call_describe(c, l->n_carried + k, &shape, &t, err));
        TRY(call_axis(axes[k], shape.rank, &s->axis[k], err));
        s->backwards[k] = directions[k] != 0;
        if (k && shape.dim[s->axis[k]] != s->turns)
            return FAIL(err, E_DATA, "its inputs have %" PRId64 " and %" PRId64 " parts", s->turns,
                        shape.dim[s->axis[k]]);
        s->turns = shape.dim[s->axis[k]];
    }
    return OK;
}

/* Part `at` of a tensor along an axis that it then has no longer. */
static status part(loop *l, slot *x, int32_t axis, int64_t at, slot *ret, error *err)
{
    slot place = known(host_int(l->c->im->a, at));
    return call_other(l->c, "Gather", (slot *[]){x, &place}, 2, &axis, ret, err);
}

static status stack_all(loop *l, error *err)
{
    call *c = l->c;
    size_t capacity = (size_t)l->n_kept + 1;
    int64_t *axes = arena_alloc(c->im->a, 2 * capacity * sizeof *axes),
            *directions = axes + capacity;
    TRY(read_list(c, "scan_output_axes", l->n_kept, axes, err));
    TRY(read_list(c, "scan_output_directions", l->n_kept, directions, err));
    for (int32_t k = 0; k < c->n_out; k++) {
        int32_t i = k - l->n_carried;
        if (i < 0)
            c->out[k] = l->carried[k];
        else if (call_wants(c, k))
            TRY(stack(l, i, axes[i], directions[i] != 0, &c->out[k], err));
    }
    return OK;
}

status loop_scan(call *c, error *err)
{
    scan s = {.n = call_int32(c, "num_scan_inputs")};
    loop l = {.n_carried = c->n_in - s.n, .n_behind = s.n};
    if (onnx_opset(c->scope->opsets, c->scope->n_opsets, "") < 9)
        return body_refuse(c, "supported from opset 9 on");
    if (any_refused(c))
        return refuse_outputs(c);
    if (s.n < 1 || s.n > c->n_in)
        return FAIL(err, E_DATA, "its num_scan_inputs is %" PRId32 " of %" PRId32, s.n, c->n_in);
    TRY(begin(&l, c, 0, err));
    TRY(read_scan(c, &l, &s, err));
    while (l.n < s.turns && !l.refused) {
        for (int32_t k = 0; k < s.n; k++) {
            int64_t at = s.backwards[k] ? s.turns - 1 - l.n : l.n;
            TRY(part(&l, c->in[l.n_carried + k], s.axis[k], at, &l.behind[k], err));
        }
        TRY(turn(&l, err));
    }
    return l.refused ? refuse_outputs(c) : stack_all(&l, err);
}

/* --- SequenceMap --- */

/* Input 0 is a sequence; of others that are, an item goes with each of its. */
status loop_map(call *c, error *err)
{
    loop l = {.n_behind = c->n_in};
    if (any_refused(c))
        return refuse_outputs(c);
    if (!call_has(c, 0) || c->in[0]->kind != SLOT_LIST)
        return FAIL(err, E_DATA, "its input 0 is no sequence");
    TRY(begin(&l, c, 0, err));
    while (l.n < c->in[0]->n_items && !l.refused) {
        for (int32_t i = 0; i < c->n_in; i++) {
            bool is_list = c->in[i]->kind == SLOT_LIST;
            if (is_list && c->in[i]->n_items != c->in[0]->n_items)
                return FAIL(err, E_DATA, "its sequences have %" PRId32 " and %" PRId32 " items",
                            c->in[0]->n_items, c->in[i]->n_items);
            l.behind[i] = is_list ? c->in[i]->items[l.n] : *c->in[i];
        }
        TRY(turn(&l, err));
    }
    for (int32_t k = 0; k < c->n_out && !l.refused; k++)
        c->out[k] = (slot){
            .kind = SLOT_LIST, .items = l.kept + k * l.cap, .n_items = (int32_t)l.n};
    return l.refused ? refuse_outputs(c) : OK;
}
