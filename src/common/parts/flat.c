#include "common/parts/flat.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/hash.h"
#include "common/base/rng.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "digests hash little-endian floats");

static int64_t round_up(int64_t x, int64_t multiple)
{
    return (x + multiple - 1) / multiple * multiple;
}

static bool is_finite(float x)
{
    return x - x == 0.0f;
}

static bool is_frozen(const tensor_decl *t)
{
    return t->kind == TENSOR_FROZEN;
}

static status flat_check_rule(const tensor_decl *t, error *err)
{
    float a = t->init.a, b = t->init.b;
    switch (t->init.kind) {
    case INIT_PUSHED:
        return OK;
    case INIT_CONSTANT:
        if (!is_finite(a))
            return FAIL(err, E_CONFIG, "tensor '%s': initial value %g is not finite", t->name,
                        (double)a);
        return OK;
    case INIT_UNIFORM:
        if (!is_finite(a) || !is_finite(b) || a > b || !is_finite(b - a))
            return FAIL(err, E_CONFIG, "tensor '%s': no uniform numbers in [%g, %g)", t->name,
                        (double)a, (double)b);
        return OK;
    case INIT_NORMAL:
        if (!is_finite(a) || !is_finite(b) || b < 0)
            return FAIL(err, E_CONFIG, "tensor '%s': no normal numbers of mean %g, deviation %g",
                        t->name, (double)a, (double)b);
        return OK;
    }
    return FAIL(err, E_CONFIG, "tensor '%s': unknown initial rule %d", t->name, (int)t->init.kind);
}

/* Checks one declaration and counts its elements. */
static status flat_check_tensor(const tensor_decl *t, int64_t *ret_count, error *err)
{
    if (!t->name || !t->name[0])
        return FAIL(err, E_CONFIG, "a tensor's name is empty");
    if (t->rank < 0 || t->rank > TENSOR_RANK)
        return FAIL(err, E_CONFIG, "tensor '%s': rank %" PRId32 " is not in 0 .. %d", t->name,
                    t->rank, TENSOR_RANK);
    int64_t count = 1;
    bool empty = false, too_large = false;
    for (int32_t i = 0; i < t->rank; i++) {
        if (t->dim[i] < 0)
            return FAIL(err, E_CONFIG,
                        "tensor '%s': dimension %" PRId32 " is %" PRId64 ", want 0 or more",
                        t->name, i, t->dim[i]);
        empty |= t->dim[i] == 0;
        if (!empty && !too_large)
            too_large = __builtin_mul_overflow(count, t->dim[i], &count) || count > FLAT_MAX;
    }
    if (too_large && !empty)
        return FAIL(err, E_UNSUPPORTED, "tensor '%s': more than %" PRId64 " elements", t->name,
                    FLAT_MAX);
    if (t->kind != TENSOR_TRAINABLE && t->kind != TENSOR_STATE && t->kind != TENSOR_FROZEN)
        return FAIL(err, E_CONFIG, "tensor '%s': unknown kind %d", t->name, (int)t->kind);
    if (t->kind == TENSOR_STATE && !(t->momentum >= 0 && t->momentum <= 1))
        return FAIL(err, E_CONFIG, "tensor '%s': momentum %g is not in 0 .. 1", t->name,
                    (double)t->momentum);
    TRY(flat_check_rule(t, err));
    *ret_count = empty ? 0 : count;
    return OK;
}

static int by_name(const void *a, const void *b, void *tensors)
{
    const tensor_decl *t = tensors;
    return strcmp(t[*(const int32_t *)a].name, t[*(const int32_t *)b].name);
}

/* Copies, checks and counts the declarations. */
static status take_tensors(flat *f, const tensor_decl *given, size_t n, error *err)
{
    tensor_decl *tensors = arena_alloc(f->memory, n * sizeof *tensors);
    int64_t *count = arena_alloc(f->memory, n * sizeof *count);
    uint64_t *id = arena_alloc(f->memory, n * sizeof *id);
    int32_t *order = arena_alloc(f->memory, n * sizeof *order);
    for (size_t i = 0; i < n; i++) {
        TRY(flat_check_tensor(&given[i], &count[i], err));
        tensors[i] = given[i];
        tensors[i].name = arena_strdup(f->memory, given[i].name);
        id[i] = fnv1a(given[i].name, strlen(given[i].name));
        order[i] = (int32_t)i;
    }
    qsort_r(order, n, sizeof *order, by_name, tensors);
    for (size_t i = 1; i < n; i++)
        if (strcmp(tensors[order[i - 1]].name, tensors[order[i]].name) == 0)
            return FAIL(err, E_CONFIG, "tensor '%s' is declared twice", tensors[order[i]].name);
    f->n_tensors = (int32_t)n;
    f->tensors = tensors;
    f->count = count;
    f->tensor_id = id;
    f->by_name = order;
    return OK;
}

/* Lays the tensors of one range behind one another from `at`; returns the range's end, aligned. */
static int64_t lay_range(const flat *f, bool frozen, int64_t at, int64_t *offset)
{
    for (int32_t i = 0; i < f->n_tensors; i++) {
        if (is_frozen(&f->tensors[i]) != frozen)
            continue;
        offset[i] = at;
        at = round_up(at + f->count[i], FLAT_ALIGN);
        if (at > FLAT_MAX)
            return at;
    }
    return at;
}

static int64_t part_size(int64_t range)
{
    int64_t size = round_up((range + PARTS_WANTED - 1) / PARTS_WANTED, PART_GRAIN);
    return size < PART_MIN ? PART_MIN : size > PART_MAX ? PART_MAX : size;
}

/* --- tensors that are not cut --- */

static bool has_whole(const flat *f)
{
    for (int32_t i = 0; i < f->n_tensors; i++)
        if (f->tensors[i].whole && !is_frozen(&f->tensors[i]))
            return true;
    return false;
}

/* Lays the live tensors out so that none lies in two parts, and notes where parts begin, n of them. Returns the end.
 * `size` is what a part has if its tensors leave it the choice. */
static int64_t lay_whole(const flat *f, int64_t size, int64_t *offset, int64_t *begin, int32_t *n)
{
    int64_t at = 0, from = 0;
    *n = 0;
    for (int32_t i = 0; i < f->n_tensors; i++) {
        if (is_frozen(&f->tensors[i]))
            continue;
        int64_t elements = round_up(f->count[i], FLAT_ALIGN);
        if (at > from && at - from + elements > size)
            at = from = round_up(at, PART_GRAIN);
        if (elements && at == from)
            begin[(*n)++] = from;
        offset[i] = at;
        at += elements;
        if (at > FLAT_MAX)
            return at;
    }
    return at;
}

static status check_whole(const flat *f, error *err)
{
    for (int32_t i = 0; i < f->n_tensors; i++)
        if (!is_frozen(&f->tensors[i]) && f->count[i] > PART_WHOLE_MAX)
            return FAIL(err, E_UNSUPPORTED,
                        "tensor '%s' has %" PRId64 " elements; an optimizer that needs tensors whole moves tensors of "
                        "up to %d",
                        f->tensors[i].name, f->count[i], PART_WHOLE_MAX);
    return OK;
}

/* --- the layout --- */

/* Where the live range ends, before it is filled up. */
static int64_t lay_live(const flat *f, int64_t *offset, int64_t *begin, int32_t *n)
{
    int64_t end = lay_range(f, false, 0, offset);
    *n = 0;
    return has_whole(f) && end <= FLAT_MAX ? lay_whole(f, part_size(end), offset, begin, n) : end;
}

static status lay_out(flat *f, int64_t *begin, int32_t *n, error *err)
{
    int64_t *offset = arena_alloc(f->memory, (size_t)f->n_tensors * sizeof *offset);
    if (has_whole(f))
        TRY(check_whole(f, err));
    f->n_live = lay_live(f, offset, begin, n);
    f->n_elements = f->n_live;
    if (f->n_live <= FLAT_MAX) {
        int64_t edge = round_up(f->n_live, PART_GRAIN);
        int64_t end = lay_range(f, true, edge, offset);
        if (end > edge) {
            f->n_live = edge;
            f->n_elements = end;
        }
    }
    if (f->n_elements > FLAT_MAX)
        return FAIL(err, E_UNSUPPORTED, "the tensors have more than %" PRId64 " elements together",
                    FLAT_MAX);
    f->offset = offset;
    return OK;
}

static int32_t count_parts(int64_t range)
{
    int64_t size = part_size(range);
    return (int32_t)((range + size - 1) / size);
}

static void cut_range(int64_t begin, int64_t end, bool frozen, part_range *parts)
{
    int64_t size = part_size(end - begin);
    for (; begin < end; begin += size)
        *parts++ = (part_range){begin, begin + size < end ? begin + size : end, frozen};
}

/* `begin` of n live parts, if these are not cut by size. */
static void cut_parts(flat *f, const int64_t *begin, int32_t n)
{
    f->n_live_parts = n ? n : count_parts(f->n_live);
    f->n_parts = f->n_live_parts + count_parts(f->n_elements - f->n_live);
    part_range *parts = arena_alloc(f->memory, (size_t)f->n_parts * sizeof *parts);
    for (int32_t i = 0; i < n; i++)
        parts[i] = (part_range){begin[i], i + 1 < n ? begin[i + 1] : f->n_live, false};
    if (!n)
        cut_range(0, f->n_live, false, parts);
    cut_range(f->n_live, f->n_elements, true, parts + f->n_live_parts);
    f->parts = parts;
}

typedef struct segment_walk {
    const flat *f;
    part_segment *segments;
    int64_t *from;
    int64_t n;
    int32_t part; /* where the walk stands */
} segment_walk;

/* Cuts one tensor at part edges. Tensors come in the order of their offsets. */
static void cut_tensor(segment_walk *w, int32_t tensor)
{
    const flat *f = w->f;
    int64_t at = f->offset[tensor], end = at + f->count[tensor];
    while (at < end) {
        while (f->parts[w->part].end <= at)
            w->from[++w->part] = w->n;
        int64_t stop = f->parts[w->part].end < end ? f->parts[w->part].end : end;
        w->segments[w->n++] = (part_segment){tensor, at, at - f->offset[tensor], stop - at};
        at = stop;
    }
}

static void flat_cut_segments(flat *f)
{
    /* every tensor is one segment, and one more for each part edge inside it */
    size_t room = (size_t)f->n_tensors + (size_t)f->n_parts;
    segment_walk w = {
        .f = f,
        .segments = arena_alloc(f->memory, room * sizeof *w.segments),
        .from = arena_alloc(f->memory, ((size_t)f->n_parts + 1) * sizeof *w.from),
    };
    for (int frozen = 0; frozen < 2; frozen++)
        for (int32_t i = 0; i < f->n_tensors; i++)
            if (is_frozen(&f->tensors[i]) == frozen)
                cut_tensor(&w, i);
    while (w.part < f->n_parts)
        w.from[++w.part] = w.n;
    f->segments = w.segments;
    f->segment_from = w.from;
}

status flat_create(const tensor_decl *tensors, size_t n, flat **ret, error *err)
{
    if (n > INT32_MAX)
        return FAIL(err, E_UNSUPPORTED, "%zu tensors, at most %d are supported", n, INT32_MAX);
    arena *memory = arena_create();
    flat *f = arena_alloc(memory, sizeof *f);
    f->memory = memory;
    int64_t *begin = arena_alloc(memory, (n + 1) * sizeof *begin);
    int32_t n_begins = 0;
    status st = take_tensors(f, tensors, n, err);
    if (st == OK)
        st = lay_out(f, begin, &n_begins, err);
    if (st != OK) {
        arena_destroy(&memory);
        return st;
    }
    cut_parts(f, begin, n_begins);
    flat_cut_segments(f);
    *ret = f;
    return OK;
}

void flat_destroy(flat **f)
{
    if (!f || !*f)
        return;
    arena *memory = (*f)->memory;
    *f = NULL;
    arena_destroy(&memory);
}

int64_t flat_part_elements(const flat *f, int32_t part)
{
    return f->parts[part].end - f->parts[part].begin;
}

int64_t flat_largest_part(const flat *f)
{
    int64_t most = 0;
    for (int32_t p = 0; p < f->n_parts; p++)
        most = flat_part_elements(f, p) > most ? flat_part_elements(f, p) : most;
    return most;
}

const part_segment *flat_part_segments(const flat *f, int32_t part, size_t *ret_n)
{
    *ret_n = (size_t)(f->segment_from[part + 1] - f->segment_from[part]);
    return f->segments + f->segment_from[part];
}

int32_t flat_find(const flat *f, const char *name)
{
    int32_t low = 0, high = f->n_tensors;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        int order = strcmp(name, f->tensors[f->by_name[middle]].name);
        if (order == 0)
            return f->by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

static void draw_uniform(const rng *r, init_rule rule, int64_t first, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++) {
        float x = rule.a + (rule.b - rule.a) * rng_uniform(r, (uint64_t)(first + i));
        out[i] = x < rule.b ? x : rule.a; /* rounding may reach b, which is outside */
    }
}

static void draw_normal(const rng *r, init_rule rule, int64_t first, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = rule.a + rule.b * rng_normal(r, (uint64_t)(first + i));
}

void flat_part_init(const flat *f, int32_t part, uint64_t seed, float *out)
{
    memset(out, 0, (size_t)flat_part_elements(f, part) * sizeof *out);
    size_t n;
    const part_segment *segments = flat_part_segments(f, part, &n);
    for (size_t i = 0; i < n; i++) {
        const part_segment *s = &segments[i];
        init_rule rule = f->tensors[s->tensor].init;
        rng r = rng_make(seed, RNG_INIT, f->tensor_id[s->tensor]);
        float *place = out + (s->at - f->parts[part].begin);
        switch (rule.kind) {
        case INIT_CONSTANT:
            for (int64_t e = 0; e < s->n; e++)
                place[e] = rule.a;
            break;
        case INIT_UNIFORM:
            draw_uniform(&r, rule, s->in_tensor, s->n, place);
            break;
        case INIT_NORMAL:
            draw_normal(&r, rule, s->in_tensor, s->n, place);
            break;
        case INIT_PUSHED:
            break;
        }
    }
}

static uint32_t float_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

void flat_digest(const flat *f, char *ret_hex)
{
    buf text = BUF_INIT;
    buf_addf(&text, "flat 1 %" PRId32 "\n", f->n_tensors);
    for (int32_t i = 0; i < f->n_tensors; i++) {
        const tensor_decl *t = &f->tensors[i];
        /* the length in front keeps any byte in a name apart from what follows it */
        buf_addf(&text,
                 "%zu %s kind %d init %d %08" PRIx32 " %08" PRIx32 " momentum %08" PRIx32
                 " decay %d dims",
                 strlen(t->name), t->name, (int)t->kind, (int)t->init.kind, float_bits(t->init.a),
                 float_bits(t->init.b), float_bits(t->momentum), t->decay);
        for (int32_t d = 0; d < t->rank; d++)
            buf_addf(&text, " %" PRId64, t->dim[d]);
        if (t->group)
            buf_addf(&text, " group %" PRId32, t->group);
        if (t->whole)
            buf_adds(&text, " whole");
        buf_adds(&text, "\n");
    }
    sha256_hex(text.data, text.size, ret_hex);
    buf_fini(&text);
}

void flat_params_sha256(const flat *f, const float *values, char *ret_hex)
{
    sha256 h;
    sha256_begin(&h);
    for (int32_t i = 0; i < f->n_tensors; i++) {
        int32_t t = f->by_name[i];
        if (f->count[t] > 0)
            sha256_add(&h, values + f->offset[t], (size_t)f->count[t] * sizeof *values);
    }
    sha256_end(&h, ret_hex);
}
