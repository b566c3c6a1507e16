/* A sample of a tar file as a record (format.h; index/samples.h): its members, found by their extensions. A member is a
 * string of bytes, and, if these are decimal numbers parted by blanks, commas or line ends, a list of such. */
#include "data/record/format.h"

#include "common/base/alloc.h"
#include "data/index/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct member {
    const sample_member *at;
    bool is_list;                   /* of numbers; else it is a string */
    char **words;                   /* [n] of the list */
    size_t n, cap;
    char *text;
} member;

typedef struct parsed_sample {
    sample s;
    member *members;                /* [s.n] */
} parsed_sample;

static const char blanks[] = " \t\r\n,";

/* Numbers are looked for in what is as short as these are: an image is none. */
enum { NUMBERS_MOST = 1 << 20 };

static bool is_number(const char *word)
{
    char *end = NULL;
    strtod(word, &end);
    return end != word && !*end;
}

static void find_numbers(member *m)
{
    if (m->at->bytes == 0 || m->at->bytes > NUMBERS_MOST || memchr(m->at->data, 0, m->at->bytes))
        return;
    m->text = xstrndup((const char *)m->at->data, m->at->bytes);
    m->is_list = true;
    char *rest = NULL;
    for (char *w = strtok_r(m->text, blanks, &rest); w && m->is_list; w = strtok_r(NULL, blanks, &rest)) {
        m->is_list = is_number(w);
        GROW(m->words, m->cap, m->n + 1);
        m->words[m->n++] = w;
    }
    m->is_list = m->is_list && m->n > 0;
}

static void drop_sample(void *parsed)
{
    parsed_sample *p = parsed;
    for (size_t i = 0; i < p->s.n; i++) {
        free(p->members[i].words);
        free(p->members[i].text);
    }
    free(p->members);
    sample_fini(&p->s);
    free(p);
}

static status parse_sample(const unsigned char *data, size_t bytes, void **ret, error *err)
{
    sample s;
    TRY(sample_read(data, bytes, &s, err));
    parsed_sample *p = xcalloc(1, sizeof *p);
    p->s = s;
    p->members = xcalloc(s.n + 1, sizeof *p->members);
    for (size_t i = 0; i < s.n; i++) {
        p->members[i].at = &p->s.at[i];
        find_numbers(&p->members[i]);
    }
    *ret = p;
    return OK;
}

static const void *find_member(const void *parsed, const char *key)
{
    const parsed_sample *p = parsed;
    for (size_t i = 0; i < p->s.n; i++)
        if (strcmp(p->s.at[i].extension, key) == 0)
            return &p->members[i];
    return NULL;
}

static void add_extensions(const void *parsed, buf *ret)
{
    const parsed_sample *p = parsed;
    for (size_t i = 0; i < p->s.n; i++)
        buf_addf(ret, "%s%s", i ? ", " : "", p->s.at[i].extension);
}

static size_t count_numbers(const void *value)
{
    const member *m = value;
    return m->is_list ? m->n : 1;
}

static bool take_real(const void *value, size_t i, double *ret)
{
    const member *m = value;
    if (!m->is_list)
        return false;
    *ret = strtod(m->words[i], NULL);
    return true;
}

static bool take_integer(const void *value, size_t i, int64_t *ret)
{
    const member *m = value;
    char *end = NULL;
    errno = 0;
    long long x = m->is_list ? strtoll(m->words[i], &end, 10) : 0;
    if (!end || *end || errno)
        return false;
    *ret = x;
    return true;
}

static bool take_bytes(const void *value, const void **ret, size_t *ret_n)
{
    const member *m = value;
    *ret = m->at->data;
    *ret_n = m->at->bytes;
    return true;
}

static void describe_member(const void *value, buf *ret)
{
    const member *m = value;
    if (m->is_list)
        buf_addf(ret, "a list of %zu number%s", m->n, m->n == 1 ? "" : "s");
    else
        buf_addf(ret, "%zu bytes, not numbers", m->at->bytes);
}

const record_format record_format_sample = {
    .type = "webdataset",
    .kind = RECORD_SAMPLES,
    .has_bytes = true,
    .parse = parse_sample,
    .drop = drop_sample,
    .find = find_member,
    .keys = add_extensions,
    .count = count_numbers,
    .real = take_real,
    .integer = take_integer,
    .bytes = take_bytes,
    .describe = describe_member,
};
