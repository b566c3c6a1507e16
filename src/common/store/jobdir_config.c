/* What a job dir keeps of the configuration: config.json, and in job.json the digest of all keys that decide
 * the result, and the end. */
#include "common/store/jobdir_internal.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"

#include <stdlib.h>
#include <string.h>

static json_t *digest_lines(const config *c)
{
    buf text = BUF_INIT;
    config_digest_lines(c, &text);
    json_t *lines = json_array();
    char *rest = text.data;
    for (char *line; rest && (line = strsep(&rest, "\n"));)
        if (*line)
            json_array_append_new(lines, json_string(line));
    buf_fini(&text);
    return lines;
}

void jobdir_put_config(jobdir *d, const config *c)
{
    char digest[SHA256_HEX];
    config_digest(c, digest);
    json_object_set_new(d->job, "config_digest", json_string(digest));
    json_object_set_new(d->job, "config_digest_lines", digest_lines(c));
    json_object_set_new(d->job, "end", config_end(c));
}

const json_t *jobdir_value_at(const json_t *tree, const char *path)
{
    while (tree && *path) {
        size_t n = strcspn(path, ".[]");
        char *key = xasprintf("%.*s", (int)n, path);
        tree = path[n] == ']' ? json_array_get(tree, strtoul(key, NULL, 10))
                              : json_object_get(tree, key);
        free(key);
        path += n + strspn(path + n, ".[]");
    }
    return tree;
}

/* Is the job's configuration this one, with the given end? NULL: with its own. */
bool jobdir_has_digest(const jobdir *d, const config *c, const json_t *end)
{
    const char *kept = json_string_value(json_object_get(d->job, "config_digest"));
    char digest[SHA256_HEX];
    config_digest_with(c, end, digest);
    return kept && strcmp(kept, digest) == 0;
}

bool jobdir_has_config(const jobdir *d, const config *c)
{
    return jobdir_has_digest(d, c, NULL);
}

status jobdir_save_config(const jobdir *d, const config *c, error *err)
{
    char *dump = config_dump(c);
    buf text = BUF_INIT;
    size_t n = strlen(dump);
    buf_addf(&text, "%s%s", dump, n && dump[n - 1] == '\n' ? "" : "\n");
    status st = jobdir_write(d, "config.json", text.data, text.size, err);
    buf_fini(&text);
    free(dump);
    return st;
}
