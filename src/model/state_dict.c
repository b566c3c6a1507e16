/* The stack machine of pickle's protocol 2, as far as torch.save needs it (state_dict.h). */
#include "model/state_dict.h"

#include "common/base/utf8.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

typedef enum value_kind {
    VALUE_MARK,
    VALUE_NONE,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_TEXT,
    VALUE_TUPLE,
    VALUE_DICT,
    VALUE_GLOBAL,
    VALUE_STORAGE,
    VALUE_TENSOR,
} value_kind;

typedef enum global_kind { GLOBAL_DICT, GLOBAL_TENSOR, GLOBAL_PARAMETER, GLOBAL_STORAGE } global_kind;

/* Every name of Python's that may stand in a file. */
static const struct global {
    const char *module, *name;
    global_kind kind;
    dtype dtype;
} globals[] = {
    {"collections", "OrderedDict", GLOBAL_DICT, DT_F32},
    {"torch._utils", "_rebuild_tensor_v2", GLOBAL_TENSOR, DT_F32},
    {"torch._utils", "_rebuild_parameter", GLOBAL_PARAMETER, DT_F32},
    {"torch", "FloatStorage", GLOBAL_STORAGE, DT_F32},
    {"torch", "HalfStorage", GLOBAL_STORAGE, DT_F16},
    {"torch", "BFloat16Storage", GLOBAL_STORAGE, DT_BF16},
    {"torch", "DoubleStorage", GLOBAL_STORAGE, DT_F64},
    {"torch", "LongStorage", GLOBAL_STORAGE, DT_I64},
    {"torch", "IntStorage", GLOBAL_STORAGE, DT_I32},
    {"torch", "ByteStorage", GLOBAL_STORAGE, DT_U8},
    {"torch", "BoolStorage", GLOBAL_STORAGE, DT_BOOL},
};

typedef struct value {
    value_kind kind;
    int64_t number;          /* an int or bool */
    const char *text;
    const struct global *global;
    struct value **items;    /* of a tuple; of a dict keys and values in turn */
    size_t n, cap;
    state_entry tensor;      /* of a storage what of it is known */
} value;

typedef struct machine {
    const unsigned char *data;
    size_t bytes, at;        /* of the next byte */
    size_t begun;            /* of the step at work */
    const char *origin;
    arena *memory;
    value **stack;
    size_t n, cap;
    value **memo;
    size_t n_memo, cap_memo;
    error *err;
} machine;

static status refuse(machine *m, const char *what)
{
    return FAIL(m->err, E_DATA, "'%s': byte %zu of data.pkl: %s; expected what torch.save writes of a state dict",
                m->origin, m->begun, what);
}

/* --- bytes --- */

static status take_bytes(machine *m, size_t n, const unsigned char **ret)
{
    if (n > m->bytes - m->at)
        return refuse(m, "the file breaks off");
    *ret = m->data + m->at;
    m->at += n;
    return OK;
}

/* Little-endian, without a sign. */
static status take_number(machine *m, size_t n, uint64_t *ret)
{
    const unsigned char *p = NULL;
    uint64_t x = 0;
    TRY(take_bytes(m, n, &p));
    memcpy(&x, p, n);
    *ret = le64toh(x);
    return OK;
}

/* Up to the end of the line, without it. */
static status take_line(machine *m, const char **ret)
{
    const unsigned char *p = m->data + m->at, *end = memchr(p, '\n', m->bytes - m->at);
    if (!end || memchr(p, '\0', (size_t)(end - p)))
        return refuse(m, "the file breaks off");
    *ret = arena_strndup(m->memory, (const char *)p, (size_t)(end - p));
    m->at += (size_t)(end - p) + 1;
    return OK;
}

/* --- the stack --- */

static value *push(machine *m, value_kind kind)
{
    value *v = arena_alloc(m->memory, sizeof *v);
    v->kind = kind;
    GROW(m->stack, m->cap, m->n + 1);
    m->stack[m->n++] = v;
    return v;
}

static status pop(machine *m, value_kind kind, value **ret)
{
    if (m->n == 0 || m->stack[m->n - 1]->kind != kind)
        return refuse(m, "a step that does not fit what stands before it");
    *ret = m->stack[--m->n];
    return OK;
}

/* What stands above the last mark, which goes; *ret_n of them, valid until the next push. */
static status pop_to_mark(machine *m, value ***ret, size_t *ret_n)
{
    size_t at = m->n;
    while (at > 0 && m->stack[at - 1]->kind != VALUE_MARK)
        at--;
    if (at == 0)
        return refuse(m, "a step that does not fit what stands before it");
    *ret = m->stack + at;
    *ret_n = m->n - at;
    m->n = at - 1;
    return OK;
}

/* A tuple of the uppermost `n`, or of those above the mark. */
static status make_tuple(machine *m, bool marked, size_t n)
{
    value **items = NULL;
    if (marked) {
        TRY(pop_to_mark(m, &items, &n));
    } else {
        if (n > m->n)
            return refuse(m, "a tuple of more values than there are");
        m->n -= n;
        items = n ? m->stack + m->n : NULL;
    }
    value **copy = arena_alloc(m->memory, (n + 1) * sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = items[i];
    value *tuple = push(m, VALUE_TUPLE);
    tuple->items = copy;
    tuple->n = n;
    return OK;
}

static void put(machine *m, value *dict, value *key, value *item)
{
    if (dict->n + 2 > dict->cap) {
        value **wider = arena_alloc(m->memory, (2 * dict->cap + 8) * sizeof *wider);
        for (size_t i = 0; i < dict->n; i++)
            wider[i] = dict->items[i];
        dict->items = wider;
        dict->cap = 2 * dict->cap + 8;
    }
    dict->items[dict->n++] = key;
    dict->items[dict->n++] = item;
}

static status set_items(machine *m, bool marked)
{
    value **items = NULL;
    size_t n = 2;
    if (marked)
        TRY(pop_to_mark(m, &items, &n));
    else if (m->n < 3)
        return refuse(m, "a step that does not fit what stands before it");
    else
        items = m->stack + (m->n -= 2);
    if (m->n == 0 || m->stack[m->n - 1]->kind != VALUE_DICT || n % 2)
        return refuse(m, "items for what is no dict");
    for (size_t i = 0; i < n; i += 2)
        put(m, m->stack[m->n - 1], items[i], items[i + 1]);
    return OK;
}

static status memoize(machine *m, size_t index)
{
    if (m->n == 0 || index > m->n_memo)
        return refuse(m, "a value is kept out of order");
    GROW(m->memo, m->cap_memo, index + 1);
    m->n_memo = index == m->n_memo ? index + 1 : m->n_memo;
    m->memo[index] = m->stack[m->n - 1];
    return OK;
}

static status recall(machine *m, size_t index)
{
    if (index >= m->n_memo)
        return refuse(m, "a value that was never kept");
    GROW(m->stack, m->cap, m->n + 1);
    m->stack[m->n++] = m->memo[index];
    return OK;
}

/* --- what torch makes --- */

static status find_global(machine *m)
{
    const char *module = NULL, *name = NULL;
    TRY(take_line(m, &module));
    TRY(take_line(m, &name));
    for (size_t i = 0; i < COUNT_OF(globals); i++)
        if (strcmp(globals[i].module, module) == 0 && strcmp(globals[i].name, name) == 0) {
            push(m, VALUE_GLOBAL)->global = &globals[i];
            return OK;
        }
    return refuse(m, arena_printf(m->memory, "it asks for Python's %.100s.%.100s, and no code is run", module, name));
}

static bool is_tuple_of(const value *v, size_t n, const value_kind *kinds)
{
    bool fits = v->kind == VALUE_TUPLE && v->n >= n;
    for (size_t i = 0; i < n && fits; i++)
        fits = v->items[i]->kind == kinds[i];
    return fits;
}

/* ('storage', torch.FloatStorage, '0', 'cpu', elements) */
static status make_storage(machine *m)
{
    static const value_kind kinds[] = {VALUE_TEXT, VALUE_GLOBAL, VALUE_TEXT, VALUE_TEXT, VALUE_INT};
    value *is = NULL;
    TRY(pop(m, VALUE_TUPLE, &is));
    if (!is_tuple_of(is, COUNT_OF(kinds), kinds) || strcmp(is->items[0]->text, "storage") != 0 ||
        is->items[1]->global->kind != GLOBAL_STORAGE || is->items[4]->number < 0)
        return refuse(m, "an object that is kept elsewhere, and no storage");
    push(m, VALUE_STORAGE)->tensor = (state_entry){
        .storage = is->items[2]->text, .dtype = is->items[1]->global->dtype, .stored = is->items[4]->number};
    return OK;
}

/* Do elements of that shape and those strides lie one after another, all of them in the storage? */
static bool is_contiguous(const state_entry *t, const value *strides)
{
    int64_t n = 1, end;
    for (int32_t i = t->rank - 1; i >= 0; i--) {
        if (t->dim[i] != 1 && strides->items[i]->number != n)
            return false;
        if (__builtin_mul_overflow(n, t->dim[i], &n))
            return false;
    }
    return !__builtin_add_overflow(t->begin, n, &end) && end <= t->stored;
}

/* (storage, offset, shape, strides, requires_grad, hooks) */
static status make_tensor(machine *m, const value *is)
{
    static const value_kind kinds[] = {VALUE_STORAGE, VALUE_INT, VALUE_TUPLE, VALUE_TUPLE};
    if (!is_tuple_of(is, COUNT_OF(kinds), kinds))
        return refuse(m, "a tensor that is not made of a storage, offset, shape and strides");
    const value *shape = is->items[2], *strides = is->items[3];
    state_entry t = is->items[0]->tensor;
    t.begin = is->items[1]->number;
    if (shape->n > TENSOR_RANK || strides->n != shape->n || t.begin < 0)
        return refuse(m, "a tensor of a shape that no tensor has here");
    for (size_t i = 0; i < shape->n; i++) {
        if (shape->items[i]->kind != VALUE_INT || strides->items[i]->kind != VALUE_INT ||
            shape->items[i]->number < 0)
            return refuse(m, "a tensor of a shape that no tensor has here");
        t.dim[t.rank++] = shape->items[i]->number;
    }
    if (!is_contiguous(&t, strides))
        return refuse(m, "a tensor whose elements do not lie one after another within its storage: save it "
                         "with .contiguous()");
    push(m, VALUE_TENSOR)->tensor = t;
    return OK;
}

static status reduce(machine *m)
{
    value *arguments = NULL, *callee = NULL;
    TRY(pop(m, VALUE_TUPLE, &arguments));
    TRY(pop(m, VALUE_GLOBAL, &callee));
    switch (callee->global->kind) {
    case GLOBAL_DICT:
        if (arguments->n)
            return refuse(m, "an OrderedDict that is not made empty");
        push(m, VALUE_DICT);
        return OK;
    case GLOBAL_TENSOR:
        return make_tensor(m, arguments);
    case GLOBAL_PARAMETER:
        if (arguments->n == 0 || arguments->items[0]->kind != VALUE_TENSOR)
            return refuse(m, "a parameter that is no tensor");
        push(m, VALUE_TENSOR)->tensor = arguments->items[0]->tensor;
        return OK;
    case GLOBAL_STORAGE:
        break;
    }
    return refuse(m, "a storage that is made and not kept");
}

/* The attribute _metadata of a state dict, which tells versions of modules. */
static status build(machine *m)
{
    value *attributes = NULL;
    TRY(pop(m, VALUE_DICT, &attributes));
    if (m->n == 0 || m->stack[m->n - 1]->kind != VALUE_DICT)
        return refuse(m, "attributes of what is no dict");
    return OK;
}

/* --- steps --- */

static bool is_utf8(const unsigned char *p, size_t n)
{
    uint32_t code = 1;
    for (size_t at = 0, size = 0; at < n; at += size) {
        size = utf8_decode(p + at, n - at, &code);
        if (size == 0 || code == 0)
            return false;
    }
    return true;
}

static status push_text(machine *m, size_t length_bytes)
{
    const unsigned char *p = NULL;
    uint64_t n = 0;
    TRY(take_number(m, length_bytes, &n));
    TRY(take_bytes(m, (size_t)n, &p));
    if (!is_utf8(p, (size_t)n))
        return refuse(m, "a text that is not UTF-8");
    push(m, VALUE_TEXT)->text = arena_strndup(m->memory, (const char *)p, (size_t)n);
    return OK;
}

static status push_int(machine *m, size_t n, bool has_sign)
{
    uint64_t x = 0;
    TRY(take_number(m, n, &x));
    int64_t number = (int64_t)x;
    if (has_sign && n < 8 && x >> (8 * n - 1))
        number -= (int64_t)1 << (8 * n);
    push(m, VALUE_INT)->number = number;
    return OK;
}

/* LONG1: its own count of bytes first. */
static status push_long(machine *m)
{
    uint64_t n = 0;
    TRY(take_number(m, 1, &n));
    if (n > 8)
        return refuse(m, "a number of more than 64 bits");
    return push_int(m, (size_t)n, n > 0);
}

static status with_index(machine *m, size_t bytes, status (*what)(machine *m, size_t index))
{
    uint64_t index = 0;
    TRY(take_number(m, bytes, &index));
    return what(m, (size_t)index);
}

static status step(machine *m, unsigned char op)
{
    switch (op) {
    case '(': push(m, VALUE_MARK); return OK;
    case ')': return make_tuple(m, false, 0);
    case 't': return make_tuple(m, true, 0);
    case 0x85: return make_tuple(m, false, 1);
    case 0x86: return make_tuple(m, false, 2);
    case 0x87: return make_tuple(m, false, 3);
    case '}': push(m, VALUE_DICT); return OK;
    case 's': return set_items(m, false);
    case 'u': return set_items(m, true);
    case 'N': push(m, VALUE_NONE); return OK;
    case 0x88: push(m, VALUE_BOOL)->number = 1; return OK;
    case 0x89: push(m, VALUE_BOOL); return OK;
    case 'K': return push_int(m, 1, false);
    case 'M': return push_int(m, 2, false);
    case 'J': return push_int(m, 4, true);
    case 0x8a: return push_long(m);
    case 'X': return push_text(m, 4);
    case 0x8c: return push_text(m, 1);
    case 'c': return find_global(m);
    case 'q': return with_index(m, 1, memoize);
    case 'r': return with_index(m, 4, memoize);
    case 'h': return with_index(m, 1, recall);
    case 'j': return with_index(m, 4, recall);
    case 'Q': return make_storage(m);
    case 'R': return reduce(m);
    case 'b': return build(m);
    default: return refuse(m, arena_printf(m->memory, "pickle's step 0x%02x, which no state dict takes", op));
    }
}

static status run(machine *m, value **ret)
{
    const unsigned char *p = NULL;
    uint64_t version = 0;
    TRY(take_bytes(m, 1, &p));
    if (*p != 0x80)
        return refuse(m, "it does not begin as pickle's protocol 2");
    TRY(take_number(m, 1, &version));
    if (version != 2)
        return refuse(m, "it does not begin as pickle's protocol 2");
    for (;;) {
        m->begun = m->at;
        TRY(take_bytes(m, 1, &p));
        if (*p == '.')
            return pop(m, VALUE_DICT, ret);
        TRY(step(m, *p));
    }
}

static status take_tensors(machine *m, const value *dict, state_dict *ret)
{
    state_entry *at = arena_alloc(m->memory, (dict->n / 2 + 1) * sizeof *at);
    for (size_t i = 0; i < dict->n; i += 2) {
        const value *key = dict->items[i], *item = dict->items[i + 1];
        if (key->kind != VALUE_TEXT)
            return refuse(m, "a key that is no text");
        if (item->kind != VALUE_TENSOR)
            return refuse(m, arena_printf(m->memory, "'%.100s' is no tensor", key->text));
        at[i / 2] = item->tensor;
        at[i / 2].name = key->text;
    }
    *ret = (state_dict){.at = at, .n = dict->n / 2};
    return OK;
}

status state_dict_read(const unsigned char *data, size_t bytes, const char *origin, arena *a,
                       state_dict *ret, error *err)
{
    machine m = {.data = data, .bytes = bytes, .origin = origin, .memory = a, .err = err};
    value *dict = NULL;
    status st = run(&m, &dict);
    if (st == OK)
        st = take_tensors(&m, dict, ret);
    free(m.stack);
    free(m.memo);
    return st;
}
