/* Operators of sequences. */
#include "onnx/sequence.h"

#include "onnx/ops.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_PARTS = 1024 };

status sequence_join(call *c, slot *items, int32_t n, int32_t axis, bool new_axis, slot *ret,
                     error *err)
{
    slot **in = arena_alloc(c->im->a, (size_t)n * sizeof *in);
    slot at = {.kind = SLOT_HOST,
               .host = host_ints(c->im->a, 1, &(int64_t){axis}),
               .value = GRAPH_NONE};
    for (int32_t i = 0; i < n; i++) {
        in[i] = &items[i];
        if (!new_axis)
            continue;
        in[i] = arena_alloc(c->im->a, sizeof **in);
        TRY(call_other(c, "Unsqueeze", (slot *[]){&items[i], &at}, 2, NULL, in[i], err));
    }
    if (n == 1) {
        *ret = *in[0];
        return OK;
    }
    return call_other(c, "Concat", in, n, &axis, ret, err);
}

static status read_list(call *c, const slot **ret, error *err)
{
    if (!call_has(c, 0) || c->in[0]->kind != SLOT_LIST)
        return FAIL(err, E_DATA, "its input 0 is no sequence");
    *ret = c->in[0];
    return OK;
}

/* A place that input i names, of `n`; without it the last one. */
static status read_place(call *c, int32_t i, int32_t n, int32_t *ret, error *err)
{
    double at;
    TRY(call_known_number(c, i, n - 1, &at, err));
    if (!(at >= -n && at < n))
        return FAIL(err, E_DATA, "it names place %g of a sequence of %" PRId32, at, n);
    *ret = (int32_t)at + (at < 0 ? n : 0);
    return OK;
}

static slot *new_items(const call *c, int32_t n)
{
    return arena_alloc(c->im->a, ((size_t)n + 1) * sizeof(slot));
}

static void return_list(call *c, const slot *items, int32_t n)
{
    c->out[0] = (slot){.kind = SLOT_LIST, .items = items, .n_items = n};
}

status onnx_op_sequence_empty(call *c, error *err)
{
    (void)err;
    call_ignore(c, "dtype"); /* its items will have theirs */
    return_list(c, new_items(c, 0), 0);
    return OK;
}

/* A sequence holds tensors. */
static status take_item(call *c, int32_t i, slot *ret, error *err)
{
    graph_shape shape;
    dtype t;
    TRY(call_describe(c, i, &shape, &t, err));
    *ret = *c->in[i];
    return OK;
}

status onnx_op_sequence_construct(call *c, error *err)
{
    slot *items = new_items(c, c->n_in);
    for (int32_t i = 0; i < c->n_in; i++)
        TRY(take_item(c, i, &items[i], err));
    return_list(c, items, c->n_in);
    return OK;
}

/* The place may be the one behind the last, and is that where none is said. */
status onnx_op_sequence_insert(call *c, error *err)
{
    const slot *s = NULL;
    double at;
    TRY(read_list(c, &s, err));
    int32_t n = s->n_items;
    TRY(call_known_number(c, 2, n, &at, err));
    if (!(at >= -n && at <= n))
        return FAIL(err, E_DATA, "it names place %g of a sequence of %" PRId32, at, n);
    int32_t place = (int32_t)at + (at < 0 ? n : 0);
    slot *items = new_items(c, n + 1);
    memcpy(items, s->items, (size_t)place * sizeof *items);
    TRY(take_item(c, 1, &items[place], err));
    memcpy(items + place + 1, s->items + place, (size_t)(n - place) * sizeof *items);
    return_list(c, items, n + 1);
    return OK;
}

status onnx_op_sequence_erase(call *c, error *err)
{
    const slot *s = NULL;
    int32_t place = 0;
    TRY(read_list(c, &s, err));
    TRY(read_place(c, 1, s->n_items, &place, err));
    int32_t left = s->n_items - 1;
    slot *items = new_items(c, left);
    memcpy(items, s->items, (size_t)place * sizeof *items);
    memcpy(items + place, s->items + place + 1, (size_t)(left - place) * sizeof *items);
    return_list(c, items, left);
    return OK;
}

status onnx_op_sequence_at(call *c, error *err)
{
    const slot *s = NULL;
    int32_t place = 0;
    TRY(read_list(c, &s, err));
    TRY(read_place(c, 1, s->n_items, &place, err));
    c->out[0] = s->items[place];
    return OK;
}

/* Optional values are what they hold, or absent. */
status onnx_op_optional_has_element(call *c, error *err)
{
    host_tensor *y;
    TRY(host_create(c->im->a, DT_BOOL, &(graph_shape){.rank = 0}, &y, err));
    host_set_int(y, 0, call_has(c, 0));
    call_return_host(c, 0, y);
    return OK;
}

status onnx_op_optional_get_element(call *c, error *err)
{
    return call_return_input(c, 0, 0, err);
}

status onnx_op_sequence_length(call *c, error *err)
{
    const slot *s = NULL;
    TRY(read_list(c, &s, err));
    call_return_host(c, 0, host_int(c->im->a, s->n_items));
    return OK;
}

status onnx_op_concat_from_sequence(call *c, error *err)
{
    const slot *s = NULL;
    graph_shape shape;
    dtype t;
    int32_t axis;
    TRY(read_list(c, &s, err));
    bool new_axis = call_int(c, "new_axis") != 0;
    if (s->n_items == 0)
        return FAIL(err, E_DATA, "its sequence is empty");
    slot *items = new_items(c, s->n_items);
    memcpy(items, s->items, (size_t)s->n_items * sizeof *items);
    TRY(slot_describe(c->im, &items[0], &shape, &t, err));
    TRY(call_axis(call_int(c, "axis"), shape.rank + new_axis, &axis, err));
    return sequence_join(c, items, s->n_items, axis, new_axis, &c->out[0], err);
}

/* Of an axis that is `size` long: parts of one size, the last one maybe smaller, or those listed.
 */
static status part_sizes(call *c, int64_t size, int64_t *ret, int32_t *ret_n, error *err)
{
    const host_tensor *split;
    int64_t each = 1, sum = 0;
    TRY(call_known(c, 1, &split, err));
    bool is_list = split && split->shape.rank == 1;
    if (split && !is_list)
        TRY(call_known_ints(c, 1, &each, 1, ret_n, err));
    if (each < 1)
        return FAIL(err, E_DATA, "its parts are %" PRId64 " long", each);
    int64_t n = is_list ? split->n : (size + each - 1) / each;
    if (n > MOST_PARTS)
        return call_refuse(err, "it makes %" PRId64 " parts, more than %d; make fewer", n,
                           MOST_PARTS);
    if (is_list)
        TRY(call_known_ints(c, 1, ret, MOST_PARTS, ret_n, err));
    *ret_n = (int32_t)n;
    for (int64_t k = 0; k < n; k++) {
        if (!is_list)
            ret[k] = k + 1 < n ? each : size - each * k;
        if (ret[k] < 0 || ret[k] > size - sum)
            return FAIL(err, E_DATA, "its parts do not make up an axis of %" PRId64, size);
        sum += ret[k];
    }
    return sum == size ? OK
                       : FAIL(err, E_DATA, "its parts do not make up an axis of %" PRId64, size);
}

/* Without sizes every part is 1 long, and has that axis only if keepdims says so. */
status onnx_op_split_to_sequence(call *c, error *err)
{
    graph_shape shape;
    dtype t;
    int32_t axis, n;
    int64_t sizes[MOST_PARTS], begin = 0;
    TRY(call_describe(c, 0, &shape, &t, err));
    TRY(call_axis(call_int(c, "axis"), shape.rank, &axis, err));
    bool drop = !call_has(c, 1) && call_int(c, "keepdims") == 0;
    TRY(part_sizes(c, shape.dim[axis], sizes, &n, err));
    slot *items = new_items(c, n);
    for (int32_t k = 0; k < n; begin += sizes[k++]) {
        slot at[3] = {[0] = {.kind = SLOT_HOST, .value = GRAPH_NONE}};
        at[1] = at[2] = at[0];
        at[0].host = drop ? host_int(c->im->a, begin) : host_ints(c->im->a, 1, &begin);
        at[1].host = host_ints(c->im->a, 1, &(int64_t){begin + sizes[k]});
        at[2].host = host_ints(c->im->a, 1, &(int64_t){axis});
        slot *in[] = {c->in[0], &at[0], &at[1], &at[2]};
        TRY(call_other(c, drop ? "Gather" : "Slice", in, drop ? 2 : 4, drop ? &axis : NULL, &items[k], err));
    }
    return_list(c, items, n);
    return OK;
}
