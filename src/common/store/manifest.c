#include "common/store/manifest.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "common/base/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANIFEST_VERSION = 1, MANIFEST_LIMIT = 1 << 28 };

static const char seal_head[] = ",\n  \"manifest_sha256\": \"";
static const char seal_tail[] = "\"\n}\n";
static const char *const kinds[] = {"trainable", "state", "frozen"};
static const char *const rules[] = {"constant", "uniform", "normal", "pushed"};

void manifest_fini(manifest *m)
{
    flat_destroy(&m->flat);
    for (size_t i = 0; i < CHECKPOINT_SLOTS; i++)
        free(m->slot_names[i]);
    for (size_t i = 0; m->shards && i < m->n_shards; i++)
        free(m->shards[i].file);
    free(m->shards);
    free(m->part_shard);
    *m = (manifest){.step = 0};
}

void manifest_part_name(int32_t part, const char *slot, char *ret, size_t bytes)
{
    snprintf(ret, bytes, "part.%06d.%s", part, slot);
}

/* --- writing --- */

static json_t *write_tensor(const flat *f, int32_t i)
{
    const tensor_decl *t = &f->tensors[i];
    json_t *shape = json_array();
    for (int32_t k = 0; k < t->rank; k++)
        json_array_append_new(shape, json_integer(t->dim[k]));
    json_t *init = json_pack("{s:s, s:f, s:f}", "rule", rules[t->init.kind], "a", (double)t->init.a,
                             "b", (double)t->init.b);
    json_t *entry =
        json_pack("{s:s, s:o, s:s, s:I, s:o, s:f, s:b}", "name", t->name, "shape", shape, "kind",
                  kinds[t->kind], "offset", (json_int_t)f->offset[i], "init", init, "momentum",
                  (double)t->momentum, "decay", (int)t->decay);
    BUG_ON(!entry);
    if (t->group)
        json_object_set_new(entry, "group", json_integer(t->group));
    if (t->whole)
        json_object_set_new(entry, "whole", json_true());
    return entry;
}

static json_t *write_parts(const manifest *m)
{
    json_t *parts = json_array();
    for (int32_t i = 0; i < m->flat->n_parts; i++) {
        const part_range *p = &m->flat->parts[i];
        json_array_append_new(parts,
                              json_pack("{s:I, s:I, s:b, s:i}", "begin", (json_int_t)p->begin,
                                        "end", (json_int_t)p->end, "frozen", (int)p->frozen,
                                        "shard", (int)m->part_shard[i]));
    }
    return parts;
}

static json_t *manifest_to_json(const manifest *m)
{
    char seed[32];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)m->seed);
    json_t *slots = json_array(), *tensors = json_array(), *shards = json_array();
    for (size_t i = 0; i < m->n_slots; i++)
        json_array_append_new(slots, json_string(m->slot_names[i]));
    for (int32_t i = 0; i < m->flat->n_tensors; i++)
        json_array_append_new(tensors, write_tensor(m->flat, i));
    for (size_t i = 0; i < m->n_shards; i++)
        json_array_append_new(shards, json_pack("{s:s, s:I, s:s}", "file", m->shards[i].file,
                                                "bytes", (json_int_t)m->shards[i].bytes, "sha256",
                                                m->shards[i].sha256));
    json_t *root =
        json_pack("{s:s, s:i, s:I, s:b, s:s, s:I, s:I, s:s, s:s, s:o, s:o, s:o, s:o}", "format",
                  "tequio-checkpoint", "version", MANIFEST_VERSION, "step", (json_int_t)m->step,
                  "final", (int)m->final, "seed", seed, "batches_per_step",
                  (json_int_t)m->batches_per_step, "epochs_done", (json_int_t)m->epochs_done,
                  "config_digest", m->config_digest, "flat_digest", m->flat_digest, "slots", slots,
                  "shards", shards, "parts", write_parts(m), "tensors", tensors);
    BUG_ON(!root);
    if (m->lists_units)
        json_object_set_new(root, "unordered", json_true());
    if (m->scales)
        json_object_set_new(root, "loss_scale",
                            json_pack("{s:i, s:I, s:I}", "exponent", (int)m->scale.exponent,
                                      "good_steps", (json_int_t)m->scale.good, "skipped_steps",
                                      (json_int_t)m->scale.skipped));
    return root;
}

static buf text_of(const manifest *m)
{
    json_t *root = manifest_to_json(m);
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_decref(root);
    BUG_ON(!text);
    buf out = BUF_INIT;
    buf_add(&out, text, strlen(text) - strlen("\n}"));
    free(text);
    char digest[SHA256_HEX];
    sha256_hex(out.data, out.size, digest);
    buf_addf(&out, "%s%s%s", seal_head, digest, seal_tail);
    return out;
}

status manifest_write(const manifest *m, const char *path, error *err)
{
    buf text = text_of(m);
    status st = fs_write_atomic(path, text.data, text.size, err);
    buf_fini(&text);
    return st;
}

bool manifest_is_at(const manifest *m, const char *path)
{
    buf text = text_of(m), there = BUF_INIT;
    bool is = fs_read(path, text.size, &there, NULL) == OK && there.size == text.size &&
              memcmp(there.data, text.data, text.size) == 0;
    buf_fini(&there);
    buf_fini(&text);
    return is;
}

/* --- reading --- */

static status check_seal(const char *path, const buf *text, error *err)
{
    const size_t seal = strlen(seal_head) + SHA256_HEX - 1 + strlen(seal_tail);
    char expected[SHA256_HEX], line[sizeof seal_head + SHA256_HEX + sizeof seal_tail];
    if (text->size <= seal)
        return FAIL(err, E_DATA, "%s: too short for a manifest (truncated?)", path);
    sha256_hex(text->data, text->size - seal, expected);
    snprintf(line, sizeof line, "%s%s%s", seal_head, expected, seal_tail);
    if (memcmp(line, text->data + text->size - seal, seal) != 0)
        return FAIL(err, E_DATA,
                    "%s: its text does not have the SHA-256 its last line should state: the file "
                    "was changed or cut",
                    path);
    return OK;
}

typedef struct reader {
    const char *path;
    error *err;
} reader;

static status lacks(const reader *r, const char *where, const char *key, const char *kind)
{
    return FAIL(r->err, E_DATA, "%s: %s: '%s' must be %s", r->path, where, key, kind);
}

static status get_int(const reader *r, const json_t *o, const char *where, const char *key,
                      int64_t low, int64_t high, int64_t *ret)
{
    const json_t *value = json_object_get(o, key);
    if (!json_is_integer(value) || json_integer_value(value) < low ||
        json_integer_value(value) > high)
        return FAIL(r->err, E_DATA, "%s: %s: '%s' must be an integer of %lld to %lld", r->path,
                    where, key, (long long)low, (long long)high);
    *ret = json_integer_value(value);
    return OK;
}

static status get_bool(const reader *r, const json_t *o, const char *where, const char *key,
                       bool *ret)
{
    const json_t *value = json_object_get(o, key);
    if (!json_is_boolean(value))
        return lacks(r, where, key, "a boolean");
    *ret = json_is_true(value);
    return OK;
}

static status get_str(const reader *r, const json_t *o, const char *where, const char *key,
                      const char **ret)
{
    const json_t *value = json_object_get(o, key);
    if (!json_is_string(value))
        return lacks(r, where, key, "a string");
    *ret = json_string_value(value);
    return OK;
}

static status get_list(const reader *r, const json_t *o, const char *where, const char *key,
                       size_t most, const json_t **ret)
{
    const json_t *value = json_object_get(o, key);
    if (!json_is_array(value) || json_array_size(value) > most)
        return FAIL(r->err, E_DATA, "%s: %s: '%s' must be a list of at most %zu", r->path, where,
                    key, most);
    *ret = value;
    return OK;
}

static status get_f32(const reader *r, const json_t *o, const char *where, const char *key,
                      float *ret)
{
    const json_t *value = json_object_get(o, key);
    if (!json_is_number(value))
        return lacks(r, where, key, "a number");
    *ret = (float)json_number_value(value);
    return OK;
}

static status get_digest(const reader *r, const json_t *o, const char *where, const char *key,
                         char ret[SHA256_HEX])
{
    const char *text = "";
    TRY(get_str(r, o, where, key, &text));
    if (strlen(text) != SHA256_HEX - 1 || strspn(text, "0123456789abcdef") != SHA256_HEX - 1)
        return lacks(r, where, key, "64 hex digits");
    memcpy(ret, text, SHA256_HEX);
    return OK;
}

static status get_word(const reader *r, const json_t *o, const char *where, const char *key,
                       const char *const *words, size_t n, int *ret)
{
    const char *text = "";
    TRY(get_str(r, o, where, key, &text));
    for (size_t i = 0; i < n; i++) {
        if (strcmp(text, words[i]) == 0) {
            *ret = (int)i;
            return OK;
        }
    }
    return FAIL(r->err, E_DATA, "%s: %s: '%s' is '%s', which is unknown", r->path, where, key,
                text);
}

static status read_scale(const reader *r, const json_t *root, manifest *m)
{
    const json_t *scale = json_object_get(root, "loss_scale");
    int64_t exponent = 0, good = 0, skipped = 0;
    if (!scale)
        return OK;
    TRY(get_int(r, scale, "loss_scale", "exponent", 0, LOSS_SCALE_MOST, &exponent));
    TRY(get_int(r, scale, "loss_scale", "good_steps", 0, LOSS_SCALE_WINDOW_MOST, &good));
    TRY(get_int(r, scale, "loss_scale", "skipped_steps", 0, UINT32_MAX, &skipped));
    m->scales = true;
    m->scale = (loss_scale){(uint8_t)exponent, (uint32_t)good, (uint32_t)skipped};
    return OK;
}

static status manifest_read_head(const reader *r, const json_t *root, manifest *m)
{
    const char *format = "", *seed = "";
    int64_t version = 0;
    TRY(get_str(r, root, "manifest", "format", &format));
    if (strcmp(format, "tequio-checkpoint") != 0)
        return FAIL(r->err, E_DATA, "%s: format '%s' is not 'tequio-checkpoint'", r->path, format);
    TRY(get_int(r, root, "manifest", "version", MANIFEST_VERSION, MANIFEST_VERSION, &version));
    TRY(get_int(r, root, "manifest", "step", 0, INT64_MAX, &m->step));
    TRY(get_bool(r, root, "manifest", "final", &m->final));
    TRY(get_str(r, root, "manifest", "seed", &seed));
    char *end;
    errno = 0;
    m->seed = strtoull(seed, &end, 10);
    if (errno || end == seed || *end || strspn(seed, "0123456789") != strlen(seed))
        return lacks(r, "manifest", "seed", "a string of decimal digits below 2^64");
    TRY(get_int(r, root, "manifest", "batches_per_step", 0, INT64_MAX, &m->batches_per_step));
    TRY(get_int(r, root, "manifest", "epochs_done", 0, INT64_MAX, &m->epochs_done));
    if (json_object_get(root, "unordered"))
        TRY(get_bool(r, root, "manifest", "unordered", &m->lists_units));
    TRY(read_scale(r, root, m));
    TRY(get_digest(r, root, "manifest", "config_digest", m->config_digest));
    return get_digest(r, root, "manifest", "flat_digest", m->flat_digest);
}

static status read_slots(const reader *r, const json_t *root, manifest *m)
{
    const json_t *slots = NULL;
    TRY(get_list(r, root, "manifest", "slots", CHECKPOINT_SLOTS, &slots));
    for (size_t i = 0; i < json_array_size(slots); i++) {
        const char *name = json_string_value(json_array_get(slots, i));
        if (!name || !*name)
            return lacks(r, "manifest", "slots", "a list of names");
        m->slot_names[i] = xstrdup(name);
        m->n_slots = i + 1;
    }
    return OK;
}

static status read_shards(const reader *r, const json_t *root, manifest *m)
{
    const json_t *shards = NULL;
    TRY(get_list(r, root, "manifest", "shards", INT32_MAX, &shards));
    m->n_shards = json_array_size(shards);
    m->shards = xcalloc(m->n_shards + 1, sizeof *m->shards);
    for (size_t i = 0; i < m->n_shards; i++) {
        const json_t *entry = json_array_get(shards, i);
        const char *file = "";
        int64_t bytes = 0;
        TRY(get_str(r, entry, "shards", "file", &file));
        if (!*file || *file == '.' || strchr(file, '/'))
            return lacks(r, "shards", "file", "the name of a file beside the manifest");
        for (size_t k = 0; k < i; k++)
            if (strcmp(m->shards[k].file, file) == 0)
                return FAIL(r->err, E_DATA, "%s: shard '%s' is listed twice", r->path, file);
        m->shards[i].file = xstrdup(file);
        TRY(get_int(r, entry, file, "bytes", 0, INT64_MAX, &bytes));
        m->shards[i].bytes = (uint64_t)bytes;
        TRY(get_digest(r, entry, file, "sha256", m->shards[i].sha256));
    }
    return OK;
}

static status manifest_read_tensor(const reader *r, const json_t *entry, tensor_decl *t)
{
    const json_t *shape = NULL, *init = json_object_get(entry, "init");
    int kind = 0, rule = 0;
    TRY(get_str(r, entry, "tensors", "name", &t->name));
    TRY(get_list(r, entry, t->name, "shape", TENSOR_RANK, &shape));
    t->rank = (int32_t)json_array_size(shape);
    for (int32_t k = 0; k < t->rank; k++) {
        const json_t *dim = json_array_get(shape, (size_t)k);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0)
            return lacks(r, t->name, "shape", "a list of integers of 0 or more");
        t->dim[k] = json_integer_value(dim);
    }
    TRY(get_word(r, entry, t->name, "kind", kinds, COUNT_OF(kinds), &kind));
    TRY(get_word(r, init, t->name, "rule", rules, COUNT_OF(rules), &rule));
    t->kind = (tensor_kind)kind;
    t->init.kind = (init_kind)rule;
    TRY(get_f32(r, init, t->name, "a", &t->init.a));
    TRY(get_f32(r, init, t->name, "b", &t->init.b));
    TRY(get_f32(r, entry, t->name, "momentum", &t->momentum));
    const json_t *group = json_object_get(entry, "group");
    if (group && (!json_is_integer(group) || json_integer_value(group) < 0 || json_integer_value(group) > INT32_MAX))
        return lacks(r, t->name, "group", "an integer of 0 or more");
    t->group = (int32_t)json_integer_value(group);
    t->whole = json_is_true(json_object_get(entry, "whole"));
    return get_bool(r, entry, t->name, "decay", &t->decay);
}

/* The tensors' elements must fit the listed parts before anything of that size is allocated. */
static status check_elements(const reader *r, const tensor_decl *t, size_t n, size_t n_parts)
{
    size_t total = 0, most = n_parts * PART_WHOLE_MAX;
    for (size_t i = 0; i < n; i++) {
        size_t count = 1;
        bool fits = true;
        for (int32_t k = 0; k < t[i].rank; k++)
            fits = fits && size_mul(count, (size_t)t[i].dim[k], &count);
        if (!fits || !size_add(total, count, &total) || total > most)
            return FAIL(r->err, E_DATA, "%s: tensor '%s' does not fit into the %zu parts listed",
                        r->path, t[i].name, n_parts);
    }
    return OK;
}

static status read_flat(const reader *r, const json_t *root, size_t n_parts, manifest *m)
{
    const json_t *tensors = NULL;
    TRY(get_list(r, root, "manifest", "tensors", INT32_MAX, &tensors));
    size_t n = json_array_size(tensors);
    tensor_decl *decls = xcalloc(n + 1, sizeof *decls);
    status st = OK;
    for (size_t i = 0; i < n; i++)
        TRY_OUT(st, manifest_read_tensor(r, json_array_get(tensors, i), &decls[i]));
    TRY_OUT(st, check_elements(r, decls, n, n_parts));
    if (flat_create(decls, n, &m->flat, r->err) != OK) {
        /* whatever a declarer did wrong, here it is the file that is wrong */
        error_prepend(r->err, "%s", r->path);
        if (r->err)
            r->err->code = E_DATA;
        st = E_DATA;
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t offset = 0;
        TRY_OUT(st, get_int(r, json_array_get(tensors, i), decls[i].name, "offset",
                            m->flat->offset[i], m->flat->offset[i], &offset));
    }
    char digest[SHA256_HEX];
    flat_digest(m->flat, digest);
    if (strcmp(digest, m->flat_digest) != 0)
        st = FAIL(r->err, E_DATA, "%s: its tensors do not have the flat_digest it states", r->path);
out:
    free(decls);
    return st;
}

static status read_parts(const reader *r, const json_t *root, manifest *m)
{
    const json_t *parts = NULL;
    TRY(get_list(r, root, "manifest", "parts", 1 << 24, &parts));
    size_t n = json_array_size(parts);
    TRY(read_flat(r, root, n, m));
    if (n != (size_t)m->flat->n_parts)
        return FAIL(r->err, E_DATA, "%s: %zu parts are listed, its tensors make %d", r->path, n,
                    m->flat->n_parts);
    m->part_shard = xcalloc(n + 1, sizeof *m->part_shard);
    for (size_t i = 0; i < n; i++) {
        const json_t *entry = json_array_get(parts, i);
        const part_range *p = &m->flat->parts[i];
        char where[32];
        snprintf(where, sizeof where, "part %zu", i);
        int64_t begin = 0, end = 0, shard = 0;
        bool frozen = false;
        TRY(get_int(r, entry, where, "begin", p->begin, p->begin, &begin));
        TRY(get_int(r, entry, where, "end", p->end, p->end, &end));
        TRY(get_bool(r, entry, where, "frozen", &frozen));
        if (frozen != p->frozen)
            return lacks(r, where, "frozen", p->frozen ? "true" : "false");
        TRY(get_int(r, entry, where, "shard", 0, (int64_t)m->n_shards - 1, &shard));
        m->part_shard[i] = (int32_t)shard;
    }
    return OK;
}

static status from_json(const reader *r, const json_t *root, manifest *m)
{
    TRY(manifest_read_head(r, root, m));
    TRY(read_slots(r, root, m));
    TRY(read_shards(r, root, m));
    return read_parts(r, root, m);
}

status manifest_read(const char *path, manifest *ret, error *err)
{
    buf text = BUF_INIT;
    json_t *root = NULL;
    manifest m = {.step = 0};
    reader r = {.path = path, .err = err};
    status st = OK;
    TRY_OUT(st, fs_read(path, MANIFEST_LIMIT, &text, err));
    TRY_OUT(st, check_seal(path, &text, err));
    TRY_OUT(st, json_parse(text.data, text.size, path, E_DATA, &root, err));
    TRY_OUT(st, from_json(&r, root, &m));
    *ret = m;
    m = (manifest){.step = 0};
out:
    manifest_fini(&m);
    json_decref(root);
    buf_fini(&text);
    return st;
}
