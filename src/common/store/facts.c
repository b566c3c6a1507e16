#include "common/store/facts.h"

#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/read_progress.h"

#include <stdio.h>
#include <string.h>

facts_check facts_check_of(const config *c)
{
    const char *word = config_str(c, "data_check");
    return strcmp(word, "off") == 0 ? FACTS_OFF : strcmp(word, "full") == 0 ? FACTS_FULL : FACTS_SAMPLED;
}

/* --- making them --- */

enum { VALUE_MOST = 512 }; /* bytes of a value that goes whole */

void facts_add(buf *to, const char *file, const char *what, const char *value)
{
    size_t bytes = strlen(value);
    buf_addf(to, "%s.%s=", file, what);
    size_t begin = to->size;
    buf_add(to, value, bytes < VALUE_MOST ? bytes : VALUE_MOST);
    if (bytes > VALUE_MOST) {
        char hash[SHA256_HEX];
        sha256_hex(value, bytes, hash);
        buf_addf(to, "... (sha256 %s)", hash);
    }
    for (size_t i = begin; i < to->size; i++)
        if ((unsigned char)to->data[i] < ' ')
            to->data[i] = ' ';
    buf_adds(to, "\n");
}

void facts_add_contents(buf *to, const char *file, facts_check how, const content_digest *s)
{
    char text[SHA256_HEX];
    snprintf(text, sizeof text, "%zu", content_digest_bytes(s));
    facts_add(to, file, "bytes", text);
    content_digest_sampled(s, text);
    facts_add(to, file, "sampled_sha256", text);
    if (how != FACTS_FULL)
        return;
    read_progress_begin("hashing all of", file, content_digest_bytes(s), NULL);
    content_digest_whole(s, text);
    facts_add(to, file, "sha256", text);
}

/* --- lines --- */

typedef struct line {
    const char *key, *value;
    int n_key, n_value;
} line;

/* The next line, and *at behind it; one without "=" is none. */
static bool next(const char **at, line *ret)
{
    while (*at && **at) {
        const char *text = *at;
        size_t n = strcspn(text, "\n"), key = strcspn(text, "=\n");
        *at = text + n + (text[n] == '\n');
        if (key == n)
            continue;
        *ret = (line){text, text + key + 1, (int)key, (int)(n - key - 1)};
        return true;
    }
    return false;
}

static bool has_key(const line *a, const line *b)
{
    return a->n_key == b->n_key && memcmp(a->key, b->key, (size_t)a->n_key) == 0;
}

static bool find(const char *lines, const line *key, line *ret)
{
    while (next(&lines, ret))
        if (has_key(ret, key))
            return true;
    return false;
}

bool facts_merge(buf *to, const char *more)
{
    bool any = false;
    for (line one, known; next(&more, &one);)
        if (!find(to->data, &one, &known)) {
            buf_addf(to, "%.*s=%.*s\n", one.n_key, one.key, one.n_value, one.value);
            any = true;
        }
    return any;
}

bool facts_differ(const char *here, const char *there, buf *ret)
{
    for (line ours, theirs; next(&here, &ours);) {
        if (!find(there, &ours, &theirs) ||
            (ours.n_value == theirs.n_value &&
             memcmp(ours.value, theirs.value, (size_t)ours.n_value) == 0))
            continue;
        if (ret)
            buf_addf(ret, "'%.*s' is %.*s there, %.*s here", ours.n_key, ours.key, theirs.n_value,
                 theirs.value, ours.n_value, ours.value);
        return true;
    }
    return false;
}

void facts_log(const char *lines)
{
    buf text = BUF_INIT;
    for (line one; next(&lines, &one);)
        buf_addf(&text, "%s%.*s=%.*s", text.size ? "; " : "", one.n_key, one.key, one.n_value, one.value);
    if (text.size)
        LOG_I("READS", "%s", text.data);
    buf_fini(&text);
}

/* --- in files --- */

json_t *facts_to_json(const char *lines)
{
    json_t *o = json_object();
    for (line one; next(&lines, &one);) {
        buf key = BUF_INIT;
        buf_add(&key, one.key, (size_t)one.n_key);
        json_object_set_new(o, key.data, json_stringn(one.value, (size_t)one.n_value));
        buf_fini(&key);
    }
    return o;
}

void facts_from_json(const json_t *o, buf *ret)
{
    const char *key;
    json_t *value;
    if (!json_is_object(o))
        return;
    json_object_foreach((json_t *)(uintptr_t)o, key, value)
        if (json_is_string(value))
            buf_addf(ret, "%s=%s\n", key, json_string_value(value));
}
