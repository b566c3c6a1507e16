/* See pretrained.h. */
#include "model/pretrained.h"

#include "common/base/alloc.h"
#include "common/base/gcs.h"
#include "common/base/half.h"
#include "graph/graph.h"
#include "model/allennlp_names.h"
#include "model/lora.h"
#include "model/name_globs.h"
#include "model/weight_files.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 10, NAMED = 10 }; /* groups of a pattern; tensors that a report names */

typedef struct source {
    const char *name; /* as the model calls it */
    const st_tensor *tensor;
    bool taken;
} source;

typedef struct reading {
    const config *section;
    bool has_lora, is_whole;
    const checkpoint_names *names; /* NULL: the files have ours */
    char *path;
    arena *memory;
    weight_files files;
    source *sources; /* [n_sources], a source a tensor of the files; by name */
    size_t n_sources;
} reading;

/* --- names --- */

/* `to` with $0 .. $9 replaced by what the groups matched in `name`. */
static const char *pretrained_expand(arena *a, const char *to, const char *name, const regmatch_t *groups)
{
    const char *out = "";
    for (; *to; to++) {
        const regmatch_t *g =
            to[0] == '$' && to[1] >= '0' && to[1] <= '9' ? &groups[to[1] - '0'] : NULL;
        if (g) {
            to++;
            if (g->rm_so >= 0)
                out = arena_printf(a, "%s%.*s", out, (int)(g->rm_eo - g->rm_so), name + g->rm_so);
        } else {
            out = arena_printf(a, "%s%c", out, *to);
        }
    }
    return out;
}

static status rename_by(reading *r, const char *pattern, const char *to, error *err)
{
    regex_t compiled;
    char why[128];
    char *whole = xasprintf("^(%s)$", pattern);
    int bad = regcomp(&compiled, whole, REG_EXTENDED);
    free(whole);
    if (bad) {
        regerror(bad, &compiled, why, sizeof why);
        return FAIL(err, E_CONFIG, "%s.map: '%s': %s", config_path(r->section), pattern, why);
    }
    status st = OK;
    for (size_t i = 0; i < r->n_sources && st == OK; i++) {
        source *s = &r->sources[i];
        regmatch_t groups[GROUPS + 1];
        if (regexec(&compiled, s->tensor->name, GROUPS + 1, groups, 0) != 0)
            continue;
        if (s->name != s->tensor->name)
            st = FAIL(err, E_CONFIG, "%s.map: two patterns match '%s'", config_path(r->section),
                      s->tensor->name);
        else /* group 1 is the whole: the pattern's own begin behind it */
            s->name = pretrained_expand(r->memory, to, s->tensor->name, groups + 1);
    }
    regfree(&compiled);
    return st;
}

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* "LayerNorm.gamma" as "LayerNorm.weight" */
static const char *of_today(arena *a, const char *name)
{
    static const char *const ends[][2] = {{"LayerNorm.gamma", "weight"}, {"LayerNorm.beta", "bias"}};
    size_t n = strlen(name);
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        size_t end = strlen(ends[i][0]);
        if (n >= end && strcmp(name + n - end, ends[i][0]) == 0)
            return arena_printf(a, "%.*s.%s", (int)(strrchr(name, '.') - name), name, ends[i][1]);
    }
    return name;
}

static void name_as_here(reading *r, const flat *f, source *s)
{
    const char *name = allennlp_tensor(of_today(r->memory, s->name), r->names, r->memory);
    bool is_whole = begins_with(name, r->names->theirs);
    const char *ours =
        arena_printf(r->memory, "%s%s", r->names->ours, name + (is_whole ? strlen(r->names->theirs) : 0));
    s->name = is_whole || flat_find(f, ours) >= 0 ? ours : name;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const source *)a)->name, ((const source *)b)->name);
}

/* NULL: there is none. Once names are sorted. */
static source *find_source(const reading *r, const char *name)
{
    return r->n_sources ? bsearch(&(source){.name = name}, r->sources, r->n_sources, sizeof *r->sources, by_name)
                        : NULL;
}

/* "fc.lora_A.weight": of "fc.lora_B.weight", and the other way round. */
static const char *other_of_adapter(arena *a, const char *name)
{
    const int layer = (int)(strlen(name) - strlen(LORA_A));
    return arena_printf(a, "%.*s%s", layer, name, strcmp(name + layer, LORA_A) == 0 ? LORA_B : LORA_A);
}

/* Heads are not in every checkpoint of a network, and adapters of a new one in none; but half an adapter is lost. */
static bool may_be_drawn(const reading *r, const char *name)
{
    if (r->is_whole)
        return false;
    if (r->has_lora && lora_is_adapter(name))
        return !find_source(r, other_of_adapter(r->memory, name));
    return r->names && (!begins_with(name, r->names->ours) || strstr(name, ".pooler."));
}

static status name_sources(reading *r, const flat *f, error *err)
{
    const char *pattern;
    json_t *to;
    json_object_foreach((json_t *)config_json(r->section, "map"), pattern, to)
        TRY(rename_by(r, pattern, json_string_value(to), err));
    for (size_t i = 0; r->names && i < r->n_sources; i++)
        if (r->sources[i].name == r->sources[i].tensor->name)
            name_as_here(r, f, &r->sources[i]);
    if (r->n_sources)
        qsort(r->sources, r->n_sources, sizeof *r->sources, by_name);
    for (size_t i = 1; i < r->n_sources; i++)
        if (strcmp(r->sources[i - 1].name, r->sources[i].name) == 0)
            return FAIL(err, E_DATA, "'%s': '%s' and '%s' are both '%s' here", r->path,
                        r->sources[i - 1].tensor->name, r->sources[i].tensor->name,
                        r->sources[i].name);
    return OK;
}

/* --- values --- */

static float element(const st_tensor *t, int64_t i)
{
    const unsigned char *at = (const unsigned char *)t->data + (size_t)i * dtype_bytes(t->dtype);
    float f;
    double d;
    uint16_t h;
    switch (t->dtype) {
    case DT_F16:
    case DT_BF16:
        memcpy(&h, at, sizeof h);
        return half_to_float(h, t->dtype == DT_BF16);
    case DT_F64:
        memcpy(&d, at, sizeof d);
        return (float)d;
    default:
        memcpy(&f, at, sizeof f);
        return f;
    }
}

static status copy(const reading *r, const st_tensor *t, int64_t n, float *out, error *err)
{
    if (t->dtype != DT_F32 && t->dtype != DT_F16 && t->dtype != DT_BF16 && t->dtype != DT_F64)
        return FAIL(err, E_DATA, "'%s': tensor '%s' is %s, weights are of a floating type", r->path,
                    t->name, dtype_name(t->dtype));
    for (int64_t i = 0; i < n; i++) {
        out[i] = element(t, i);
        if (out[i] - out[i] != 0.0f)
            return FAIL(err, E_DATA, "'%s': tensor '%s': element %lld is not finite", r->path,
                        t->name, (long long)i);
    }
    return OK;
}

static bool has_shape(const st_tensor *t, const tensor_decl *d)
{
    return t->rank == d->rank && memcmp(t->dim, d->dim, (size_t)d->rank * sizeof *d->dim) == 0;
}

static const char *shape_text(int32_t rank, const int64_t *dim, char *text)
{
    graph_shape s = {.rank = rank};
    memcpy(s.dim, dim, (size_t)rank * sizeof *dim);
    return graph_shape_text(&s, text, SHAPE_TEXT);
}

/* One tensor of the model; what is wrong with it goes into `wrong`. */
static status pretrained_take(reading *r, const tensor_decl *d, int64_t n, float *out, size_t *matched,
                              buf *wrong, error *err)
{
    char have[SHAPE_TEXT], want[SHAPE_TEXT];
    source *s = find_source(r, d->name);
    const char *between = wrong->size ? "; " : "";
    bool ignored = name_globs_any(config_json(r->section, "ignore"), d->name);
    if (s)
        s->taken = true;
    if (!s && !ignored && !may_be_drawn(r, d->name))
        buf_addf(wrong, "%s'%s' is missing", between, d->name);
    else if (s && !has_shape(s->tensor, d) && !ignored)
        buf_addf(wrong, "%s'%s' is %s, here %s", between, d->name,
                 shape_text(s->tensor->rank, s->tensor->dim, have),
                 shape_text(d->rank, d->dim, want));
    if (!s || !has_shape(s->tensor, d))
        return OK;
    *matched += 1;
    return copy(r, s->tensor, n, out, err);
}

static void add_report(const reading *r, const flat *f, size_t matched, buf *report)
{
    size_t unused = 0;
    buf names = BUF_INIT;
    for (size_t i = 0; i < r->n_sources; i++) {
        if (r->sources[i].taken)
            continue;
        if (unused++ < NAMED)
            buf_addf(&names, "%s%s", names.size ? "," : "", r->sources[i].name);
    }
    buf_addf(report, "from=%s matched=%zu drawn=%zu unexpected=%zu%s%s%s", r->path, matched,
             (size_t)f->n_tensors - matched, unused, unused ? " names=" : "",
             unused ? names.data : "", unused > NAMED ? ",..." : "");
    buf_fini(&names);
}

static status fill(reading *r, const flat *f, float *out, buf *report, error *err)
{
    buf wrong = BUF_INIT;
    size_t matched = 0;
    status st = OK;
    for (int32_t t = 0; t < f->n_tensors && st == OK; t++)
        st = pretrained_take(r, &f->tensors[t], f->count[t], out + f->offset[t], &matched, &wrong, err);
    if (st == OK && wrong.size)
        st = FAIL(err, E_DATA,
                  "'%s': %s; tensors to draw belong into %s.ignore, other names into "
                  "its map",
                  r->path, wrong.data, config_path(r->section));
    if (st == OK)
        add_report(r, f, matched, report);
    buf_fini(&wrong);
    return st;
}

static status begin(const config *section, reading *ret, error *err)
{
    *ret = (reading){.section = section, .memory = arena_create()};
    TRY(gcs_path(config_str(section, "path"), &ret->path, err));
    TRY(weight_files_open(ret->path, &ret->files, err));
    ret->n_sources = ret->files.n;
    ret->sources = xcalloc(ret->n_sources + 1, sizeof *ret->sources);
    for (size_t i = 0; i < ret->n_sources; i++)
        ret->sources[i] = (source){.name = ret->files.tensors[i]->name, .tensor = ret->files.tensors[i]};
    return OK;
}

static void end(reading *r)
{
    weight_files_close(&r->files);
    free(r->sources);
    arena_destroy(&r->memory);
    free(r->path);
}

status pretrained_read(const config *model, const checkpoint_names *names, bool is_whole, const flat *f,
                       float *out, buf *report, error *err)
{
    reading r;
    status st = begin(config_section(model, "pretrained"), &r, err);
    r.names = config_has(model, "transformer_model_name") || r.files.is_allennlp ? names : NULL;
    r.has_lora = config_has(model, "lora");
    r.is_whole = is_whole;
    if (st == OK)
        st = weight_files_check(&r.files, err);
    if (st == OK)
        st = name_sources(&r, f, err);
    if (st == OK)
        st = fill(&r, f, out, report, err);
    end(&r);
    return st;
}

status pretrained_facts(const config *section, const char *file, facts_check how, buf *ret, error *err)
{
    reading r;
    content_digest all = {.at = NULL};
    status st = begin(section, &r, err);
    for (size_t i = 0; st == OK && i < r.n_sources; i++) {
        const st_tensor *t = r.sources[i].tensor;
        content_digest_add(&all, t->name, strlen(t->name));
        content_digest_add(&all, t->data, t->bytes);
    }
    if (st == OK)
        facts_add_contents(ret, file, how, &all);
    content_digest_fini(&all);
    end(&r);
    return st;
}
