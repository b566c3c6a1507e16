/* See samples.h. */
#include "data/index/samples.h"

#include "common/base/alloc.h"
#include "common/base/read_progress.h"
#include "data/index/archive.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

static bool is_no_data(const char *name)
{
    return *last_part(name) == '.' || *last_part(name) == '_';
}

/* The dot behind the key; NULL: there is none, or nothing behind it. */
static const char *find_dot(const char *name)
{
    const char *dot = strchr(last_part(name), '.');
    return dot && dot[1] ? dot : NULL;
}

/* --- cutting --- */

typedef struct cutting {
    const record_source *source;
    record_list *to;
    char *key;                      /* of the sample that is open; NULL: none is */
} cutting;

static status cut_member(cutting *c, const archive_member *m, size_t begin, error *err)
{
    if (is_no_data(m->name))
        return OK;
    const char *dot = find_dot(m->name);
    if (!dot)
        return FAIL(err, E_DATA, "'%s': byte %zu: '%s' is no member of a sample: it is not called KEY.EXTENSION",
                    c->source->name, begin, m->name);
    size_t n = (size_t)(dot - m->name), end = (size_t)(m->data - c->source->data) + m->bytes;
    if (!c->key || strlen(c->key) != n || memcmp(c->key, m->name, n) != 0) {
        free(c->key);
        c->key = xstrndup(m->name, n);
        record_list_add(c->to, begin, 0);
    }
    record_span *last = &c->to->at[c->to->n - 1];
    last->bytes = end - last->at;
    return OK;
}

static status visit_cutting(void *user, const archive_member *m, size_t begin, error *err)
{
    status st = cut_member(user, m, begin, err);
    free(m->name);
    read_progress_add(m->bytes);
    return st == OK ? read_progress_check(err) : st;
}

status samples_cut(const record_source *source, int threads, record_list *ret, error *err)
{
    (void)threads;
    if (source->bytes && archive_kind_of(source->data, source->bytes) != ARCHIVE_TAR)
        return FAIL(err, E_DATA, "'%s': is no tar file", source->name);
    cutting c = {.source = source, .to = ret};
    status st = archive_walk_tar(source->data, source->bytes, source->name, source->bytes > 0, visit_cutting, &c, err);
    free(c.key);
    return st;
}

void samples_place(const record_source *source, uint64_t at, size_t n, buf *ret)
{
    (void)source;
    buf_addf(ret, "sample %zu (byte %" PRIu64 ")", n, at);
}

/* --- reading --- */

static status add_member(sample *s, const archive_member *m, error *err)
{
    if (is_no_data(m->name))
        return OK;
    const char *dot = find_dot(m->name);
    BUG_ON(!dot); /* the index was made of these bytes */
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->at[i].extension, dot + 1) == 0)
            return FAIL(err, E_DATA, "has '%s' twice", dot + 1);
    GROW(s->at, s->cap, s->n + 1);
    s->at[s->n++] = (sample_member){.extension = xstrdup(dot + 1), .data = m->data, .bytes = m->bytes};
    return OK;
}

static status visit_reading(void *user, const archive_member *m, size_t begin, error *err)
{
    (void)begin;
    status st = add_member(user, m, err);
    free(m->name);
    return st;
}

status sample_read(const unsigned char *data, size_t bytes, sample *ret, error *err)
{
    sample s = {.at = NULL};
    status st = archive_walk_tar(data, bytes, "the sample", false, visit_reading, &s, err);
    if (st == OK)
        *ret = s;
    else
        sample_fini(&s);
    return st;
}

void sample_fini(sample *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->at[i].extension);
    free(s->at);
    *s = (sample){.at = NULL};
}
